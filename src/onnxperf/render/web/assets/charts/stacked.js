"use strict";
// A bar per row: its parts behind each other, or below each other.
onnxperf.charts.stacked = (data, look, { width }) => ({
  grid: { left: 8, right: 24, top: data.parts.length > 1 ? 34 : 10, bottom: 44, containLabel: true },
  legend: { show: data.parts.length > 1, type: "scroll", top: 0, textStyle: { color: look.text } },
  tooltip: { trigger: "item", formatter: (event) => `${event.name}\n${event.seriesName}: ${event.data.words}` },
  xAxis: onnxperf.valueAxis(look, data.axis),
  yAxis: onnxperf.names(data.names, look, width),
  series: data.parts.map((part) => ({
    type: "bar",
    name: part.name,
    stack: data.stacked ? "all" : undefined,
    barMaxWidth: 22,
    itemStyle: { color: look.colours[part.colour], borderColor: look.back, borderWidth: data.stacked ? 1 : 0 },
    data: part.values.map((value, row) => ({ value, words: part.words[row], ...(part.colours.length ? { itemStyle: { color: look.colours[part.colours[row]] } } : {}) })),
  })),
});
