"use strict";
// Comparisons with their intervals, one row each; the band around 1 is what does not matter. What lies beyond the axis is an arrow at its
// end, with its value.
onnxperf.painters.forest = ({ marks, axis, effect }, look, { width, figure, redraw }) => {
  onnxperf.followKeys(figure, marks.map((mark) => mark.key), redraw);
  const names = marks.map((mark) => mark.name);
  const nameRoom = onnxperf.nameRoom(names, width);
  // Labels stand in a column of their own where the page is wide enough, else above their marks.
  const labelRoom = Math.max(0, ...marks.map((mark) => onnxperf.textWidth(mark.label, 11))) + 16;
  const isWide = labelRoom < width * 0.25;
  const within = (value) => Math.min(Math.max(value, axis.low), axis.high);
  const behind = ({ coordSys: { y, height } }, api) => {
    const at = (value) => api.coord([within(value), 0])[0];
    const [left, right] = [at(1 / (1 + (effect ?? 0))), at(1 + (effect ?? 0))];
    return {
      type: "group",
      children: [
        { type: "rect", shape: { x: left, y, width: right - left, height }, style: { fill: look.line, opacity: 0.35 } },
        { type: "line", shape: { x1: at(1), y1: y, x2: at(1), y2: y + height }, style: { stroke: look.dim, lineWidth: 1 } },
      ],
    };
  };
  const line = (x1, y1, x2, y2, stroke) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: { stroke, lineWidth: 2 } });
  const arrow = (x, y, towards, size, fill) => ({ type: "polygon", shape: { points: [[x, y], [x - towards * size * 1.4, y - size], [x - towards * size * 1.4, y + size]] }, style: { fill } });
  const above = (words, x, y, area) => {
    const text = onnxperf.fitted(words, area.width, 11);
    const half = onnxperf.textWidth(text, 11) / 2 + 2;
    return { text, x: Math.min(Math.max(x, area.x + half), area.x + area.width - half), y: y - 7, align: "center", verticalAlign: "bottom" };
  };
  const drawMark = ({ coordSys: area }, api) => {
    const row = api.value(1);
    const mark = marks[row];
    const color = look.colors[mark.color];
    const [low, at, high] = [mark.low, mark.value, mark.high].map((value) => api.coord([within(value), row]));
    const y = at[1];
    const isInside = mark.value === within(mark.value);
    // An end of the interval: a cap, unless the dot of its value hides it, or the head of an arrow where it lies beyond the axis.
    const end = (x, value) => (value !== within(value) ? [arrow(x, y, value > axis.high ? 1 : -1, 5, color)] : Math.abs(x - at[0]) > 6 ? [line(x, y - 5, x, y + 5, color)] : []);
    const beyond = (text, x, align) => (text ? [{ type: "text", style: { text, x, y: y - 6, align, verticalAlign: "bottom", fontSize: 11, fill: look.text } }] : []);
    const values = [...beyond(mark.below, area.x, "left"), ...beyond(mark.above, area.x + area.width, "right")];
    const limit = mark.limit === null || mark.limit !== within(mark.limit) ? [] : [line(api.coord([mark.limit, row])[0], y - 9, api.coord([mark.limit, row])[0], y + 9, look.text)];
    const label = isWide
      ? { text: mark.label, x: area.x + area.width + 12, y, align: "left", verticalAlign: "middle" }
      : above(mark.label, at[0], y, area);
    const isLit = onnxperf.isLit(mark.key);
    return {
      type: "group",
      children: [
        ...(mark.low < mark.high ? [line(low[0], y, high[0], y, color), ...end(low[0], mark.low), ...end(high[0], mark.high)] : []),
        ...limit,
        isInside ? { type: "circle", shape: { cx: at[0], cy: y, r: 5 }, style: { fill: color, stroke: isLit ? look.text : undefined, lineWidth: 2 } } : arrow(at[0], y, mark.value > axis.high ? 1 : -1, 7, color),
        { type: "text", style: { ...label, fill: look.text, fontSize: 11, fontWeight: isLit ? 600 : 400, stroke: look.back, lineWidth: 3 } },
        ...(isWide ? values : []),
      ],
    };
  };
  return {
    grid: { left: nameRoom + 14, right: isWide ? labelRoom + 12 : 24, top: 14, bottom: 46 },
    tooltip: { trigger: "item", formatter: ({ dataIndex }) => `${names[dataIndex]}\n${marks[dataIndex].words}` },
    xAxis: onnxperf.scale(look, axis),
    yAxis: onnxperf.nameAxis(look, names, nameRoom, { axisLine: { show: false } }),
    series: [
      { id: "behind", type: "custom", silent: true, z: 1, tooltip: { show: false }, data: [[1, 0]], renderItem: behind },
      {
        id: "marks",
        type: "custom",
        z: 3,
        data: marks.map((mark, row) => ({ key: mark.key, value: [within(mark.value), row, within(mark.low), within(mark.high)] })),
        encode: { x: [0, 2, 3], y: 1 },
        renderItem: drawMark,
      },
    ],
  };
};
