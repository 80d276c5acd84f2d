"""Documents of older versions, read in today's form."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from onnxperf.errors import StoreError
from onnxperf.records.diff import DIFF_VERSION, Diff
from onnxperf.records.profile import PROFILE_VERSION, Profile
from onnxperf.store import Store
from onnxperf.store.documents import from_document
from tests.render.profile import examples
from tests.store.examples import sql

SIDE = {"version": 1, "model": "disable", "events": 9, "iterations": 1, "run_us": [7]}
OLD_DIFF: dict[str, Any] = {
    "version": 1,
    "base": SIDE,
    "opti": {**SIDE, "model": "all"},
    "rows": [
        {
            "side": "=",
            "label": "[=CPU]Relu(f-4)->f-4[0]",
            "op_name": "Relu",
            "provider": "CPUExecutionProvider",
            "inputs": [["float", [4]]],
            "outputs": [["float", [4]]],
            "idx": 0,
            "path": ["loop"],
            "base_name": "r",
            "opti_name": "r_fused",
            "base_us": [9],
            "opti_us": [4],
            "base_usual_us": 9.0,
            "opti_usual_us": 4.0,
            "noise": True,
        }
    ],
    "race": None,
    "command": "onnxperf diff model.onnx --opt-level disable,all",
    "notes": [],
    "answer": "no verdict",
}
"""As version 1 wrote it."""


def test_an_old_diff_has_its_sides_before_and_after() -> None:
    diff = from_document(json.dumps(OLD_DIFF), Diff)
    (row,) = diff.rows
    assert (diff.version, diff.before.model, diff.after.model) == (DIFF_VERSION, "disable", "all")
    assert (row.before_name, row.before_us, row.before_usual_us) == ("r", (9,), 9.0)
    assert (row.after_name, row.after_us, row.after_usual_us) == ("r_fused", (4,), 4.0)
    assert (row.op_name, row.path, row.noise) == ("Relu", ("loop",), True)


def test_usual_times_of_an_old_profile_follow_anew_from_its_iterations() -> None:
    times = {"calls": 4, "self_us": [90, 5, 40, 6], "usual_us": 17.0}
    node = {**times, "name": "a", "op_name": "Add", "total_us": [90, 7, 42, 8], "usual_total_us": 19.0}
    operator = {**times, "op_name": "Add", "nodes": 1, "total_us": [90, 7, 42, 8]}
    inner = {**node, "name": "b", "path": ["a"], "self_us": [9, 2, 2, 2], "total_us": [9, 2, 2, 2]}
    sources = [{**times, "group": {"kind": "kept", "sources": ["a"], "executed": ["a"]}}]
    modules = [{**operator, "module": "", "usual_total_us": 1.0}]
    nodes = [{**node, "module": ""}, {**inner, "module": "x"}]
    side = {**SIDE, "nodes": nodes, "operators": [operator], "sources": sources, "modules": modules}
    profile = from_document(json.dumps(side), Profile)
    assert (profile.version, profile.nodes[0].usual_us, profile.nodes[0].usual_total_us) == (PROFILE_VERSION, 5.5, 7.5)
    assert (profile.operators[0].usual_us, profile.nodes_us, profile.sources[0].usual_us) == (7.5, 7.5, 5.5)
    assert (profile.modules[0].usual_us, profile.modules[0].usual_total_us) == (5.5, 7.5)
    diff = from_document(json.dumps({**OLD_DIFF, "opti": side}), Diff)
    assert diff.after == profile


def test_an_old_diff_in_a_store_can_be_read(store: Store) -> None:
    run = store.keep(examples.diff(), "diff")
    assert store.load_record(run) == examples.diff()
    sql(store, "UPDATE runs SET record = :old", old=json.dumps(OLD_DIFF))
    assert store.load_record(run) == from_document(json.dumps(OLD_DIFF), Diff)


def test_a_diff_of_a_newer_version_is_refused(store: Store) -> None:
    run = store.keep(replace(examples.diff(), version=DIFF_VERSION + 1), "diff")
    with pytest.raises(
        StoreError, match=rf"format version {DIFF_VERSION + 1}, and this onnxperf reads up to {DIFF_VERSION}"
    ):
        store.load_record(run)


@pytest.mark.parametrize(
    "damaged", ["[]", '{"version": 1}', '{"version": 1, "rows": 3}', '{"version": [], "rows": []}']
)
def test_a_damaged_diff_is_one_clear_line(damaged: str) -> None:
    with pytest.raises(StoreError, match="damaged: not the record of a Diff"):
        from_document(damaged, Diff)
