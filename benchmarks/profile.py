"""Does a profile add up, and does it say the same again? Sums at every level, and shares over repeats, quiet and busy.

usage: python -m benchmarks.profile [repeats]
The estimator before (every row its own faster half of the iterations) reads the same traces.
"""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean

import numpy as np
import onnx
from onnx.backend.test.data import light
from skl2onnx import to_onnx
from sklearn.cluster import KMeans

import onnxperf
from benchmarks.fidelity import LOAD, LOADS, mlp
from benchmarks.kept import keep
from onnxperf.api._shared.opening import Source
from onnxperf.records.profile import Profile, added, steady

Shares = dict[str, float]


def models(folder: Path) -> dict[str, Source]:
    """Five models of 2 to 200 nodes, none of which is downloaded."""
    rng = np.random.default_rng(0)
    data = rng.standard_normal((500, 16), dtype=np.float32)
    kmeans = to_onnx(KMeans(8, n_init=1, random_state=0).fit(data), data[:1])
    onnx.save(kmeans, folder / "kmeans.onnx")
    onnx.save(mlp(), folder / "mlp.onnx")
    return {
        "tiny-bert": "zoo:tiny-bert",
        "tiny-resnet": "zoo:tiny-resnet",
        "KMeans": str(folder / "kmeans.onnx"),
        "MLP": str(folder / "mlp.onnx"),
        "light shufflenet": str(Path(light.__path__[0]) / "light_shufflenet.onnx"),
    }


def faster_half(times: Sequence[int]) -> float:
    """The estimator before."""
    counted = sorted(steady(times))
    return fmean(counted[: (len(counted) + 1) // 2])


def old_shares(profile: Profile) -> tuple[Shares, float]:
    """Shares of operators as they were, and the sum of nodes / the whole."""
    whole = faster_half(added(node.self_us for node in profile.nodes))
    nodes = math.fsum(faster_half(node.self_us) for node in profile.nodes)
    return {each.op_name: faster_half(each.self_us) / whole for each in profile.operators}, nodes / whole


def new_shares(profile: Profile) -> Shares:
    """Shares of operators as they are."""
    return {each.op_name: each.usual_us / profile.usual_nodes_us for each in profile.operators}


def worst_difference(profile: Profile) -> float:
    """The largest difference between the whole and what rows of a level add up to, in microseconds."""
    without = [node for node in profile.nodes if node.module is None]
    modules = [*profile.modules, *without] if profile.modules else profile.nodes
    levels = (profile.nodes, profile.operators, profile.sources or profile.nodes, modules)
    return max(abs(math.fsum(row.usual_us for row in rows) - profile.nodes_us) for rows in levels)


def distance(one: Shares, other: Shares) -> float:
    """How much of the time two profiles give to other operators."""
    return sum(abs(one.get(name, 0.0) - other.get(name, 0.0)) for name in {*one, *other}) / 2


def middle(several: Sequence[Shares]) -> Shares:
    """The mean shares."""
    sums: Shares = defaultdict(float)
    for shares in several:
        for name, share in shares.items():
            sums[name] += share / len(several)
    return sums


def _quiet(_done: float, _text: str) -> None:
    """No progress bar between the figures."""


def measure(sources: dict[str, Source], repeats: int) -> dict[str, list[Profile]]:
    """Profiles of each model, in turns."""
    found: dict[str, list[Profile]] = defaultdict(list)
    for _ in range(repeats):
        for name, source in sources.items():
            found[name].append(onnxperf.profile(source, threads=1, progress=_quiet).record)
    return found


def loaded(sources: dict[str, Source], repeats: int) -> dict[str, list[Profile]]:
    """The same next to programs that work in bursts."""
    noise = [subprocess.Popen([sys.executable, "-c", LOAD]) for _ in range(LOADS)]
    try:
        return measure(sources, repeats)
    finally:
        for each in noise:
            each.kill()
            each.wait()


def row(name: str, state: str, profiles: Sequence[Profile], quiet: Sequence[Profile]) -> str:
    """A line of the table."""
    both = []
    for shares_of in (lambda each: old_shares(each)[0], new_shares):
        mine, still = [shares_of(each) for each in profiles], middle([shares_of(each) for each in quiet])
        spread = fmean(distance(each, middle(mine)) for each in mine)
        both.append((spread, fmean(distance(each, still) for each in mine)))
    before = [old_shares(each)[1] for each in profiles]
    off = max(map(worst_difference, profiles))
    cells = [f"{name}, {state}", f"{min(before):.2f}-{max(before):.2f}", f"{off:.1e} us"]
    cells += [f"{one:.3f} -> {other:.3f}" for one, other in zip(*both, strict=True)]
    return f"| {' | '.join(cells)} |"


def main(arguments: Sequence[str]) -> None:
    """Profile each model several times, quiet and busy."""
    repeats = int(arguments[0]) if arguments else 6
    with tempfile.TemporaryDirectory() as folder:
        sources = models(Path(folder))
        quiet, busy = measure(sources, repeats), loaded(sources, repeats)
    lines = [
        f"{repeats} profiles of each model with one thread; the faster halves of before on the same traces -> today.",
        "Repeatability: part of the time that a profile gives to other operators than the mean of its repeats does;",
        "distance: the same against the mean of the quiet ones.",
        "",
        "| model | sum of nodes / whole, before | largest difference, today | repeatability | distance from quiet |",
        "|---|---|---|---|---|",
    ]
    for name in sources:
        lines += [row(name, "quiet", quiet[name], quiet[name]), row(name, "busy", busy[name], quiet[name])]
    keep("Profiles add up", lines)


if __name__ == "__main__":
    main(sys.argv[1:])
