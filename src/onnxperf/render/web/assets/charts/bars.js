"use strict";
// Rows of names with a bar for each series and words at its end, or with all series behind each other in one bar.
onnxperf.painters.bars = ({ names, series, axis, keys, stacked, legend }, look, { width, figure, redraw }) => {
  onnxperf.followKeys(figure, keys, redraw);
  const nameRoom = onnxperf.nameRoom(names, width);
  const left = nameRoom + 12;
  const several = series.length > 1;
  const entries = [...(several ? series.map(({ name }) => ({ name })) : []), ...legend.map(([name]) => ({ name }))];
  const above = onnxperf.legend(look, entries, width, { selectedMode: false });
  const top = above.height + 8;

  // Words stand right of their bars: the plot leaves as much room as they need, within reason.
  const part = (value) => {
    const [low, high, at] = axis.is_log ? [axis.low, axis.high, Math.max(value, axis.low)].map(Math.log) : [axis.low, axis.high, Math.max(value, 0)];
    return Math.min((at - low) / (high - low), 1);
  };
  const first = (words) => words.split("\n", 1)[0];
  const needed = (value, words) => (words && part(value) ? (onnxperf.textWidth(first(words), 11) + 12 - (1 - part(value)) * (width - left)) / part(value) : 0);
  const right = stacked ? 24 : Math.min(Math.max(16, ...series.flatMap((each) => each.values.map((value, row) => needed(value, each.words[row])))), width * 0.34);
  // In one bar, words stand inside of its parts.
  const inside = (each, row) => {
    const words = first(each.words[row]);
    const room = (Math.abs(each.values[row]) / (axis.high - axis.low)) * (width - left - right) - 8;
    return onnxperf.textWidth(words, 11) <= room ? words : "";
  };
  const room = (value) => right + (1 - part(value)) * (width - left - right) - 8;

  const style = (each, row) => ({
    color: onnxperf.mixed(look.colors[each.colors[row] ?? each.color], look.back, each.pale[row] ? 0.4 : 1),
    borderColor: onnxperf.isLit(keys[row]) ? look.text : look.back,
    borderWidth: onnxperf.isLit(keys[row]) ? 2 : stacked ? 1 : 0,
  });
  // Bars begin at zero; an axis that goes below it has its line there.
  const zero = { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: look.dim, width: 1, type: "solid" }, data: axis.low < 0 ? [{ xAxis: 0 }] : [] };
  return {
    extra: Math.max(above.height - 26, 0),
    grid: { left, right, top, bottom: axis.title ? 46 : 26 },
    legend: above.legend,
    tooltip: { trigger: "item", formatter: ({ dataIndex, seriesIndex }) => `${names[dataIndex]}\n${several ? `${series[seriesIndex].name}: ` : ""}${series[seriesIndex].words[dataIndex]}` },
    xAxis: onnxperf.scale(look, axis),
    yAxis: onnxperf.nameAxis(look, names, nameRoom, { axisLine: { show: axis.low >= 0, onZero: false, lineStyle: { color: look.line } } }),
    series: [
      ...series.map((each, place) => ({
        id: `bars ${place}`,
        markLine: zero,
        type: "bar",
        name: each.name,
        color: look.colors[each.color],
        stack: stacked ? "all" : undefined,
        barMaxWidth: 22,
        barGap: "12%",
        barCategoryGap: "26%",
        data: each.values.map((value, row) => {
          const itemStyle = style(each, row);
          return { value, key: keys[row] || "", itemStyle, label: stacked ? { color: onnxperf.ink(itemStyle.color) } : {} };
        }),
        label: stacked
          ? { show: true, position: "inside", fontSize: 11, formatter: ({ dataIndex }) => inside(each, dataIndex) }
          : { show: true, position: "right", color: look.dim, fontSize: 11, backgroundColor: look.back, padding: [0, 1], formatter: ({ dataIndex }) => onnxperf.fitted(first(each.words[dataIndex]), room(each.values[dataIndex]), 11) },
      })),
      ...onnxperf.swatches(look, legend),
    ],
  };
};
