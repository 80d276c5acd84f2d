"use strict";
// Rectangles in lanes: timelines and flame graphs. Spans that are narrower than a pixel are drawn together, so a view has at most
// as many marks as pixels, however many spans there are.
onnxperf.painters.spans = (picture, look, { width, figure }) => {
  const { axis, starts, widths, words, legend, lanes: names, enlarges } = picture;
  const items = picture.items.map(([name, where, color, keys]) => ({ name, where, color, keys }));
  const hasNames = names.some(Boolean);
  const nameRoom = hasNames ? onnxperf.nameRoom(names, width) : 0;
  const left = hasNames ? nameRoom + 12 : 6;
  const right = 20;
  const lanes = onnxperf.lanesOf(picture);
  const known = new Set(items.flatMap((item) => item.keys));
  const start = (span) => starts[span];
  const end = (span) => starts[span] + widths[span];
  const itemOf = (span) => items[picture.item[span]];
  const keyOf = (span) => itemOf(span).keys[0] ?? "";
  const view = () => figure.view ?? [axis.low, axis.high];

  // ---------------------------------------------------------------- what is in view

  const marks = () => {
    const [from, to] = view();
    const pixel = (to - from) / Math.max(width - left - right, 200);
    const key = known.has(onnxperf.selected) ? onnxperf.selected : "";
    const lit = items.map((item) => Boolean(key) && item.keys.includes(key));
    const found = [];
    lanes.forEach(({ spans, ends }, row) => {
      let run = null;
      const close = () => { if (run) found.push(run); run = null; };
      for (let at = onnxperf.firstFrom(ends, from); at < spans.length && start(spans[at]) <= to; at += 1) {
        const span = spans[at];
        if (end(span) < from) continue;
        const mark = { value: [start(span), end(span), row], span, number: 1, lit: lit[picture.item[span]], key: keyOf(span) };
        if (widths[span] >= pixel) { close(); found.push(mark); continue; }
        if (run && start(span) - run.value[0] < 2 * pixel) {
          const isLonger = widths[span] > widths[run.span];
          run = { ...run, value: [run.value[0], Math.max(run.value[1], end(span)), row], span: isLonger ? span : run.span, number: run.number + 1, lit: run.lit || mark.lit, key: "" };
        } else { close(); run = mark; }
      }
      close();
    });
    return { found, key };
  };

  let shown = [];
  let chosen = "";
  const collect = () => { const { found, key } = marks(); shown = found; chosen = key; return found; };
  figure.marks = () => shown;  // for those who want to ask

  // ---------------------------------------------------------------- selection and zoom

  const ticks = () => onnxperf.ticksOf(axis, view(), Math.min(Math.max(Math.floor((width - left - right) / 90), 2), 8));
  const refresh = () => figure.chart.setOption({ xAxis: onnxperf.scale(look, axis, more, ticks()), series: [{ id: "spans", data: collect() }] });
  const show = (startValue, endValue) => figure.chart.dispatchAction({ type: "dataZoom", dataZoomIndex: 0, startValue, endValue });
  const reveal = (key) => {
    const span = starts.findIndex((_, at) => keyOf(at) === key);
    if (span < 0) return;
    const [from, to] = view();
    const isSeen = start(span) >= from && end(span) <= to && widths[span] > (to - from) / 300;
    if (isSeen) return;
    const wide = Math.min(to - from, Math.max(widths[span] * 40, (axis.high - axis.low) / 2000));
    const begin = Math.max(axis.low, Math.min(axis.high - wide, (start(span) + end(span) - wide) / 2));
    show(begin, begin + wide);
  };
  onnxperf.follow(figure, {
    zoomed: () => {
      const range = figure.chart.getOption().dataZoom[0];
      figure.view = [range.startValue, range.endValue];
      refresh();
    },
    selected: (key, from) => { if (known.has(key) && from !== figure) reveal(key); refresh(); },
    clicked: ({ data }) => { if (enlarges && data?.value) show(...data.value); },
  });

  // ---------------------------------------------------------------- drawing

  const wordsOf = ({ span, number }) => {
    const about = `${itemOf(span).where}\n${words[picture.said[span]] ?? ""}`.trim();
    return number > 1 ? `${number} short spans: zoom in to tell them apart\nthe longest: ${about}` : about;
  };
  const draw = ({ dataIndex, coordSys }, api) => {
    const mark = shown[dataIndex];
    if (!mark) return null;
    const [from, middle] = api.coord([mark.value[0], mark.value[2]]);
    const to = api.coord([mark.value[1], mark.value[2]])[0];
    const room = api.size([0, 1])[1];
    const height = hasNames ? room * 0.78 : room - 1;
    const shape = echarts.graphic.clipRectByRect({ x: from, y: middle - height / 2, width: Math.max(to - from, 1), height }, coordSys);
    if (!shape) return null;
    const fill = onnxperf.mixed(look.colors[itemOf(mark.span).color], look.back, chosen && !mark.lit ? 0.3 : 1);
    const { name } = itemOf(mark.span);
    const words = shape.width > 26 && height > 11 && mark.number === 1 ? onnxperf.fitted(name, shape.width - 8, 11) : "";
    const isRoomy = words.length > 4 || words === name;  // less says nothing
    const text = { text: words, x: shape.x + 4, y: shape.y + shape.height / 2, verticalAlign: "middle", fill: onnxperf.ink(fill), fontSize: 11 };
    const z2 = mark.lit ? 2 : 1;
    return {
      type: "group",
      children: [
        { type: "rect", shape, style: { fill, stroke: mark.lit ? look.text : look.back, lineWidth: mark.lit ? 2 : shape.width > 3 ? 0.7 : 0 }, z2 },
        ...(isRoomy ? [{ type: "text", style: text, z2, silent: true }] : []),
      ],
    };
  };
  const more = { splitLine: { show: hasNames, lineStyle: { color: look.line } } };
  const above = onnxperf.legend(look, legend.map(([name]) => ({ name })), width, { selectedMode: false });
  const range = figure.view ? { startValue: figure.view[0], endValue: figure.view[1] } : {};
  const zoom = { ...range, minValueSpan: (axis.high - axis.low) / 1e5 };
  return {
    extra: Math.max(above.height - 26, 0),
    grid: { left, right, top: above.height + 8, bottom: (axis.title ? 46 : 26) + 30 },
    legend: above.legend,
    tooltip: { trigger: "item", formatter: ({ dataIndex }) => (shown[dataIndex] ? wordsOf(shown[dataIndex]) : "") },
    xAxis: onnxperf.scale(look, axis, more, ticks()),
    yAxis: onnxperf.nameAxis(look, names, nameRoom, { show: hasNames }),
    dataZoom: [onnxperf.inside({ id: "inside", xAxisIndex: 0, ...zoom }), onnxperf.slider(look, { id: "slider", xAxisIndex: 0, ...zoom })],
    series: [
      { id: "spans", type: "custom", name: "", renderItem: draw, encode: { x: [0, 1], y: 2 }, clip: true, data: collect() },
      ...onnxperf.swatches(look, legend),
    ],
  };
};

// Of each lane its spans by their beginnings, and the latest end up to each of them; made once for a picture.
onnxperf.lanesOf = (() => {
  const made = new WeakMap();
  return ({ starts, widths, lane, lanes }) => {
    if (!made.has(starts)) {
      const found = lanes.map(() => ({ spans: [], ends: [] }));
      lane.forEach((row, span) => found[row].spans.push(span));
      for (const { spans, ends } of found) {
        spans.sort((one, other) => starts[one] - starts[other]);
        let latest = -Infinity;
        for (const span of spans) { latest = Math.max(latest, starts[span] + widths[span]); ends.push(latest); }
      }
      made.set(starts, found);
    }
    return made.get(starts);
  };
})();

// The first place whose value is not below another; values never fall.
onnxperf.firstFrom = (values, least) => {
  let [low, high] = [0, values.length];
  while (low < high) { const middle = (low + high) >> 1; if (values[middle] < least) low = middle + 1; else high = middle; }
  return low;
};
