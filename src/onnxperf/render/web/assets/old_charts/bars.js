"use strict";
// Rows of names with a bar for each series and words at its end, or with all series behind each other in one bar.
onnxperf.charts.bars = (data, look, { width, figure, redraw }) => {
  onnxperf.follow(figure, { selected: (key) => { if (data.keys.includes(key) || data.keys.includes(figure.lit)) { figure.lit = key; redraw(false); } } });
  const longest = Math.max(4, ...data.series.flatMap((series) => series.words.map((words) => words.length)));
  const room = data.stacked ? 24 : Math.min(longest * 6.2 + 10, width * 0.34);
  const left = Math.min(Math.max(...data.names.map((name) => name.length)) * 7.2, width * 0.38) + 14;
  const several = data.series.length > 1;
  const isLit = (row) => Boolean(data.keys[row]) && data.keys[row] === onnxperf.selected;
  const style = (series, row) => ({
    color: look.colors[series.colours[row] ?? series.colour],
    opacity: series.pale[row] ? 0.4 : 1,
    borderColor: isLit(row) ? look.text : look.back,
    borderWidth: isLit(row) ? 2 : data.stacked ? 1 : 0,
  });
  return {
    grid: { left, right: room, top: several ? 34 : 8, bottom: 50 },
    legend: several ? { type: "scroll", top: 0, left: 0, textStyle: { color: look.text }, selectedMode: false } : undefined,
    tooltip: { trigger: "item", formatter: (event) => `${data.names[event.dataIndex]}\n${several ? `${event.seriesName}: ` : ""}${data.series[event.seriesIndex].words[event.dataIndex]}` },
    xAxis: onnxperf.valueAxis(look, data.axis),
    yAxis: { ...onnxperf.names(data.names, look, width), axisLine: { onZero: false, lineStyle: { color: look.line } } },
    series: data.series.map((series) => ({
      type: "bar",
      name: series.name,
      color: look.colors[series.colour],
      stack: data.stacked ? "all" : undefined,
      barMaxWidth: 22,
      barGap: "12%",
      barCategoryGap: "26%",
      data: series.values.map((value, row) => ({ value, name: data.names[row], key: data.keys[row] || "", itemStyle: style(series, row) })),
      label: { show: !data.stacked, position: "right", color: look.dim, fontSize: 11, formatter: (event) => onnxperf.cut(series.words[event.dataIndex], Math.floor(room / 6.2)) },
    })),
  };
};
