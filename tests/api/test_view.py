"""`onnxperf.view`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from msgspec.structs import replace
from onnx import parser

from onnxperf.api.profile import profile
from onnxperf.api.view import view
from onnxperf.errors import BadOption
from onnxperf.records.view import Measure
from onnxperf.results.profile import ProfileResult
from onnxperf.results.view import SUFFIXES, Form, ViewResult

NASTY = """<ir_version: 8, opset_import: ["" : 18]>
g (float[N] x) => (float[N] y) { h = Relu(x) y = Exp(h) }"""


@pytest.fixture(scope="module")
def nasty() -> onnx.ModelProto:
    """Names that would break out of what they are written into."""
    model = parser.parse_model(NASTY)
    model.graph.node[0].name = '</script>"\n'
    model.graph.node[0].output[0] = model.graph.node[1].input[0] = "<b>&"
    return model


def test_text_is_the_default_and_shows_itself(linear_proto: onnx.ModelProto) -> None:
    result = view(linear_proto)
    assert "  MatMul(X, W) -> Y: float32[batch, 4]  # MatMul_0\n" in str(result)
    assert repr(result) == str(result).rstrip("\n")


@pytest.mark.parametrize(
    ("form", "part"), [("json", '"op_type": "MatMul"'), ("dot", "digraph"), ("code", "def run("), ("text", "inputs\n")]
)
def test_every_form_is_a_text_and_a_file(linear_proto: onnx.ModelProto, tmp_path: Path, form: Form, part: str) -> None:
    result = view(linear_proto, as_=form)
    file = tmp_path / f"out{SUFFIXES[form]}"
    view(linear_proto).save(file)
    assert part in str(result)
    assert file.read_text(encoding="utf-8") == str(result)


@pytest.mark.parametrize("form", ["text", "json", "dot"])
def test_a_notebook_gets_escaped_names(nasty: onnx.ModelProto, form: str) -> None:
    html = view(nasty, as_=form)._repr_html_()
    assert "<b>" not in html
    assert "</script>" not in html
    assert "&lt;" in html


def test_sizes_that_are_given_settle_the_shapes(linear_proto: onnx.ModelProto) -> None:
    result = view(linear_proto, dims={"batch": 8})
    assert "-> Y: float32[8, 4]" in str(result)
    assert result.record.totals.macs == 8 * 10 * 4


def test_a_batch_size_settles_the_batch_dimension(linear_proto: onnx.ModelProto) -> None:
    assert "-> Y: float32[8, 4]" in str(view(linear_proto, batch=8))


def test_only_the_sizes_that_are_given_are_settled() -> None:
    model = parser.parse_model(
        '<ir_version: 8, opset_import: ["" : 18]>'
        "g (float[batch, length, 4] x, float[?] b, float[] z) => (float[batch, length, 4] y) { y = Relu(x) }"
    )
    model.graph.input[2].type.tensor_type.ClearField("shape")
    record = view(model, dims={"batch": 8}).record
    assert [value.shape for value in record.graph.inputs] == [(8, "length", 4), (None,), None]
    assert record.graph.types["y"].shape == (8, "length", 4)
    assert record.free_dims == ("length",)
    assert view(model, dims={"b.0": 3}, shapes={"z": (2, 5)}).record.graph.inputs[2].shape == (2, 5)


def test_values_are_in_the_json_if_asked_for(linear_proto: onnx.ModelProto) -> None:
    document = json.loads(str(view(linear_proto, as_="json", values=True)))
    assert len(document["graph"]["initializers"][0]["values"]) == 40


def test_a_profile_puts_time_on_the_nodes(linear_proto: onnx.ModelProto, tmp_path: Path) -> None:
    trace = tmp_path / "linear.trace.json"
    measured = profile(linear_proto, calls=2)
    measured.save(trace)
    result = view(linear_proto, profile=measured)
    assert result.record.metrics is not None
    assert result.record.metrics.nodes["0"].share == pytest.approx(1)
    assert " 100 %  MatMul(X, W)" in str(result)
    assert view(linear_proto, profile=trace).record.metrics is not None
    memory = view(linear_proto, profile=measured, by="memory").record.metrics
    assert memory is not None
    assert memory.nodes["0"].value == 4 * 4
    assert result.nameless == 1
    result.save(tmp_path / "m.netron.json")
    assert json.loads((tmp_path / "m.netron.json").read_text(encoding="utf-8"))["signature"] == "netron:attachment"


@pytest.mark.parametrize(
    ("keywords", "reason"),
    [
        ({"as_": "jpeg"}, "unknown form 'jpeg'; choose from: text"),
        ({"op": "Conv"}, "unknown operator 'Conv'; choose from: MatMul"),
        ({"by": "weight"}, "unknown by 'weight'; choose from: time, memory, headroom"),
        ({"depth": -1}, "`depth=-1`: expected at least 0"),
        ({"as_": "svg", "all": True}, "`all`: it does nothing with forms other than the listing"),
        ({"as_": "json", "around": "Y"}, "`around`: it does nothing with forms other than the listing"),
        ({"as_": "dot", "op": "MatMul"}, "`op`: it does nothing with forms other than the listing"),
        ({"as_": "code", "depth": 1}, "`depth`: it does nothing with forms other than the listing"),
        ({"values": True}, "`values`: it does nothing with forms other than JSON"),
        ({"by": "memory"}, r"`by`: it does nothing with a model that is not profiled \(add `profile`\)"),
        ({"threads": 1}, r"`threads`: it does nothing with a model that is not profiled \(add `profile`\)"),
        ({"feeds": {"X": [1.0]}}, "`feeds`: it does nothing with a model that is not profiled"),
        (
            {"profile": False, "memory_limit": "1GB"},
            "`memory_limit`: it does nothing with a model that is not",
        ),
        ({"profile": "t.trace.json", "threads": 1}, "`threads`: it does nothing with a profile that exists already"),
        ({"profile": True, "threads": [1, 2]}, "threads has several values"),
        ({"dims": {"batch": [1, 2]}}, "batch has several sizes"),
        ({"around": "nobody"}, "no node or tensor is named 'nobody'"),
        ({"profile": "model.onnx"}, "`profile=model.onnx`: expected the .json file of a trace"),
        ({"profile": "t.trace.json", "by": "headroom"}, "a trace does not say what its machine can do"),
        ({"colour": "red"}, "unknown option 'colour'"),
        ({"netron": "m.json"}, "unknown option 'netron'"),
    ],
)
def test_what_cannot_be_shown_is_refused(linear_proto: onnx.ModelProto, keywords: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        view(linear_proto, **keywords)


def test_settings_and_inputs_reach_the_profile(linear_proto: onnx.ModelProto, monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    measured = profile(linear_proto, calls=2)

    def record(_model: object, feeds: object, **keywords: Any) -> ProfileResult:
        given.update(keywords, feeds=feeds)
        return measured

    monkeypatch.setattr("onnxperf.api.profile.profile", record)
    feeds = {"X": np.ones((2, 10), np.float32)}
    view(linear_proto, feeds, profile=True, all=True, threads=1, dims={"batch": 2}, timeout=9.0, variants={"a": {}})
    del given["progress"]
    settings = {"threads": 1, "dims": {"batch": 2}, "timeout": 9.0, "variants": {"a": {}}}
    assert given == {"feeds": feeds, "roofline": False, **settings}


@pytest.mark.parametrize("by", ["time", "memory"])
def test_a_tooltip_tells_time_and_memory_whatever_colours_the_node(linear_proto: onnx.ModelProto, by: Measure) -> None:
    said = str(view(linear_proto, as_="svg", profile=profile(linear_proto, calls=3, threads=1), by=by))
    assert "per inference" in said
    assert "results: " in said


def test_without_a_profile_there_is_nothing_for_netron(linear_proto: onnx.ModelProto, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="use `profile`"):
        view(linear_proto).save(tmp_path / "m.netron.json")


def test_operators_that_are_offered_steer_no_terminal(linear_proto: onnx.ModelProto) -> None:
    model = onnx.ModelProto()
    model.CopyFrom(linear_proto)
    model.graph.node[0].op_type = "\x1b[31m"
    with pytest.raises(BadOption) as refused:
        view(model, op="Conv")
    assert str(refused.value).endswith(r"choose from: \x1b[31m")


@pytest.mark.parametrize("by", ["time", "memory"])
def test_an_interrupted_profile_says_so(linear_proto: onnx.ModelProto, by: Measure) -> None:
    measured = profile(linear_proto, calls=2)
    measured.record = replace(measured.record, interrupted=True)
    result = view(linear_proto, profile=measured, by=by)
    assert result.interrupted
    assert str(result).count("note: interrupted: the profile holds what ran until then") == 1


def test_a_file_of_another_kind_is_refused_with_those_that_exist(linear_proto: onnx.ModelProto, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=r"expected a name that ends with \.dot, \.html, \.json"):
        view(linear_proto).save(tmp_path / "m.pdf")


def test_from_its_record_alone_a_view_is_the_same_but_has_no_code(
    linear_proto: onnx.ModelProto, tmp_path: Path
) -> None:
    result = view(linear_proto)
    again = ViewResult(result.record)
    assert str(again) == str(result)
    with pytest.raises(BadOption, match="unknown form 'code'; choose from: text, json"):
        again.save(tmp_path / "m.py")
