"use strict";
// Lines, steps, histograms and points over two axes, with bands, shaded spans, levels, edges and marks.
onnxperf.painters.plot = (picture, look, { width, figure, redraw }) => {
  const at = onnxperf.plot.placesOf(picture, width, figure);
  const axes = onnxperf.plot.axesOf(picture, look, at);
  const shape = onnxperf.plot.seriesOf(picture, look, at);
  const signs = onnxperf.plot.signsOf(picture, look, at);
  const behind = onnxperf.plot.behindOf(picture, look, at);
  const legend = onnxperf.plot.legendOf(picture, look, at, signs.seen);
  const extra = Math.max(legend.height - 26, 0) + axes.lean;
  const grid = {
    left: at.left,
    right: at.right,
    top: legend.height + at.labelRoom + (picture.y.title ? 32 : 12),
    bottom: axes.lean + (picture.x.title ? 46 : 26) + (picture.zooms && !at.isMap ? 30 : 0),
  };
  const words = onnxperf.plot.wordsOf(picture, look, at, signs.seen, grid.top, picture.tall + extra - grid.top - grid.bottom);
  onnxperf.plot.follow(picture, figure, redraw, at, () => ({ ...axes.option(), series: [...behind.spans(), ...signs.series(), ...words()] }), legend.meanings);
  return {
    extra,
    grid,
    legend: legend.option,
    tooltip: onnxperf.plot.tooltipOf(picture, look, at),
    ...axes.option(),
    dataZoom: picture.zooms ? onnxperf.plot.zoomOf(look, at) : [],
    // The first series of a name is the one that the legend draws.
    series: [...shape, ...behind.spans(), ...behind.lines, ...signs.series(), ...words(), ...legend.series],
  };
};

onnxperf.plot = {
  // Where values stand. A logarithmic axis is drawn as a linear one of logarithms: zooming needs it.
  placesOf({ x, y, series, spans, zooms, until }, width, figure) {
    const along = (axis) => (value) => (value === null || (axis.is_log && value <= 0) ? null : axis.is_log ? Math.log10(value) : value);
    const [alongX, alongY] = [along(x), along(y)];
    const first = { x: [x.low, zooms && until !== null ? until : x.high].map(alongX), y: [y.low, y.high].map(alongY) };
    const view = () => figure.view ?? first;
    const part = ([low, high], place) => (place - low) / (high - low);
    const isMap = zooms && x.is_log && y.is_log;  // moved and enlarged in both directions
    const left = Math.min(Math.max(onnxperf.widest(y.ticks.map(([, words]) => words)), isMap ? 48 : 0), width * 0.38) + 14;
    const right = onnxperf.areNames(x) ? 24 : Math.max(20, Math.ceil(onnxperf.widest(x.ticks.slice(-1).map(([, words]) => words)) / 2) + 4);
    const partX = (value) => part(view().x, alongX(value));
    const number = series.reduce((sum, each) => sum + (each.shape === "points" ? each.xs.length : 0), 0);
    const pointSize = number > 1500 ? 4 : number > 300 ? 6 : 9;
    return {
      width, along, alongX, alongY, first, view, isMap, left, right, across: width - left - right, partX,
      partY: (value) => part(view().y, alongY(value)),
      isSeen: (x, y) => [partX(x), part(view().y, alongY(y))].every((share) => share >= 0 && share <= 1),
      sizeOf: (each, point) => (each.shape === "line" ? 8 : each.sizes.length ? 6 + 28 * Math.min(width / 700, 1) * Math.sqrt(each.sizes[point]) : pointSize),
      labelRoom: spans.some((span) => span.label && !span.across) ? 15 : 0,
      named: [...new Set(series.map((each) => each.name).filter(Boolean))],
      // Without symbols: what is no line, what has nothing to say, and where they would stand on each other.
      isPlain: (each) => each.shape === "step" || each.shape === "area" || !each.words.length || each.xs.length * 9 > width,
    };
  },

  // Both axes; names of places lean where there is no room for them next to each other.
  axesOf({ x, y, zooms }, look, at) {
    const names = onnxperf.areNames(x) ? x.ticks.map(([, words]) => words) : [];
    const whole = at.alongX(x.high) - at.alongX(x.low);
    const pitch = Math.min(...x.ticks.slice(1).map(([value], place) => (at.alongX(value) - at.alongX(x.ticks[place][0])) / whole)) * at.across;
    const leans = onnxperf.widest(names) + 8 > pitch;
    const room = leans ? Math.min(Math.ceil(onnxperf.widest(names)), 140, (at.left + at.partX(x.ticks[0][0]) * at.across) / 0.8 + 20) : Infinity;
    const lean = leans ? Math.ceil(room * 0.6) : 0;
    const drawn = (axis, range, most, more) => {
      const to = at.along(axis);
      const back = (value) => (axis.is_log ? 10 ** value : value);
      const ticks = zooms ? onnxperf.ticksOf(axis, range.map(back), most) : axis.ticks;
      const straight = { ...axis, is_log: false, low: to(axis.low), high: to(axis.high) };
      const axisLine = { show: true, onZero: false, lineStyle: { color: look.line } };
      return onnxperf.scale(look, straight, { axisLine, ...more }, ticks.map(([value, words]) => [to(value), axis === x ? onnxperf.fitted(words, room) : words]));
    };
    const most = Math.min(Math.max(Math.floor(at.across / 90), 2), 8);
    const leaning = leans ? { axisLabel: { rotate: 36, hideOverlap: pitch < 15 }, nameGap: 28 + lean } : {};
    const above = { nameLocation: "end", nameGap: 14 + at.labelRoom, nameTextStyle: { color: look.dim, align: "left", padding: [0, 0, 0, 4 - at.left] } };
    return {
      lean,
      option: () => ({
        xAxis: drawn(x, at.view().x, most, { splitLine: { show: at.isMap, lineStyle: { color: look.line } }, ...leaning }),
        yAxis: drawn(y, at.view().y, 6, { ...above, axisLabel: { width: at.width * 0.38, overflow: "truncate" } }),
      }),
    };
  },

  // ---------------------------------------------------------------- series

  symbols: ["circle", "rect", "diamond", ...onnxperf.icons.symbols.slice(3)],

  seriesOf({ series, y }, look, at) {
    const drawn = series.map((each, place) => ({
      id: `series ${place}`,
      name: each.name,
      color: look.colors[each.color],
      z: 3,
      ...(each.shape === "points" ? this.pointsOf(each, look, at) : this.lineOf(each, at)),
    }));
    const banded = series.flatMap((each, place) => (each.lows.length && each.highs.length ? [this.intervalsOf(each, look.colors[each.color], y, at, place)] : []));
    return [...drawn, ...banded];
  },

  // A point as the library takes it, with what it stands for.
  pointOf: (each, at, point) => ({ value: [at.alongX(each.xs[point]), at.alongY(each.ys[point])], key: each.keys[point] ?? "", point }),

  pointsOf(each, look, at) {
    const point = (_, place) => {
      const isLit = onnxperf.isLit(each.keys[place]);
      const itemStyle = { opacity: isLit ? 1 : 0.8, borderColor: isLit ? look.text : look.back, borderWidth: isLit ? 3 : 0.5 };
      return { ...this.pointOf(each, at, place), itemStyle, symbolSize: at.sizeOf(each, place) };
    };
    return {
      type: "scatter",
      symbol: this.symbols[each.symbol % this.symbols.length],
      clip: true,
      data: each.xs.map(point).filter(({ value }) => value[1] !== null),
    };
  },

  lineOf(each, at) {
    const isPlain = at.isPlain(each);
    return {
      type: "line",
      data: this.outlineOf(each, at),
      step: { step: "middle", area: "end" }[each.shape] ?? false,
      symbol: isPlain ? "none" : this.symbols[each.symbol % this.symbols.length],
      showSymbol: !isPlain,
      symbolSize: 8,
      sampling: each.xs.length > 4000 ? "lttb" : undefined,
      lineStyle: { width: 2, type: each.dash },
      areaStyle: each.shape === "area" ? { opacity: 0.25 } : undefined,
      emphasis: { disabled: isPlain },
    };
  },

  // The points of a line; steps begin and end halfway to points that there are not, as in files.
  outlineOf(each, at) {
    const points = each.xs.map((_, point) => this.pointOf(each, at, point));
    if (each.shape !== "step" || !points.length) return points;
    const moved = (point, beside) => ({ ...point, key: "", value: [point.value[0] + (beside ? (point.value[0] - beside.value[0]) / 2 : 0), point.value[1]] });
    return [moved(points[0], points[1]), ...points, moved(points.at(-1), points.at(-2))];
  },

  // Intervals: a band behind the points of a line, apart wherever one has none; of few points also a line for each.
  intervalsOf(each, fill, y, at, place) {
    const isKnown = (point) => (each.lows[point] ?? null) !== null && (each.highs[point] ?? null) !== null;
    const runs = [[]];
    each.xs.forEach((value, point) => {
      if (isKnown(point)) runs.at(-1).push([at.alongX(value), at.alongY(each.lows[point]) ?? at.alongY(y.low), at.alongY(each.highs[point])]);
      else runs.push([]);
    });
    const draw = ({ dataIndex }, api) => {
      const run = runs[dataIndex];
      const lower = run.map(([value, low]) => api.coord([value, low]));
      const upper = run.map(([value, , high]) => api.coord([value, high]));
      const band = { type: "polygon", shape: { points: [...lower, ...upper.toReversed()] }, style: { fill, opacity: 0.18 } };
      const uprights = run.map((_, point) => ({ type: "line", shape: { x1: lower[point][0], y1: lower[point][1], x2: upper[point][0], y2: upper[point][1] }, style: { stroke: fill, opacity: 0.6, lineWidth: 1 } }));
      return { type: "group", children: [...(each.shape === "points" || run.length < 2 ? [] : [band]), ...(each.xs.length <= 60 ? uprights : [])] };
    };
    const data = runs.map((run) => run[0] ?? [null, null, null]);
    return { id: `intervals ${place}`, type: "custom", name: each.name, silent: true, clip: true, z: 2, tooltip: { show: false }, itemStyle: { color: fill }, data, encode: { x: 0, y: [1, 2] }, renderItem: draw };
  },

  // ---------------------------------------------------------------- marks: signs with words, which a legend hides with their series

  signs: {
    peak: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [11, 10], symbolOffset: [0, "-50%"] },
    sampled: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [11, 10], symbolOffset: [0, "-50%"], isEmpty: true },
    cross: { symbol: "path://M1,0 L5,4 L9,0 L10,1 L6,5 L10,9 L9,10 L5,6 L1,10 L0,9 L4,5 L0,1 Z", symbolSize: 10 },
    up: { symbol: "path://M0,9 L10,9 L5,0 Z", symbolSize: [10, 9], symbolOffset: [0, "50%"] },
    down: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [10, 9], symbolOffset: [0, "-50%"] },
    diamond: { symbol: "diamond", symbolSize: 11 },
  },

  // Marks, and for each point beyond the axis an arrow at its end.
  marksOf({ marks, series, y }) {
    const words = (value) => onnxperf.tick(Number((value / y.scale).toPrecision(3)));
    const beyond = series.filter((each) => each.shape === "line" || each.shape === "points").flatMap((each) => each.ys.flatMap((value, point) => (
      value === null || (value >= y.low && value <= y.high) ? [] : [{ x: each.xs[point], y: value, words: each.words[point] ?? "", color: each.color, text: words(value), series: each.name }]
    )));
    const atEdge = (mark) => (mark.y > y.high ? { ...mark, y: y.high, symbol: "up" } : mark.y < y.low ? { ...mark, y: y.low, symbol: "down" } : mark);
    return [...marks, ...beyond].map(atEdge);
  },

  inkOf: (isEmpty, color, look) => (isEmpty ? { color: look.back, borderColor: color, borderWidth: 1.5, opacity: 1 } : { color, opacity: 1 }),

  signsOf(picture, look, at) {
    const marks = this.marksOf(picture);
    const sign = (mark) => {
      const { isEmpty, ...drawn } = this.signs[mark.symbol];
      return { value: [at.alongX(mark.x), at.alongY(mark.y)], words: mark.words, ...drawn, itemStyle: this.inkOf(isEmpty, look.colors[mark.color], look) };
    };
    const series = () => [...new Set(marks.map((mark) => mark.series))].map((name, place) => ({
      id: `marks ${place}`,
      type: "scatter",
      name,
      clip: false,
      z: 5,
      data: marks.filter((mark) => mark.series === name && at.isSeen(mark.x, mark.y)).map(sign),
    }));
    return { seen: marks, series };
  },

  // ---------------------------------------------------------------- words, which cover neither lines nor signs nor each other

  mostWords: 40,

  // A raster of all that is drawn, in pixels from the upper left of the plot.
  rasterOf({ series, levels, edges }, at, marks, down) {
    const free = onnxperf.freePlaces(at.across, down);
    const place = (x, y) => [at.partX(x) * at.across, (1 - at.partY(y)) * down];
    const signs = [];
    const dot = ([x, y], radius) => {
      signs.push({ x: x - radius, y: y - radius, wide: 2 * radius, high: 2 * radius });
      free.take(signs.at(-1));
    };
    for (const each of series) {
      const points = each.xs.map((x, point) => (each.ys[point] === null ? null : place(x, each.ys[point])));
      points.forEach((point, number) => {
        if (!point) return;
        if (each.shape === "points" || !at.isPlain(each)) dot(point, at.sizeOf(each, number) / 2);
        const next = points[number + 1];
        if (each.shape === "points" || !next) return;
        const turn = each.shape === "line" ? null : each.shape === "area" ? next[0] : (point[0] + next[0]) / 2;
        const path = turn === null ? [point, next] : [point, [turn, point[1]], [turn, next[1]], next];
        path.slice(1).forEach((to, step) => free.takeLine(path[step], to));
      });
    }
    levels.forEach(({ y }) => free.takeLine([0, place(0, y)[1]], [at.across, place(0, y)[1]]));
    edges.forEach(({ x }) => free.takeLine([place(x, 0)[0], 0], [place(x, 0)[0], down]));
    marks.filter((mark) => at.isSeen(mark.x, mark.y)).forEach((mark) => dot(this.middleOf(mark, place(mark.x, mark.y)), 6));
    return { free, place, signs };
  },

  // The middle of a sign, whose tip may be its place.
  middleOf: ({ symbol }, [x, y]) => [x, y + ({ peak: -5, sampled: -5, down: -5, up: 5 }[symbol] ?? 0)],

  // Words of levels, then of marks, then names of points, those of large ones first: as in files.
  wordsOf(picture, look, at, marks, top, down) {
    const { series, levels } = picture;
    const high = 13;
    const size = (text) => onnxperf.textWidth(text, 11);
    const named = series.flatMap((each) => each.xs.map((x, point) => ({ each, x, point })).filter(({ point }) => each.labels[point] && each.ys[point] !== null));
    named.sort((one, other) => at.sizeOf(other.each, other.point) - at.sizeOf(one.each, one.point));
    const level = ({ free, place, signs }, { y, label }) => {
      const text = onnxperf.fitted(label, at.across, 11);
      const middle = place(0, y)[1];
      for (let x = at.across - size(text) - 2; x >= 0; x -= 8) {
        const box = [middle - 2 - high, middle + 2].map((boxY) => ({ x, y: boxY, wide: size(text), high })).find(free.isFree);
        if (box) return { text, box, name: "" };
      }
      return near({ free, signs }, [at.across - 1, middle], 0, text, "");
    };
    const near = ({ free, signs }, middle, radius, text, name) => {
      const isOther = (box) => Math.hypot(box.x + box.wide / 2 - middle[0], box.y + box.high / 2 - middle[1]) > radius;
      const box = text && free.nearest(middle, radius, size(text), high, signs.filter(isOther));
      return box ? { text, box, name, line: box.leads ? [middle, free.end(middle, box)] : null } : null;
    };
    const found = () => {
      const raster = this.rasterOf(picture, at, marks, down);
      const kept = [];
      const keep = (each) => {
        if (!each) return;
        if (each.line) raster.free.takeLine(...each.line);
        raster.free.take(each.box);
        raster.signs.push(each.box);
        kept.push(each);
      };
      levels.filter(({ label }) => label).forEach((each) => keep(level(raster, each)));
      for (const mark of marks.filter(({ text, x, y }) => text && at.isSeen(x, y)).slice(0, this.mostWords)) {
        keep(near(raster, this.middleOf(mark, raster.place(mark.x, mark.y)), 6, onnxperf.fitted(mark.text, at.width * 0.6, 11), mark.series));
      }
      for (const { each, x, point } of named.filter((one) => at.isSeen(one.x, one.each.ys[one.point])).slice(0, this.mostWords)) {
        keep(near(raster, raster.place(x, each.ys[point]), at.sizeOf(each, point) / 2, onnxperf.fitted(each.labels[point], at.width / 4, 11), each.name));
      }
      return kept;
    };
    const draw = ({ text, box, line }) => {
      const words = { type: "text", style: { text, x: at.left + box.x, y: top + box.y + box.high / 2, verticalAlign: "middle", fontSize: 11, fill: look.text } };
      const points = line?.map(([x, y]) => [at.left + x, top + y]);
      return { type: "group", children: [...(line ? [{ type: "polyline", shape: { points }, style: { stroke: look.dim, lineWidth: 0.7, fill: "none" } }] : []), words] };
    };
    const names = [...new Set(["", ...marks.map((mark) => mark.series), ...at.named])];
    return () => {
      const words = found();
      return names.map((name, place) => {
        const own = words.filter((each) => each.name === name);
        const renderItem = ({ dataIndex }) => (own[dataIndex] ? draw(own[dataIndex]) : null);
        return { id: `words ${place}`, type: "custom", name, silent: true, z: 6, tooltip: { show: false }, data: own.map(() => [at.view().x[0], at.view().y[0]]), renderItem };
      });
    };
  },

  // ---------------------------------------------------------------- spans, edges and levels

  behindOf(picture, look, at) {
    const { spans, levels, edges, series } = picture;
    const spanned = (name, place) => ({
      id: `span ${place}`,
      type: "line",
      name,
      color: look.colors[spans.find((span) => span.name === name).color],
      data: [],
      z: 0,
      markArea: { silent: true, z: 0, label: { position: "top", distance: 2, color: look.dim, fontSize: 11 }, data: spans.filter((span) => span.name === name).map((span) => this.areaOf(span, look, at)) },
    });
    const level = ({ y }) => ({ yAxis: at.alongY(y), lineStyle: { color: look.dim, type: "dashed" }, label: { show: false } });
    const upright = (x, lineStyle) => ({ xAxis: at.alongX(x), lineStyle, label: { show: false } });
    const keyed = this.keyedOf(series);
    const lit = keyed ? keyed.xs.filter((_, place) => onnxperf.isLit(keyed.keys[place])).slice(0, 50) : [];
    const lines = (id, z, data) => ({ id, type: "line", data: [], z, markLine: { silent: true, symbol: "none", z, data } });
    return {
      spans: () => [...new Set(spans.map((span) => span.name))].map(spanned),
      lines: [
        lines("edges", 1, edges.map((edge) => upright(edge.x, { color: look.colors[edge.color], type: edge.dash }))),
        lines("levels", 4, [...levels.map(level), ...lit.map((x) => upright(x, { color: look.text, type: "solid", width: 2 }))]),
      ],
    };
  },

  // A shaded stretch, with its words where it has room for them.
  areaOf(span, look, at) {
    const [axis, along] = span.across ? ["yAxis", at.alongY] : ["xAxis", at.alongX];
    const room = span.across ? Infinity : (Math.min(at.partX(span.high), 1) - Math.max(at.partX(span.low), 0)) * at.across;
    const isRoomy = Boolean(span.label) && room > onnxperf.textWidth(span.label, 11) + 4;
    const label = { show: isRoomy, formatter: span.label, ...(span.across ? { position: "insideRight" } : {}) };
    return [{ [axis]: along(span.low), itemStyle: { color: look.colors[span.color], opacity: 0.18 }, label }, { [axis]: along(span.high) }];
  },

  // ---------------------------------------------------------------- selection and zoom

  // The line or steps whose points stand for something: a click anywhere selects the nearest.
  keyedOf: (series) => series.find((each) => each.keys.length && each.shape !== "points"),

  follow({ series, zooms }, figure, redraw, at, parts, meanings) {
    const keyed = this.keyedOf(series);
    const known = new Set(series.flatMap((each) => each.keys).filter(Boolean));
    const reveal = (key) => {
      const places = series.flatMap((each) => each.xs.flatMap((x, point) => (each.keys[point] === key ? [[at.partX(x), at.partY(each.ys[point])]] : [])));
      const isSeen = ([x, y]) => x >= 0 && x <= 1 && (!at.isMap || (y >= 0 && y <= 1));
      if (!places.length || places.some(isSeen)) return;
      const [low, high] = at.view().x;
      const begin = low + (places[0][0] - 0.5) * (high - low);
      figure.view = at.isMap ? undefined : { x: [begin, begin + high - low], y: at.view().y };
    };
    onnxperf.follow(figure, {
      selected: (key, from) => {
        if (!known.has(key) && !known.has(figure.lit)) return;
        figure.lit = key;
        if (zooms && from !== figure) reveal(key);
        redraw(false);
      },
      zoomed: () => {
        const ranges = figure.chart.getOption().dataZoom;
        const range = (upright) => ranges.find(({ orient }) => (orient === "vertical") === upright);
        const ends = (upright, usual) => (range(upright) ? [range(upright).startValue, range(upright).endValue] : usual);
        figure.view = { x: ends(false, at.first.x), y: ends(true, at.first.y) };
        figure.chart.setOption(parts());
      },
      // What a sign means is no series that could be hidden.
      toggled: ({ name }) => { if (meanings.includes(name)) figure.chart.dispatchAction({ type: "legendSelect", name }); },
      pressed: (place) => {
        if (!keyed || !figure.chart.containPixel({ gridIndex: 0 }, place)) return;
        const [x] = figure.chart.convertFromPixel({ gridIndex: 0 }, place);
        const far = keyed.xs.map((value) => Math.abs(at.alongX(value) - x));
        const key = keyed.keys[far.indexOf(far.reduce((least, each) => Math.min(least, each)))];
        if (key) onnxperf.select(key, figure);
      },
    });
  },

  zoomOf(look, at) {
    const range = ([startValue, endValue]) => ({ startValue, endValue });
    const upright = onnxperf.inside({ id: "upright", yAxisIndex: 0, orient: "vertical", ...range(at.view().y) });
    const slider = onnxperf.slider(look, { id: "slider", xAxisIndex: 0, ...range(at.view().x) });
    return [onnxperf.inside({ id: "inside", xAxisIndex: 0, ...range(at.view().x) }), at.isMap ? upright : slider];
  },

  // ---------------------------------------------------------------- words and legend

  // A tooltip for the point below the pointer; where lines have no points to meet, for the nearest of each.
  tooltipOf({ series }, look, at) {
    const byAxis = series.some(at.isPlain) && series.every((each) => each.shape !== "points");
    const wordsOf = ({ data, seriesId }) => {
      if (data?.words !== undefined) return data.words;
      const each = series[Number(seriesId?.split(" ")[1])];
      const words = each?.words[data?.point] ?? "";
      return !words || at.named.length < 2 || words.includes(each.name) ? words : `${each.name}${byAxis ? ": " : "\n"}${words}`;
    };
    const formatter = (events) => [...new Set([events].flat().map(wordsOf).filter(Boolean))].slice(0, 12).join("\n");
    return byAxis ? { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: look.dim } }, formatter } : { trigger: "item", formatter };
  },

  meanings: { peak: ["peak"], "highest sample": ["sampled"], "not measured": ["cross"], "beyond the axis": ["up", "down"] },

  // Series, shades and signs, each name once.
  legendOf({ series, spans }, look, at, marks) {
    const { icons } = onnxperf;
    const iconOf = (each) => (each.shape === "points" ? icons.symbols[each.symbol % icons.symbols.length] : at.isPlain(each) ? icons[each.dash] : "inherit");
    const drawnAs = (each) => {
      const color = look.colors[each.color];
      return each.shape === "area"
        ? { icon: "rect", itemStyle: { color: onnxperf.mixed(color, look.back, 0.25), borderColor: color, borderWidth: 1.5, opacity: 1 } }
        : { icon: iconOf(each), itemStyle: { opacity: 1, borderWidth: 0 } };
    };
    const shades = [...new Set(spans.map((span) => span.name).filter(Boolean))].filter((name) => !at.named.includes(name));
    const signs = Object.entries(this.meanings).map(([name, symbols]) => [name, marks.filter((mark) => symbols.includes(mark.symbol))]).filter(([, found]) => found.length);
    const signed = ([name, found]) => {
      const { symbol, isEmpty } = this.signs[found[0].symbol];
      const isOne = new Set(found.map((mark) => mark.color)).size === 1;
      return { name, icon: symbol, itemStyle: this.inkOf(isEmpty, isOne ? look.colors[found[0].color] : look.dim, look) };
    };
    const entries = [
      ...at.named.map((name) => ({ name, ...drawnAs(series.find((each) => each.name === name)) })),
      ...shades.map((name) => ({ name, icon: "roundRect", itemStyle: { opacity: 0.5 } })),
      ...signs.map(signed),
    ];
    const { legend, height } = onnxperf.legend(look, entries.length > 1 ? entries : [], at.width);
    const meanings = signs.map(([name]) => name);
    return { option: legend, height, meanings, series: meanings.map((name) => ({ id: `meaning ${name}`, type: "scatter", name, data: [], silent: true })) };
  },
};
