"use strict";
// Points with names, and the line of those that none beats in both directions.
onnxperf.charts.scatter = (data, look, { width }) => ({
  grid: { left: 14, right: 30, top: 58, bottom: 44, containLabel: true },
  legend: { top: 0, type: "scroll", textStyle: { color: look.text } },
  tooltip: { trigger: "item", formatter: (event) => event.data.words },
  xAxis: onnxperf.valueAxis(look, data.x),
  yAxis: onnxperf.leftAxis(look, data.y),
  series: [
    ...data.groups.map((group, place) => ({
      type: "scatter",
      name: group.name,
      symbol: ["circle", "diamond", "rect", "triangle"][place % 4],
      symbolSize: 10,
      itemStyle: { color: look.colors[group.colour], opacity: 0.85 },
      label: { show: group.labelled && width > 600, position: "right", color: look.dim, fontSize: 11, formatter: (event) => onnxperf.cut(event.data.name, 28) },
      labelLayout: { hideOverlap: true },
      data: group.points,
    })),
    ...(data.front.length > 1 ? [{ type: "line", name: data.frontName, data: data.front, symbol: "none", silent: true, lineStyle: { color: look.dim, type: "dashed" }, color: look.dim }] : []),
  ],
});
