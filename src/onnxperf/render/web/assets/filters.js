"use strict";
// Select boxes above a chart: they choose the layer that it draws, and the rows of the table behind it.
onnxperf.chosen = (figure, data, redraw) => {
  if (!data.filters) return data;
  figure.boxes ??= addBoxes(figure, data, redraw);
  const wanted = Object.fromEntries(Object.entries(figure.boxes).map(([name, box]) => [name, box.value]));
  return { ...data, ...layerFor(data, wanted), chosen: wanted };

  function layerFor({ layers }, chosen) {
    return layers.find(({ only }) => Object.entries(only).every(([name, value]) => chosen[name] === value));
  }

  function addBoxes() {
    const tools = figure.querySelector(".tools");
    const boxes = {};
    for (const { name, values, everything } of data.filters) {
      const box = document.createElement("select");
      if (everything) box.add(new Option(everything, ""));
      for (const value of values) box.add(new Option(value, value));
      const label = document.createElement("label");
      label.append(`${name} `, box);
      tools.append(label);
      boxes[name] = box;
      box.addEventListener("change", () => { settle(boxes, name); keepRows(boxes); redraw(); });
    }
    onnxperf.selecting.push((key) => {
      const wanted = key.split(onnxperf.joint)[0].match(/^case ([^]*)$/)?.[1];
      if (!boxes.case || !wanted || boxes.case.value === wanted || !Array.from(boxes.case.options).some((each) => each.value === wanted)) return;
      boxes.case.value = wanted;
      boxes.case.dispatchEvent(new Event("change"));
    });
    tools.hidden = false;
    settle(boxes, data.filters[0].name);
    keepRows(boxes);
    return boxes;
  }

  // Not every choice goes with every other: the box that was changed last wins.
  function settle(boxes, changed) {
    const chosen = Object.fromEntries(Object.entries(boxes).map(([name, box]) => [name, box.value]));
    if (layerFor(data, chosen)) return;
    const other = data.layers.find(({ only }) => only[changed] === undefined || only[changed] === chosen[changed]);
    for (const [name, value] of Object.entries(other?.only || {})) boxes[name].value = value;
  }

  function keepRows(boxes) {
    const table = figure.querySelector("div.table");
    const wanted = data.filters.filter(({ column }) => column !== null).map(({ name, column }) => [column, boxes[name].value]);
    table?.keep((row) => wanted.every(([column, value]) => !value || row.texts[column] === value));
  }
};
