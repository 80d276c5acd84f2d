"use strict";
// Tables of which one is shown at a time; a selection shows the one that has it.
onnxperf.startTabs = () => {
  const start = (box) => {
    const panels = Array.from(box.children);
    const list = document.createElement("div");
    list.className = "tablist";
    list.setAttribute("role", "tablist");
    const show = (place) => panels.forEach((panel, each) => {
      panel.hidden = each !== place;
      buttons[each].setAttribute("aria-selected", String(each === place));
      buttons[each].tabIndex = each === place ? 0 : -1;
    });
    const buttons = panels.map((panel, place) => {
      const button = onnxperf.button(panel.querySelector("h3").textContent, () => show(place));
      button.setAttribute("role", "tab");
      panel.setAttribute("role", "tabpanel");
      panel.setAttribute("aria-label", button.textContent);
      list.append(button);
      return button;
    });
    list.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      const next = (buttons.indexOf(document.activeElement) + step + buttons.length) % buttons.length;
      show(next);
      buttons[next].focus();
    });
    const has = (panel, key) => Array.from(panel.querySelectorAll("div.table")).some((table) => table.has?.(key));
    const filters = (panel, key) => Array.from(panel.querySelectorAll("div.table")).some((table) => table.filters?.(key));
    onnxperf.selecting.push((key, from) => {
      if (!key) return;
      const isInto = Boolean(from?.matches?.(".shares"));  // a part of a whole leads to what it consists of
      const place = panels.findIndex((panel) => (isInto ? filters : has)(panel, key));
      const isShown = panels.some((panel) => !panel.hidden && (filters(panel, key) || (!isInto && has(panel, key))));
      if (place >= 0 && !isShown) show(place);
    });
    box.classList.add("started");
    box.prepend(list);
    show(0);
    addEventListener("beforeprint", () => panels.forEach((panel) => { panel.hidden = false; }));
    addEventListener("afterprint", () => show(buttons.findIndex((button) => button.ariaSelected === "true")));
  };
  document.querySelectorAll("div.tabs").forEach(start);
};
