"use strict";
// Lines, steps, histograms and points over two axes, with bands, shaded spans, levels, edges and marks.
onnxperf.painters.plot = (picture, look, { width, figure, redraw }) => {
  const { x, y, series, marks, spans, levels, edges, zooms, until } = picture;
  const color = (place) => look.colors[place];
  const isMap = zooms && x.is_log && y.is_log;  // moved and enlarged in both directions
  const keyed = series.find((each) => each.keys.length && each.shape !== "points");
  const labelRoom = spans.some((span) => span.label && !span.across) ? 15 : 0;
  const named = [...new Set(series.map((each) => each.name).filter(Boolean))];

  // ---------------------------------------------------------------- places: a logarithmic axis is a linear one of logarithms, as zooming needs it

  const along = (axis) => (value) => (value === null || (axis.is_log && value <= 0) ? null : axis.is_log ? Math.log10(value) : value);
  const back = (axis) => (value) => (axis.is_log ? 10 ** value : value);
  const [alongX, alongY] = [along(x), along(y)];
  const first = { x: [x.low, zooms && until !== null ? until : x.high].map(alongX), y: [y.low, y.high].map(alongY) };
  const view = () => figure.view ?? first;
  const part = ([low, high], at) => (at - low) / (high - low);
  const partX = (value) => part(view().x, alongX(value));
  const partY = (value) => part(view().y, alongY(value));

  const left = Math.min(Math.max(onnxperf.widest(y.ticks.map(([, words]) => words)), isMap ? 48 : 0), width * 0.38) + 14;
  const right = onnxperf.areNames(x) ? 24 : Math.max(20, Math.ceil(onnxperf.widest(x.ticks.slice(-1).map(([, words]) => words)) / 2) + 4);
  const [across, down] = [width - left - right, picture.tall - 110];  // about as many pixels
  const axisLine = { show: true, onZero: false, lineStyle: { color: look.line } };
  const axisOf = (axis, range, most, more) => {
    const ticks = zooms ? onnxperf.ticksOf(axis, range.map(back(axis)), most) : axis.ticks;
    const straight = { ...axis, is_log: false, low: along(axis)(axis.low), high: along(axis)(axis.high) };
    return onnxperf.scale(look, straight, { axisLine, ...more }, ticks.map(([at, words]) => [along(axis)(at), axis === x ? onnxperf.fitted(words, nameRoom) : words]));
  };
  // Names of places lean where there is no room for them next to each other.
  const names = onnxperf.areNames(x) ? x.ticks.map(([, words]) => words) : [];
  const pitch = Math.min(...x.ticks.slice(1).map(([at], place) => (alongX(at) - alongX(x.ticks[place][0])) / (alongX(x.high) - alongX(x.low)))) * across;
  const leans = names.length > 0 && onnxperf.widest(names) + 8 > pitch;
  const nameRoom = leans ? Math.min(Math.ceil(onnxperf.widest(names)), 140, (left + partX(x.ticks[0][0]) * across) / 0.8 + 20) : 1e4;
  const lean = leans ? Math.ceil(nameRoom * 0.6) : 0;
  const leaning = leans ? { axisLabel: { rotate: 36, hideOverlap: pitch < 15 }, nameGap: 28 + lean } : {};
  const xAxis = () => axisOf(x, view().x, Math.min(Math.max(Math.floor(across / 90), 2), 8), { splitLine: { show: isMap, lineStyle: { color: look.line } }, ...leaning });
  const yAxis = () => axisOf(y, view().y, 6, { nameLocation: "end", nameGap: 14 + labelRoom, nameTextStyle: { color: look.dim, align: "left", padding: [0, 0, 0, 4 - left] }, axisLabel: { width: width * 0.38, overflow: "truncate" } });

  // ---------------------------------------------------------------- series

  const { icons } = onnxperf;
  const symbols = ["circle", "rect", "diamond", ...icons.symbols.slice(3)];
  const number = series.reduce((sum, each) => sum + (each.shape === "points" ? each.xs.length : 0), 0);
  const hasRoom = (each) => each.xs.length * 9 <= width;
  const isPlain = (each) => each.shape === "step" || each.shape === "area" || !each.words.length || !hasRoom(each);  // without symbols
  const inked = (isLit) => ({ borderColor: isLit ? look.text : look.back, borderWidth: isLit ? 3 : 0.5 });
  // Words right of a place, or left of it where they would leave the chart.
  const isRight = (at, words) => partX(at) * across + onnxperf.textWidth(words, 11) + 16 > width - left;
  const written = (at, words) => ({ show: Boolean(words), position: isRight(at, words) ? "left" : "right", formatter: words });
  const nameOf = (each, point) => (each.labels[point] ? { label: written(each.xs[point], onnxperf.fitted(each.labels[point], width / 4, 11)) } : {});
  const asName = { label: { show: false, color: look.dim, opacity: 1, fontSize: 11, lineHeight: 15 }, labelLayout: { hideOverlap: true } };
  const points = (each, place) => ({
    id: `series ${place}`,
    type: "scatter",
    name: each.name,
    color: color(each.color),
    symbol: symbols[each.symbol % symbols.length],
    symbolSize: number > 1500 ? 4 : number > 300 ? 6 : 9,
    clip: true,
    z: 3,
    data: each.xs.map((at, point) => ({
      value: [alongX(at), alongY(each.ys[point])],
      key: each.keys[point] ?? "",
      point,
      ...nameOf(each, point),
      itemStyle: { opacity: onnxperf.isLit(each.keys[point]) ? 1 : 0.8, ...inked(onnxperf.isLit(each.keys[point])) },
      ...(each.sizes.length ? { symbolSize: 6 + 28 * Math.min(width / 700, 1) * Math.sqrt(each.sizes[point]) } : {}),
    })).filter(({ value }) => value[1] !== null),
    ...asName,
  });
  const line = (each, place) => ({
    id: `series ${place}`,
    type: "line",
    name: each.name,
    color: color(each.color),
    data: each.xs.map((at, point) => ({ value: [alongX(at), alongY(each.ys[point])], key: each.keys[point] ?? "", point, ...nameOf(each, point) })),
    step: { step: "middle", area: "end" }[each.shape] ?? false,
    symbol: isPlain(each) ? "none" : symbols[each.symbol % symbols.length],
    showSymbol: !isPlain(each),
    symbolSize: 8,
    sampling: each.xs.length > 4000 ? "lttb" : undefined,
    lineStyle: { width: 2, type: each.dash },
    areaStyle: each.shape === "area" ? { opacity: 0.12 } : undefined,
    emphasis: { disabled: isPlain(each) },
    z: 3,
    ...asName,
  });

  // Intervals: a band behind the points of a line, apart wherever one has none; of few points also a line for each.
  const few = 60;
  const intervals = (each, place) => {
    const ends = each.xs.map((at, point) => [at, each.lows[point] ?? null, each.highs[point] ?? null].map((value, side) => (side ? alongY(value) ?? (value === null ? null : alongY(y.low)) : alongX(value))));
    const isKnown = ([, low, high]) => low !== null && high !== null;
    const runs = [[]];
    for (const point of ends) { if (isKnown(point)) runs.at(-1).push(point); else runs.push([]); }
    const fill = color(each.color);
    const draw = ({ dataIndex }, api) => {
      const run = runs[dataIndex];
      const outline = [...run.map(([at, low]) => api.coord([at, low])), ...run.toReversed().map(([at, , high]) => api.coord([at, high]))];
      const band = { type: "polygon", shape: { points: outline }, style: { fill, opacity: 0.18 } };
      const upright = ([at, low, high]) => {
        const [[x1, y1], [x2, y2]] = [api.coord([at, low]), api.coord([at, high])];
        return { type: "line", shape: { x1, y1, x2, y2 }, style: { stroke: fill, opacity: 0.6, lineWidth: 1 } };
      };
      return { type: "group", children: [...(each.shape === "points" || run.length < 2 ? [] : [band]), ...(each.xs.length <= few ? run.map(upright) : [])] };
    };
    return { id: `intervals ${place}`, type: "custom", name: each.name, silent: true, clip: true, z: 2, tooltip: { show: false }, itemStyle: { color: fill }, data: runs.map((run) => run[0] ?? [null, null, null]), encode: { x: 0, y: [1, 2] }, renderItem: draw };
  };

  // ---------------------------------------------------------------- marks: signs with words, which a legend hides with their series

  // Points beyond the axis are arrows at its end.
  const atEdge = (mark) => (mark.y > y.high ? { ...mark, y: y.high, symbol: "up" } : mark.y < y.low ? { ...mark, y: y.low, symbol: "down" } : mark);
  const beyond = series.flatMap((each) => (each.shape === "line" || each.shape === "points" ? each.ys.flatMap((value, point) => (value === null || (value >= y.low && value <= y.high) ? [] : [{ x: each.xs[point], y: value, words: each.words[point] ?? "", symbol: "", color: each.color, text: onnxperf.tick(Number((value / y.scale).toPrecision(3))), series: each.name }])) : []));
  const signed = [...marks, ...beyond].map(atEdge);
  const signs = {
    peak: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [11, 10], symbolOffset: [0, "-50%"] },
    sampled: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [11, 10], symbolOffset: [0, "-50%"], isEmpty: true },
    cross: { symbol: "path://M1,0 L5,4 L9,0 L10,1 L6,5 L10,9 L9,10 L5,6 L1,10 L0,9 L4,5 L0,1 Z", symbolSize: 10 },
    up: { symbol: "path://M0,9 L10,9 L5,0 Z", symbolSize: [10, 9], symbolOffset: [0, "50%"] },
    down: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [10, 9], symbolOffset: [0, "-50%"] },
    diamond: { symbol: "diamond", symbolSize: 11 },
  };
  // Words must not stand on the next sign.
  const isFree = (mark) => signed.every((other) => {
    const [beside, above] = [(partX(other.x) - partX(mark.x)) * across, (partY(other.y) - partY(mark.y)) * down];
    return other === mark || Math.abs(above) > 13 || beside * (isRight(mark.x, mark.text) ? -1 : 1) < 0 || Math.abs(beside) > onnxperf.textWidth(mark.text, 11) + 18;
  });
  const sign = (mark) => {
    const { isEmpty, ...drawn } = signs[mark.symbol];
    const fill = isEmpty ? { opacity: 1, color: look.back, borderColor: color(mark.color), borderWidth: 1.5 } : { color: color(mark.color), opacity: 1 };
    const words = signed.length < 300 && isFree(mark) ? onnxperf.fitted(mark.text, width * 0.45, 11) : "";
    return { value: [alongX(mark.x), alongY(mark.y)], words: mark.words, ...drawn, itemStyle: fill, label: written(mark.x, words) };
  };
  const isSeen = (mark) => partX(mark.x) >= 0 && partX(mark.x) <= 1 && partY(mark.y) >= 0 && partY(mark.y) <= 1;
  const shownSigns = () => [...new Set(signed.map((mark) => mark.series))].map((name, place) => ({
    id: `marks ${place}`,
    type: "scatter",
    name,
    clip: false,
    z: 5,
    data: signed.filter((mark) => mark.series === name && isSeen(mark)).map(sign),
    label: { color: look.text, fontSize: 11, lineHeight: 15, textBorderColor: look.back, textBorderWidth: 3 },
    labelLayout: { hideOverlap: true },
  }));

  // ---------------------------------------------------------------- spans, levels and edges

  const spanned = () => [...new Set(spans.map((span) => span.name))].map((name, place) => ({
    id: `span ${place}`,
    type: "line",
    name,
    color: color(spans.find((span) => span.name === name).color),
    data: [],
    z: 0,
    markArea: {
      silent: true,
      z: 0,
      label: { position: "top", distance: 2, color: look.dim, fontSize: 11 },
      data: spans.filter((span) => span.name === name).map((span) => {
        const [axis, to] = span.across ? ["yAxis", alongY] : ["xAxis", alongX];
        const isRoomy = span.label && (span.across || (Math.min(partX(span.high), 1) - Math.max(partX(span.low), 0)) * across > onnxperf.textWidth(span.label, 11) + 4);
        const label = { show: Boolean(isRoomy), formatter: span.label, ...(span.across ? { position: "insideRight" } : {}) };
        return [{ [axis]: to(span.low), itemStyle: { color: color(span.color), opacity: 0.18 }, label }, { [axis]: to(span.high) }];
      }),
    },
  }));
  const sorted = levels.toSorted((one, other) => other.y - one.y);
  const isClose = (level, place) => place > 0 && (partY(sorted[place - 1].y) - partY(level.y)) * down < 16;
  const level = (each, place) => ({ yAxis: alongY(each.y), lineStyle: { color: look.dim, type: "dashed" }, label: { show: Boolean(each.label), formatter: each.label, position: isClose(each, place) ? "insideEndBottom" : "insideEndTop", color: look.text, textBorderColor: look.back, textBorderWidth: 3, fontSize: 11 } });
  const edge = (each) => ({ xAxis: alongX(each.x), lineStyle: { color: color(each.color), type: each.dash }, label: { show: false } });
  const lit = keyed ? keyed.keys.flatMap((key, place) => (onnxperf.isLit(key) ? [place] : [])).slice(0, 50) : [];
  const litLine = (place) => ({ xAxis: alongX(keyed.xs[place]), lineStyle: { color: look.text, type: "solid", width: 2 }, label: { show: false } });
  const lines = (id, z, data) => ({ id, type: "line", data: [], z, markLine: { silent: true, symbol: "none", z, data } });

  // ---------------------------------------------------------------- selection and zoom

  const nearest = (at) => keyed.xs.map(alongX).reduce((best, value, place, all) => (Math.abs(value - at) < Math.abs(all[best] - at) ? place : best), 0);
  const reveal = (key) => {
    const places = series.flatMap((each) => each.xs.flatMap((at, point) => (each.keys[point] === key ? [[partX(at), partY(each.ys[point])]] : [])));
    const isSeen = ([at, above]) => at >= 0 && at <= 1 && (!isMap || (above >= 0 && above <= 1));
    if (!places.length || places.some(isSeen)) return;
    const [low, high] = view().x;
    const begin = low + (places[0][0] - 0.5) * (high - low);
    figure.view = isMap ? undefined : { x: [begin, begin + high - low], y: view().y };
  };
  const known = new Set(series.flatMap((each) => each.keys).filter(Boolean));
  onnxperf.follow(figure, {
    selected: (key, from) => {
      if (!known.has(key) && !known.has(figure.lit)) return;
      figure.lit = key;
      if (zooms && from !== figure) reveal(key);
      redraw(false);
    },
    zoomed: () => {
      const ranges = figure.chart.getOption().dataZoom;
      const of = (isY) => ranges.find((range) => (range.orient === "vertical") === isY);
      const between = (range) => [range.startValue, range.endValue];
      figure.view = { x: between(of(false)), y: of(true) ? between(of(true)) : first.y };
      figure.chart.setOption({ xAxis: xAxis(), ...(isMap ? { yAxis: yAxis() } : {}), series: [...spanned(), ...shownSigns()] });
    },
    // What a sign means is no series that could be hidden.
    toggled: ({ name }) => { if (meanings.some(([meaning]) => meaning === name)) figure.chart.dispatchAction({ type: "legendSelect", name }); },
    pressed: (place) => {
      if (!keyed || !figure.chart.containPixel({ gridIndex: 0 }, place)) return;
      const key = keyed.keys[nearest(figure.chart.convertFromPixel({ gridIndex: 0 }, place)[0])];
      if (key) onnxperf.select(key, figure);
    },
  });
  const [startValue, endValue] = view().x;
  const range = { startValue, endValue };
  const upright = { startValue: view().y[0], endValue: view().y[1] };
  const dataZoom = [
    onnxperf.inside({ id: "inside", xAxisIndex: 0, ...range }),
    ...(isMap ? [onnxperf.inside({ id: "upright", yAxisIndex: 0, orient: "vertical", ...upright })] : [onnxperf.slider(look, { id: "slider", xAxisIndex: 0, ...range })]),
  ];

  // ---------------------------------------------------------------- words

  const byAxis = series.some(isPlain) && series.every((each) => each.shape !== "points");
  const wordsOf = (event) => {
    if (event.data?.words !== undefined) return event.data.words;
    const each = series[Number(event.seriesId?.split(" ")[1])];
    const words = each?.words[event.data?.point] ?? "";
    return !words || named.length < 2 || words.includes(each.name) ? words : byAxis ? `${each.name}: ${words}` : `${each.name}\n${words}`;
  };
  const most = 12;
  const formatter = (events) => [...new Set([events].flat().map(wordsOf).filter(Boolean))].slice(0, most).join("\n");

  // ---------------------------------------------------------------- all of it

  const iconOf = (each) => (each.shape === "points" ? icons.symbols[each.symbol % symbols.length] : isPlain(each) ? icons[each.dash] : "inherit");
  const meanings = Object.entries({ peak: ["peak"], "highest sample": ["sampled"], "not measured": ["cross"], "beyond the axis": ["up", "down"] }).flatMap(([name, of]) => {
    const found = signed.filter((mark) => of.includes(mark.symbol));
    return found.length ? [[name, found[0].symbol, new Set(found.map((mark) => mark.color)).size === 1 ? color(found[0].color) : look.dim]] : [];
  });
  const shades = [...new Set(spans.map((span) => span.name).filter(Boolean))].filter((name) => !named.includes(name));
  const entries = [
    ...named.map((name) => ({ name, icon: iconOf(series.find((each) => each.name === name)), itemStyle: { opacity: 1, borderWidth: 0 } })),
    ...shades.map((name) => ({ name, icon: "roundRect", itemStyle: { opacity: 0.5 } })),
    ...meanings.map(([name, symbol, of]) => ({ name, icon: signs[symbol].icon ?? signs[symbol].symbol, itemStyle: signs[symbol].isEmpty ? { color: look.back, borderColor: of, borderWidth: 1.5, opacity: 1 } : { color: of, opacity: 1 } })),
  ];
  const above = onnxperf.legend(look, entries.length > 1 ? entries : [], width);
  return {
    extra: Math.max(above.height - 26, 0) + lean,
    grid: { left, right, top: above.height + labelRoom + (y.title ? 32 : 12), bottom: lean + (x.title ? 46 : 26) + (zooms && !isMap ? 30 : 0) },
    legend: above.legend,
    tooltip: byAxis ? { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: look.dim } }, formatter } : { trigger: "item", formatter },
    xAxis: xAxis(),
    yAxis: yAxis(),
    dataZoom: zooms ? dataZoom : [],
    series: [
      ...series.map((each, place) => (each.shape === "points" ? points(each, place) : line(each, place))),
      ...series.flatMap((each, place) => (each.lows.length && each.highs.length ? [intervals(each, place)] : [])),
      ...spanned(),
      lines("edges", 1, edges.map(edge)),
      lines("levels", 4, [...sorted.map(level), ...lit.map(litLine)]),
      ...shownSigns(),
      ...meanings.map(([name]) => ({ id: `meaning ${name}`, type: "scatter", name, data: [], silent: true })),
    ],
  };
};
