"use strict";
// Estimates with their intervals, one row each; the band around 1 is what does not matter.
onnxperf.charts.forest = (data, look, { width }) => {
  const marks = data.marks;
  const colour = (mark) => look.colors[mark.colour];
  const within = (value) => Math.min(Math.max(value, data.from), data.to);
  const places = { customValues: onnxperf.ticks(data.from, data.to, data.log) };
  const behind = (params, api) => {
    const { y, height } = params.coordSys;
    const at = (value) => api.coord([within(value), 0])[0];
    const [left, right] = [at(1 / (1 + (data.effect || 0))), at(1 + (data.effect || 0))];
    return {
      type: "group",
      children: [
        { type: "rect", shape: { x: left, y, width: right - left, height }, style: { fill: look.line, opacity: 0.35 } },
        { type: "line", shape: { x1: at(1), y1: y, x2: at(1), y2: y + height }, style: { stroke: look.dim, lineWidth: 1 } },
      ],
    };
  };
  return {
    grid: { left: 8, right: 20, top: 14, bottom: 44, containLabel: true },
    tooltip: { trigger: "item", formatter: (event) => `${event.name}\n${marks[event.dataIndex].words}` },
    xAxis: onnxperf.axis(look, data.axis, { type: data.log ? "log" : "value", min: data.from, max: data.to, axisTick: places, axisLabel: { color: look.dim, hideOverlap: true, formatter: (value) => String(value), ...places } }),
    yAxis: onnxperf.names(marks.map((mark) => mark.name), look, width),
    series: [
      { type: "custom", silent: true, z: 1, tooltip: { show: false }, data: [[1, 0]], renderItem: behind },
      {
        type: "custom",
        clip: true,
        z: 3,
        data: marks.map((mark, row) => ({ name: mark.name, key: mark.key, value: [mark.value, row, within(mark.low), within(mark.high)] })),
        encode: { x: [0, 2, 3], y: 1 },
        renderItem: (params, api) => {
          const row = api.value(1);
          const mark = marks[row];
          const [low, at, high] = [api.value(2), api.value(0), api.value(3)].map((value) => api.coord([value, row]));
          const stroke = { stroke: colour(mark), lineWidth: 2 };
          const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: stroke });
          const edge = (x, value) => (value === within(value) ? [line(x, at[1] - 5, x, at[1] + 5)] : []);
          const area = params.coordSys;
          const half = mark.label.length * 3.2;
          const x = Math.min(Math.max(at[0], area.x + half), area.x + area.width - half);
          return {
            type: "group",
            children: [
              line(low[0], at[1], high[0], at[1]),
              ...edge(low[0], mark.low),
              ...edge(high[0], mark.high),
              { type: "circle", shape: { cx: at[0], cy: at[1], r: 5 }, style: { fill: colour(mark) } },
              { type: "text", style: { text: mark.label, x, y: at[1] - 7, align: "center", verticalAlign: "bottom", fill: look.text, fontSize: 11, backgroundColor: look.back, padding: [0, 2] } },
            ],
          };
        },
      },
    ],
  };
};
