"use strict";
// What all parts of the page share: the theme, and what is selected.
const onnxperf = {
  data: JSON.parse(document.getElementById("data").textContent),
  painters: {},  // functions by kind of chart: (picture, look, place) -> option of ECharts
  selecting: [],  // functions that receive the key that is selected, and who selected it
  theming: [],  // functions that redraw in other colors
  selected: "",
  joint: " | ",  // between the parts of a key
};

onnxperf.select = (key, from) => {
  onnxperf.selected = key;
  for (const receive of onnxperf.selecting) receive(key, from);
  onnxperf.address.write(key);
};

// The subject that is selected, in any case.
onnxperf.subject = () => onnxperf.selected.match(/^(?:case [^]*? \| )?subject ([^]*)$/)?.[1] ?? "";

// The selection is kept in the address, as #node=… or #case=…&subject=…, so that a link to a page shows it, too.
onnxperf.address = {
  write(key) {
    const parts = key.split(onnxperf.joint).filter(Boolean).map((part) => part.match(/^(case|subject|operator|module|function) ([^]*)$/)?.slice(1) ?? ["node", part]);
    const hash = new URLSearchParams(parts).toString();
    try { history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search); } catch { /* a frame has no address */ }
  },
  read() {
    const parts = location.hash.includes("=") ? [...new URLSearchParams(location.hash.slice(1))] : [];
    return parts.map(([kind, name]) => (kind === "node" ? name : `${kind} ${name}`)).join(onnxperf.joint);
  },
};

onnxperf.startSelection = () => {
  const key = onnxperf.address.read();
  if (key) onnxperf.select(key);
  addEventListener("keydown", (event) => { if (event.key === "Escape" && onnxperf.selected) onnxperf.select(""); });
};

onnxperf.look = () => {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  const look = { colors: [0, 1, 2, 3, 4, 5, 6, 7].map((n) => color(`c${n}`)) };
  for (const name of ["back", "panel", "text", "dim", "line", "accent", "green", "red", "yellow", "mark"]) look[name] = color(name);
  return look;
};

onnxperf.button = (words, act, label) => {
  const made = document.createElement("button");
  made.type = "button";
  made.textContent = words;
  if (label) made.setAttribute("aria-label", label);
  made.addEventListener("click", act);
  return made;
};

// What holds for all pages of a server; a file keeps nothing, and a frame may not.
onnxperf.kept = () => {
  try { return location.protocol.startsWith("http") ? localStorage : {}; } catch { return {}; }
};

onnxperf.startTheme = () => {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const set = (theme) => {
    root.dataset.theme = theme;
    button.textContent = theme === "dark" ? "Light" : "Dark";
    for (const redraw of onnxperf.theming) redraw();
  };
  const kept = onnxperf.kept();
  set(kept.theme || (dark.matches ? "dark" : "light"));
  dark.addEventListener("change", () => set(dark.matches ? "dark" : "light"));
  button.hidden = false;
  button.addEventListener("click", () => { set(root.dataset.theme === "dark" ? "light" : "dark"); kept.theme = root.dataset.theme; });
  let before = "";
  addEventListener("beforeprint", () => { before = root.dataset.theme; set("light"); });
  addEventListener("afterprint", () => set(before));
};

onnxperf.startCopying = () => {
  for (const box of document.querySelectorAll(".copied")) {
    const text = box.querySelector("pre, code");
    const button = onnxperf.button("Copy", async () => {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    });
    if (navigator.clipboard) box.append(button);
  }
};

// Links within the page keep the selection in the address; in the frame of a notebook they would lead to the notebook's.
onnxperf.startLinks = () => {
  for (const link of document.querySelectorAll("a[href^='#']")) {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      document.getElementById(link.getAttribute("href").slice(1)).scrollIntoView();
    });
  }
};
