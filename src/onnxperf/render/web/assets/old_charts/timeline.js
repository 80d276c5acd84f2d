"use strict";
// What ran when: a lane per thread and depth. Marks that are narrower than a pixel are drawn together, so a view has as many
// marks as pixels, however many executions there are.
onnxperf.charts.timeline = (data, look, { width, figure }) => {
  const scale = data.scale;
  const whole = Math.max(data.end, 1) / scale;
  const lanes = figure.lanes ??= data.lanes.map(() => []);
  if (!lanes.some((lane) => lane.length)) data.lane.forEach((lane, place) => lanes[lane].push(place));
  const start = (place) => data.starts[place] / scale;
  const end = (place) => (data.starts[place] + data.durations[place]) / scale;
  const keyOf = (node) => data.keys[node] ?? data.names[node];
  const known = figure.known ??= new Set([...data.names.map((_, node) => keyOf(node)), ...data.types.map((each) => each.key), ...data.modules.flat()]);
  const type = (place) => data.types[data.type[data.node[place]]];
  const matches = (place, key) => {
    const node = data.node[place];
    return keyOf(node) === key || type(place).key === key || Boolean(data.modules[data.module[node]]?.includes(key));
  };
  const isKnown = (key) => Boolean(key) && known.has(key);
  const view = () => figure.view ?? [0, whole];

  // Of a lane, the marks between two times; the first may have begun before.
  const firstAt = (lane, time) => {
    let [low, high] = [0, lane.length];
    while (low < high) { const middle = (low + high) >> 1; if (start(lane[middle]) < time) low = middle + 1; else high = middle; }
    return Math.max(0, low - 1);
  };
  const marks = () => {
    const [from, to] = view();
    const pixel = (to - from) / Math.max(width - 120, 200);
    const key = isKnown(onnxperf.selected) ? onnxperf.selected : "";
    const found = [];
    lanes.forEach((lane, row) => {
      let run = null;
      const close = () => { if (run) found.push(run); run = null; };
      for (let at = firstAt(lane, from); at < lane.length && start(lane[at]) <= to; at += 1) {
        const place = lane[at];
        if (end(place) < from) continue;
        const lit = Boolean(key) && matches(place, key);
        const mark = { value: [start(place), end(place), row], place, number: 1, lit, key: keyOf(data.node[place]) };
        if (end(place) - start(place) >= pixel) { close(); found.push(mark); continue; }
        if (run && start(place) - run.value[0] < 2 * pixel) {
          const longer = data.durations[place] > data.durations[run.place];
          run = { ...run, value: [run.value[0], end(place), row], place: longer ? place : run.place, number: run.number + 1, lit: run.lit || lit, key: "" };
        } else { close(); run = mark; }
      }
      close();
    });
    return { found, key };
  };

  let items = [];
  let chosen = "";
  const collect = () => { const { found, key } = marks(); items = found; chosen = key; return found; };
  const refresh = () => {
    const range = figure.chart.getOption().dataZoom[0];
    figure.view = [range.startValue, range.endValue];
    figure.chart.setOption({ series: [{ id: "marks", data: figure.collect() }] });
  };
  const reveal = (key) => {
    const place = data.starts.findIndex((_, at) => matches(at, key));
    if (place < 0) return;
    const [from, to] = view();
    const took = end(place) - start(place);
    const span = Math.min(to - from, Math.max(took * 40, whole / 2000));
    const isSeen = start(place) >= from && end(place) <= to && took > (to - from) / 300;
    if (isSeen || keyOf(data.node[place]) !== key) return;
    const left = Math.max(0, Math.min(whole - span, (start(place) + end(place) - span) / 2));
    figure.chart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, startValue: left, endValue: left + span });
  };
  figure.collect = collect;
  figure.marks = () => items;  // for those who want to ask
  onnxperf.follow(figure, {
    zoomed: refresh,
    selected: (key, from) => { if (isKnown(key) && from !== figure) reveal(key); refresh(); },
  });

  const words = (item) => {
    const node = data.node[item.place];
    return item.number > 1 ? `${item.number} short executions: zoom in to tell them apart\nthe longest: ${data.names[node]}` : `${data.names[node]} (${type(item.place).name})\n${data.words[data.durations[item.place]]}`;
  };
  const draw = (params, api) => {
    const item = items[params.dataIndex];
    if (!item) return null;
    const [left, top] = api.coord([item.value[0], item.value[2]]);
    const right = api.coord([item.value[1], item.value[2]])[0];
    const height = api.size([0, 1])[1] * 0.78;
    const area = params.coordSys;
    const shape = echarts.graphic.clipRectByRect({ x: left, y: top - height / 2, width: Math.max(right - left, 1), height }, area);
    if (!shape) return null;
    const fill = look.colors[type(item.place).colour];
    const roomy = shape.width > 34 && item.number === 1;
    return {
      type: "rect",
      shape,
      style: { fill, opacity: chosen && !item.lit ? 0.3 : 1, stroke: item.lit ? look.text : look.back, lineWidth: item.lit ? 2 : shape.width > 3 ? 0.7 : 0 },
      textConfig: roomy ? { position: "insideLeft" } : undefined,
      textContent: roomy ? { style: { text: data.names[data.node[item.place]], fill: chosen && !item.lit ? look.text : onnxperf.ink(fill), fontSize: 11, width: shape.width - 8, overflow: "truncate" } } : undefined,
    };
  };
  const coloured = data.types.filter((each) => each.colour !== 6);
  const legend = [...coloured, ...(coloured.length < data.types.length ? [{ name: "others", colour: 6 }] : [])];
  const [from, to] = view();
  const range = { startValue: from, endValue: to };
  return {
    grid: { left: Math.min(Math.max(...data.lanes.map((name) => name.length)) * 7.2, width * 0.38) + 14, right: 24, top: width < 520 ? 78 : 34, bottom: 72 },
    legend: { top: 0, left: 0, textStyle: { color: look.text }, selectedMode: false, data: legend.map((each) => each.name) },
    tooltip: { trigger: "item", formatter: (event) => (items[event.dataIndex] ? words(items[event.dataIndex]) : "") },
    xAxis: onnxperf.axis(look, data.axis, { type: "value", min: 0, max: whole, axisLabel: { color: look.dim, hideOverlap: true, formatter: (value) => String(Number(value.toPrecision(6))) } }),
    yAxis: onnxperf.names(data.lanes, look, width),
    dataZoom: [onnxperf.inside({ id: "inside", ...range, minValueSpan: whole / 1e5 }), { id: "slider", type: "slider", height: 18, bottom: 6, filterMode: "none", showDetail: false, ...range, minValueSpan: whole / 1e5 }],
    series: [
      { id: "marks", type: "custom", name: "", renderItem: draw, encode: { x: [0, 1], y: 2 }, clip: true, data: collect() },
      ...legend.map((each) => ({ id: `legend ${each.name}`, type: "bar", name: each.name, color: look.colors[each.colour], data: [] })),
    ],
  };
};
