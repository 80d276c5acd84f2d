"use strict";
// Tables that can be sorted, searched and walked through; of long ones, rows are made when they are wanted.
onnxperf.startTables = () => {
  const usual = 12;  // rows that are shown at once: what comes below a table should not be far away
  const step = 300;  // rows that each click adds
  const few = 3;  // cases up to which a table shows all of them
  const short = 8;  // rows up to which nobody needs a search

  const groupsOf = (places) => (places ? places.split(" ").map((place) => onnxperf.data.groups[place]) : []);

  const rowOf = (element) => ({
    element,
    key: element.dataset.key || "",
    groups: groupsOf(element.dataset.groups),
    texts: Array.from(element.cells, (cell) => (cell.dataset.marks ? "" : cell.textContent)),
    values: Array.from(element.cells, (cell) => (cell.dataset.value === undefined ? null : Number(cell.dataset.value))),
  });

  const makeRow = ([key, compact, groups], heads, cells = compact.map((cell) => (typeof cell === "string" ? [cell, null, "", ""] : cell))) => ({
    element: null,
    key,
    groups: groupsOf(groups),
    texts: cells.map(([text, , , marks]) => (marks ? "" : text)),
    values: cells.map((cell) => cell[1]),
    make() {
      const row = document.createElement("tr");
      if (key) row.dataset.key = key;
      cells.forEach(([text, , style, marks], place) => {
        const cell = row.insertCell();
        cell.textContent = text;
        if (marks) cell.dataset.marks = marks;
        cell.className = [...heads[place].classList, text.length > 40 ? "long" : "", style].filter(Boolean).join(" ");
      });
      return row;
    },
  });

  const start = (box) => {
    const body = box.querySelector("tbody");
    const frame = box.querySelector(".scroll");
    const heads = Array.from(box.querySelectorAll("th"));
    const names = heads.map((head) => head.textContent);
    const rows = Array.from(body.rows, rowOf).concat((onnxperf.data.tables[box.id] || []).map((row) => makeRow(row, heads)));
    const tools = box.querySelector(".tools");
    const search = tools.querySelector("input");
    const status = tools.querySelector("[role=status]");
    const more = box.querySelector(".more");
    const below = box.querySelector("tfoot");  // totals of all rows
    let order = rows;
    const first = box.closest(".panes") ? 60 : usual;  // a pane scrolls
    let limit = first;
    let kept = () => true;  // rows that a select box of a chart leaves
    let only = "";  // the operator or module whose rows are shown

    const element = (row) => {
      row.element ??= row.make();
      if (!row.started) {
        row.started = true;
        row.element.tabIndex = -1;
        for (const cell of row.element.querySelectorAll("[data-marks]")) onnxperf.drawMarks(cell, cell.dataset.marks);
        if (row.key) link(row);
      }
      row.element.classList.toggle("selected", Boolean(row.key) && row.key === onnxperf.selected);
      return row.element;
    };
    const link = (row) => {
      const cell = row.element.cells[0];
      const words = cell.textContent.trimStart();
      const indent = cell.textContent.slice(0, cell.textContent.length - words.length);
      cell.replaceChildren(indent, onnxperf.button(words, () => onnxperf.select(row.key, box)));
    };
    // Of a selected case, a table of subjects shows its own; of many, one at a time.
    const scopes = new Set(rows.filter((row) => row.key.startsWith("case ") && row.key.includes(onnxperf.joint)).map((row) => row.key.split(onnxperf.joint)[0]));
    let scope = scopes.size > few ? [...scopes][0] : "";
    const choice = scopes.size > 1 ? document.createElement("select") : null;
    if (choice) {
      choice.append(new Option(`all ${scopes.size}`, ""), ...[...scopes].map((each) => new Option(each.replace("case ", ""), each)));
      choice.value = scope;
      choice.addEventListener("change", () => { scope = choice.value; onnxperf.select(scope, box); show(); });
      const label = document.createElement("label");
      label.append("Case ", choice);
      tools.prepend(label);
    }
    const follow = (key) => {
      const wanted = key.split(onnxperf.joint)[0];
      if (choice && scope && scopes.has(wanted)) choice.value = scope = wanted;
    };
    const isInScope = (row) => !scope || row.key.startsWith(`${scope}${onnxperf.joint}`);
    const found = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      return order.filter((row) => kept(row) && isInScope(row) && (!only || row.groups.includes(only)) && words.every((word) => row.texts.some((text) => text.toLowerCase().includes(word))));
    };
    const show = () => {
      const shown = found();
      const focused = document.activeElement;
      body.replaceChildren(...shown.slice(0, limit).map(element));
      if (body.contains(focused)) focused.focus({ preventScroll: true });
      status.textContent = shown.length === rows.length ? `${rows.length} rows` : `${shown.length} of ${rows.length} rows`;
      if (below) below.hidden = shown.length !== rows.length;
      more.hidden = shown.length <= limit;
      more.textContent = `Show ${Math.min(step, shown.length - limit)} more of ${shown.length}`;
      detail.show(shown.find((row) => row.key && row.key === onnxperf.selected));
    };

    // ---------------------------------------------------------------- columns, and all values of the selected row

    const extra = heads.some((head) => head.matches(".extra, .wide"));
    const all = box.querySelector(".all");
    const setBrief = (is) => { box.classList.toggle("brief", is); all.textContent = is ? "All figures" : "Fewer figures"; };
    all.hidden = !extra;
    if (extra) setBrief(true);
    all.addEventListener("click", () => setBrief(!box.classList.contains("brief")));
    const drawer = document.createElement("aside");
    drawer.className = "drawer";
    drawer.hidden = true;
    all.after(drawer);
    const detail = {
      show(row) {
        drawer.hidden = !row || !extra;
        if (drawer.hidden || drawer.dataset.key === row.key) return;
        drawer.dataset.key = row.key;
        const list = document.createElement("dl");
        row.texts.forEach((text, place) => {
          if (!place || !text.trim() || !names[place]) return;
          const [pair, name, value] = ["div", "dt", "dd"].map((tag) => document.createElement(tag));
          [name.textContent, value.textContent] = [names[place], text];
          pair.append(name, value);
          list.append(pair);
        });
        const title = document.createElement("h3");
        title.textContent = row.key.split(onnxperf.joint).map((part) => part.replace(/^(case|subject|operator|module|function) /, "")).join(" · ");
        drawer.replaceChildren(onnxperf.button("×", () => onnxperf.select("", box), "Close"), title, list);
      },
    };

    // ---------------------------------------------------------------- sorting

    const compare = (place, isNumber) => (one, other) => {
      if (isNumber) {
        const [a, b] = [one.values[place], other.values[place]];
        return a === null || b === null ? (a === null) - (b === null) : a - b;
      }
      return one.texts[place].localeCompare(other.texts[place], "en", { numeric: true });
    };
    const sort = (place) => {
      const head = heads[place];
      const isNumber = rows.filter((row) => row.values[place] !== null).length * 2 >= rows.length;
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
      if (!names[place]) return;
      head.setAttribute("aria-sort", "none");
      head.replaceChildren(onnxperf.button(names[place], () => sort(place)));
    });

    // ---------------------------------------------------------------- keys: arrows go from row to row, Enter selects

    const goTo = (step) => {
      const now = Array.from(body.rows).findIndex((row) => row.contains(document.activeElement));
      const wanted = step === -Infinity ? 0 : step === Infinity ? body.rows.length - 1 : now + step;
      if (wanted >= body.rows.length && !more.hidden) more.click();
      const row = body.rows[Math.max(wanted, 0)];
      row?.focus({ preventScroll: true });
      row?.scrollIntoView({ block: "nearest", inline: "nearest" });
    };
    const steps = { ArrowDown: 1, ArrowUp: -1, Home: -Infinity, End: Infinity };
    frame.addEventListener("keydown", (event) => {
      const row = event.target.closest("tbody tr");
      if (event.key in steps && !event.target.closest("thead")) goTo(steps[event.key]);
      else if (event.key === "Enter" && row?.dataset.key && event.target === row) onnxperf.select(row.dataset.key, box);
      else return;
      event.preventDefault();
    });

    const isSeen = () => { const { top, bottom, height } = box.getBoundingClientRect(); return height && top < innerHeight && bottom > 0; };
    addEventListener("beforeprint", () => { limit = Math.max(limit, step); show(); });
    search.addEventListener("input", () => { limit = first; show(); });
    more.addEventListener("click", () => { limit += step; show(); });
    tools.hidden = rows.length <= short && !choice;
    const chip = onnxperf.button("", () => { if (onnxperf.selected === only) onnxperf.select("", box); else { keepOnly(""); show(); } });
    chip.className = "chip";
    frame.before(chip);
    const groups = new Set(rows.flatMap((row) => row.groups));
    const keepOnly = (group) => {
      only = group;
      limit = Math.max(limit, first);
      chip.hidden = !only;
      chip.textContent = `only ${only.replace(/^(operator|module) /, "") || "the outermost module"} ×`;
    };
    keepOnly("");
    box.filters = (key) => groups.has(key);
    onnxperf.selecting.push((key, from) => {
      const isInside = only && rows.some((row) => row.key === key && row.groups.includes(only));
      const wanted = groups.has(key) ? key : isInside ? only : "";
      if (wanted !== only) { keepOnly(wanted); show(); }
      const row = rows.find((each) => each.key && each.key === key);
      follow(key);
      if (row && from !== box) {
        if (!found().includes(row)) search.value = "";
        limit = Math.max(limit, found().indexOf(row) + 1);
      }
      if (row || scopes.size || body.querySelector(".selected")) show();
      // The page does not jump: a row is brought into view in a table that is seen already.
      if (row && from !== box && isSeen()) row.element.scrollIntoView({ block: "nearest" });
    });
    const keys = new Set(rows.map((row) => row.key).filter(Boolean));
    box.has = (key) => keys.has(key);
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

  addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.target.closest("input, textarea, select")) return;
    const search = Array.from(document.querySelectorAll("input[type=search]")).find((each) => each.checkVisibility());
    if (search) { search.focus(); event.preventDefault(); }
  });
};
