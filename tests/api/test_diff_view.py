"""Two graphs in one drawing."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import onnxperf


def chain(path: Path, *operators: str) -> Path:
    """A model whose operators follow each other, the nodes without names."""
    weights = numpy_helper.from_array(np.ones((4, 4), np.float32), "W")
    nodes = [
        helper.make_node(op, [f"t{n}", "W"] if op == "MatMul" else [f"t{n}"], [f"t{n + 1}"])
        for n, op in enumerate(operators)
    ]
    inputs = [helper.make_tensor_value_info("t0", TensorProto.FLOAT, ["n", 4])]
    outputs = [helper.make_tensor_value_info(f"t{len(operators)}", TensorProto.FLOAT, ["n", 4])]
    graph = helper.make_graph(nodes, "g", inputs, outputs, [weights])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), path)
    return path


def texts(svg: object) -> list[str]:
    return ["".join(element.itertext()) for element in ET.fromstring(str(svg)).iter()]


def test_two_models_are_drawn_with_what_is_only_in_one_of_them(tmp_path: Path) -> None:
    old, new = chain(tmp_path / "old.onnx", "Abs", "MatMul", "Relu"), chain(tmp_path / "new.onnx", "Abs", "MatMul")
    drawing = onnxperf.diff_view(old, new)
    said = " ".join(texts(drawing))
    assert "old" in said
    assert "new" in said
    assert "Relu" in said


def test_one_model_is_drawn_as_onnxruntime_executes_it_at_two_levels(tmp_path: Path) -> None:
    drawing = onnxperf.diff_view(chain(tmp_path / "m.onnx", "Identity", "MatMul", "Relu"))
    said = " ".join(texts(drawing))
    assert "m · opt_level=disable" in said
    assert "m · opt_level=all" in said


def test_a_model_without_names_may_keep_its_weights_in_another_file(tmp_path: Path) -> None:
    old, new = chain(tmp_path / "old.onnx", "Abs", "MatMul", "Relu"), chain(tmp_path / "new.onnx", "Abs", "MatMul")
    onnx.save_model(onnx.load(old), old, save_as_external_data=True, location="old.data", size_threshold=0)
    said = " ".join(texts(onnxperf.diff_view(old, new)))
    assert "2 kept" in said
    assert "1 removed" in said
    assert "before: old, 3 nodes" in said


def test_a_model_of_the_zoo_is_called_by_the_name_that_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = chain(tmp_path / "long-name.onnx", "Abs", "Relu")
    monkeypatch.setattr("onnxperf.api._shared.opening.located", lambda source: model if source == "zoo:abs" else source)
    said = " ".join(texts(onnxperf.diff_view("zoo:abs", model)))
    assert "before: zoo:abs, 2 nodes" in said
    assert "after: long-name, 2 nodes" in said


def test_one_model_is_drawn_under_two_variants_by_name(tmp_path: Path) -> None:
    named = {"plain": {"opt_level": "disable"}, "no fusions": {"disabled_optimizers": "MatMulAddFusion"}}
    said = " ".join(texts(onnxperf.diff_view(chain(tmp_path / "m.onnx", "Abs", "Relu"), variants=named)))
    assert "m · plain" in said
    assert "m · no fusions" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"opt_level": "all"}, "a diff has two sides"),
        ({"opt_level": "basic,most"}, "unknown optimization level 'most'"),
        ({"variants": {"one": {"threads": 1}}}, "a diff has two sides"),
        ({"variants": {"a": {"runtime": "numpy"}, "b": {}}}, "numpy has no profiler"),
        ({"after": "trace.json"}, "a trace has no graph to draw"),
        ({"after": "none.onnx"}, "none.onnx"),
        ({"after": "new.onnx", "opt_level": "disable,all"}, "`opt_level`: it does nothing with two models"),
        ({"after": "new.onnx", "threads": 1}, "`threads`: it does nothing with two models"),
        ({"after": "new.onnx", "memory_limit": "2GB"}, "`memory_limit`: it does nothing with two models"),
        ({"calls": 3}, "unknown option 'calls'"),
    ],
)
def test_what_cannot_be_drawn_is_refused_in_one_line(tmp_path: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(onnxperf.BadInput, match=said):
        onnxperf.diff_view(chain(tmp_path / "m.onnx", "Abs"), **options)


def test_a_diff_is_saved_as_a_picture_only(tmp_path: Path) -> None:
    drawing = onnxperf.diff_view(chain(tmp_path / "m.onnx", "Abs", "Relu"))
    drawing.save(tmp_path / "d.svg")
    assert (tmp_path / "d.svg").read_text(encoding="utf-8") == str(drawing)
    drawing.save(tmp_path / "d.png")
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")
    assert "SVG of m" in drawing.to_markdown()
    with pytest.raises(onnxperf.BadInput, match="unknown form 'dot'; choose from: svg, png"):
        drawing.save(tmp_path / "d.dot")
