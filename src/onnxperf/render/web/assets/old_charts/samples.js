"use strict";
// Raw blocks by round: a colour per subject, a band per launch, a dotted line per set-up.
onnxperf.charts.samples = (data, look, { width }) => {
  const symbols = ["circle", "rect", "diamond", "triangle"];
  const launches = data.launches;
  const bands = launches.filter((_, place) => place % 2 === 1).map(([first, last, words]) => [{ xAxis: first - 0.5, name: words }, { xAxis: last + 0.5 }]);
  const named = launches.length > 1 && launches.length <= width / 90;
  const lines = [
    ...launches.slice(1).map(([first]) => ({ xAxis: first - 0.5, lineStyle: { type: "solid" } })),
    ...data.setUps.map((first) => ({ xAxis: first - 0.5, lineStyle: { type: "dotted" } })),
  ];
  const most = Math.max(...launches.map(([, last]) => last));
  return {
    grid: { left: 14, right: 24, top: named ? 76 : 58, bottom: 86, containLabel: true },
    legend: { type: "scroll", top: 0, itemWidth: 12, itemHeight: 12, textStyle: { color: look.text }, pageTextStyle: { color: look.text }, formatter: (name) => onnxperf.cut(name, width < 600 ? 22 : 48) },
    tooltip: { trigger: "item", formatter: (event) => `${event.seriesName}\n${event.data.words}` },
    dataZoom: [{ type: "slider", xAxisIndex: 0, height: 20, bottom: 8, textStyle: { color: look.dim }, borderColor: look.line, labelFormatter: (value) => String(Math.round(value)) }],
    xAxis: onnxperf.axis(look, "round", { type: "value", min: -0.5, max: most + 0.5, minInterval: 1, splitLine: { show: false }, axisLabel: { color: look.dim, hideOverlap: true, showMinLabel: false, showMaxLabel: false } }),
    yAxis: onnxperf.leftAxis(look, data.y),
    series: data.subjects.map((subject, place) => ({
      type: "scatter",
      name: subject.name,
      symbol: symbols[place % symbols.length],
      symbolSize: data.subjects.length * subject.points.length > 1500 ? 4 : 6,
      itemStyle: { color: look.colors[place % look.colors.length], opacity: 0.8 },
      data: subject.points.map((value, number) => ({ value, words: subject.words[number] })),
      ...(place ? {} : {
        markArea: { silent: true, itemStyle: { color: look.line, opacity: 0.3 }, label: { show: named, color: look.dim, distance: 22 }, data: bands },
        markLine: { silent: true, symbol: "none", label: { show: false }, lineStyle: { color: look.dim, opacity: 0.7 }, data: lines },
      }),
    })),
  };
};
