"""Does a diff see ghosts? Nodes claimed where a model meets itself, and slower nodes that are found.

usage: python -m benchmarks.diff_rates [part[=diffs] ...]
parts: simulated, live; without one, both
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from multiprocessing import Pool

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import helper, numpy_helper

import onnxperf
from benchmarks.kept import keep, share
from onnxperf.analyze.judges.node_times import compared_rows
from onnxperf.records.diff import DiffRow
from onnxperf.records.profile import COMPARED_LAUNCHES as LAUNCHES
from onnxperf.records.profile import NodeTime, Profile, usual

Floats = NDArray[np.float64]

NODES, CALLS = 58, 20
"""Nodes of a simulated model, and inferences in each launch."""
PROCESS, LAUNCH, CALL = 0.01, 0.03, 0.04
"""Spread of what moves a node in one process (heavy tails), all nodes of both sides in a launch, and a single call."""
UNSTEADY = 0.1
"""Spread of processes on a busy machine with several threads."""
SLOWER, SLOWER_US = 1.2, 20.0
"""A node that is slower on the second side, and its time on the first."""


# ---------------------------------------------------------------- simulated


def _profile(rng: np.random.Generator, times_us: Floats, launches: Floats, lost: float, process: float) -> Profile:
    """Processes with layouts of their own; `lost` of the calls are interrupted by other programs."""
    parts: list[NDArray[np.int64]] = []
    for launch in launches:
        layout = np.exp(process * rng.standard_t(3, len(times_us)))
        calls = np.exp(np.abs(rng.normal(0, CALL, (CALLS, len(times_us)))))
        calls += rng.exponential(1.0, calls.shape) * (rng.random((CALLS, 1)) < lost)
        whole = launch * layout * times_us * calls
        parts.append(np.floor(whole + rng.random(whole.shape)).astype(int)[0 if not parts else 1 :])
    table = np.concatenate(parts)
    nodes = [
        NodeTime(
            name=f"n{number}", op_name="MatMul", tensors=(f"t{number}",), calls=len(us), self_us=tuple(us),
            total_us=tuple(us), usual_us=usual(us), usual_total_us=usual(us),
        )
        for number, us in enumerate(table.T.tolist())
    ]  # fmt: skip
    return Profile(model="m", events=0, iterations=len(table), launches=tuple(map(len, parts)), nodes=tuple(nodes))


def simulated_rows(
    seed: int, nodes: int, slower: float = 1.0, lost: float = 0.0, process: float = PROCESS
) -> Sequence[DiffRow]:
    """A diff of a model with itself, except that its first node is slower on the second side."""
    rng = np.random.default_rng(seed)
    times_us = np.exp(rng.uniform(np.log(0.5), np.log(500), nodes))
    times_us[0] = SLOWER_US
    shared = np.exp(LAUNCH * rng.standard_t(3, LAUNCHES))
    factors = np.ones(nodes)
    factors[0] = slower
    before = _profile(rng, times_us, shared, lost, process)
    return compared_rows(before, _profile(rng, times_us * factors, shared, lost, process))


def _claims(rows: Sequence[DiffRow]) -> list[str]:
    return [row.before_name for row in rows if not row.noise]


def _claimed(seed: int, nodes: int, slower: float, lost: float, process: float) -> bool:
    """Whether the slower node was found; if none is slower, whether any was claimed."""
    claims = _claims(simulated_rows(seed, nodes, slower, lost, process))
    return "n0" in claims if slower > 1 else bool(claims)


def simulated(diffs: int = 100) -> list[str]:
    """Diffs through the package's own comparison of nodes, with known truth."""
    lines = []
    slower = f"one of {SLOWER_US:.0f} us slower by a fifth, found"
    with Pool(2) as pool:
        for title, nodes, lost, process, factor in (
            (f"{NODES} nodes, A/A, a node claimed", NODES, 0.0, PROCESS, 1.0),
            (f"{NODES} nodes, a third of the calls interrupted, A/A, a node claimed", NODES, 0.33, PROCESS, 1.0),
            (f"{NODES} nodes, processes vary by 10 %, A/A, a node claimed", NODES, 0.0, UNSTEADY, 1.0),
            ("300 nodes, A/A, a node claimed", 300, 0.0, PROCESS, 1.0),
            (f"{NODES} nodes, {slower}", NODES, 0.0, PROCESS, SLOWER),
            (f"{NODES} nodes, a third of the calls interrupted, {slower}", NODES, 0.33, PROCESS, SLOWER),
            (f"300 nodes, {slower}", 300, 0.0, PROCESS, SLOWER),
        ):
            job = partial(_claimed, nodes=nodes, slower=factor, lost=lost, process=process)
            lines.append(f"- {title}: {share(sum(pool.map(job, range(diffs), chunksize=5)), diffs)}")
    return [
        f"Profiles of {LAUNCHES} launches per side through the package's own comparison: every process moves each node",
        "by 1 % (heavy tails), every launch both sides by 3 %, calls vary by 4 %, times are whole microseconds.",
        *lines,
    ]


# ---------------------------------------------------------------- live


def layers(count: int = 12, width: int = 128) -> onnx.ModelProto:
    """A chain of MatMul, Add and Softmax, as in a small transformer."""
    rng = np.random.default_rng(0)
    nodes, weights, name = [], [], "X"
    for number in range(count):
        weights.append(numpy_helper.from_array(rng.normal(0, 0.1, (width, width)).astype(np.float32), f"W{number}"))
        weights.append(numpy_helper.from_array(rng.normal(0, 0.1, (width,)).astype(np.float32), f"B{number}"))
        chain = [("MatMul", [name, f"W{number}"]), ("Add", [f"M{number}", f"B{number}"]), ("Softmax", [f"A{number}"])]
        outputs = [f"M{number}", f"A{number}", f"S{number}"]
        nodes += [helper.make_node(op, inputs, [out]) for (op, inputs), out in zip(chain, outputs, strict=True)]
        name = outputs[-1]
    ends = [helper.make_tensor_value_info(each, onnx.TensorProto.FLOAT, [32, width]) for each in ("X", name)]
    graph = helper.make_graph(nodes, "layers", ends[:1], ends[1:], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def _quiet(_done: float, _text: str) -> None:
    """No progress bar between the figures."""


def live(diffs: int = 20) -> list[str]:
    """Real diffs of models with themselves."""
    lines = []
    for title, model in (("zoo:tiny-bert", "zoo:tiny-bert"), ("a chain of 12 layers", layers())):
        claimed, most, begin = 0, 0, time.monotonic()
        for _ in range(diffs // 2):
            rows = onnxperf.diff(model, model, race=False, progress=_quiet).record.rows
            claims = _claims(rows)
            claimed, most = claimed + bool(claims), max(most, len(claims))
        each_s = (time.monotonic() - begin) / max(diffs // 2, 1)
        lines.append(
            f"- {title}: {share(claimed, diffs // 2)} claim a node, at most {most} of {len(rows)}; {each_s:.1f} s each"
        )
    return [f"Real A/A diffs, {LAUNCHES} launches of each side in turn:", *lines]


PARTS = {"simulated": simulated, "live": live}


def main(arguments: Sequence[str]) -> None:
    """Run the parts that were named, or all."""
    chosen = [each.partition("=") for each in arguments] or [(name, "", "") for name in PARTS]
    for name, _, number in chosen:
        keep(f"Diffs, {name}", PARTS[name](*([int(number)] if number else [])))


if __name__ == "__main__":
    main(sys.argv[1:])
