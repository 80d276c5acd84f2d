"use strict";
// Estimates with their intervals, one row each; the band around 1 is what does not matter.
onnxperf.charts.forest = (data, look, { width }) => {
  const marks = data.marks;
  const ends = marks.flatMap((mark) => [mark.low, mark.high, 1]);
  const span = Math.max(...ends) / Math.min(...ends);
  const colour = (mark) => look.colours[mark.colour];
  return {
    grid: { left: 8, right: 24, top: 12, bottom: 44, containLabel: true },
    tooltip: { trigger: "item", formatter: (event) => `${event.name}\n${marks[event.dataIndex].words}` },
    xAxis: onnxperf.axis(look, data.axis, { type: span > 5 ? "log" : "value", scale: true, min: (range) => range.min / 1.02, max: (range) => range.max * 1.02, axisLabel: { color: look.dim, hideOverlap: true, formatter: (value) => String(Number(value.toPrecision(3))) } }),
    yAxis: onnxperf.names(marks.map((mark) => mark.name), look, width),
    series: [
      {
        type: "custom",
        data: marks.map((mark, row) => ({ name: mark.name, value: [mark.value, row, mark.low, mark.high] })),
        encode: { x: [0, 2, 3], y: 1 },
        renderItem: (_, api) => {
          const row = api.value(1);
          const [low, at, high] = [api.value(2), api.value(0), api.value(3)].map((value) => api.coord([value, row]));
          const stroke = { stroke: colour(marks[row]), lineWidth: 2 };
          const line = (x1, y1, x2, y2) => ({ type: "line", shape: { x1, y1, x2, y2 }, style: stroke });
          return {
            type: "group",
            children: [
              line(low[0], at[1], high[0], at[1]),
              line(low[0], at[1] - 5, low[0], at[1] + 5),
              line(high[0], at[1] - 5, high[0], at[1] + 5),
              { type: "circle", shape: { cx: at[0], cy: at[1], r: 5 }, style: { fill: colour(marks[row]) } },
            ],
          };
        },
        markArea: { silent: true, itemStyle: { color: look.line, opacity: 0.35 }, data: [[{ xAxis: 1 / (1 + data.effect) }, { xAxis: 1 + data.effect }]] },
        markLine: { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: look.dim, type: "solid" }, data: [{ xAxis: 1 }] },
      },
    ],
  };
};
