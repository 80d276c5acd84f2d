"use strict";
// A whole as one bar: each part is as wide as its share, and selects what it stands for.
onnxperf.startShares = () => {
  const start = (bar) => {
    const parts = Array.from(bar.children);
    for (const part of parts) {
      part.style.flexGrow = part.dataset.share;
      if (part.dataset.key) part.addEventListener("click", () => onnxperf.select(part.dataset.key === onnxperf.selected ? "" : part.dataset.key, bar));
    }
    // Words that would be cut off are left to the tooltip: first the share, then the name.
    const fit = () => parts.forEach((part) => {
      const words = part.firstElementChild;
      const share = words.querySelector("strong");
      const isTooWide = () => words.offsetWidth + 8 > part.clientWidth;
      [words.hidden, share.hidden] = [false, false];
      share.hidden = isTooWide();
      words.hidden = isTooWide();
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
