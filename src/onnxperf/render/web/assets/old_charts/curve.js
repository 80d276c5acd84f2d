"use strict";
// Curves over time or over nodes: steps or lines, levels across, shaded spans, and marks with words.
onnxperf.charts.curve = (data, look, { width, figure, redraw }) => {
  const keys = data.keys || [];
  const zooms = data.curves.some((curve) => curve.xs.length > 60) || data.until !== undefined;
  const nearest = (curve, x) => curve.xs.reduce((best, at, place) => (Math.abs(at - x) < Math.abs(curve.xs[best] - x) ? place : best), 0);
  const clicked = (event) => {
    const point = figure.chart.convertFromPixel({ gridIndex: 0 }, [event.offsetX, event.offsetY]);
    if (figure.chart.containPixel({ gridIndex: 0 }, [event.offsetX, event.offsetY])) onnxperf.select(keys[nearest(data.curves[0], point[0])], figure);
  };
  if (keys.length && !figure.handlers) queueMicrotask(() => figure.chart.getZr().on("click", clicked));
  onnxperf.follow(figure, { selected: (key) => { if (keys.includes(key) || keys.includes(figure.lit)) { figure.lit = key; redraw(false); } } });
  const lit = keys.flatMap((key, place) => (key && key === onnxperf.selected ? [place] : [])).slice(0, 50);
  const level = (each) => ({ yAxis: each.y, name: each.name, lineStyle: { color: look.dim, type: "dashed" }, label: { show: Boolean(each.shown), formatter: each.name, position: "insideEndTop", color: look.text, backgroundColor: look.back, padding: 2 } });
  const line = (place) => ({ xAxis: data.curves[0].xs[place], lineStyle: { color: look.colors[1], type: "solid", width: 2 }, label: { show: false } });
  const span = (each) => [{ xAxis: each.from, name: each.name, itemStyle: { color: look.colors[each.colour], opacity: 0.18 } }, { xAxis: each.to }];
  const lines = data.curves.map((curve, number) => ({
    id: `curve ${number}`,
    type: "line",
    name: curve.name,
    color: look.colors[curve.colour],
    step: data.step ? "middle" : false,
    lineStyle: { type: ["solid", "dashed", "dotted"][number % 3], width: 2 },
    showSymbol: Boolean(curve.dots) && curve.xs.length <= 400,
    symbolSize: 6,
    sampling: curve.xs.length > 2000 ? "lttb" : undefined,
    data: curve.xs.map((x, place) => [x, curve.ys[place]]),
    markLine: number === 0 ? { silent: true, symbol: "none", data: [...(data.levels || []).map(level), ...lit.map(line)] } : undefined,
    markArea: number === 0 && data.spans ? { silent: true, label: { show: false }, data: data.spans.map(span) } : undefined,
  }));
  const marks = {
    id: "marks",
    type: "scatter",
    name: data.mark || "peak",
    symbol: "diamond",
    symbolSize: 11,
    color: look.colors[1],
    z: 5,
    data: (data.marks || []).map((mark) => ({ value: [mark.x, mark.y], words: mark.words })),
    label: { show: false },
  };
  const shades = (data.shades || []).map(({ name, colour }) => ({ id: `shade ${name}`, type: "bar", name, color: look.colors[colour], data: [] }));
  const words = (event) => event.data.words || data.curves[event.seriesIndex]?.words?.[event.dataIndex] || "";
  const rows = width < 520 ? Math.ceil((lines.length + shades.length + 1) / 2) : 1;
  const until = data.until !== undefined ? { startValue: data.curves[0].xs[0], endValue: data.until } : {};
  return {
    grid: { left: 8, right: 20, top: 26 + 22 * rows, bottom: zooms ? 76 : 46, containLabel: true },
    legend: { top: 0, left: 0, type: width < 520 ? "plain" : "scroll", textStyle: { color: look.text }, selectedMode: false, data: [...lines, ...(marks.data.length ? [marks] : []), ...shades].map((each) => each.name) },
    tooltip: { trigger: "axis", axisPointer: { type: "line", lineStyle: { color: look.dim } }, formatter: (events) => [...new Set(events.map(words).filter(Boolean))].slice(0, 12).join("\n") },
    xAxis: onnxperf.axis(look, data.x, { type: "value", min: "dataMin", max: "dataMax", splitLine: { show: false } }),
    yAxis: onnxperf.axis(look, data.y, { type: "value", scale: !data.zero, nameLocation: "end", nameGap: 8, nameTextStyle: { color: look.dim, align: "right" } }),
    dataZoom: zooms ? [onnxperf.inside({ id: "inside", ...until }), { id: "slider", ...until, type: "slider", height: 18, bottom: 6, filterMode: "none", showDetail: false }] : [],
    series: [...lines, marks, ...shades],
  };
};
