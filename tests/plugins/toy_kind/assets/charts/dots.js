"use strict";
// Rows of names with a dot each.
onnxperf.painters.dots = ({ names, values, axis }, look, { width }) => {
  const left = onnxperf.nameRoom(names, width);
  return {
    grid: { left: left + 12, right: 16, top: 8, bottom: 46 },
    tooltip: { formatter: ({ value }) => `${names[value[1]]}: ${value[0]}` },
    xAxis: onnxperf.scale(look, axis),
    yAxis: onnxperf.nameAxis(look, names, left),
    series: [{ type: "scatter", color: look.colors[0], data: values.map((value, row) => [value, row]) }],
  };
};
