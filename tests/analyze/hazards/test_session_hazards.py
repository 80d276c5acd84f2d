"""Hazards that a session and its profile show: each has facts that trigger it, and facts that do not."""

from __future__ import annotations

import pytest

from onnxperf.analyze.hazards.base import ArenaUse, Facts
from onnxperf.analyze.hazards.table import finders, hazards_in
from onnxperf.records.memory import InputCopy
from onnxperf.records.options import SessionOptions
from tests.analyze.hazards.made_facts import facts, node

CONV = node("conv", "Conv", 900)
REORDER = node("reorder", "ReorderInput", 90)
SHORT = [node(f"n{number}", "Add", 20) for number in range(10)]
ONE_THREAD = SessionOptions(threads=1)
CUDA = SessionOptions(threads=1, provider="cuda")
ARENA = ArenaUse(held_bytes=90 * 10**6, loaded_bytes=10 * 10**6, planned_bytes=16 * 10**6)
CAST = InputCopy(name="X", reason="cast", from_type="float64", to_type="float32", copied_bytes=4_000_000)
SPREAD = InputCopy(name="X", reason="layout", from_type="float32", to_type="float32", copied_bytes=4_000_000)

TRIGGERED: dict[str, tuple[str, Facts, str, list[str]]] = {
    "reorders of a tenth": (
        "layout-reorders",
        facts([CONV, REORDER]),
        "1 node inserted by onnxruntime to change the layout of tensors for convolutions takes 9 % of an inference",
        ["opt_level=extended", "disabled_optimizers=NchwcTransformer"],
    ),
    "a call that is short for its nodes": (
        "tiny-nodes",
        facts(SHORT, call_ns=20_000.0),
        "a call of 20 µs executes 10 nodes of 2 µs each: overhead around kernels matters",
        ["call=run-c", "call=io-binding", "arena=off", "threads=1"],
    ),
    "the same with one thread": (
        "tiny-nodes",
        facts(SHORT, ONE_THREAD, call_ns=20_000.0),
        "2 µs each",
        ["call=run-c", "call=io-binding", "arena=off"],
    ),
    "a short call of one node": (
        "tiny-nodes",
        facts([node("linear", "Gemm", 6)], SessionOptions(threads=1, arena="off"), call_ns=8_000.0),
        "a call of 8 µs executes 1 node: ",
        ["call=run-c", "call=io-binding"],
    ),
    "more CPU time than threads could use": (
        "spinning",
        facts([CONV], busy=4.3),
        "calls keep 4 of 4 threads busy",
        ["session.intra_op.allow_spinning=0"],
    ),
    "short nodes and four threads": (
        "surplus-threads",
        facts(SHORT),
        "the session has 4 threads, and 10 nodes of less than 200 µs each take 95 % of an inference",
        ["threads=1", "threads=2"],
    ),
    "CPU time of many threads": (
        "spinning",
        facts([CONV], busy=3.5),
        "calls keep 3.5 of 4 threads busy on average",
        ["session.intra_op.allow_spinning=0"],
    ),
    "an arena of five times what is alive": (
        "arena",
        facts([CONV], arena=ARENA),
        "holds 80 MB, in addition to 10 MB of packed weights; 16 MB are alive at once (5 times as much)",
        ["arena=off", "arena=same-as-requested"],
    ),
    "a node that fell back to the CPU": (
        "other-provider",
        facts([CONV, node("gpu", "MatMul", 90, provider="CUDAExecutionProvider")], CUDA),
        "1 node of 2 runs on CPUExecutionProvider instead of cuda (90 % of an inference): Conv (1)",
        ["provider=cpu"],
    ),
    "an input of another type": (
        "converted-inputs",
        facts([CONV], copies=(CAST,)),
        "X is cast from float64 to float32 (4 MB)",
        ["inputs converted once"],
    ),
    "an input that is not contiguous": (
        "converted-inputs",
        facts([CONV], copies=(SPREAD,)),
        "X is not contiguous and is copied (4 MB)",
        ["inputs converted once"],
    ),
    "denormals": (
        "denormal-activations",
        facts([node("conv", "Conv", 90, tensors=("a",))], denormals={"a": 0.61, "b": 0.001}),
        "2 tensors with denormal numbers: a (61 % of its elements), b (less than 1 % of its elements)",
        ["session.set_denormal_as_zero=1"],
    ),
    "values that could not be looked at": (
        "denormal-activations",
        facts([CONV], denormals=None),
        "too large to check",
        ["session.set_denormal_as_zero=1"],
    ),
}
CALM: dict[str, tuple[str, Facts]] = {
    "no reorders": ("layout-reorders", facts([CONV])),
    "reorders that take nothing": ("layout-reorders", facts([CONV, node("reorder", "ReorderInput", 1)])),
    "long nodes": ("tiny-nodes", facts([CONV], call_ns=900_000.0)),
    "a call of unknown time": ("tiny-nodes", facts(SHORT)),
    "no nodes at all": ("tiny-nodes", facts(call_ns=900.0)),
    "one thread": ("surplus-threads", facts(SHORT, ONE_THREAD)),
    "threads with much to do": ("surplus-threads", facts([CONV])),
    "one thread that cannot spin for others": ("spinning", facts([CONV], ONE_THREAD, busy=1.3)),
    "threads that sleep": ("spinning", facts([CONV], busy=1.1)),
    "spinning off": (
        "spinning",
        facts(
            [CONV],
            SessionOptions(threads=4, options={"session.intra_op.allow_spinning": "0"}),
            busy=3.0,
        ),
    ),
    "unknown CPU time": ("spinning", facts([CONV])),
    "no figures about the arena": ("arena", facts([CONV])),
    "an arena of three times": (
        "arena",
        facts([CONV], arena=ArenaUse(held_bytes=48 * 10**6, loaded_bytes=0, planned_bytes=16 * 10**6)),
    ),
    "a small arena": ("arena", facts([CONV], arena=ArenaUse(held_bytes=10**6, loaded_bytes=0, planned_bytes=64))),
    "no arena": ("arena", facts([CONV], SessionOptions(threads=1, arena="off"), arena=ARENA)),
    "all on the CPU": ("other-provider", facts([CONV], ONE_THREAD)),
    "onnxruntime's name of the provider": (
        "other-provider",
        facts([CONV], SessionOptions(threads=1, provider="CPUExecutionProvider")),
    ),
    "inputs as the model has them": ("converted-inputs", facts([CONV])),
    "no denormals": ("denormal-activations", facts([CONV], denormals={})),
    "denormals that are zero already": (
        "denormal-activations",
        facts([CONV], SessionOptions(threads=1, options={"session.set_denormal_as_zero": "1"}), denormals={"a": 1.0}),
    ),
}


@pytest.mark.parametrize(("kind", "known", "evidence", "trials"), TRIGGERED.values(), ids=TRIGGERED)
def test_a_hazard_is_seen_with_its_evidence_and_what_to_try(
    kind: str, known: Facts, evidence: str, trials: list[str]
) -> None:
    found = list(finders()[kind.replace("-", "_")](known))
    assert [each.kind for each in found] == [kind]
    assert evidence in found[0].evidence
    assert [each.name for each in found[0].trials] == trials
    assert found[0].share is None or 0 < found[0].share <= 1


@pytest.mark.parametrize(("kind", "known"), CALM.values(), ids=CALM)
def test_a_hazard_is_not_seen_where_there_is_none(kind: str, known: Facts) -> None:
    assert list(finders()[kind.replace("-", "_")](known)) == []


def test_every_kind_of_hazard_has_both_tests_and_bears_the_name_of_its_file() -> None:
    kinds = {kind for kind, *_ in TRIGGERED.values()}
    assert kinds == {kind for kind, _ in CALM.values()}
    assert {kind.replace("-", "_") for kind in kinds} <= set(finders())


def test_finders_are_found_by_where_they_are() -> None:
    assert {"base", "table"} & set(finders()) == set()
    assert [each.kind for each in hazards_in(facts([CONV, REORDER], ONE_THREAD, denormals={}))] == ["layout-reorders"]
