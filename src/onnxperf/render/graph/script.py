"""The script within a drawing: it pans and zooms, and the page around it still scrolls."""

from __future__ import annotations

NOTEBOOK_HEIGHT = 600
"""Height in pixels that a drawing takes at most on a page with other things."""
SMALLEST_SCALE = 0.55
"""How small a drawing is shown so that it fits; one that would be smaller is shown in part."""

# Without < and &, so that it is the same text for readers of XML and of HTML. Every drawing on a page takes care of
# itself, whichever script comes first; no name or id is shared with the page.
#
# The first view: everything if that can be read, else the upper end, as wide as the page; only of a drawing that would
# be too small then, the part where the model is fed. The wheel belongs to the page, until a click into the drawing, or
# while Ctrl or Cmd is held.
SCRIPT = f"""
(function () {{
  var READABLE = 0.7, SMALLEST = {SMALLEST_SCALE}, TALLEST = {NOTEBOOK_HEIGHT};
  function start(svg) {{
    svg.setAttribute('data-live', '1');
    var box = svg.viewBox.baseVal, width = box.width, height = box.height, alone = svg === document.documentElement;
    var middle = Number(svg.getAttribute('data-start')), header = svg.querySelector('[data-header]');
    var active = alone, touched = false, held = null;
    svg.style.display = 'block';
    svg.style.width = '100%';
    svg.style.minWidth = '0';
    svg.style.cursor = 'grab';
    svg.style.outlineOffset = '-2px';
    function show(x, y, w, h) {{ svg.setAttribute('viewBox', [x, y, w, h].join(' ')); }}
    function reset() {{
      var room = svg.getBoundingClientRect().width, tallest = alone ? window.innerHeight : TALLEST;
      if (!room) return;
      var across = room / width, whole = Math.min(across, tallest / height);
      var scale = Math.min(1, whole >= SMALLEST ? whole : across >= SMALLEST ? across : READABLE);
      var h = alone ? tallest : Math.ceil(Math.min(height * scale, tallest));
      svg.style.height = alone ? '100vh' : h + 'px';
      var w = room / scale, x = width > w ? Math.min(Math.max(middle - w / 2, 0), width - w) : (width - w) / 2;
      show(x, 0, w, h / scale);
      if (header) header.setAttribute('transform', 'translate(' + Math.max(x, 0) + ' 0)');
      touched = false;
    }}
    function enter(is) {{
      active = alone || is;
      if (!alone) svg.style.outline = is ? '2px solid #93c5fd' : 'none';
    }}
    svg.addEventListener('wheel', function (event) {{
      if (!(active || event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      var r = svg.getBoundingClientRect(), b = svg.viewBox.baseVal;
      var factor = Math.exp(event.deltaY * (event.deltaMode ? 0.05 : 0.0015));
      factor = Math.min(Math.max(factor, 20 / b.width), 4 * Math.max(width, height, r.width) / b.width);
      var px = (event.clientX - r.left) / r.width, py = (event.clientY - r.top) / r.height;
      show(b.x + px * b.width * (1 - factor), b.y + py * b.height * (1 - factor), b.width * factor, b.height * factor);
      touched = true;
    }}, {{passive: false}});
    svg.addEventListener('pointerdown', function (event) {{
      if (event.button) return;
      held = [event.clientX, event.clientY];
      svg.setPointerCapture(event.pointerId);
      svg.style.cursor = 'grabbing';
    }});
    svg.addEventListener('pointermove', function (event) {{
      if (!held) return;
      var r = svg.getBoundingClientRect(), b = svg.viewBox.baseVal;
      show(b.x - (event.clientX - held[0]) * b.width / r.width, b.y - (event.clientY - held[1]) * b.height / r.height,
        b.width, b.height);
      held = [event.clientX, event.clientY];
      touched = true;
    }});
    function release() {{ held = null; svg.style.cursor = 'grab'; }}
    svg.addEventListener('pointerup', release);
    svg.addEventListener('pointercancel', release);
    svg.addEventListener('dblclick', reset);
    document.addEventListener('pointerdown', function (event) {{ enter(svg.contains(event.target)); }});
    // A page that is still hidden, or becomes wider: the first view again, unless it was moved.
    new ResizeObserver(function () {{ if (!touched) reset(); }}).observe(svg);
    reset();
  }}
  document.querySelectorAll('svg[data-onnxperf]:not([data-live])').forEach(start);
}})();
"""
