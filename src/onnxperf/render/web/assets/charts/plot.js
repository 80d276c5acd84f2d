"use strict";
// Lines, steps, histograms and points over two axes, with bands, shaded spans, levels, edges and marks.
onnxperf.painters.plot = (picture, look, { width, figure, redraw }) => {
  const { x, y, series, marks, spans, levels, edges, zooms, until } = picture;
  const color = (place) => look.colors[place];
  const isMap = zooms && x.is_log && y.is_log;  // moved and enlarged in both directions
  const keyed = series.find((each) => each.keys.length && each.shape !== "points");
  const named = [...new Set(series.map((each) => each.name).filter(Boolean))];

  // ---------------------------------------------------------------- what is in view

  const first = { x: [x.low, zooms && until !== null ? until : x.high], y: [y.low, y.high] };
  const view = () => figure.view ?? first;
  const yWords = y.ticks.map(([, words]) => words);
  const left = Math.min(Math.max(onnxperf.widest(yWords), isMap ? 48 : 0), width * 0.38) + 14;
  const right = Math.max(20, Math.ceil(onnxperf.widest(x.ticks.slice(-1).map(([, words]) => words)) / 2) + 4);
  const xTicks = () => onnxperf.ticksOf(x, view().x, Math.min(Math.max(Math.floor((width - left - right) / 90), 2), 8));
  const xPart = (value) => {
    const [low, high, at] = x.is_log ? [...view().x, value].map(Math.log) : [...view().x, value];
    return (at - low) / (high - low);
  };
  const pixels = (one, other) => (Math.min(xPart(other), 1) - Math.max(xPart(one), 0)) * (width - left - right);

  // ---------------------------------------------------------------- series

  const symbols = ["circle", "rect", "diamond", "triangle", ...onnxperf.icons.symbols.slice(4)];
  const number = series.reduce((sum, each) => sum + (each.shape === "points" ? each.xs.length : 0), 0);
  const hasRoom = (each) => each.xs.length * 9 <= width;
  const isPlain = (each) => each.shape === "step" || each.shape === "area" || !each.words.length || !hasRoom(each);  // without symbols
  const inked = (isLit) => ({ borderColor: isLit ? look.text : look.back, borderWidth: isLit ? 3 : 0.5 });
  const namesOf = ({ labels }) => ({
    label: { show: labels.length > 0, position: "right", color: look.dim, opacity: 1, fontSize: 11, minMargin: 3, formatter: ({ data }) => onnxperf.fitted(labels[data.point] ?? "", width / 4, 11) },
    labelLayout: { hideOverlap: true },
  });
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
      value: [at, each.ys[point]],
      key: each.keys[point] ?? "",
      point,
      itemStyle: { opacity: onnxperf.isLit(each.keys[point]) ? 1 : 0.8, ...inked(onnxperf.isLit(each.keys[point])) },
      ...(each.sizes.length ? { symbolSize: 6 + 28 * Math.sqrt(each.sizes[point]) } : {}),
    })).filter(({ value }) => value[1] !== null),
    ...namesOf(each),
  });
  const line = (each, place) => ({
    id: `series ${place}`,
    type: "line",
    name: each.name,
    color: color(each.color),
    data: each.xs.map((at, point) => ({ value: [at, each.ys[point]], key: each.keys[point] ?? "", point })),
    step: { step: "middle", area: "end" }[each.shape] ?? false,
    symbol: isPlain(each) ? "none" : symbols[each.symbol % symbols.length],
    showSymbol: !isPlain(each),
    symbolSize: 8,
    sampling: each.xs.length > 4000 ? "lttb" : undefined,
    lineStyle: { width: 2, type: each.dash },
    areaStyle: each.shape === "area" ? { opacity: 0.12 } : undefined,
    emphasis: { disabled: isPlain(each) },
    z: 3,
    ...namesOf(each),
  });

  // Both ends of neighboring points, apart wherever one has none.
  const bandsOf = ({ xs, lows, highs }) => {
    const found = [[]];
    xs.forEach((at, point) => {
      if ((lows[point] ?? null) === null || (highs[point] ?? null) === null) found.push([]);
      else found.at(-1).push([at, Math.max(lows[point], y.is_log ? y.low : -Infinity), highs[point]]);
    });
    return found.filter((several) => several.length > 1);
  };
  const band = (each, several, place) => ({
    id: `band ${place}`,
    type: "custom",
    name: each.name,
    silent: true,
    clip: true,
    z: 2,
    tooltip: { show: false },
    data: several,
    encode: { x: 0, y: [1, 2] },
    itemStyle: { color: color(each.color) },
    renderItem: ({ dataIndex }, api) => {
      if (dataIndex) return null;
      const outline = [...several.map(([at, low]) => api.coord([at, low])), ...several.toReversed().map(([at, , high]) => api.coord([at, high]))];
      return { type: "polygon", shape: { points: outline }, style: { fill: color(each.color), opacity: 0.18 } };
    },
  });

  // ---------------------------------------------------------------- marks: signs with words, which a legend hides with their series

  const signs = {
    peak: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [11, 10], symbolOffset: [0, "-50%"] },
    sampled: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [11, 10], symbolOffset: [0, "-50%"], isEmpty: true },
    cross: { symbol: "path://M1,0 L5,4 L9,0 L10,1 L6,5 L10,9 L9,10 L5,6 L1,10 L0,9 L4,5 L0,1 Z", symbolSize: 10 },
    up: { symbol: "path://M0,9 L10,9 L5,0 Z", symbolSize: [10, 9], symbolOffset: [0, "50%"] },
    down: { symbol: "path://M0,0 L10,0 L5,9 Z", symbolSize: [10, 9], symbolOffset: [0, "-50%"] },
    diamond: { symbol: "diamond", symbolSize: 11 },
  };
  const isRight = (mark) => xPart(mark.x) * (width - left - right) + onnxperf.textWidth(mark.text, 11) + 16 > width - left;
  const sign = (mark) => {
    const { isEmpty, ...drawn } = signs[mark.symbol];
    const fill = isEmpty ? { opacity: 1, color: look.back, borderColor: color(mark.color), borderWidth: 1.5 } : { color: color(mark.color), opacity: 1 };
    return { value: [mark.x, mark.y], words: mark.words, ...drawn, itemStyle: fill, label: { show: Boolean(mark.text), position: isRight(mark) ? "left" : "right", formatter: mark.text } };
  };
  const signed = [...new Set(marks.map((mark) => mark.series))].map((name, place) => ({
    id: `marks ${place}`,
    type: "scatter",
    name,
    clip: false,
    z: 5,
    data: marks.filter((mark) => mark.series === name && xPart(mark.x) >= 0 && xPart(mark.x) <= 1).map(sign),
    label: { color: look.text, fontSize: 11, minMargin: 3, textBorderColor: look.back, textBorderWidth: 3 },
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
        const axis = span.across ? "yAxis" : "xAxis";
        const isRoomy = span.label && (span.across || pixels(span.low, span.high) > onnxperf.textWidth(span.label, 11) + 4);
        const label = { show: Boolean(isRoomy), formatter: span.label, ...(span.across ? { position: "insideRight" } : {}) };
        return [{ [axis]: span.low, itemStyle: { color: color(span.color), opacity: 0.18 }, label }, { [axis]: span.high }];
      }),
    },
  }));
  const sorted = levels.toSorted((one, other) => other.y - one.y);
  const height = picture.tall - 100;
  const isClose = (level, place) => place > 0 && ((sorted[place - 1].y - level.y) / (y.high - y.low)) * height < 16;
  const level = (each, place) => ({ yAxis: each.y, lineStyle: { color: look.dim, type: "dashed" }, label: { show: Boolean(each.label), formatter: each.label, position: isClose(each, place) ? "insideEndBottom" : "insideEndTop", color: look.text, textBorderColor: look.back, textBorderWidth: 3, fontSize: 11 } });
  const edge = (each) => ({ xAxis: each.x, lineStyle: { color: color(each.color), type: each.dash }, label: { show: false } });
  const lit = keyed ? keyed.keys.flatMap((key, place) => (onnxperf.isLit(key) ? [place] : [])).slice(0, 50) : [];
  const litLine = (place) => ({ xAxis: keyed.xs[place], lineStyle: { color: look.text, type: "solid", width: 2 }, label: { show: false } });
  const frame = { id: "lines", type: "line", data: [], z: 1, markLine: { silent: true, symbol: "none", z: 1, data: [...sorted.map(level), ...edges.map(edge), ...lit.map(litLine)] } };

  // ---------------------------------------------------------------- selection and zoom

  const nearest = (at) => keyed.xs.reduce((best, value, place) => (Math.abs(value - at) < Math.abs(keyed.xs[best] - at) ? place : best), 0);
  onnxperf.followKeys(figure, series.flatMap((each) => each.keys), redraw, {
    zoomed: () => {
      const ranges = figure.chart.getOption().dataZoom;
      const of = (isY) => ranges.find((range) => (range.orient === "vertical") === isY);
      const between = (range) => [range.startValue, range.endValue];
      figure.view = { x: between(of(false)), y: of(true) ? between(of(true)) : first.y };
      figure.chart.setOption({ xAxis: onnxperf.scale(look, x, xMore, xTicks()), ...(isMap ? { yAxis: yAxis() } : {}), series: spanned() });
    },
    pressed: (place) => {
      if (!keyed || !figure.chart.containPixel({ gridIndex: 0 }, place)) return;
      const key = keyed.keys[nearest(figure.chart.convertFromPixel({ gridIndex: 0 }, place)[0])];
      if (key) onnxperf.select(key, figure);
    },
  });
  const [startValue, endValue] = view().x;
  const range = figure.view || first.x[1] !== x.high ? { startValue, endValue } : {};
  const upright = figure.view ? { startValue: view().y[0], endValue: view().y[1] } : {};
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

  const { icons } = onnxperf;
  const iconOf = (each) => (each.shape === "points" ? icons.symbols[each.symbol % symbols.length] : isPlain(each) ? icons[each.dash] : "inherit");
  const shades = [...new Set(spans.map((span) => span.name).filter(Boolean))].filter((name) => !named.includes(name));
  const entries = [
    ...named.map((name) => ({ name, icon: iconOf(series.find((each) => each.name === name)), itemStyle: { opacity: 1, borderWidth: 0 } })),
    ...shades.map((name) => ({ name, icon: "roundRect", itemStyle: { opacity: 0.5 } })),
  ];
  const above = onnxperf.legend(look, entries.length > 1 || shades.length ? entries : [], width);
  const axisLine = { show: true, onZero: false, lineStyle: { color: look.line } };
  const xMore = { axisLine, splitLine: { show: isMap, lineStyle: { color: look.line } } };
  const labelled = spans.some((span) => span.label && !span.across) ? 15 : 0;
  const yAxis = () => onnxperf.scale(look, y, { axisLine, nameLocation: "end", nameGap: 10 + labelled, nameTextStyle: { color: look.dim, align: "left", padding: [0, 0, 0, 4 - left] }, axisLabel: { width: width * 0.38, overflow: "truncate" } }, isMap ? onnxperf.ticksOf(y, view().y) : y.ticks);
  return {
    extra: Math.max(above.height - 26, 0),
    grid: { left, right, top: above.height + labelled + (y.title ? 28 : 12), bottom: (x.title ? 46 : 26) + (zooms && !isMap ? 30 : 0) },
    legend: above.legend,
    tooltip: byAxis ? { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: look.dim } }, formatter } : { trigger: "item", formatter },
    xAxis: onnxperf.scale(look, x, xMore, xTicks()),
    yAxis: yAxis(),
    dataZoom: zooms ? dataZoom : [],
    series: [
      ...series.map((each, place) => (each.shape === "points" ? points(each, place) : line(each, place))),
      ...series.flatMap((each, place) => bandsOf(each).map((several, part) => band(each, several, `${place} ${part}`))),
      ...spanned(),
      frame,
      ...signed,
    ],
  };
};
