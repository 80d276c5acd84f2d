"use strict";
// Lines with bands around them: times over sizes, percentiles; and histograms as steps.
onnxperf.charts.lines = (data, look, { width }) => {
  const symbols = ["circle", "rect", "diamond", "triangle", "roundRect", "arrow", "pin"];
  const lines = data.chosen?.subject ? data.lines.filter((line) => line.name === data.chosen.subject) : data.lines;
  const colour = (line) => look.colors[line.colour % look.colors.length];
  const narrow = width < 600;
  const band = (line, points) => ({
    type: "custom",
    name: line.name,
    silent: true,
    clip: true,
    z: 1,
    tooltip: { show: false },
    data: points,
    encode: { x: 0, y: [1, 2] },
    itemStyle: { color: colour(line) },
    renderItem: (params, api) => {
      if (params.dataIndex) return null;
      const outline = [...points.map(([x, low]) => api.coord([x, low])), ...points.toReversed().map(([x, , high]) => api.coord([x, high]))];
      return { type: "polygon", shape: { points: outline }, style: { fill: colour(line), opacity: 0.18 } };
    },
  });
  const drawn = (line, place) => ({
    type: "line",
    name: line.name,
    data: line.points.map(([x, y], number) => ({ value: [x, y], words: line.words[number] })),
    step: line.step ? "end" : false,
    symbol: line.step ? "none" : symbols[place % symbols.length],
    symbolSize: 8,
    showSymbol: !line.step,
    lineStyle: { width: 2, type: line.dashed ? "dashed" : "solid" },
    areaStyle: line.step ? { opacity: 0.12 } : undefined,
    color: colour(line),
    emphasis: { disabled: line.step },
  });
  const failed = (data.failed || []).filter((each) => !data.chosen?.subject || each.subject === data.chosen.subject);
  const top = lines.length > 1 ? 58 : 34;
  return {
    grid: { left: 14, right: 24, top, bottom: data.x.name ? 44 : 24, containLabel: true },
    legend: { show: lines.length > 1, type: "scroll", top: 0, textStyle: { color: look.text }, pageTextStyle: { color: look.text }, data: lines.map((line) => line.name), formatter: (name) => onnxperf.cut(name, narrow ? 22 : 48) },
    tooltip: data.lines.some((line) => line.step)
      ? { trigger: "axis", axisPointer: { type: "line" }, formatter: (events) => events.filter((event) => event.data.words).map((event) => `${event.seriesName}: ${event.data.words}`).join("\n") }
      : { trigger: "item", formatter: (event) => `${event.seriesName}\n${event.data.words}` },
    xAxis: onnxperf.valueAxis(look, data.x, { boundaryGap: ["3%", "3%"] }),
    yAxis: onnxperf.leftAxis(look, data.y),
    series: [
      ...lines.map(drawn),
      ...lines.flatMap((line) => line.bands.map((points) => band(line, points))),
      ...(failed.length ? [onnxperf.missing(failed, look)] : []),
    ],
  };
};

// What has no time stands at the top, at its place.
onnxperf.missing = (failed, look) => ({
  type: "scatter",
  name: "not measured",
  symbol: "path://M1,0 L5,4 L9,0 L10,1 L6,5 L10,9 L9,10 L5,6 L1,10 L0,9 L4,5 L0,1 Z",
  symbolSize: 10,
  itemStyle: { color: look.red },
  data: failed.map((each) => ({ value: [each.x, each.y], words: each.words })),
});
