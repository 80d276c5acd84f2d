"use strict";
// Speeds over operations per byte, both logarithmic, below the roofs of the machine.
onnxperf.charts.roofline = (data, look, { width, figure, redraw }) => {
  const known = new Set(data.points.map((point) => point.key));
  onnxperf.follow(figure, { selected: (key) => { if (known.has(key) || known.has(figure.lit)) { figure.lit = key; redraw(false); } } });
  const plain = (value) => String(Number(value.toPrecision(3)));
  const axis = (name, more) => onnxperf.axis(look, name, { type: "log", axisLabel: { color: look.dim, hideOverlap: true, formatter: plain, showMinLabel: false, showMaxLabel: false }, ...more });
  const ys = [...data.points.map((point) => point.y), ...data.roofs.flatMap((roof) => roof.points.map((point) => point[1]))];
  const xs = [...data.points.map((point) => point.x), ...data.roofs.flatMap((roof) => roof.points.map((point) => point[0]))];
  const shown = data.types.filter((type) => type.colour !== 6);
  const groups = [...shown.map((type) => ({ name: type.name, colour: type.colour })), ...(shown.length < data.types.length ? [{ name: "others", colour: 6 }] : [])];
  const dashes = ["solid", "dashed", "dotted", [8, 3, 2, 3]];
  return {
    grid: { left: 12, right: 20, top: width < 520 ? 140 : 72, bottom: 46, containLabel: true },
    legend: { top: 0, left: 0, textStyle: { color: look.text }, selectedMode: false },
    tooltip: { trigger: "item", formatter: (event) => event.data?.words || event.seriesName },
    xAxis: axis(data.x, { min: Math.min(...xs) / 1.3, max: Math.max(...xs) * 1.3, splitLine: { show: false } }),
    yAxis: axis(data.y, { min: Math.min(...ys) / 1.6, max: Math.max(...ys) * 1.6, nameLocation: "end", nameGap: 8 }),
    dataZoom: [onnxperf.inside({ id: "x", xAxisIndex: 0 }), onnxperf.inside({ id: "y", yAxisIndex: 0 })],
    series: [
      ...groups.map((group) => ({
        id: `type ${group.name}`,
        type: "scatter",
        name: group.name,
        color: look.colors[group.colour],
        data: data.points.filter((point) => data.types[point.type].colour === group.colour).map((point) => ({
          value: [point.x, point.y],
          symbolSize: point.size,
          key: point.key,
          words: point.words,
          itemStyle: { opacity: point.key === onnxperf.selected ? 1 : 0.75, borderColor: point.key === onnxperf.selected ? look.text : look.back, borderWidth: point.key === onnxperf.selected ? 3 : 1 },
        })),
      })),
      ...data.roofs.map((roof, number) => ({ id: `roof ${number}`, type: "line", name: roof.name, color: look.text, showSymbol: false, lineStyle: { width: 1.6, type: dashes[number % 4] }, data: roof.points, z: 1 })),
    ],
  };
};
