"""How long does a report take to build, and how long until a browser shows it?

usage: python -m benchmarks.report
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxperf
from benchmarks.kept import keep
from onnxperf.records.race import Bench, Case
from onnxperf.results.base import Result
from onnxperf.results.bench import BenchResult
from tests.render import examples, sweeps
from tests.render.gallery import measured
from tests.render.web.browser import CHROMIUM, opened_browser, opened_page

BUILD_S, OPEN_S = 2.0, 3.0
"""Goals: a report of an ordinary run is built, and a large one opened, in so many seconds."""
TIMES = 5


def ordinary() -> dict[str, Result[Any]]:
    """What people measure on an ordinary day."""
    model, sizes = "zoo:tiny-bert", {"batch": [1, 2, 4], "seq": [8, 16, 32, 64]}
    return {
        "bench of 3 call styles": onnxperf.bench(model, call="run,run-c,io-binding", time=5),
        "sweep of 12 cases": onnxperf.bench(model, call="run,run-c", dims=sizes, time=1),
        "profile": onnxperf.profile(model, roofline=True),
        "diff": onnxperf.diff(model, opt_level="disable,all", race=False),
        "memory": onnxperf.memory(model, calls=5),
        "view": onnxperf.view(model, profile=True),
    }


def many_cases(number: int) -> Bench:
    """A sweep of so many cases."""
    side = int(number**0.5)
    sizes = [(batch, seq) for batch in range(1, side + 1) for seq in range(1, -(-number // side) + 1)][:number]
    return examples.bench(*(_case(batch, seq) for batch, seq in sizes))


def _case(batch: int, seq: int) -> Case:
    subjects = [measured(name, (batch * seq + 5) * us) for name, us in (("ort", 1e5), ("torch", 1.3e5))]
    return sweeps.case(*subjects, dims={"batch": batch, "seq": seq})


def many_events(iterations: int, nodes: int) -> list[dict[str, Any]]:
    """A trace of so many nodes in each of so many iterations."""
    events: list[dict[str, Any]] = []
    now = 0
    for _ in range(iterations):
        start = now
        for node in range(nodes):
            arguments = {"op_name": f"Op{node % 40}", "node_index": str(node), "provider": "CPUExecutionProvider"}
            events.append(_event("Node", f"node_{node}_kernel_time", now, 5 + node % 7, arguments))
            now += 6 + node % 7
        events.append(_event("Session", "SequentialExecutor::Execute", start, now - start, {}))
        events.append(_event("Session", "model_run", start, now - start, {}))
        now += 10
    return events


def _event(category: str, name: str, start: int, us: int, arguments: dict[str, str]) -> dict[str, Any]:
    return {"cat": category, "pid": 1, "tid": 1, "ph": "X", "name": name, "ts": start, "dur": us, "args": arguments}


def large() -> dict[str, Callable[[], Result[Any]]]:
    """What is more than anybody wants to look at."""
    return {
        "profile of 100 x 1,000 events": lambda: onnxperf.profile(many_events(100, 1000)),
        "profile of 1 x 100,000 events": lambda: onnxperf.profile(many_events(1, 100_000)),
        "sweep of 1,000 cases": lambda: BenchResult(many_cases(1000)),
    }


def built_s(result: Result[Any], path: Path) -> float:
    """Seconds until the page is on the disk; the median of several."""
    taken = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        result.save(path)
        taken.append(time.perf_counter() - begin)
    return statistics.median(taken)


def opened_s(browser: Any, path: Path) -> tuple[float, float]:
    """Seconds until the scripts of a page have started, and those that zooming and sorting then take at most."""
    begin = time.perf_counter()
    with opened_page(browser, path) as opened:
        seconds = time.perf_counter() - begin
        slowest = 0.0
        for figure in opened.page.query_selector_all("figure.chart"):
            figure.evaluate("(each) => each.closest('details')?.setAttribute('open', '')")
            begin = time.perf_counter()
            figure.scroll_into_view_if_needed()
            opened.page.wait_for_function("(each) => each.chart !== undefined", arg=figure)
            zoom = figure.query_selector("button[aria-label='Zoom in']")
            if zoom is not None:
                zoom.click()
            opened.page.evaluate("() => new Promise(requestAnimationFrame)")
            slowest = max(slowest, time.perf_counter() - begin)
        for head in opened.page.query_selector_all("th button")[:3]:
            if head.is_visible():
                begin = time.perf_counter()
                head.click()
                opened.page.evaluate("() => new Promise(requestAnimationFrame)")
                slowest = max(slowest, time.perf_counter() - begin)
    return seconds, slowest


def main() -> None:
    """Build and open everything."""
    lines = ["| report of | built | size | opened | slowest drawing, zoom or sort |", "|---|---|---|---|---|"]
    met = []
    with tempfile.TemporaryDirectory() as folder, opened_browser() as browser:
        path = Path(folder) / "page.html"
        report_of = ordinary() | {name: make() for name, make in large().items()}
        for name, result in report_of.items():
            seconds, goal = built_s(result, path), BUILD_S
            opening, slowest = opened_s(browser, path) if CHROMIUM else (0.0, 0.0)
            lines.append(
                f"| {name} | {seconds:.2f} s | {path.stat().st_size / 1e6:.2f} MB | {opening:.2f} s | {slowest:.2f} s |"
            )
            met.append((name in large() or seconds <= goal) and opening <= OPEN_S)
    verdict = "met" if all(met) else "MISSED"
    lines += ["", f"- an ordinary report is built in {BUILD_S:g} s, every page is open in {OPEN_S:g} s: {verdict}"]
    keep("report", lines)


if __name__ == "__main__":
    main()
