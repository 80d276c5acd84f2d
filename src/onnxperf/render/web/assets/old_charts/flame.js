"use strict";
// Frames of a tree, callers above what they call, as wide as their time; a click enlarges a frame to the whole width.
onnxperf.charts.flame = (data, look, { width, figure, redraw }) => {
  const keyOf = (frame) => data.functions[data.function[frame]].key;
  const known = new Set(data.functions.map((each) => each.key));
  const deepest = Math.max(...data.depth) + 1;
  const zoomTo = (frame) => figure.chart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, startValue: data.start[frame], endValue: data.start[frame] + data.width[frame] });
  const redrawn = (key) => { if (known.has(key) || known.has(figure.lit)) { figure.lit = key; figure.chart.setOption({ series: [{ id: "frames", data: figure.items() }] }); } };
  onnxperf.follow(figure, { zoomed: () => { const range = figure.chart.getOption().dataZoom[0]; figure.view = [range.startValue, range.endValue]; figure.chart.setOption({ series: [{ id: "frames", data: figure.items() }] }); }, selected: redrawn });
  if (!figure.zoomsTo) {
    figure.zoomsTo = zoomTo;
    queueMicrotask(() => figure.chart.on("click", (event) => { if (event.data?.frame !== undefined) zoomTo(event.data.frame); }));
  }
  const view = () => figure.view ?? [0, data.whole];
  let shown = [];
  // Frames narrower than a pixel cannot be seen.
  figure.items = () => {
    const [from, to] = view();
    const pixel = (to - from) / Math.max(width, 200);
    shown = data.start.flatMap((start, frame) => (data.width[frame] >= pixel / 2 && start < to && start + data.width[frame] > from ? [frame] : []));
    return shown.map((frame) => ({ value: [data.start[frame], data.start[frame] + data.width[frame], data.depth[frame]], frame, key: keyOf(frame) }));
  };
  const draw = (params, api) => {
    const frame = shown[params.dataIndex];
    if (frame === undefined) return null;
    const [left, top] = api.coord([data.start[frame], data.depth[frame]]);
    const right = api.coord([data.start[frame] + data.width[frame], data.depth[frame]])[0];
    const height = api.size([0, 1])[1];
    const shape = echarts.graphic.clipRectByRect({ x: left, y: top, width: Math.max(right - left, 1), height: height - 1 }, params.coordSys);
    if (!shape) return null;
    const each = data.functions[data.function[frame]];
    const fill = look.colors[each.colour];
    const isLit = each.key === onnxperf.selected;
    const isPale = known.has(onnxperf.selected) && !isLit;
    const roomy = shape.width > 26;
    return {
      type: "rect",
      shape,
      style: { fill, opacity: isPale ? 0.4 : 0.9, stroke: isLit ? look.text : look.back, lineWidth: isLit ? 2 : 0.7 },
      textConfig: roomy ? { position: "insideLeft" } : undefined,
      textContent: roomy ? { style: { text: each.name, fill: isPale ? look.text : onnxperf.ink(fill), fontSize: 11, width: shape.width - 8, overflow: "truncate" } } : undefined,
    };
  };
  const [startValue, endValue] = view();
  const rows = Math.ceil(data.kinds.reduce((sum, each) => sum + each.name.length * 7 + 48, 0) / width);
  return {
    grid: { left: 4, right: 4, top: 8 + 24 * rows, bottom: 46 },
    legend: { top: 0, left: 0, textStyle: { color: look.text }, selectedMode: false, data: data.kinds.map((each) => each.name) },
    tooltip: { trigger: "item", formatter: (event) => (event.data?.frame === undefined ? "" : `${data.functions[data.function[event.data.frame]].where}\n${data.words[event.data.frame]}`) },
    xAxis: onnxperf.axis(look, data.axis, { type: "value", min: 0, max: data.whole, splitLine: { show: false }, axisLabel: { color: look.dim, hideOverlap: true, formatter: (value) => String(Number(value.toPrecision(4))) } }),
    yAxis: { type: "value", min: 0, max: deepest, inverse: true, show: false },
    dataZoom: [onnxperf.inside({ id: "inside", startValue, endValue, minValueSpan: data.whole / 1e4 })],
    series: [
      { id: "frames", type: "custom", name: "", renderItem: draw, encode: { x: [0, 1], y: 2 }, clip: true, data: figure.items() },
      ...data.kinds.map((each) => ({ id: `kind ${each.name}`, type: "bar", name: each.name, color: look.colors[each.colour], data: [] })),
    ],
  };
};
