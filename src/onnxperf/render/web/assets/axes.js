"use strict";
// What painters of all kinds share: words as wide as there is room, axes as Python describes them, legends, and colors.

// Pixels that a text takes.
onnxperf.textWidth = (() => {
  const pen = document.createElement("canvas").getContext("2d");
  return (text, size = 12) => { pen.font = `${size}px sans-serif`; return pen.measureText(text).width; };
})();
onnxperf.widest = (texts, size = 12) => texts.reduce((most, text) => Math.max(most, onnxperf.textWidth(text, size)), 0);

// A text that loses its middle where it is wider than so many pixels; nothing where there is no room for three letters.
onnxperf.fitted = (text, room, size = 12) => {
  if (room === Infinity || onnxperf.textWidth(text, size) <= room) return text;
  const letters = Array.from(text);
  const cut = (number) => `${letters.slice(0, Math.ceil(number / 2)).join("")}…${letters.slice(letters.length - Math.floor(number / 2)).join("")}`;
  let [low, high] = [0, letters.length - 1];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (onnxperf.textWidth(cut(middle), size) <= room) low = middle; else high = middle - 1;
  }
  return low < 2 ? "" : cut(low);
};

// ---------------------------------------------------------------- axes

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

// The ticks of a part of an axis: those that Python chose, until a reader zooms in. Names of places are kept even then.
onnxperf.ticksOf = (axis, [low, high] = [axis.low, axis.high], most = 8) => {
  const isNear = (one, end) => Math.abs(one - end) <= 1e-3 * (axis.is_log ? end : axis.high - axis.low);
  const isWhole = isNear(low, axis.low) && isNear(high, axis.high);
  return axis.ticks.length && (isWhole || onnxperf.areNames(axis)) ? axis.ticks : onnxperf.roundTicks({ ...axis, low, high }, most);
};

onnxperf.areNames = (axis) => axis.ticks.some(([, words]) => !/^[-−+\d.,e]+\s?[%×kMGTs]*$/.test(words));

// Round steps of 1, 2 or 5 in the unit of an axis, or few digits of each power of ten: as `charts/base.py` has it.
onnxperf.roundTicks = ({ low, high, is_log: isLog, scale }, most) => {
  const [from, to] = [low / scale, high / scale];
  const span = to / from;
  if (!(to > from)) return [];
  if (!isLog || span <= 2.5) {
    const rough = (to - from) / most;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((digit) => digit * power >= rough * (1 - 1e-9)) * power;
    const decimals = Math.min(Math.max(0, -Math.floor(Math.log10(step * (1 + 1e-9)))), 12);
    const found = [];
    for (let at = Math.ceil(from / step - 1e-9); at * step <= to * (1 + 1e-12); at += 1) found.push(Number((at * step).toFixed(decimals)));
    return found.map((value) => [value * scale, onnxperf.tick(value)]);
  }
  const digits = span > 3000 ? [1] : span > 12 ? [1, 2, 5] : [1, 1.5, 2, 3, 5, 7];
  const [first, last] = [Math.floor(Math.log10(from)), Math.ceil(Math.log10(to))];
  const every = span <= 1e7 ? 1 : Math.ceil((last - first + 1) / most);
  const found = [];
  for (let power = first; power <= last; power += 1) if (power % every === 0) found.push(...digits.map((digit) => Number((digit * 10 ** power).toPrecision(6))));
  return found.filter((value) => value >= from && value <= to).map((value) => [value * scale, onnxperf.tick(value)]);
};
onnxperf.tick = (value) => {
  const amount = Math.abs(value);
  if (amount >= 1e4 && amount < 1e12) return value.toLocaleString("en-US", { maximumFractionDigits: 6 });
  return amount && (amount < 1e-4 || amount >= 1e12) ? Number(value.toPrecision(6)).toExponential().replace(/([-+])(\d)$/, "$10$2") : String(value);
};

// An axis of numbers, drawn with exactly these ticks; words that would overlap on a narrow page are left out.
onnxperf.scale = (look, axis, more = {}, ticks = axis.ticks) => {
  const places = { customValues: ticks.map(([at]) => at) };
  const words = (value) => ticks.find(([at]) => Math.abs(at - value) <= 1e-9 * Math.abs(at))?.[1] ?? "";
  return onnxperf.axis(look, axis.title, { type: axis.is_log ? "log" : "value", min: axis.low, max: axis.high, ...more, axisTick: { ...more.axisTick, ...places }, axisLabel: { color: look.dim, hideOverlap: true, ...more.axisLabel, formatter: words, ...places } });
};

// Names left of rows, the first on top; they lose their middle where they are wider than their room.
onnxperf.nameAxis = (look, names, room, more = {}) => onnxperf.axis(look, "", {
  type: "category",
  data: names.map((_, place) => place),  // several may have one name
  inverse: true,
  axisTick: { show: false },
  splitLine: { show: false },
  axisLabel: { color: look.text, interval: 0, formatter: (place) => onnxperf.fitted(names[place], room) },
  ...more,
});

// How wide names may be, of a chart of this width.
onnxperf.nameRoom = (names, width) => Math.min(Math.ceil(onnxperf.widest(names)), Math.floor(width * 0.38)) + 1;

// ---------------------------------------------------------------- words inside a chart

// A raster of what is drawn, in steps of two pixels, and places that are free for words.
onnxperf.freePlaces = (width, height) => {
  const columns = Math.ceil(width / 2) + 1;
  const taken = new Uint8Array(columns * (Math.ceil(height / 2) + 1));
  const isInside = ({ x, y, wide, high }) => x >= 0 && y >= 0 && x + wide <= width && y + high <= height;
  const some = ({ x, y, wide, high }, act) => {
    const [left, right] = [Math.max(Math.floor(x / 2), 0), Math.min(Math.ceil((x + wide) / 2), columns - 1)];
    for (let row = Math.max(Math.floor(y / 2), 0); row * 2 <= Math.min(y + high, height); row += 1) {
      for (let at = row * columns + left; at <= row * columns + right; at += 1) if (act(at)) return true;
    }
    return false;
  };
  const take = (box) => { some(box, (at) => { taken[at] = 1; }); };
  const isFree = (box) => isInside(box) && !some(box, (at) => taken[at]);
  const takeLine = ([fromX, fromY], [toX, toY]) => {
    const steps = Math.min(Math.ceil(Math.max(Math.abs(toX - fromX), Math.abs(toY - fromY)) / 2) + 1, 4000);
    for (let step = 0; step <= steps; step += 1) take({ x: fromX + ((toX - fromX) * step) / steps, y: fromY + ((toY - fromY) * step) / steps, wide: 0, high: 0 });
  };
  // Where a line from a sign to its words ends, and whether it would go through others.
  const end = ([x, y], box) => [Math.min(Math.max(x, box.x), box.x + box.wide), Math.min(Math.max(y, box.y), box.y + box.high)];
  const isCrossed = ([x, y], radius, box, others) => {
    const [toX, toY] = end([x, y], box);
    const steps = Math.ceil(Math.hypot(toX - x, toY - y) / 2);
    const first = Math.ceil((radius + 1) / 2);
    const path = Array.from({ length: Math.max(steps - first, 0) }, (_, step) => [x + ((toX - x) * (first + step)) / steps, y + ((toY - y) * (first + step)) / steps]);
    return others.some((other) => path.some(([atX, atY]) => atX >= other.x && atX <= other.x + other.wide && atY >= other.y && atY <= other.y + other.high));
  };
  // Next to a sign: on its right, else above, left, below, or askew; further away only with a line that leads there.
  const nearest = ([x, y], radius, wide, high, others) => {
    const found = [3, 12, 24, 40, 60, 90].flatMap((far) => {
      const away = radius + far;
      const [right, left, middle] = [x + away, x - away - wide, x - wide / 2];
      const [above, below, level] = [y - away - high, y + away, y - high / 2];
      return [[right, level], [middle, above], [left, level], [middle, below], [right, above], [left, above], [right, below], [left, below]].map(([boxX, boxY]) => ({ x: boxX, y: boxY, wide, high, leads: far > 12 }));
    });
    return found.find((box) => isFree(box) && !(box.leads && isCrossed([x, y], radius, box, others)));
  };
  return { take, takeLine, isFree, nearest, end };
};

// ---------------------------------------------------------------- legends

// A legend above a chart, and its height; on a narrow page it takes several lines, and from the fifth on it turns pages.
onnxperf.legend = (look, entries, width, more = {}) => {
  const room = Math.min(width - 60, 380);
  const formatter = (name) => onnxperf.fitted(name, room);
  let [lines, left] = [1, 0];
  for (const { name } of entries) {
    const wide = onnxperf.textWidth(formatter(name)) + 39;
    if (left && left + wide - 12 > width - 10) { lines += 1; left = 0; }
    left += wide;
  }
  const isLong = lines > 4;
  return {
    legend: { show: entries.length > 0, type: isLong ? "scroll" : "plain", top: 0, left: 0, padding: [6, 4], width: width - 10, itemGap: 12, itemWidth: 22, itemHeight: 12, textStyle: { color: look.text }, pageTextStyle: { color: look.text }, pageIconColor: look.text, pageIconInactiveColor: look.line, inactiveColor: look.dim, data: entries, formatter, ...more },
    height: entries.length ? 26 * (isLong ? 1 : lines) : 0,
  };
};

// Signs of a legend: lines without symbols, and symbols that keep their shape; in files they have the same order.
onnxperf.icons = {
  solid: "path://M0,0 L22,0 L22,2 L0,2 Z",
  dashed: "path://M0,0 L6,0 L6,2 L0,2 Z M8,0 L14,0 L14,2 L8,2 Z M16,0 L22,0 L22,2 L16,2 Z",
  dotted: "path://M0,0 L2,0 L2,2 L0,2 Z M4,0 L6,0 L6,2 L4,2 Z M8,0 L10,0 L10,2 L8,2 Z M12,0 L14,0 L14,2 L12,2 Z M16,0 L18,0 L18,2 L16,2 Z M20,0 L22,0 L22,2 L20,2 Z",
  symbols: [
    "path://M10,5 A5,5 0 1 1 0,5 A5,5 0 1 1 10,5 Z",
    "path://M0,0 L10,0 L10,10 L0,10 Z",
    "path://M5,0 L10,5 L5,10 L0,5 Z",
    "path://M3,0 L7,0 L7,3 L10,3 L10,7 L7,7 L7,10 L3,10 L3,7 L0,7 L0,3 L3,3 Z",
    "path://M2.2,0 L5,2.8 L7.8,0 L10,2.2 L7.2,5 L10,7.8 L7.8,10 L5,7.2 L2.2,10 L0,7.8 L2.8,5 L0,2.2 Z",
    "path://M5,0 L6.5,3.5 L10,3.8 L7.3,6.2 L8.1,10 L5,8 L1.9,10 L2.7,6.2 L0,3.8 L3.5,3.5 Z",
    "path://M5,0 L9.3,2.5 L9.3,7.5 L5,10 L0.7,7.5 L0.7,2.5 Z",
    "path://M0,5 L9,0 L9,10 Z",
  ],
};

// Entries of a legend that no series has: pairs of words and colors.
onnxperf.swatches = (look, pairs) => pairs.map(([name, color]) => ({ id: `legend ${name}`, type: "scatter", name, color: look.colors[color], symbol: "roundRect", itemStyle: { opacity: 1 }, data: [], silent: true }));

// ---------------------------------------------------------------- colors

onnxperf.parts = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));

// A color of which a part covers what is behind it.
onnxperf.mixed = (color, back, share) => {
  const [over, under] = [onnxperf.parts(color), onnxperf.parts(back)];
  const mixed = over.map((value, place) => Math.round(under[place] + share * (value - under[place])));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
};

// Black or white, whichever has more contrast with a color: at least 4.5 on every one.
onnxperf.ink = (color) => {
  const [red, green, blue] = onnxperf.parts(color).map((value) => (value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
};
