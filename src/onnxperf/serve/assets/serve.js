"use strict";
// Lists and points by keyboard, times in the reader's time zone, filters that apply at once.
(() => {
  const links = Array.from(document.querySelectorAll(".runs .id a, .models .id a, .rows .topic"));
  const boxes = Array.from(document.querySelectorAll(".runs input[type=checkbox]"));
  const search = document.querySelector("#search input[type=search]");
  const compare = document.getElementById("compare");

  const pad = (number) => String(number).padStart(2, "0");
  for (const time of document.querySelectorAll("time")) {
    const when = new Date(time.dateTime);
    if (Number.isNaN(when.valueOf())) continue;
    time.textContent = `${when.getFullYear()}-${pad(when.getMonth() + 1)}-${pad(when.getDate())} ${pad(when.getHours())}:${pad(when.getMinutes())}`;
    time.title = `${time.dateTime.slice(0, 19).replace("T", " ")} UTC`;
  }

  for (const select of document.querySelectorAll("#search select")) {
    select.addEventListener("change", () => select.form.requestSubmit());
  }
  // Empty values are left out of the address.
  document.getElementById("search")?.addEventListener("submit", ({ target }) => {
    for (const field of target.elements) field.disabled = Boolean(field.name) && !field.value;
  });
  addEventListener("pageshow", () => {
    for (const field of document.querySelectorAll("#search [name]")) field.disabled = false;
    settle();
  });

  const settle = () => {
    if (!compare) return;
    const picked = boxes.filter((box) => box.checked).length;
    compare.disabled = picked !== 2;
    compare.textContent = picked ? `Compare (${picked} of 2 picked)` : "Compare";
    for (const box of boxes) box.disabled = picked >= 2 && !box.checked;
  };
  for (const box of boxes) box.addEventListener("change", settle);
  settle();

  const rowOf = (link) => link.closest("tr, li");
  const here = () => links.findIndex((link) => rowOf(link).contains(document.activeElement));
  const move = (step) => {
    const place = here();
    const next = place < 0 ? (step > 0 ? 0 : links.length - 1) : place + step;
    if (links[next]) { links[next].focus(); links[next].scrollIntoView({ block: "nearest" }); }
  };
  const acts = {
    "/": () => { search?.focus(); search?.select(); },
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    x: () => rowOf(links[here()] ?? document.body)?.querySelector("input[type=checkbox]")?.click(),
    c: () => { if (compare && !compare.disabled) compare.click(); },
  };
  // The points of a series: one is reached by Tab, the arrows lead to the others.
  for (const track of document.querySelectorAll(".track")) {
    const points = Array.from(track.querySelectorAll("a"));
    const along = (point) => point.querySelector("circle, text").getBoundingClientRect().x;
    track.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step || event.altKey || event.ctrlKey || event.metaKey) return;
      const sorted = points.map((point) => [along(point), point]).sort(([one], [other]) => one - other).map(([, point]) => point);
      const next = sorted[sorted.indexOf(document.activeElement) + step];
      if (!next) return;
      event.preventDefault();
      for (const point of points) point.setAttribute("tabindex", point === next ? "0" : "-1");
      next.focus();
    });
  }

  addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("select, textarea, input:not([type=checkbox])");
    if (typing && event.key === "Escape") event.target.blur();
    const inSearch = event.target === search && event.key === "ArrowDown";
    if ((typing && !inSearch) || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = acts[event.key];
    if (!act || (event.key.startsWith("Arrow") && !inSearch && here() < 0)) return;
    event.preventDefault();
    act();
  });

  onnxperf.startTheme();
  document.documentElement.dataset.ready = "";
})();
