"use strict";
// Graphics in the cells of tables: an interval, or a bar with what stands before and after it.
onnxperf.drawMarks = (cell, marks) => {
  const [width, height] = [200, 16];
  const middle = height / 2;
  const bar = (from, to, opacity) => ["rect", { x: from, width: Math.max(to - from, 0.75), y: 3, height: height - 6, opacity }];
  const arrow = (x, towards) => ["path", { d: `M${x} ${middle}l${-8 * towards} -5v10z` }];
  const shapes = {
    band: (from, to) => ["rect", { x: from, width: Math.max(to - from, 1), y: 0, height, opacity: 0.12, fill: "gray" }],
    limit: (x) => ["rect", { x: x - 1, width: 2, y: 1, height: height - 2 }],
    one: (x) => ["rect", { x: x - 0.5, width: 1, y: 0, height, opacity: 0.35 }],
    range: (from, to) => ["rect", { x: from, width: Math.max(to - from, 1), y: middle - 1, height: 2 }],
    point: (x) => ["circle", { cx: x, cy: middle, r: 4 }],
    below: (x) => arrow(x - 4, -1),
    above: (x) => arrow(x + 4, 1),
    before: (from, to) => bar(from, to, 0.15),
    bar: (from, to) => bar(from, to, 1),
    after: (from, to) => bar(from, to, 0.5),
  };
  const make = (name, values) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(values)) if (value !== undefined) made.setAttribute(key, value);
    return made;
  };
  const svg = make("svg", { class: "marks", viewBox: `-6 0 ${width + 12} ${height}`, width: width + 12, height, fill: "currentColor", role: "img", "aria-label": "" });
  if (/^(before|bar) /.test(marks)) svg.setAttribute("preserveAspectRatio", "none");  // bars may be stretched, points not
  for (const mark of marks.split(";")) {
    const [shape, from, to] = mark.split(" ");
    svg.append(make(...shapes[shape]((Number(from) * width) / 100, (Number(to) * width) / 100)));
  }
  cell.replaceChildren(svg);
};
