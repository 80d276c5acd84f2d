"""`onnxperf.diff` with real sessions."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import onnx
import onnx.parser
import pandas
import pytest

import onnxperf
from onnxperf.errors import BadOption
from onnxperf.records.diff import Diff
from onnxperf.records.profile import Profile
from tests.api.models import make_model


@pytest.fixture(scope="module")
def compared() -> onnxperf.DiffResult:
    return onnxperf.diff(make_model(2), make_model(3), calls=15, threads=1, race=False)


def test_both_sides_run_in_five_processes_each(compared: onnxperf.DiffResult) -> None:
    for side in (compared.before, compared.after):
        assert (side.record.launches, side.record.iterations, side.layout.iterations) == ((3,) * 5, 15, 15)
        assert side.record.notes == ()
    for row in compared.record.rows:
        assert len(row.before_launch_us) == (0 if row.side == "+" else 5)
        assert (row.verdict is None) == (row.side == "+")


def test_an_inserted_layer_shifts_nothing(compared: onnxperf.DiffResult) -> None:
    merged = compared.merged()
    assert merged["side"].value_counts().to_dict() == {"both": 4, "after": 2}
    same = merged[merged["side"] == "both"]
    assert same["before_name"].tolist() == same["after_name"].tolist()
    assert merged["before_us"].isna().sum() == 2


def test_labels_tell_side_provider_operator_and_shapes(compared: onnxperf.DiffResult) -> None:
    labels = compared.by_label()
    # Weights that a kernel has packed are no longer its input: the trace leaves them out.
    assert labels.index.str.match(r"\[=CPU\]MatMul\(f-8x32(,f-32x32)?\)->f-8x32\[0\]").sum() == 1
    assert any(label.startswith("[+CPU]Relu") for label in labels.index)
    assert compared.by_label(min_share=2.0).empty


def test_sums_are_preserved(compared: onnxperf.DiffResult) -> None:
    merged = compared.merged(per_iteration=False)
    assert merged["before_us"].sum() == compared.before.by_node()["self_us"].sum()
    assert merged["after_us"].sum() == compared.after.by_node()["self_us"].sum()


def test_two_levels_of_one_model_are_raced_without_the_profiler() -> None:
    result = onnxperf.diff(make_model(2), opt_level="disable,all", calls=5, threads=1, time=0.3)
    race = result.record.race
    assert race is not None
    assert [subject.name for subject in race.subjects] == ["opt_level=disable", "opt_level=all"]
    assert race.subjects[1].verdict in ("faster", "slower", "equivalent", "undecided")
    assert result.record.before.model == "opt_level=disable"
    assert result.answer


def saved_trace(model: onnx.ModelProto, path: Path) -> onnxperf.ProfileResult:
    """The profile of a model, whose trace is saved."""
    profile: onnxperf.ProfileResult = onnxperf.profile(model, calls=4, threads=1)
    profile.save(path)
    return profile


def test_traces_and_profiles_are_compared_without_a_verdict(tmp_path: Path) -> None:
    trace = tmp_path / "a.trace.json"
    profile = saved_trace(make_model(2), trace)
    others: list[tuple[Any, dict[str, Any]]] = [(trace, {}), (profile, {}), (make_model(2), {"calls": 4, "threads": 1})]
    for other, options in others:
        result = onnxperf.diff(trace, other, **options)
        assert result.record.race is None
        assert set(result.merged()["side"]) == {"both"}


def test_a_note_says_why_there_was_no_race(tmp_path: Path) -> None:
    model, trace = make_model(1), tmp_path / "a.trace.json"
    profile = saved_trace(model, trace)
    cases: list[tuple[Any, Any, str]] = [
        (trace, model, "one side is a trace, so there was no race"),
        (model, profile, "one side is a profile, so there was no race"),
        (trace, trace, "both sides are traces, so there was no race"),
        (profile, profile, "both sides are profiles, so there was no race"),
        (profile, trace, "one side is a trace and the other a profile, so there was no race"),
        (model, make_model(2), "the race was left out, so there is no verdict"),
    ]
    for before, after, note in cases:
        options: dict[str, Any] = {"calls": 2, "threads": 1} if model in (before, after) else {}
        notes = onnxperf.diff(before, after, race=False, **options).record.notes
        assert notes[0].startswith(note)


MODEL, EVENTS = make_model(1), onnxperf.ProfileResult(Profile(model="old", events=0, iterations=0))
USELESS: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "threads of two profiles": (EVENTS, EVENTS, {"threads": 1}, "`threads`: it does nothing with sides"),
    "calls of two profiles": (EVENTS, EVENTS, {"calls": 4}, "`calls`: it does nothing with sides"),
    "inputs of two profiles": (EVENTS, EVENTS, {"feeds": {"X": np.zeros(1)}}, "`feeds`: it does nothing with sides"),
    "the time of no race": (MODEL, EVENTS, {"time": 5}, "`time`: it does nothing with a side"),
    "the effect without a race": (MODEL, MODEL, {"race": False, "min_effect": "2%"}, "`min_effect`: it does nothing"),
    "the warm-up without a race": (MODEL, MODEL, {"race": False, "warmup": 1}, "`warmup`: it does nothing"),
}


@pytest.mark.parametrize("what", USELESS)
def test_options_that_nothing_depends_on_are_refused(what: str) -> None:
    before, after, options, message = USELESS[what]
    with pytest.raises(BadOption, match=message):
        onnxperf.diff(before, after, **options)


def test_two_variants_by_name_are_raced_with_their_call_styles() -> None:
    variants = {"usual": {"arena": "on"}, "bound": {"arena": "off", "call": "io-binding"}}
    result = onnxperf.diff(make_model(1), calls=3, threads=1, time=0.2, variants=variants)
    race = result.record.race
    assert race is not None
    assert [subject.name for subject in race.subjects] == ["usual", "bound"]
    assert [subject.call for subject in race.subjects] == ["run", "io-binding"]
    assert (result.record.before.model, result.record.after.model) == ("usual", "bound")


def test_a_diff_of_models_draws_both_graphs_and_others_say_why_not(
    compared: onnxperf.DiffResult, tmp_path: Path
) -> None:
    levels = onnxperf.diff(make_model(1), opt_level="disable,all", calls=2, threads=1, race=False)
    for result, words in ((compared, ("Relu",)), (levels, ("disable", "all"))):
        result.save(tmp_path / "both.graph.svg")
        drawn = (tmp_path / "both.graph.svg").read_text(encoding="utf-8")
        assert drawn.startswith("<svg")
        assert all(word in drawn for word in words)
    compared.save(tmp_path / "both.graph.png")
    assert (tmp_path / "both.graph.png").read_bytes().startswith(b"\x89PNG")
    for result in (onnxperf.DiffResult(compared.record), onnxperf.diff(compared.before, compared.after)):
        with pytest.raises(BadOption, match="only a diff of models has graphs"):
            result.save(tmp_path / "no.graph.svg")


def test_tables_and_charts_are_written_and_can_be_read_back(compared: onnxperf.DiffResult, tmp_path: Path) -> None:
    for suffix in (".json", ".md", ".csv", ".parquet", ".xlsx", ".png", ".svg"):
        compared.save(tmp_path / f"out{suffix}")
    merged = compared.merged()
    csv, parquet = pandas.read_csv(tmp_path / "out.csv"), pandas.read_parquet(tmp_path / "out.parquet")
    assert list(csv.columns) == list(parquet.columns) == list(merged.columns)
    after, before = parquet["after_us"], csv["before_us"]
    assert after.tolist() == [*merged["after_us"], compared.record.after.nodes_us]
    assert before.iloc[:-1].sum() == pytest.approx(before.iloc[-1])
    assert csv["side"].iloc[:-1].tolist() == parquet["side"].iloc[:-1].tolist() == merged["side"].tolist()
    total = compared.record.before.nodes_us / compared.record.after.nodes_us
    assert csv["speedup"].iloc[-1] == pytest.approx(total)
    sheets = pandas.read_excel(tmp_path / "out.xlsx", sheet_name=None, engine="openpyxl")
    assert {name: len(sheet) for name, sheet in sheets.items() if name != "summary"} == {
        "sources": 6, "merged": 7, "labels": 7, "before_nodes": 5, "after_nodes": 7,
    }  # fmt: skip
    for name in ("before_nodes", "after_nodes"):
        times = sheets[name]["usual_us"]
        assert times.iloc[:-1].sum() == pytest.approx(times.iloc[-1])
        assert times.iloc[-1] == pytest.approx(getattr(compared.record, name.removesuffix("_nodes")).nodes_us)
        assert sheets[name]["calls"].iloc[:-1].eq(1).all()
    assert msgspec.json.decode((tmp_path / "out.json").read_bytes(), type=Diff) == compared.record
    written = (tmp_path / "out.md").read_text(encoding="utf-8").replace("\\#", "#")
    assert all(line in written for line in compared.answer.splitlines())
    assert (tmp_path / "out.png").read_bytes().startswith(b"\x89PNG")


def test_the_charts_have_a_row_for_each_kind_of_node_and_each_operator(compared: onnxperf.DiffResult) -> None:
    kinds = {row.label.rpartition("[")[0] for row in compared.record.rows}
    assert {label.get_text() for label in compared.plot(min_share=0).get_yticklabels()} == kinds
    assert len(compared.plot_operators().get_yticklabels()) == len(compared.after.record.operators)


def test_a_diff_from_its_record_alone_shows_the_same(compared: onnxperf.DiffResult) -> None:
    again = onnxperf.DiffResult(compared.record)
    assert repr(again) == repr(compared)
    assert again.merged().equals(compared.merged())
    assert again.before.by_node().equals(compared.before.by_node())
    with pytest.raises(BadOption, match="has only sums"):
        again.after.timeline()
    assert "<table" in again._repr_html_()


def test_ctrl_c_while_the_sides_are_profiled_keeps_what_ran() -> None:
    def stop(_done: float, text: str) -> None:
        if text.startswith("launch 3 of 5: profiling, round 2"):
            os.kill(os.getpid(), signal.SIGINT)

    result = onnxperf.diff(make_model(1), make_model(2), calls=20, threads=1, race=False, progress=stop)
    assert result.interrupted
    assert result.record.before.launches[:2] == (4, 4)
    assert 8 < result.record.before.iterations < 20
    assert "cannot prove that a node changed" in result.answer
    assert "Interrupted: showing what was measured so far." in repr(result)


def test_ctrl_c_in_the_race_ends_the_diff_at_once() -> None:
    texts: list[str] = []

    def stop(_done: float, text: str) -> None:
        texts.append(text)
        if text.startswith("round"):
            os.kill(os.getpid(), signal.SIGINT)

    result = onnxperf.diff(make_model(1), make_model(2), threads=1, time=5, progress=stop)
    assert result.interrupted
    assert not any(text.startswith("profiling") for text in texts)
    assert (result.record.before.iterations, result.record.rows) == (0, ())
    assert "was profiled completely" in result.answer
    assert "Interrupted: showing what was measured so far." in repr(result)


def test_sides_are_named_after_what_they_are(tmp_path: Path) -> None:
    for folder, layers in (("old", 1), ("new", 2)):
        (tmp_path / folder).mkdir()
        onnx.save(make_model(layers), tmp_path / folder / "model.onnx")
        saved_trace(make_model(layers), tmp_path / folder / "a.trace.json")
    few = {"calls": 2, "threads": 1}
    cases: list[tuple[Any, Any, dict[str, Any], tuple[str, str]]] = [
        ("old/model.onnx", "new/model.onnx", few, ("old/model", "new/model")),
        (
            "old/model.onnx",
            "new/model.onnx",
            {**few, "opt_level": "disable,all"},
            ("old/model · opt_level=disable", "new/model · opt_level=all"),
        ),
        ("old/model.onnx", None, {**few, "opt_level": "basic,all"}, ("opt_level=basic", "opt_level=all")),
        ("old/a.trace.json", "new/a.trace.json", {}, ("a.trace.json · old", "a.trace.json · new")),
        ("old/a.trace.json", "old/a.trace.json", {}, ("a.trace.json · before", "a.trace.json · after")),
    ]
    for before, after, options, names in cases:
        second = None if after is None else tmp_path / after
        record = onnxperf.diff(tmp_path / before, second, race=False, **options).record
        assert (record.before.model, record.after.model) == names


def test_two_profiles_of_one_model_are_named_after_their_levels() -> None:
    profiles = [onnxperf.profile(make_model(1), calls=2, threads=1, opt_level=level) for level in ("basic", "all")]
    result = onnxperf.diff(*profiles)
    name = profiles[0].record.model
    assert (result.record.before.model, result.record.after.model) == (f"{name} · basic", f"{name} · all")
    assert profiles[0].record.model == profiles[1].record.model == name


def test_transposes_of_different_permutations_are_different_nodes() -> None:
    def model(*perm: int) -> onnx.ModelProto:
        text = f"""<ir_version: 9, opset_import: ["" : 18]> g (float[4, 4, 4] X) => (float[4, 4, 4] Y) {{
            T = Transpose <perm = [{", ".join(map(str, perm))}]> (X)
            Y = Relu(T)
        }}"""
        return onnx.parser.parse_model(text)

    def sides(*models: onnx.ModelProto) -> list[str]:
        return sorted(onnxperf.diff(*models, calls=2, threads=1, race=False).merged()["side"])

    assert sides(model(0, 2, 1), model(0, 2, 1)) == ["both", "both"]
    assert sides(model(0, 2, 1), model(1, 0, 2)) == ["after", "before", "both"]


@pytest.mark.parametrize(
    ("levels", "message"),
    [("all", "two sides"), ("disable,basic,all", "two sides"), ("disable,best", "optimization level")],
)
def test_wrong_levels_are_refused(levels: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        onnxperf.diff(make_model(1), opt_level=levels)
