"use strict";
// Drawings of graphs: moved by dragging, enlarged by the wheel, keys and buttons; boxes are linked with rows by their keys.
onnxperf.startDrawings = () => {
  const start = (figure) => {
    const frame = figure.querySelector(".window");
    const svg = frame.querySelector("svg");
    const whole = svg.viewBox.baseVal;
    const all = { x: whole.x, y: whole.y, width: whole.width, height: whole.height };
    // The first view: everything where that can be read, else the part where the model is fed.
    const first = () => {
      const [across, down] = [frame.clientWidth || 800, frame.clientHeight || 500];
      const scale = Math.min(1, Math.min(across / all.width, down / all.height));
      if (scale >= 0.55) return { ...all };
      const [width, height] = [across / 0.7, down / 0.7];
      const middle = Number(svg.dataset.start) || all.width / 2;
      const x = width >= all.width ? (all.width - width) / 2 : Math.min(Math.max(middle - width / 2, 0), all.width - width);
      return { x, y: 0, width, height };
    };
    let view = first();
    // What the window shows: it is wider or higher than the view unless both have the same proportions.
    const seen = () => {
      const pixel = Math.max(view.width / (frame.clientWidth || 800), view.height / (frame.clientHeight || 500));
      const [width, height] = [pixel * (frame.clientWidth || 800), pixel * (frame.clientHeight || 500)];
      return { x: view.x + (view.width - width) / 2, y: view.y, width, height };
    };
    const map = onnxperf.minimap(frame, svg, all, (x, y) => { view = { ...view, x: x - view.width / 2, y: y - view.height / 2 }; show(); });
    const show = () => {
      svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
      map.show(seen());
    };
    const scale = (factor, x = view.x + view.width / 2, y = view.y + view.height / 2) => {
      const width = Math.min(Math.max(view.width * factor, all.width / 400), all.width * 2);
      const by = width / view.width;
      view = { x: x - (x - view.x) * by, y: y - (y - view.y) * by, width, height: view.height * by };
      show();
    };
    const move = (x, y) => { view = { ...view, x: view.x + x * view.width, y: view.y + y * view.height }; show(); };
    const place = (event) => {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      return [point.x, point.y];
    };
    show();
    const boxes = new Map();  // by what they stand for, and by the operators and modules that they belong to
    const add = (key, box) => { if (boxes.has(key)) boxes.get(key).push(box); else boxes.set(key, [box]); };
    const titles = [];
    for (const box of svg.querySelectorAll("[data-key]")) {
      add(box.dataset.key, box);
      for (const group of (box.dataset.groups || "").split("\n").filter(Boolean)) add(group, box);
      titles.push([box.querySelector("title").textContent.split("\n")[0].toLowerCase(), box]);
    }

    // The wheel and a finger belong to the page until the drawing has the focus.
    const live = (event) => document.activeElement === frame || event.ctrlKey || event.metaKey;
    frame.addEventListener("wheel", (event) => { if (!live(event)) return; scale(event.deltaY > 0 ? 1.25 : 0.8, ...place(event)); event.preventDefault(); }, { passive: false });
    let held = null;
    let moved = false;
    frame.addEventListener("pointerdown", (event) => { held = event.pointerType === "touch" && !live(event) ? null : place(event); moved = false; });
    frame.addEventListener("pointermove", (event) => {
      if (!held || !event.buttons) return;
      const now = place(event);
      moved = moved || Math.hypot(now[0] - held[0], now[1] - held[1]) > view.width / 200;
      view = { ...view, x: view.x - now[0] + held[0], y: view.y - now[1] + held[1] };
      show();
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) frame.addEventListener(end, () => { held = null; });
    frame.addEventListener("click", (event) => {
      const box = event.target.closest("[data-key]");
      if (box && !moved) onnxperf.select(box.dataset.key, figure);
    });
    let before = view;
    addEventListener("beforeprint", () => { before = view; view = { ...all }; show(); });
    addEventListener("afterprint", () => { view = before; show(); });
    const keys = { "+": () => scale(0.8), "-": () => scale(1.25), 0: () => { view = { ...all }; show(); }, ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1) };
    frame.addEventListener("keydown", (event) => { if (keys[event.key]) { keys[event.key](); event.preventDefault(); } });

    const areaOf = (box) => {
      const { x, y, width, height } = box.getBBox();
      const matrix = svg.getScreenCTM().inverse().multiply(box.getScreenCTM());
      const [from, to] = [new DOMPoint(x, y), new DOMPoint(x + width, y + height)].map((point) => point.matrixTransform(matrix));
      return { x: from.x, y: from.y, width: to.x - from.x, height: to.y - from.y };
    };
    // Nothing moves if one of the boxes can be seen and read.
    const reveal = (found) => {
      const areas = found.map(areaOf);
      const now = seen();
      const isIn = (area) => area.x >= now.x && area.y >= now.y && area.x + area.width <= now.x + now.width && area.y + area.height <= now.y + now.height;
      if (areas.some((area) => isIn(area) && area.width > now.width / 25)) return;
      const [area] = areas;
      const width = Math.min(view.width, Math.max(area.width * 6, all.width / 40));
      const height = width * (now.height / now.width);
      view = { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
      show();
    };
    onnxperf.selecting.push((key, from) => {
      for (const box of svg.querySelectorAll(".selected")) box.classList.remove("selected");
      const found = boxes.get(key) || [];
      found.forEach((box) => box.classList.add("selected"));
      svg.classList.toggle("chosen", found.length > 0);
      if (found.length && from !== figure) reveal(found);
      offer.hidden = !found.length || isSeen();
      status.textContent = found.length > 1 ? `${found.length} nodes are lit` : "";
    });

    // A graph that is lit out of sight is a click away; the page does not jump on its own.
    const isSeen = () => { const { top, bottom } = frame.getBoundingClientRect(); return top < innerHeight - 60 && bottom > 120; };
    const offer = onnxperf.button("Show it in the graph", () => figure.scrollIntoView());
    offer.className = "offer";
    offer.hidden = true;
    addEventListener("scroll", () => { if (isSeen()) offer.hidden = true; }, { passive: true });
    figure.append(offer);

    const tools = figure.querySelector(".tools");
    const status = document.createElement("span");
    status.className = "dim";
    status.setAttribute("role", "status");
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = "Find a node";
    search.setAttribute("aria-label", "Find a node");
    search.addEventListener("change", () => {
      const words = search.value.toLowerCase();
      const named = titles.find(([title]) => title.startsWith(`${words} (`)) || titles.find(([title]) => title.includes(words));
      const key = words && named ? named[1].dataset.key : "";
      search.setCustomValidity(key || !words ? "" : "No node has this in its name.");
      search.reportValidity();
      if (key) { onnxperf.select(key, search); reveal([named[1]]); }
    });
    tools.append(search, onnxperf.button("+", keys["+"], "Enlarge"), onnxperf.button("−", keys["-"], "Reduce"), onnxperf.button("Whole", keys[0], "Show the whole graph"), status);
    tools.hidden = false;
  };
  document.querySelectorAll("figure.drawing").forEach(start);
};

// The whole graph in a corner of its window, with a frame around what is seen; a click moves there. It hides if all is seen.
onnxperf.minimap = (frame, svg, all, goTo) => {
  const make = (name, values) => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    return made;
  };
  const map = make("svg", { class: "minimap", viewBox: `${all.x} ${all.y} ${all.width} ${all.height}`, "aria-hidden": "true" });
  const around = make("rect", { class: "seen" });
  const fill = () => {
    const back = svg.getScreenCTM().inverse();
    for (const shape of svg.querySelectorAll("[data-key] > rect:first-of-type")) {
      const { a, b, c, d, e, f } = back.multiply(shape.getScreenCTM());
      const copy = make("rect", { transform: `matrix(${a} ${b} ${c} ${d} ${e} ${f})` });
      for (const name of ["width", "height", "fill", "stroke"]) copy.setAttribute(name, shape.getAttribute(name));
      map.append(copy);
    }
    map.append(around);
  };
  const go = (event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    goTo(point.x, point.y);
  };
  map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); go(event); event.stopPropagation(); });
  map.addEventListener("pointermove", (event) => { if (event.buttons) go(event); event.stopPropagation(); });
  map.addEventListener("click", (event) => event.stopPropagation());
  frame.append(map);
  return {
    show({ x, y, width, height }) {
      const isWhole = width >= all.width * 0.98 && height >= all.height * 0.98;
      map.style.display = isWhole ? "none" : "block";
      if (isWhole) return;
      const scale = Math.min(150 / all.width, (0.6 * (frame.clientHeight || 500)) / all.height);
      map.style.width = `${Math.max(all.width * scale, 24)}px`;
      map.style.height = `${all.height * scale}px`;
      if (!around.isConnected) fill();
      for (const [name, value] of Object.entries({ x, y, width, height })) around.setAttribute(name, value);
    },
  };
};
