"""How does the store grow, and what does Ray cost? Lists, pages and histories up to 100,000 cases; cases on Ray.

usage: python -m benchmarks.scale [store] [fleet] [ray=CASES]
       all parts unless some are named; ray=CASES runs so many cases of 5 s here and on a Ray of this machine (6)
"""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import onnxperf
from benchmarks.kept import keep
from onnxperf.cluster.base import ClusterNode, Ended, JobLoad, NodeJob, NodeReport
from onnxperf.cluster.dispatch import Dispatcher
from onnxperf.results.bench import BenchResult
from onnxperf.store import open_store
from tests.render import examples, sweeps
from tests.render.gallery import measured
from tests.serve.filling import MODELS, fill

GOAL_MS = 200.0
"""Of each list and page at 10,000 runs."""
OVERVIEW, OVERVIEW_MS = "page: overview", 300.0
"""The first page of serve judges the histories of all models, and has a goal of its own."""
GOAL_OVERHEAD = 0.10
CASE_S = 5.0
SIZES = (100, 1_000, 10_000, 100_000)
"""Runs of one case each."""
REPEATS = 9
FLEETS = ((10, 1_000), (100, 10_000), (1_000, 100_000))
"""Nodes, and cases."""


# ---------------------------------------------------------------- the store


def store_part() -> None:
    """Lists, pages and histories of stores of all sizes."""
    tables: dict[int, dict[str, float]] = {}
    for runs in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "runs.sqlite"
            race = examples.bench(sweeps.case(measured("run", 1e5), measured("run-c", 9e4), dims={"batch": 1}))
            with open_store(path) as store:
                fill(store, runs, race)
                tables[runs] = {"keep a run": median_ms(lambda: store.keep(race, "bench", topic="last"))}  # noqa: B023
                last = store.find("last").id
            tables[runs] |= {name: median_ms(step) for name, step in steps_on(path, last).items()}
            tables[runs] |= served_ms(path, last)
            print(runs, tables[runs], file=sys.stderr, flush=True)
    names = list(tables[SIZES[0]])
    lines = [
        "SQLite, runs of one case with two subjects (copies of one race with other times, names, tags and machines); "
        f"milliseconds, median of {REPEATS} after a first one. Pages are fetched from `onnxperf serve` over loopback.",
        "",
        f"| runs | {' | '.join(f'{runs:,}' for runs in SIZES)} |",
        f"|---|{'---|' * len(SIZES)}",
        *(f"| {name} | {' | '.join(f'{tables[runs][name]:.0f}' for runs in SIZES)} |" for name in names),
        "",
        *goal_lines(tables[10_000]),
    ]
    keep("scale: the store", lines)


def goal_lines(measured: Mapping[str, float]) -> list[str]:
    """Whether the goals at 10,000 runs are met."""
    others = max(ms for name, ms in measured.items() if name != OVERVIEW)
    verdict = "met" if measured[OVERVIEW] <= OVERVIEW_MS else "MISSED"
    return [
        f"Goal at 10,000 runs: {GOAL_MS:.0f} ms each; the slowest takes {others:.0f} ms. "
        f"Overview of all models: {OVERVIEW_MS:.0f} ms; it takes {measured[OVERVIEW]:.0f} ms: {verdict}."
    ]


def steps_on(path: Path, run: str) -> dict[str, Callable[[], object]]:
    """What people ask a store for."""
    return {
        "list of 20 (`onnxperf.runs`)": lambda: repr(onnxperf.runs(top=20, store=path)),
        "show a run (`load_run`)": lambda: repr(onnxperf.load_run(run, store=path)),
        "history of a fifth of the runs": lambda: repr(onnxperf.history(MODELS[1], store=path)),
    }


def served_ms(path: Path, run: str) -> dict[str, float]:
    """How long pages take that a server sends."""
    model = urllib.parse.quote(MODELS[1])
    pages = {
        OVERVIEW: "/",
        "page: runs": "/runs",
        "page: runs by speedup": "/runs?sort=speedup",
        "page: search of two words": "/runs?q=resnet50+main",
        "page: a run": f"/runs/{run}",
        "page: history": f"/history?model={model}",
        "API: runs": "/api/runs",
    }
    with server(path) as url:
        return {name: median_ms(lambda: _fetched(url + page)) for name, page in pages.items()}  # noqa: B023


@contextlib.contextmanager
def server(path: Path) -> Iterator[str]:
    """`onnxperf serve` in a process of its own."""
    command = [sys.executable, "-m", "onnxperf", "serve", "--store", str(path), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            said = process.stdout.readline() if process.stdout else ""
            yield next(word for word in said.split() if word.startswith("http://")).rstrip("/")
        finally:
            process.terminate()


def _fetched(url: str) -> bytes:
    with urllib.request.urlopen(url) as answer:
        return bytes(answer.read())


def median_ms(step: Callable[[], object]) -> float:
    """The usual time of a step, which is warm."""
    step()
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


# ---------------------------------------------------------------- Ray


def ray_part(cases: int) -> None:
    """The same cases here and on a Ray of this machine."""
    sizes = {"batch": list(range(1, cases + 1))}
    seconds: dict[str, list[float]] = {"here": [], "on Ray": []}
    starts: dict[str, float] = {}
    for place, keywords in {"here": {}, "on Ray": {"on": "ray"}}.items():
        ends: list[float] = []
        begin = time.monotonic()
        result = _timed_cases(sizes, ends, keywords)
        if not result.ok or len(ends) != cases:
            raise SystemExit(f"{place}: {result.answer}")
        starts[place] = ends[0] - begin
        seconds[place] = [later - earlier for earlier, later in pairwise(ends)]
    here, there = (statistics.mean(each) for each in seconds.values())
    lines = [
        f"{cases} cases of `zoo:tiny-linear`, `time={CASE_S:g}`, on one node, from the end of one to that of the next:",
        "",
        f"- {here:.2f} s a case here, {there:.2f} s on Ray: {there / here - 1:+.1%} (goal at most {GOAL_OVERHEAD:.0%})",
        f"- until the end of the first case: {starts['here']:.1f} s here, {starts['on Ray']:.1f} s on Ray, "
        "which starts its own processes and one of ours on each node",
    ]
    keep("scale: Ray", lines)


def _timed_cases(sizes: Mapping[str, list[int]], ends: list[float], keywords: dict[str, Any]) -> BenchResult:
    """Run cases, and note when each has ended."""
    from onnxperf.api._cluster.places import place_in
    from onnxperf.api._shared.cells import Contest, cells_of, run_cells
    from onnxperf.api._shared.requests import parse
    from onnxperf.options.functions import CASE

    def seen(cases: Sequence[object], _steps: object) -> None:
        if len(cases) > len(ends):
            ends.append(time.monotonic())

    settings = parse({"time": CASE_S, "dims": sizes, "threads": 1}, CASE)
    cells = cells_of(Contest("zoo:tiny-linear"), settings)
    return BenchResult(run_cells(cells, lambda _done, _text: None, seen=seen, place=place_in(keywords)))


# ---------------------------------------------------------------- larger fleets


class SimulatedFleet:
    """Nodes that answer at once: what is left is the work of our own process."""

    joining = False

    def __init__(self, nodes: int) -> None:
        self._nodes = [ClusterNode(f"{number}", f"node-{number}") for number in range(nodes)]
        self._busy: list[ClusterNode] = []

    def alive(self) -> Sequence[ClusterNode]:
        """All nodes."""
        return self._nodes

    nodes = alive

    def start(self, node: ClusterNode, load: JobLoad) -> None:  # noqa: ARG002
        """It will have answered at the next look."""
        self._busy.append(node)

    def wait(self, seconds: float) -> Sequence[Ended]:  # noqa: ARG002
        """All that were started."""
        busy, self._busy = self._busy, []
        return [Ended(node, b"") for node in busy]

    def reports(self) -> Mapping[str, NodeReport]:
        """Nothing."""
        return {}

    def release(self, node: ClusterNode) -> None:
        """It has no further job."""
        self._nodes.remove(node)

    def stop(self) -> None:
        """Nothing runs."""

    def close(self) -> None:
        """Nothing is open."""


def fleet_part() -> None:
    """The dispatcher with simulated nodes: no Ray, no network, no races."""
    lines = [
        "Simulated: nodes that answer at once, so that only the dispatcher works; no Ray, no network, no store.",
        "",
        "| nodes | cases | us a case |",
        "|---|---|---|",
    ]
    for nodes, cases in FLEETS:
        jobs = [NodeJob(str(number), lambda: JobLoad("", b"", {})) for number in range(cases)]
        begin = time.perf_counter()
        answered = sum(event.kind == "answered" for event in Dispatcher(jobs, SimulatedFleet(nodes)).events())
        spent = time.perf_counter() - begin
        if answered != cases:
            raise SystemExit(f"{answered} of {cases} cases were answered")
        lines.append(f"| {nodes:,} | {cases:,} | {1e6 * spent / cases:.0f} |")
    keep("scale: simulated fleets", lines)


def main() -> None:
    """The parts that are named, or all."""
    wanted = dict(each.partition("=")[::2] for each in sys.argv[1:]) or {"store": "", "fleet": "", "ray": ""}
    if "store" in wanted:
        store_part()
    if "fleet" in wanted:
        fleet_part()
    if "ray" in wanted:
        ray_part(int(wanted["ray"] or 6))


if __name__ == "__main__":
    main()
