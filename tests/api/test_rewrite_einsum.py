"""`onnxperf.rewrite_einsum` with real sessions; where the verdict matters, it is given instead of raced."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from msgspec.structs import replace
from onnx import TensorProto, helper, numpy_helper

import onnxperf
from onnxperf.api import rewrite_einsum as module
from onnxperf.api._shared.einsum_plans import plan_for
from onnxperf.contraction.candidates import candidates
from onnxperf.errors import BadFeed, BadModel, BadOption
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Case, Subject
from onnxperf.render.kit import model_files
from onnxperf.results.einsum import EinsumResult

SCORES = "bsnh,btnh->bnts"
QUICK: dict[str, Any] = {"dims": {"batch": 2}, "search": False, "threads": 1}
"""What makes a rewrite take no time: graphs by estimate."""

Races = list[tuple[dict[int, onnx.ModelProto], dict[int, onnx.ModelProto]]]


def weights(*shape: int) -> Any:
    return np.random.default_rng(0).integers(-2, 3, shape).astype(np.float32)


def attention() -> onnx.ModelProto:
    """Queries times keys, a softmax, times values; the batch is free, and the values are weights."""
    nodes = [
        helper.make_node("Einsum", ["q", "k"], ["scores"], name="scores", equation=SCORES),
        helper.make_node("Softmax", ["scores"], ["weights"], axis=-1),
        helper.make_node("Einsum", ["weights", "v"], ["y"], name="mixed", equation="bnts,snh->btnh"),
    ]
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ("batch", 6, 3, 4)) for name in ("q", "k")]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("batch", 6, 3, 4))]
    graph = helper.make_graph(nodes, "attention", inputs, outputs, [numpy_helper.from_array(weights(6, 3, 4), "v")])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def feeds(batch: int = 2) -> dict[str, Any]:
    return {"q": weights(batch, 6, 3, 4), "k": weights(batch, 6, 3, 4) + 1}


def operators(path: Path) -> list[str]:
    return [node.op_type for node in onnx.load(path, load_external_data=False).graph.node]


def assert_same_results(path: Path, original: onnx.ModelProto) -> None:
    """Loaded from its file, so that what lies beside it is needed too."""
    before, after = (
        onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"]).run(None, feeds())
        for model in (original.SerializeToString(), str(path))
    )
    np.testing.assert_allclose(after[0], before[0], rtol=1e-4, atol=1e-5)


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> tuple[list[Verdict], Races]:
    """Verdicts that races will end with, in their order (the last one for all that follow), and what raced."""
    given: list[Verdict] = ["faster"]
    races: Races = []

    def race(
        _trial: Any, before: Mapping[int, onnx.ModelProto], after: Mapping[int, onnx.ModelProto], _steps: int = 1
    ) -> Case:
        races.append((dict(before), dict(after)))
        verdict = given.pop(0) if len(given) > 1 else given[0]
        rival = Subject(name="rewritten", status="ok", speedup=1.5, speedup_low=1.4, speedup_high=1.6, verdict=verdict)
        return Case(model="m", baseline="original", subjects=(Subject(name="original", status="ok"), rival))

    monkeypatch.setattr(module.ModelTrial, "race", race)
    return given, races


# ---------------------------------------------------------------- outcomes


def test_nodes_that_make_the_model_faster_are_replaced(verdicts: tuple[list[Verdict], Races], tmp_path: Path) -> None:
    path = tmp_path / "out.onnx"
    result = onnxperf.rewrite_einsum(attention(), path, **QUICK)
    assert [site.outcome for site in result.record.sites] == ["rewritten", "rewritten"]
    assert [site.nodes for site in result.record.sites] == [("scores",), ("mixed",)]
    assert [site.speedup for site in result.record.sites] == [1.5, 1.5]
    assert result.path == str(path)
    assert "2 of 2 Einsum nodes rewritten" in result.answer
    assert "1.50× as fast (95 % CI 1.40–1.60)" in result.answer
    assert "Einsum" not in operators(path)
    assert_same_results(path, attention())
    _, races = verdicts
    assert [(sorted(before), sorted(after)) for before, after in races] == [([], [0]), ([0], [0, 2]), ([], [0, 2])]


@pytest.mark.parametrize(
    ("verdict", "reason"),
    [
        ("slower", "the whole model is slower"),
        ("equivalent", "does not gain"),
        ("undecided", "is undecided"),
    ],
)
def test_without_a_gain_of_the_whole_model_its_nodes_stay_and_nothing_is_written(
    verdict: Verdict, reason: str, verdicts: tuple[list[Verdict], Races], tmp_path: Path
) -> None:
    verdicts[0][:] = [verdict]
    result = onnxperf.rewrite_einsum(attention(), tmp_path / "out.onnx", **QUICK)
    assert [site.outcome for site in result.record.sites] == ["kept", "kept"]
    assert all(reason in site.reason for site in result.record.sites)
    assert result.path == ""
    assert result.record.race is None
    assert (
        result.answer
        == "Nothing was written: no replacement keeps the outputs and makes the whole model measurably faster."
    )
    assert not result.has_answer
    assert not list(tmp_path.iterdir())


def test_one_node_may_be_replaced_and_the_other_kept(verdicts: tuple[list[Verdict], Races], tmp_path: Path) -> None:
    verdicts[0][:] = ["slower", "faster"]
    path = tmp_path / "out.onnx"
    result = onnxperf.rewrite_einsum(attention(), path, **QUICK)
    assert [site.outcome for site in result.record.sites] == ["kept", "rewritten"]
    assert "1 of 2 Einsum nodes rewritten" in result.answer
    assert operators(path).count("Einsum") == 1
    assert_same_results(path, attention())
    frame = result.to_df()
    assert frame["outcome"].tolist() == ["kept", "rewritten"]
    assert [site["outcome"] for site in json.loads(result.to_json())["sites"]] == ["kept", "rewritten"]
    assert "rewritten" in repr(result)
    assert "<table" in result._repr_html_()


@pytest.mark.parametrize(
    ("last", "reason"),
    [
        ("slower", "the whole model is slower"),
        ("equivalent", "the whole model does not gain from it"),
        ("undecided", "a gain of the whole model is undecided"),
    ],
)
def test_the_last_race_of_the_whole_model_decides(
    last: Verdict, reason: str, verdicts: tuple[list[Verdict], Races], tmp_path: Path
) -> None:
    verdicts[0][:] = ["faster", "faster", last]
    result = onnxperf.rewrite_einsum(attention(), tmp_path / "out.onnx", **QUICK)
    assert len(verdicts[1]) == 3
    assert not list(tmp_path.iterdir())
    assert (result.path, result.has_answer) == ("", False)
    assert result.answer.startswith(f"Nothing was written: with 2 of 2 Einsum nodes replaced, {reason}")
    assert [site.outcome for site in result.record.sites] == ["kept", "kept"]
    assert all(site.reason.endswith(reason) for site in result.record.sites)
    assert result.record.race is not None
    assert not any("written model" in note for note in result.record.notes)


def test_a_graph_that_computes_something_else_is_not_put_in(
    verdicts: tuple[list[Verdict], Races], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(*arguments: Any, **options: Any) -> EinsumResult:
        plan = plan_for(*arguments, **options)
        model = onnx.load_from_string(plan.model)
        model.graph.node.append(helper.make_node("Neg", ["Y"], ["negated"], name="wrong"))
        model.graph.output[0].name = "negated"
        return EinsumResult(plan.record, model.SerializeToString(), plan.unoptimized)

    monkeypatch.setattr(module, "plan_for", wrong)
    result = onnxperf.rewrite_einsum(attention(), tmp_path / "out.onnx", **QUICK)
    assert {site.outcome for site in result.record.sites} == {"kept"}
    assert all("output y: " in site.reason and "elements differ" in site.reason for site in result.record.sites)
    assert not verdicts[1]
    assert not list(tmp_path.iterdir())


def test_where_onnxruntimes_einsum_is_the_fastest_nothing_is_raced(
    verdicts: tuple[list[Verdict], Races], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def einsum(request: Any, **options: Any) -> EinsumResult:
        plan = plan_for(request, **options)
        chosen = next(each for each in candidates(request.equation, opset=17) if each.name.startswith("Einsum"))
        record = replace(plan.record, graph=chosen.name)
        return EinsumResult(record, chosen.model.SerializeToString(), plan.unoptimized)

    monkeypatch.setattr(module, "plan_for", einsum)
    result = onnxperf.rewrite_einsum(attention(), tmp_path / "out.onnx", **QUICK)
    assert {site.reason for site in result.record.sites} == {"onnxruntime's Einsum is the cheapest by estimate"}
    assert not verdicts[1]


def test_where_the_equation_alone_is_undecided_the_whole_model_decides(
    verdicts: tuple[list[Verdict], Races], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def undecided(request: Any, **options: Any) -> EinsumResult:
        plan = plan_for(request, **options)
        plain = next(each for each in candidates(request.equation, opset=17) if each.name.startswith("Einsum"))
        subjects = (
            Subject(name="Einsum", runtime="ort", status="ok", time_ns=1.0, speedup=1.0, verdict="baseline"),
            Subject(name="other", runtime="ort", status="ok", time_ns=1.0, speedup=1.2, verdict="undecided"),
        )
        case = Case(model="m", baseline="Einsum", subjects=subjects)
        record = replace(plan.record, graph=plain.name, race=case, searched=True)
        return EinsumResult(
            record, plain.model.SerializeToString(), plan.unoptimized, plan.decomposed.SerializeToString()
        )

    monkeypatch.setattr(module, "plan_for", undecided)
    path = tmp_path / "out.onnx"
    result = onnxperf.rewrite_einsum(attention(), path, **QUICK)
    assert len(verdicts[1]) == 3
    assert "Einsum" not in operators(path)
    assert_same_results(path, attention())
    assert all(site.speedup_alone is None and "MatMul" in site.graph for site in result.record.sites)


def stopping_at(places: list[str], place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C at the n-th step of one kind: a plan or a race that was interrupted, or one while outputs are compared."""
    race, difference = module.ModelTrial.race, module.ModelTrial.difference

    def stops(step: str) -> bool:
        places.append(step)
        return f"{step} {places.count(step)}" == place

    def planned(*arguments: Any, **options: Any) -> EinsumResult:
        plan = plan_for(*arguments, **options)
        plan.record = replace(plan.record, interrupted=stops("plan"))
        return plan

    def compared(trial: Any, replacements: Any) -> str:
        if stops("comparison"):
            raise KeyboardInterrupt
        return difference(trial, replacements)

    def raced(*arguments: Any) -> Case:
        return replace(race(*arguments), interrupted=stops("race"))

    monkeypatch.setattr(module, "plan_for", planned)
    monkeypatch.setattr(module.ModelTrial, "difference", compared)
    monkeypatch.setattr(module.ModelTrial, "race", raced)


@pytest.mark.usefixtures("verdicts")
@pytest.mark.parametrize(
    ("place", "outcomes"),
    [
        ("plan 1", ["skipped", "skipped"]),
        ("comparison 1", ["skipped", "skipped"]),
        ("race 1", ["skipped", "skipped"]),
        ("plan 2", ["kept", "skipped"]),
        ("race 3", ["kept", "kept"]),
    ],
)
def test_after_ctrl_c_nothing_is_written_and_the_result_has_what_was_found(
    place: str, outcomes: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopping_at([], place, monkeypatch)
    result = onnxperf.rewrite_einsum(attention(), tmp_path / "out.onnx", **QUICK)
    assert result.status == "interrupted"
    assert [site.outcome for site in result.record.sites] == outcomes
    assert {site.reason for site in result.record.sites if site.outcome == "skipped"} <= {"interrupted"}
    assert result.answer == "Nothing was written: the rewriting was interrupted."
    assert not list(tmp_path.iterdir())


def test_a_model_without_einsum_has_nothing_to_rewrite(linear_path: Path, tmp_path: Path) -> None:
    result = onnxperf.rewrite_einsum(linear_path, tmp_path / "out.onnx", dims={"batch": 2})
    assert result.record.sites == ()
    assert result.answer.endswith("has no Einsum node; nothing was written.")
    assert result.path == ""
    assert not (tmp_path / "out.onnx").exists()
    assert result.to_df().empty
    assert repr(result)


def test_nodes_of_unknown_shapes_are_skipped(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"]),
        helper.make_node("Cast", ["places"], ["cast"], to=TensorProto.FLOAT),
        helper.make_node("Einsum", ["cast"], ["y"], equation="ij->ji"),
    ]
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, (2, 3))]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ("found", 2))]
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    result = onnxperf.rewrite_einsum(model, tmp_path / "out.onnx", search=False)
    (site,) = result.record.sites
    assert site.outcome == "skipped"
    assert "shapes are unknown" in site.reason
    assert not (tmp_path / "out.onnx").exists()


# ---------------------------------------------------------------- what is written


@pytest.mark.usefixtures("verdicts")
def test_the_written_model_holds_for_its_shapes_only_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "out.onnx"
    result = onnxperf.rewrite_einsum(attention(), path, **QUICK)
    written = onnx.load(path)
    onnx.checker.check_model(written)
    for value in (*written.graph.input, *written.graph.output):
        assert [dim.dim_value for dim in value.type.tensor_type.shape.dim] == [2, 6, 3, 4]
    assert any("only for these shapes: q=2x6x3x4, k=2x6x3x4" in note for note in result.record.notes)
    with pytest.raises(onnxruntime.capi.onnxruntime_pybind11_state.InvalidArgument):
        onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"]).run(None, feeds(batch=3))


@pytest.mark.usefixtures("verdicts")
def test_shapes_may_come_from_feeds(tmp_path: Path) -> None:
    onnxperf.rewrite_einsum(attention(), tmp_path / "out.onnx", feeds=feeds(), search=False, threads=1)
    assert_same_results(tmp_path / "out.onnx", attention())


@pytest.mark.usefixtures("verdicts")
def test_portable_graphs_have_only_standard_operators(tmp_path: Path) -> None:
    onnxperf.rewrite_einsum(attention(), tmp_path / "out.onnx", portable=True, **QUICK)
    written = onnx.load(tmp_path / "out.onnx")
    assert {node.domain for node in written.graph.node} == {""}
    assert_same_results(tmp_path / "out.onnx", attention())


@pytest.mark.usefixtures("verdicts")
def test_weights_in_a_file_beside_the_model_come_along(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.mkdir()
    target.mkdir()
    onnx.save_model(attention(), source / "in.onnx", save_as_external_data=True, location="w.bin", size_threshold=0)
    before = {path.name: path.read_bytes() for path in source.iterdir()}
    result = onnxperf.rewrite_einsum(source / "in.onnx", target / "out.onnx", **QUICK)
    assert [site.outcome for site in result.record.sites] == ["rewritten", "rewritten"]
    assert {path.name: path.read_bytes() for path in source.iterdir()} == before
    for path in source.iterdir():
        path.unlink()
    assert_same_results(target / "out.onnx", attention())


@pytest.mark.usefixtures("verdicts")
def test_weights_of_a_large_model_lie_beside_the_written_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_files, "INLINE_BYTES", 1)
    large = attention()
    large.graph.initializer[0].CopyFrom(numpy_helper.from_array(weights(6, 3, 400), "v"))
    large.graph.output[0].type.tensor_type.shape.dim[3].dim_value = 400
    path = tmp_path / "out.onnx"
    onnxperf.rewrite_einsum(large, path, **QUICK)
    assert (tmp_path / "out.onnx.data").stat().st_size >= 4 * 6 * 3 * 400
    assert_same_results(path, large)


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("keywords", "error", "said"),
    [
        ({"time": 0}, BadOption, "`time=0`"),
        ({"tine": 1}, BadOption, "unknown option 'tine'"),
        ({"threads": 0}, BadOption, "`threads=0`"),
        ({"feeds": {"another": 1}}, BadFeed, "another"),
    ],
)
def test_wrong_options_are_one_line(
    keywords: dict[str, Any], error: type[Exception], said: str, tmp_path: Path
) -> None:
    with pytest.raises(error) as caught:
        onnxperf.rewrite_einsum(attention(), tmp_path / "out.onnx", **keywords)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


def test_wrong_places_and_models_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="folder does not exist"):
        onnxperf.rewrite_einsum(attention(), tmp_path / "no" / "out.onnx")
    with pytest.raises(BadModel):
        onnxperf.rewrite_einsum(b"junk", tmp_path / "out.onnx")


@pytest.mark.usefixtures("verdicts")
def test_the_model_itself_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save_model(attention(), path)
    with pytest.raises(BadOption, match="the model itself"):
        onnxperf.rewrite_einsum(path, path, **QUICK)


# ---------------------------------------------------------------- a real race


def test_a_real_race_decides(tmp_path: Path) -> None:
    path = tmp_path / "out.onnx"
    result = onnxperf.rewrite_einsum(attention(), path, time=6, **QUICK)
    outcomes = {site.outcome for site in result.record.sites}
    assert outcomes <= {"rewritten", "kept"}
    assert all(site.reason and site.graph for site in result.record.sites)
    assert path.exists() == (result.path != "") == ("rewritten" in outcomes)
    assert result.record.race is not None or not path.exists()
    if path.exists():
        assert_same_results(path, attention())
