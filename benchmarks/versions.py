"""Reports of "slower since a release", settled by a race of both releases and by instructions side by side.

usage: python -m benchmarks.versions [part[=number] ...]
parts: reduce, sign, trees (number: seconds of each race), equal (pairs), spread (counts); without one, all of them

Every part needs a package registry the first time, "spread" and the reports also valgrind and a C compiler.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import onnxperf
from benchmarks.fidelity import mlp
from benchmarks.kept import keep, share
from benchmarks.scenarios import ALARMS
from onnxperf.records.race import Subject

EQUAL = ("onnxruntime==1.31.1", "onnxruntime==1.31.1+numpy==2.4.6")
"""Two environments, the same version."""
HEAD = [
    "| case | claimed | time, new / old | 95 % interval | verdict | instructions, new / old | confirmed |",
    "|---|---|---|---|---|---|---|",
]
ONNX_ML = 3


# ---------------------------------------------------------------- models


def reduce_l1(shape: Sequence[int], axis: int) -> onnx.ModelProto:
    """The sum of absolute values along one axis, which stays."""
    node = helper.make_node("ReduceL1", ["X", "axes"], ["Y"], keepdims=1)
    axes = numpy_helper.from_array(np.array([axis], dtype=np.int64), "axes")
    return one_node(node, TensorProto.FLOAT, shape, 18, [axes])


def sign(shape: Sequence[int]) -> onnx.ModelProto:
    """The signs of whole numbers."""
    return one_node(helper.make_node("Sign", ["X"], ["Y"]), TensorProto.INT64, shape, 13)


def trees(depth: int) -> onnx.ModelProto:
    """One complete tree on one feature, one target: 1000 rows."""
    inner = 2**depth - 1
    ids = list(range(2 * inner + 1))
    is_leaf = [each >= inner for each in ids]
    # In the order of a heap; thresholds cut the normal distribution of the inputs into equal intervals.
    cuts = [0.0 if leaf else -3 + 6 * _middle(each) for each, leaf in zip(ids, is_leaf, strict=True)]
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["X"],
        ["Y"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        nodes_treeids=[0] * len(ids),
        nodes_nodeids=ids,
        nodes_featureids=[0] * len(ids),
        nodes_modes=["LEAF" if leaf else "BRANCH_LEQ" for leaf in is_leaf],
        nodes_values=cuts,
        nodes_truenodeids=[0 if leaf else 2 * each + 1 for each, leaf in zip(ids, is_leaf, strict=True)],
        nodes_falsenodeids=[0 if leaf else 2 * each + 2 for each, leaf in zip(ids, is_leaf, strict=True)],
        target_treeids=[0] * (inner + 1),
        target_nodeids=ids[inner:],
        target_ids=[0] * (inner + 1),
        target_weights=[float(each) for each in range(inner + 1)],
    )
    return one_node(node, TensorProto.FLOAT, [1000, 1], 18)


def _middle(place: int) -> float:
    """Where a node of a heap lies between its leftmost and rightmost neighbour, from 0 to 1."""
    width = 1 << (place + 1).bit_length() - 1
    return (place + 1 - width + 0.5) / width


def one_node(
    node: onnx.NodeProto, dtype: int, shape: Sequence[int], opset: int, constants: Sequence[onnx.TensorProto] = ()
) -> onnx.ModelProto:
    """A model of one node from X to Y."""
    graph = helper.make_graph(
        [node],
        node.op_type,
        [helper.make_tensor_value_info("X", dtype, list(shape))],
        [helper.make_tensor_value_info("Y", dtype, None)],
        list(constants),
    )
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("ai.onnx.ml", ONNX_ML)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


# ---------------------------------------------------------------- reports


class Claim(NamedTuple):
    """What a report says, and the least growth in it."""

    text: str
    least: float


def settle(
    claim: Claim,
    releases: tuple[str, str],
    claimed: dict[str, onnx.ModelProto],
    seconds: float,
    elsewhere: Mapping[str, onnx.ModelProto] = MappingProxyType({}),
    **options: Any,
) -> list[str]:
    """A row for each case, and for others that the report does not claim: both releases raced and counted."""
    old, new = releases
    lines = [f"onnxruntime {old} against {new}, 1 thread, {seconds} s for each race.", "", *HEAD]
    for name, model in {**claimed, **elsewhere}.items():
        result = onnxperf.bench(
            model,
            env=[f"onnxruntime=={old}", f"onnxruntime=={new}"],
            threads=1,
            time=seconds,
            count="instructions",
            **options,
        )
        print(result, file=sys.stderr)
        rival = result.subjects[1]
        said = (claim.text, _both(rival, claim.least)) if name in claimed else ("nothing", "")
        lines.append(f"| {name} | {said[0]} | {_row(rival)} | {said[1]} |")
    return [*lines, "", "Confirmed: slower, or more instructions, by at least half of what is claimed."]


def _row(rival: Subject) -> str:
    ends = [1 / end for end in (rival.speedup_high, rival.speedup_low) if end]
    within = " to ".join(f"{end:.3f}" for end in ends) or "none"
    counted = f"{rival.instruction_ratio:.4f}" if rival.instruction_ratio else "not counted"
    return f"{_growth(rival) + 1:.3f} | {within} | {rival.verdict} | {counted}"


def _growth(rival: Subject) -> float:
    return 1 / (rival.speedup or math.nan) - 1


def _both(rival: Subject, least: float) -> str:
    if rival.status != "ok":
        return f"{rival.status}: {rival.reason}"
    by_time = rival.verdict == "slower" and _growth(rival) >= least / 2
    by_count = rival.instruction_verdict == "more" and (rival.instruction_ratio or 0.0) - 1 >= least / 2
    words = {(True, True): "both", (True, False): "time only", (False, True): "instructions only"}
    return f"by {words.get((by_time, by_count), 'neither')}"


def reduce(seconds: int = 15) -> list[str]:
    """onnxruntime#27093: ReduceL1 along the first axis of [2, 64, 56, 56]; and other axes and shapes."""
    claimed = {"2x64x56x56, axis 0": reduce_l1([2, 64, 56, 56], 0)}
    elsewhere = {
        "2x64x56x56, axis 1": reduce_l1([2, 64, 56, 56], 1),
        "2x64x56x56, axis 3": reduce_l1([2, 64, 56, 56], 3),
        "64x128x64, axis 1": reduce_l1([64, 128, 64], 1),
        "128x64, axis 0": reduce_l1([128, 64], 0),
    }
    return settle(Claim("+24.6 %", 0.246), ("1.20.1", "1.21.0"), claimed, seconds, elsewhere)


def signs(seconds: int = 15) -> list[str]:
    """onnxruntime#27115: Sign of int64, whatever the data; the report names no shape."""
    shapes = ([16, 32, 64], [2, 3, 32, 32], [2, 64, 56, 56])
    claimed = {"x".join(map(str, shape)): sign(shape) for shape in shapes}
    claim = Claim("+22.6 to +25.8 %", 0.226)
    return settle(claim, ("1.20.1", "1.21.0"), claimed, seconds, ranges={"X": (-100, 100)})


def tree_ensembles(seconds: int = 15) -> list[str]:
    """onnxruntime#27187: TreeEnsembleRegressor on [1000, 1], SUM; the report does not describe its trees."""
    claimed = {f"one tree of depth {depth}, 1000x1": trees(depth) for depth in (1, 4, 8)}
    return settle(Claim("+104.8 %, in 5 of 10 runs", 1.048), ("1.22.0", "1.23.0"), claimed, seconds)


# ---------------------------------------------------------------- equal versions


def equal_models() -> dict[str, onnx.ModelProto]:
    """Small models of different kinds."""
    return {"ReduceL1": reduce_l1([2, 64, 56, 56], 0), "Sign": sign([16, 32, 64]), "tree": trees(4), "MLP": mlp()}


def equal(pairs: int = 20) -> list[str]:
    """Races of one version in two environments: how often is one of them blamed?"""
    blamed, seen = 0, defaultdict[str, int](int)
    for number, (name, model) in enumerate(itertools.islice(itertools.cycle(equal_models().items()), pairs)):
        dims = {"batch": 32} if name == "MLP" else {}
        _, rival = onnxperf.bench(model, env=list(EQUAL), threads=1, dims=dims, seed=number).subjects
        blamed += rival.verdict in ALARMS
        seen[str(rival.verdict)] += 1
        print(number + 1, name, rival.verdict, rival.speedup, file=sys.stderr)
    verdicts = ", ".join(f"{number} {verdict}" for verdict, number in seen.items())
    return [f"- {' against '.join(EQUAL)}, 1 thread: {share(blamed, pairs)} blamed ({verdicts}); goal at most 1 of 20"]


def spread(counts: int = 3) -> list[str]:
    """Counts of one subject, again and again, in both environments."""
    lines = ["| model | instructions per call | counts | largest difference |", "|---|---|---|---|"]
    for name, model in equal_models().items():
        dims = {"batch": 32} if name == "MLP" else {}
        found = []
        for _ in range(counts):
            result = onnxperf.bench(model, env=list(EQUAL), threads=1, dims=dims, time=1, count="instructions")
            found += [subject.instructions for subject in result.subjects if subject.instructions]
        lines.append(f"| {name} | {np.median(found):,.0f} | {len(found)} | {max(found) / min(found) - 1:.3%} |")
    return [*lines, "", "Counts that differ by at most 0.5 % are called equal."]


PARTS: dict[str, tuple[str, Callable[..., list[str]]]] = {
    "reduce": ("versions: onnxruntime#27093, ReduceL1 1.20 -> 1.21", reduce),
    "sign": ("versions: onnxruntime#27115, Sign of int64 1.20 -> 1.21", signs),
    "trees": ("versions: onnxruntime#27187, TreeEnsembleRegressor 1.22 -> 1.23", tree_ensembles),
    "equal": ("versions: equal versions in two environments", equal),
    "spread": ("versions: counts of equal subjects", spread),
}


def main() -> None:
    """Run the parts that are named, each with the number that is given, or all."""
    for wanted in sys.argv[1:] or PARTS:
        name, _, number = wanted.partition("=")
        title, part = PARTS[name]
        keep(title, part(int(number)) if number else part())


if __name__ == "__main__":
    main()
