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
    const show = () => svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
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
    const keys = { "+": () => scale(0.8), "-": () => scale(1.25), 0: () => { view = { ...all }; show(); }, ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1) };
    frame.addEventListener("keydown", (event) => { if (keys[event.key]) { keys[event.key](); event.preventDefault(); } });

    const reveal = (box) => {
      const area = box.getBBox();
      const matrix = svg.getScreenCTM().inverse().multiply(box.getScreenCTM());
      const middle = new DOMPoint(area.x + area.width / 2, area.y + area.height / 2).matrixTransform(matrix);
      const width = Math.min(view.width, Math.max(area.width * 6, all.width / 40));
      const height = width * (view.height / view.width);
      view = { x: middle.x - width / 2, y: middle.y - height / 2, width, height };
      show();
    };
    onnxperf.selecting.push((key, from) => {
      for (const box of svg.querySelectorAll(".selected")) box.classList.remove("selected");
      const found = boxes.get(key) || [];
      found.forEach((box) => box.classList.add("selected"));
      if (found.length && from !== figure) reveal(found[0]);
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
      if (key) { onnxperf.select(key, search); reveal(named[1]); }
    });
    tools.append(search, onnxperf.button("+", keys["+"], "Enlarge"), onnxperf.button("−", keys["-"], "Reduce"), onnxperf.button("Whole", keys[0], "Show the whole graph"), status);
    tools.hidden = false;
  };
  document.querySelectorAll("figure.drawing").forEach(start);
};
