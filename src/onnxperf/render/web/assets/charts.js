"use strict";
// Charts are drawn when they come into view. A chart's script knows what to draw; here is what all of them share.
onnxperf.startCharts = () => {
  const drawn = new Map();

  const shared = (option, look, summary) => ({
    animation: false,
    color: look.colors,
    textStyle: { color: look.text, fontFamily: "sans-serif" },
    backgroundColor: "transparent",
    aria: { enabled: true, label: { description: summary } },
    ...option,
    series: lightened(option.series),
    tooltip: option.tooltip === null ? undefined : {
      renderMode: "richText",  // marks and words on the canvas: no HTML is made of names
      confine: true,
      backgroundColor: look.panel,
      borderColor: look.line,
      textStyle: { color: look.text, fontSize: 12 },
      ...option.tooltip,
    },
  });

  const lightened = (series) => {
    const lit = onnxperf.subject();
    if (!lit || !series.some(({ name }) => name === lit)) return series;
    const pale = (each) => ({ ...each, itemStyle: { ...each.itemStyle, opacity: 0.1 }, ...(each.lineStyle ? { lineStyle: { ...each.lineStyle, opacity: 0.15 } } : {}) });
    return series.map((each) => (each.name === lit || !each.name ? each : { ...pale(each), areaStyle: undefined, data: each.data.map((point) => (point?.value ? pale(point) : point)) }));
  };

  const zoom = (chart, factor) => {
    const option = chart.getOption();
    (option.dataZoom || []).forEach((range, dataZoomIndex) => {
      const middle = (range.start + range.end) / 2;
      const half = Math.min(50, ((range.end - range.start) / 2) * factor);
      const start = Math.max(0, Math.min(100 - 2 * half, middle - half));
      chart.dispatchAction({ type: "dataZoom", dataZoomIndex, start, end: start + 2 * half });
    });
  };
  const isUpright = (range) => range.orient === "vertical";
  const move = (chart, part, upright) => {
    (chart.getOption().dataZoom || []).forEach((range, dataZoomIndex) => {
      if (isUpright(range) !== upright) return;
      const width = range.end - range.start;
      const start = Math.max(0, Math.min(100 - width, range.start + part * width));
      chart.dispatchAction({ type: "dataZoom", dataZoomIndex, start, end: start + width });
    });
  };
  const across = (part) => (chart) => move(chart, part, false);
  const upright = (part) => (chart) => move(chart, part, true);
  const keys = { "+": (chart) => zoom(chart, 0.5), "-": (chart) => zoom(chart, 2), 0: (chart) => zoom(chart, 1e9), ArrowLeft: across(-0.25), ArrowRight: across(0.25) };
  const keysOfMaps = { ...keys, ArrowUp: upright(0.25), ArrowDown: upright(-0.25) };

  const addZoom = (figure, canvas, chart) => {
    const tools = figure.querySelector(".tools");
    tools.append(
      onnxperf.button("+", () => keys["+"](chart), "Zoom in"),
      onnxperf.button("−", () => keys["-"](chart), "Zoom out"),
      onnxperf.button("Whole", () => keys[0](chart), "Show the whole"),
    );
    tools.hidden = false;
    canvas.tabIndex = 0;
    const known = chart.getOption().dataZoom.some(isUpright) ? keysOfMaps : keys;
    canvas.addEventListener("keydown", (event) => {
      if (known[event.key]) { known[event.key](chart); event.preventDefault(); }
    });
  };

  // A layer may need less room than others, a legend of several lines more.
  const setHeight = (canvas, chart, height) => {
    if (canvas.style.height === `${height}px`) return;
    canvas.style.height = `${height}px`;
    chart.resize();
  };

  const draw = (figure) => {
    if (drawn.has(figure)) return;
    const { kind, summary, data } = onnxperf.data.charts[figure.id];
    const paint = onnxperf.painters[kind];
    const canvas = figure.querySelector(".canvas");
    const chart = echarts.init(canvas, null, { renderer: "canvas" });
    const redraw = (replace = true) => {
      const look = onnxperf.look();
      const picture = onnxperf.chosen(figure, data, () => { figure.view = undefined; redraw(); });
      const { extra = 0, ...option } = paint(picture, look, { width: canvas.clientWidth, figure, redraw });
      setHeight(canvas, chart, (picture.height ?? Number(figure.dataset.height)) + extra);
      chart.setOption(shared(option, look, summary), replace);
    };
    drawn.set(figure, { chart, redraw });
    redraw();
    if (chart.getOption().dataZoom?.length) addZoom(figure, canvas, chart);
    chart.on("click", (event) => { if (event.data?.key) onnxperf.select(event.data.key, figure); });
    figure.chart = chart;  // for those who want to ask it
  };

  // The lines of a selected subject stand out, and details of it that were folded away are shown.
  const namesIn = (figure) => {
    const { data } = onnxperf.data.charts[figure.id];
    return (data.layers ?? [data]).flatMap((layer) => (layer.series ?? []).map((each) => each.name));
  };
  let lit = "";
  onnxperf.selecting.push(() => {
    const before = lit;
    lit = onnxperf.subject();
    const isAbout = (figure) => namesIn(figure).some((name) => name && (name === lit || name === before));
    drawn.forEach(({ redraw }, figure) => { if (lit !== before && isAbout(figure)) redraw(); });
    if (!lit) return;
    for (const figure of document.querySelectorAll("details.folded:not([open]) figure.chart")) {
      if (namesIn(figure).includes(lit)) figure.closest("details").open = true;
    }
  });

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

// Tell a chart about later selections and zooms; the last to ask is told. Its figure has the chart after it was first drawn.
onnxperf.follow = (figure, handlers) => {
  const isFirst = !figure.handlers;
  figure.handlers = handlers;
  if (!isFirst) return;
  onnxperf.selecting.push((key, from) => figure.handlers.selected?.(key, from));
  queueMicrotask(() => {
    const canvas = figure.querySelector(".canvas");
    let waiting = false;
    const later = () => { waiting = false; figure.handlers.zoomed?.(); };
    figure.chart.on("datazoom", () => { if (!waiting) { waiting = true; requestAnimationFrame(later); } });
    figure.chart.on("click", (event) => figure.handlers.clicked?.(event));
    figure.chart.on("legendselectchanged", (event) => figure.handlers.toggled?.(event));
    figure.chart.getZr().on("click", ({ offsetX, offsetY }) => figure.handlers.pressed?.([offsetX, offsetY]));
    // The wheel and a finger belong to the page until the chart has the focus.
    const live = (is) => {
      const ranges = (figure.chart.getOption().dataZoom || []).map((range) => (range.type === "inside" ? { zoomOnMouseWheel: is || "ctrl", moveOnMouseMove: is, preventDefaultMouseMove: is } : {}));
      if (ranges.length) figure.chart.setOption({ dataZoom: ranges });
    };
    canvas.addEventListener("focus", () => live(true));
    canvas.addEventListener("blur", () => live(false));
  });
};

// Draw a chart again when something that it shows is selected, or no longer.
onnxperf.followKeys = (figure, keys, redraw, more = {}) => {
  const known = new Set(keys);
  onnxperf.follow(figure, { selected: (key) => { if (known.has(key) || known.has(figure.lit)) { figure.lit = key; redraw(false); } }, ...more });
};
onnxperf.isLit = (key) => Boolean(key) && key === onnxperf.selected;

onnxperf.inside = (more = {}) => ({ type: "inside", filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: false, preventDefaultMouseMove: false, ...more });
onnxperf.slider = (look, more = {}) => ({ type: "slider", height: 18, bottom: 6, filterMode: "none", showDetail: false, borderColor: look.line, ...more });
