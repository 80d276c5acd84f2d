"use strict";
// Rows of names with a bar for each series, and words at its end.
onnxperf.charts.bars = (data, look, { width, figure, redraw }) => {
  onnxperf.follow(figure, { selected: (key) => { if (data.keys.includes(key) || data.keys.includes(figure.lit)) { figure.lit = key; redraw(false); } } });
  const longest = Math.max(4, ...data.series.flatMap((series) => series.words.map((words) => words.length)));
  const room = Math.min(longest * 6.2 + 10, width * 0.34);
  const left = Math.min(Math.max(...data.names.map((name) => name.length)) * 7.2, width * 0.38) + 14;
  const several = data.series.length > 1;
  const isLit = (row) => Boolean(data.keys[row]) && data.keys[row] === onnxperf.selected;
  return {
    grid: { left, right: room, top: several ? 34 : 8, bottom: 50 },
    legend: several ? { top: 0, left: 0, textStyle: { color: look.text }, selectedMode: false } : undefined,
    tooltip: { trigger: "item", formatter: (event) => `${data.names[event.dataIndex]}\n${several ? `${event.seriesName}: ` : ""}${data.series[event.seriesIndex].words[event.dataIndex]}` },
    xAxis: onnxperf.axis(look, data.axis, { type: "value" }),
    yAxis: { ...onnxperf.names(data.names, look, width), axisLine: { onZero: false, lineStyle: { color: look.line } } },
    series: data.series.map((series) => ({
      type: "bar",
      name: series.name,
      color: look.colours[series.colour],
      barGap: "12%",
      barCategoryGap: "26%",
      data: series.values.map((value, row) => ({
        value,
        name: data.names[row],
        key: data.keys[row] || "",
        itemStyle: { opacity: series.pale[row] ? 0.4 : 1, borderColor: look.text, borderWidth: isLit(row) ? 2 : 0 },
      })),
      label: { show: true, position: "right", color: look.dim, fontSize: 11, formatter: (event) => onnxperf.cut(series.words[event.dataIndex], Math.floor(room / 6.2)) },
    })),
  };
};
