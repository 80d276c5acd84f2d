"use strict";
// Tables that can be sorted and searched; of long ones, rows are made when they are wanted.
onnxperf.startTables = () => {
  const first = 25;  // rows that are shown at once: what comes below a table should not be far away
  const step = 300;  // rows that each click adds
  const short = 8;  // rows up to which nobody needs a search

  const rowOf = (element) => ({
    element,
    key: element.dataset.key || "",
    texts: Array.from(element.cells, (cell) => cell.textContent),
    values: Array.from(element.cells, (cell) => (cell.dataset.value === undefined ? null : Number(cell.dataset.value))),
  });

  const makeRow = ([key, compact], lefts, cells = compact.map((cell) => (typeof cell === "string" ? [cell, null, ""] : cell))) => ({
    element: null,
    key,
    texts: cells.map((cell) => cell[0]),
    values: cells.map((cell) => cell[1]),
    make() {
      const row = document.createElement("tr");
      if (key) row.dataset.key = key;
      cells.forEach(([text, , style], place) => {
        const cell = row.insertCell();
        cell.textContent = text;
        cell.className = [lefts[place] ? "left" : "", text.length > 40 ? "long" : "", style].filter(Boolean).join(" ");
      });
      return row;
    },
  });

  const start = (box) => {
    const body = box.querySelector("tbody");
    const heads = Array.from(box.querySelectorAll("th"));
    const lefts = heads.map((head) => head.classList.contains("left"));
    const rows = Array.from(body.rows, rowOf).concat((onnxperf.data.tables[box.id] || []).map((row) => makeRow(row, lefts)));
    const tools = box.querySelector(".tools");
    const search = tools.querySelector("input");
    const status = tools.querySelector("[role=status]");
    const more = box.querySelector(".more");
    const below = box.querySelector("tfoot");  // totals of all rows
    let order = rows;
    let limit = first;
    let kept = () => true;  // rows that a select box of a chart leaves

    const element = (row) => {
      row.element ??= row.make();
      if (row.key && !row.linked) {
        row.linked = true;
        const first = row.element.cells[0];
        const words = first.textContent.trimStart();
        const indent = first.textContent.slice(0, first.textContent.length - words.length);
        first.replaceChildren(indent, onnxperf.button(words, () => onnxperf.select(row.key, box)));
      }
      row.element.classList.toggle("selected", Boolean(row.key) && row.key === onnxperf.selected);
      return row.element;
    };
    const found = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      return order.filter((row) => kept(row) && words.every((word) => row.texts.some((text) => text.toLowerCase().includes(word))));
    };
    const show = () => {
      const shown = found();
      body.replaceChildren(...shown.slice(0, limit).map(element));
      status.textContent = shown.length === rows.length ? `${rows.length} rows` : `${shown.length} of ${rows.length} rows`;
      if (below) below.hidden = shown.length !== rows.length;
      more.hidden = shown.length <= limit;
      more.textContent = `Show ${Math.min(step, shown.length - limit)} more of ${shown.length}`;
    };
    const compare = (place, isNumber) => (one, other) => {
      if (isNumber) {
        const [a, b] = [one.values[place], other.values[place]];
        return a === null || b === null ? (a === null) - (b === null) : a - b;
      }
      return one.texts[place].localeCompare(other.texts[place], "en", { numeric: true });
    };
    const sort = (place) => {
      const head = heads[place];
      const isNumber = !lefts[place] && rows.filter((row) => row.values[place] !== null).length * 2 >= rows.length;
      const usual = isNumber ? "descending" : "ascending";
      const other = isNumber ? "ascending" : "descending";
      const now = head.getAttribute("aria-sort");
      const next = now === usual ? other : now === other ? "none" : usual;
      heads.filter((each) => each.textContent).forEach((each) => each.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", next);
      const by = compare(place, isNumber);
      const known = (row) => !isNumber || row.values[place] !== null;
      order = next === "none" ? rows : rows.filter(known).sort(next === "ascending" ? by : (a, b) => by(b, a)).concat(rows.filter((row) => !known(row)));
      show();
    };
    heads.forEach((head, place) => {
      const words = head.textContent;
      if (!words) return;
      head.setAttribute("aria-sort", "none");
      head.replaceChildren(onnxperf.button(words, () => sort(place)));
    });
    addEventListener("beforeprint", () => { limit = Math.max(limit, step); show(); });
    search.addEventListener("input", () => { limit = first; show(); });
    more.addEventListener("click", () => { limit += step; show(); });
    tools.hidden = rows.length <= short;
    onnxperf.selecting.push((key, from) => {
      const row = rows.find((each) => each.key && each.key === key);
      if (row && from !== box) {
        if (!found().includes(row)) search.value = "";
        limit = Math.max(limit, found().indexOf(row) + 1);
      }
      if (row || body.querySelector(".selected")) show();
      if (row && from !== box && !box.closest("details:not([open])")) row.element.scrollIntoView({ block: "nearest" });
    });
    box.keep = (keeps) => { kept = keeps; limit = first; show(); };
    show();
  };
  // A table that is folded away starts when it is opened: a page has many, and some are long.
  const startLater = (box) => {
    const folded = box.closest("details:not([open])");
    if (!folded) { start(box); return; }
    let wanted = null;
    box.keep = (keeps) => { wanted = keeps; };
    folded.addEventListener("toggle", () => { start(box); if (wanted) box.keep(wanted); }, { once: true });
  };
  document.querySelectorAll("div.table").forEach(startLater);
};
