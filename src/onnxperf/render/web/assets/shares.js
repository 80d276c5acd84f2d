"use strict";
// A whole as one bar: each part is as wide as its share, and selects what it stands for.
onnxperf.startShares = () => {
  const start = (bar) => {
    const parts = Array.from(bar.children);
    for (const part of parts) {
      part.style.flexGrow = part.dataset.share;
      if (part.dataset.key) part.addEventListener("click", () => onnxperf.select(part.dataset.key === onnxperf.selected ? "" : part.dataset.key, bar));
    }
    // Words that would be cut off are left to the tooltip.
    const fit = () => parts.forEach((part) => {
      const words = part.firstElementChild;
      words.hidden = false;
      words.hidden = words.offsetWidth + 8 > part.clientWidth;
    });
    new ResizeObserver(fit).observe(bar);
    addEventListener("beforeprint", fit);
    onnxperf.selecting.push((key) => {
      const isAbout = parts.some((part) => part.dataset.key && part.dataset.key === key);
      bar.classList.toggle("chosen", isAbout);
      for (const part of parts) if (part.dataset.key) part.setAttribute("aria-pressed", String(part.dataset.key === key));
    });
  };
  document.querySelectorAll("div.shares").forEach(start);
};
