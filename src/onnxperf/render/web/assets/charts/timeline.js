"use strict";
// A timeline: spans in lanes, and sizes below them. Both have one axis of time, so that they zoom together.
onnxperf.painters.timeline = ({ spans: own, sizes, curves, layers }, look, place) => {
  const spans = own.items.length ? own : { ...own, items: layers[0].spans.items };
  const { width, figure } = place;
  if (!curves.length) return onnxperf.painters.spans(spans, look, place);
  const option = onnxperf.painters.spans({ ...spans, axis: { ...spans.axis, title: "" } }, look, place);
  const [below, gap, foot] = [110, 14, 76];

  const entries = [...spans.legend.map(([name]) => ({ name })), ...curves.map(({ name, dash }) => ({ name, icon: onnxperf.icons[dash] }))];
  const above = onnxperf.legend(look, entries, width, { selectedMode: false });
  const left = Math.max(option.grid.left, Math.ceil(onnxperf.widest(sizes.ticks.map(([, words]) => words))) + 36);
  const edges = { left, right: option.grid.right };
  const lower = { gridIndex: 1 };

  const ticks = () => onnxperf.ticksOf(spans.axis, figure.view ?? [spans.axis.low, spans.axis.high], Math.min(Math.max(Math.floor((width - left - 20) / 90), 2), 8));
  const time = () => onnxperf.scale(look, spans.axis, lower, ticks());
  const { zoomed } = figure.handlers;
  figure.handlers.zoomed = () => { zoomed(); figure.chart.setOption({ xAxis: [{}, time()] }); };

  const lines = curves.map(({ name, xs, ys, color, dash, words, peak }, at) => {
    const highest = peak ? ys.reduce((best, y, point) => (y !== null && (ys[best] === null || y > ys[best]) ? point : best), 0) : -1;
    return {
      id: `size ${at}`,
      type: "line",
      name,
      xAxisIndex: 1,
      yAxisIndex: 1,
      step: "end",
      color: look.colors[color],
      lineStyle: { width: dash === "solid" ? 2 : 1.5, type: dash },
      symbolSize: 5,
      showSymbol: false,
      clip: true,
      areaStyle: at === 0 ? { opacity: 0.15 } : undefined,
      data: ys.map((y, point) => ({ value: [xs[point], y], words: words[point] })),
      markPoint: highest < 0 ? undefined : { silent: true, symbol: "circle", symbolSize: 7, data: [{ coord: [xs[highest], ys[highest]] }], label: { formatter: peak, color: look.text, fontSize: 11, position: xs[highest] > (spans.axis.low + spans.axis.high) / 2 ? "left" : "right", backgroundColor: look.back, padding: [0, 2] } },
    };
  });
  const formatter = (event) => (event.seriesType === "line" ? event.data?.words ?? "" : option.tooltip.formatter(event));
  return {
    ...option,
    extra: Math.max(above.height - 26, 0),
    legend: above.legend,
    grid: [{ ...edges, top: above.height + 8, bottom: foot + below + gap }, { ...edges, height: below, bottom: foot }],
    tooltip: { ...option.tooltip, formatter },
    xAxis: [{ ...option.xAxis, axisLabel: { ...option.xAxis.axisLabel, show: false } }, time()],
    yAxis: [option.yAxis, onnxperf.scale(look, sizes, { ...lower, nameGap: left - 16 })],
    dataZoom: option.dataZoom.map((zoom) => ({ ...zoom, xAxisIndex: [0, 1] })),
    series: [...option.series, ...lines],
  };
};
