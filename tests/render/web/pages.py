"""A small result of every kind, measured for its page, and what holds for each page."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

import onnxperf
from onnxperf.results.base import Result
from onnxperf.results.bisect import BisectResult
from onnxperf.results.history import HistoryResult
from onnxperf.results.report import Report
from tests.render.history_examples import two_machines
from tests.render.web.browser import opened_page
from tests.render.web.test_finding_sections import BISECTION

HOSTILE = '<img src=x onerror="window.broken=1">\'</script><script>window.broken=1</script>\x1b[31m'


def network() -> onnx.ModelProto:
    """Two products with a hostile name each, which become one node each."""
    rng = np.random.default_rng(0)
    weights = [numpy_helper.from_array(rng.standard_normal((32, 32), dtype=np.float32), f"W{n}") for n in range(2)]
    nodes = [
        helper.make_node("MatMul", ["X", "W0"], ["A"], name=f"first {HOSTILE}"),
        helper.make_node("Softmax", ["A"], ["B"], name="middle"),
        helper.make_node("MatMul", ["B", "W1"], ["Y"], name=f"last {HOSTILE}"),
    ]
    ends = [helper.make_tensor_value_info(name, 1, ["rows", 32]) for name in "XY"]
    graph = helper.make_graph(nodes, f"graph {HOSTILE}", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def allocate() -> int:
    return sum(range(1000))


@cache
def model_in(folder: str) -> Path:
    path = Path(folder) / "m.onnx"
    onnx.save(network(), path)
    return path


KINDS: dict[str, Callable[[Path], Result[Any] | Report]] = {
    "bench": lambda m: onnxperf.bench(m, call="run,run-c,io-binding", dims={"rows": 4}, blocks=8),
    "sweep": lambda m: onnxperf.bench(m, call="run,run-c", dims={"rows": [1, 4, 16]}, blocks=6),
    "profile": lambda m: onnxperf.profile(m, dims={"rows": 4}, calls=5, roofline=True),
    "diff": lambda m: onnxperf.diff(m, opt_level="disable,all", dims={"rows": 4}, calls=5, race=False),
    "memory": lambda m: onnxperf.memory(m, dims={"rows": 4}, calls=5),
    "stack": lambda m: onnxperf.stack(m, dims={"rows": 4}, calls=2000),
    "check": lambda m: onnxperf.check(m, runtime="ort,reference", dims={"rows": 4}),
    "optimize": lambda m: onnxperf.optimize(m, m.with_name("optimised.onnx")),
    "view": lambda m: onnxperf.view(m, profile=True, dims={"rows": 4}),
    "tune": lambda m: onnxperf.tune(m, dims={"rows": 4}, time=2.0, call="run"),
    "advise": lambda m: onnxperf.advise(m, dims={"rows": 4}, time=2.0),
    "quantize": lambda m: onnxperf.quantize(m, dims={"rows": 4}, time=4.0),
    "einsum": lambda _: onnxperf.optimize_einsum("ij,jk->ik", [(8, 8), (8, 8)], time=2.0),
    "profiles": lambda m: onnxperf.profile(m, dims={"rows": 4}, calls=5, threads=[1, 2]),
    "two graphs": onnxperf.diff_view,
    "doctor": lambda _: onnxperf.doctor(time=1.0),
    "lines": lambda _: onnxperf.memory_lines(allocate),
    "convert": lambda _: _converted(),
    "two runs": lambda m: onnxperf.report(_short_bench(m), _short_bench(m)),
    "gate": lambda m: onnxperf.gate(m, m, dims={"rows": [1, 4]}, time=1.0, max_memory=0.5),
    "bisect": lambda _: BisectResult(BISECTION),  # a real one takes minutes
    "history": lambda _: HistoryResult(two_machines()),
}
"""How a small result of each kind is measured."""
SEARCHES = ("advise", "doctor", "einsum", "gate", "quantize", "tune", "two runs")
"""Kinds that take as long to measure as all others together; their tests have a file and so a process of their own."""


def _converted() -> Result[Any]:
    from sklearn.linear_model import LinearRegression

    rows = np.random.default_rng(0).random((20, 3))
    return onnxperf.convert(LinearRegression().fit(rows, rows.sum(axis=1)), rows.astype(np.float32))


def _short_bench(model: Path) -> Result[Any]:
    return onnxperf.bench(model, call="run,run-c", dims={"rows": 4}, blocks=6)


def draw_all(page: Any) -> None:
    """Bring every chart into view, so that it is drawn."""
    for figure in page.query_selector_all("figure.chart"):
        figure.evaluate("(each) => { each.closest('details')?.setAttribute('open', ''); each.scrollIntoView(); }")
        page.wait_for_function("(each) => each.chart !== undefined", arg=figure)


BLANK = """(figure) => {
  const canvas = figure.querySelector("canvas");
  const data = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return data.every((value) => value === data[0]);
}"""
FAINT = """() => {
  const parts = (colour) => (colour.match(/[\\d.]+/g) || []).map(Number);
  const light = (colour) => {
    const linear = (v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    const [r, g, b] = parts(colour).slice(0, 3).map((v) => linear(v / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const colour = getComputedStyle(each).backgroundColor;
      if (parts(colour)[3] !== 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility()) continue;
    if (element.closest("svg, script, .skip")) continue;
    const [one, other] = [light(getComputedStyle(element).color), light(behind(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    if (contrast < 4.5) found.push(`${walker.currentNode.data.trim().slice(0, 40)}: ${contrast.toFixed(2)}`);
  }
  return found;
}"""
"""Texts that are hard to read: a contrast below 4.5 (WCAG AA)."""


def assert_drawn(browser: Any, path: Path) -> None:
    """All charts are there, and nothing was executed or requested that should not be."""
    assert path.stat().st_size < 8e6
    with opened_page(browser, path) as opened:
        draw_all(opened.page)
        blank = [figure.evaluate(BLANK) for figure in opened.page.query_selector_all("figure.chart")]
        assert not any(blank)
        assert opened.page.evaluate("window.broken") is None
        assert opened.page.query_selector("main img") is None
        assert (opened.complaints, opened.requests) == ([], [])


def assert_readable(browser: Any, path: Path, dark: bool) -> None:
    """On a phone, every text has contrast and nothing is cut off."""
    with opened_page(browser, path, width=390, dark=dark) as opened:
        draw_all(opened.page)
        assert opened.page.evaluate("document.documentElement.scrollWidth") <= 390
        assert opened.page.evaluate(FAINT) == []
        assert opened.page.evaluate("document.documentElement.dataset.theme") == ("dark" if dark else "light")
