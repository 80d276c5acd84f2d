"use strict";
// Charts are drawn when they come into view. A chart's script knows what to draw; here is what all of them share.
onnxperf.startCharts = () => {
  const drawn = new Map();

  const shared = (option, look, summary) => ({
    animation: false,
    color: look.colours,
    textStyle: { color: look.text, fontFamily: "sans-serif" },
    backgroundColor: "transparent",
    aria: { enabled: true, label: { description: summary } },
    ...option,
    tooltip: option.tooltip === null ? undefined : {
      renderMode: "richText",  // marks and words on the canvas: no HTML is made of names
      confine: true,
      backgroundColor: look.panel,
      borderColor: look.line,
      textStyle: { color: look.text, fontSize: 12 },
      ...option.tooltip,
    },
  });

  const zoom = (chart, factor) => {
    const option = chart.getOption();
    (option.dataZoom || []).forEach((range, dataZoomIndex) => {
      const middle = (range.start + range.end) / 2;
      const half = Math.min(50, ((range.end - range.start) / 2) * factor);
      const start = Math.max(0, Math.min(100 - 2 * half, middle - half));
      chart.dispatchAction({ type: "dataZoom", dataZoomIndex, start, end: start + 2 * half });
    });
  };
  const move = (chart, part) => {
    (chart.getOption().dataZoom || []).forEach((range, dataZoomIndex) => {
      const width = range.end - range.start;
      const start = Math.max(0, Math.min(100 - width, range.start + part * width));
      chart.dispatchAction({ type: "dataZoom", dataZoomIndex, start, end: start + width });
    });
  };
  const keys = { "+": (chart) => zoom(chart, 0.5), "-": (chart) => zoom(chart, 2), ArrowLeft: (chart) => move(chart, -0.25), ArrowRight: (chart) => move(chart, 0.25), 0: (chart) => zoom(chart, 1e9) };

  const addZoom = (figure, canvas, chart) => {
    const tools = figure.querySelector(".tools");
    tools.append(
      onnxperf.button("+", () => keys["+"](chart), "Zoom in"),
      onnxperf.button("−", () => keys["-"](chart), "Zoom out"),
      onnxperf.button("Whole", () => keys[0](chart), "Show the whole"),
    );
    tools.hidden = false;
    canvas.tabIndex = 0;
    canvas.addEventListener("keydown", (event) => {
      if (keys[event.key]) { keys[event.key](chart); event.preventDefault(); }
    });
  };

  const draw = (figure) => {
    if (drawn.has(figure)) return;
    const { kind, summary, data, old } = onnxperf.data.charts[figure.id];
    const canvas = figure.querySelector(".canvas");
    canvas.style.height = `${figure.dataset.height}px`;
    const chart = echarts.init(canvas, null, { renderer: "canvas" });
    const redraw = (replace = true) => {
      const look = onnxperf.look();
      chart.setOption(shared((old ? onnxperf.charts : onnxperf.painters)[kind](onnxperf.chosen(figure, data, redraw), look, { width: canvas.clientWidth, figure, redraw }), look, summary), replace);
    };
    drawn.set(figure, { chart, redraw });
    redraw();
    if (chart.getOption().dataZoom?.length) addZoom(figure, canvas, chart);
    chart.on("click", (event) => { if (event.data?.key) onnxperf.select(event.data.key, figure); });
    figure.chart = chart;  // for those who want to ask it
  };

  const waiting = new IntersectionObserver((seen) => {
    for (const each of seen.filter((one) => one.isIntersecting)) { draw(each.target); waiting.unobserve(each.target); }
  }, { rootMargin: "400px" });
  const figures = document.querySelectorAll("figure.chart");
  figures.forEach((figure) => {
    figure.querySelector(".canvas").style.height = `${figure.dataset.height}px`;
    waiting.observe(figure);
  });
  onnxperf.theming.push(() => drawn.forEach(({ redraw }) => redraw()));
  addEventListener("beforeprint", () => { figures.forEach(draw); drawn.forEach(({ chart }) => chart.resize()); });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    drawn.forEach(({ chart, redraw }) => { chart.resize(); redraw(); });
  });
};

// An axis in the words of all charts; `name` has its unit, and ticks are plain numbers.
onnxperf.axis = (look, name, more = {}) => ({
  name,
  nameLocation: "middle",
  nameGap: 28,
  nameTextStyle: { color: look.dim },
  axisLabel: { color: look.dim, hideOverlap: true },
  axisLine: { lineStyle: { color: look.line } },
  splitLine: { lineStyle: { color: look.line } },
  ...more,
});

// An axis of numbers as Python describes it: its name, whether it is logarithmic, and its ticks where these are known.
onnxperf.valueAxis = (look, { name, log, ticks, zero, ends }, more = {}) => {
  const words = new Map(ticks);
  const at = ticks.length ? ticks.map(([place]) => place) : log && ends ? onnxperf.ticks(...ends) : null;
  const places = at ? { customValues: at } : {};
  const tick = (value) => words.get(value) ?? String(Number(value.toPrecision(4)));
  const [min, max] = ends || [undefined, undefined];
  return onnxperf.axis(look, name, { type: log ? "log" : "value", scale: !zero, min, max, axisTick: places, axisLabel: { color: look.dim, hideOverlap: true, formatter: tick, ...places }, ...more });
};

// The same at the left, its name above it: words that stand upright are hard to read, and need room.
onnxperf.leftAxis = (look, axis, more = {}) => onnxperf.valueAxis(look, axis, { nameLocation: "end", nameGap: 12, nameTextStyle: { color: look.dim, align: "left", padding: [0, 0, 0, -28] }, ...more });

// Ticks between two ends: round steps, of which 1 is one where it lies between them; logarithmic, few digits of each power of ten.
onnxperf.ticks = (low, high, log = true) => {
  const span = high / low;
  const digits = span > 3000 ? [1] : span > 60 ? [1, 2, 5] : [1, 1.5, 2, 3, 5, 7];
  const found = [];
  if (log) {
    for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power += 1) found.push(...digits.map((digit) => Number((digit * 10 ** power).toPrecision(6))));
  } else {
    const rough = (high - low) / 7;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((digit) => digit * power >= rough) * power;
    for (let at = Math.ceil(low / step); at * step <= high; at += 1) found.push(Number((at * step).toPrecision(6)));
  }
  return found.filter((value) => value >= low && value <= high);
};

// A text that loses its middle where it is longer than this.
onnxperf.cut = (text, most) => (text.length <= most ? text : `${text.slice(0, Math.ceil(most / 2) - 1)}…${text.slice(1 - Math.floor(most / 2))}`);

// Names left of rows, cut in the middle where the page is narrow.
onnxperf.names = (names, look, width) => {
  const most = Math.max(8, Math.floor((width * 0.38) / 7));
  const cut = (text) => onnxperf.cut(text, most);
  return onnxperf.axis(look, "", { type: "category", data: names, inverse: true, axisTick: { show: false }, splitLine: { show: false }, axisLabel: { color: look.text, formatter: cut, interval: 0 } });
};

// Black or white, whichever is easier to read on a colour.
onnxperf.ink = (colour) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return red * 0.299 + green * 0.587 + blue * 0.114 > 140 ? "#000000" : "#ffffff";
};

// Tell a chart once about later selections and zooms; its figure has the chart after it was drawn for the first time.
onnxperf.follow = (figure, { selected, zoomed }) => {
  if (figure.follows) return;
  figure.follows = true;
  if (selected) onnxperf.selecting.push((key, from) => selected(key, from));
  queueMicrotask(() => {
    const canvas = figure.querySelector(".canvas");
    let waiting = false;
    const later = () => { waiting = false; zoomed(); };
    if (zoomed) figure.chart.on("datazoom", () => { if (!waiting) { waiting = true; requestAnimationFrame(later); } });
    // The wheel and a finger belong to the page until the chart has the focus.
    const live = (is) => {
      const ranges = (figure.chart.getOption().dataZoom || []).map((range) => (range.type === "inside" ? { zoomOnMouseWheel: is || "ctrl", moveOnMouseMove: is, preventDefaultMouseMove: is } : {}));
      if (ranges.length) figure.chart.setOption({ dataZoom: ranges });
    };
    canvas.addEventListener("focus", () => live(true));
    canvas.addEventListener("blur", () => live(false));
  });
};

onnxperf.inside = (more = {}) => ({ type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, preventDefaultMouseMove: false, ...more });
