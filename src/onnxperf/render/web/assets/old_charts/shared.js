"use strict";
// What only the old charts share.
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
