"""A model inspected and rewritten by the process that reads models."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from onnxperf.api._shared.opening import open_source
from onnxperf.api._tuning.rewriting import inspection_of, rewritten
from onnxperf.errors import BadInput, BadOption
from onnxperf.model.rewrites.find import EINSUM, REWRITES
from onnxperf.records.inspection import NodeFact, Stored, TensorFact
from tests.bombs import BOMBS

TEXT = """<ir_version: 8, opset_import: ["" : 17]> g (float[batch, 40] X) => (float[batch, 40] Y)
<float half = {0.5}, int64[2] shape = {0, 40}>
{
  a = Mul(X, w)
  d = Cast<to = 11>(a)
  e = Sqrt(d)
  f = Cast<to = 11>(e)
  g = Cast<to = 1>(f)
  k = Mul(w, half)
  h = Add(g, k)
  t = Transpose<perm = [1, 0]>(h)
  u = Transpose<perm = [1, 0]>(t)
  Y = Einsum<equation = "bi,ij->bj">(u, square)
}"""


def made(rows: int | None = None) -> onnx.ModelProto:
    proto = onnx.parser.parse_model(TEXT if rows is None else TEXT.replace("batch", str(rows)))
    weights = np.linspace(1, 2, 40, dtype=np.float32)
    weights[::4] = 1e-40
    for name, array in (("w", weights), ("square", np.eye(40, dtype=np.float32)), ("left", np.ones(300, np.float32))):
        proto.graph.initializer.append(numpy_helper.from_array(array, name))
    return proto


def saved_apart(proto: onnx.ModelProto, folder: Path) -> Path:
    path = folder / "apart.onnx"
    onnx.save_model(proto, path, save_as_external_data=True, location="apart.data", size_threshold=100)
    return path


def run(path: Path) -> NDArray[Any]:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    feeds = {"X": np.random.default_rng(0).random((3, 40)).astype(np.float32)}
    return np.asarray(session.run(None, feeds)[0])


@pytest.mark.parametrize("apart", [False, True])
def test_the_file_says_what_is_in_it(apart: bool, tmp_path: Path) -> None:
    found = inspection_of(open_source(saved_apart(made(), tmp_path) if apart else made()))
    assert (found.opset, found.symbols) == (17, ("batch",))
    assert found.denormals == (Stored("w", 40, 160, 10),)
    assert found.unused == (Stored("left", 300, 1200), Stored("shape", 2, 16))
    assert found.einsums == (NodeFact("Einsum_9", "bi,ij->bj"),)
    assert found.transposes == (NodeFact("Transpose_7", "1,0"), NodeFact("Transpose_8", "1,0"))
    assert [each.detail for each in found.casts] == ["float64", "float64", "float32"]
    assert found.idle_casts == ("Cast_3",)
    assert found.constant_nodes == ("Mul_5",)
    assert found.float64_nodes == ("Sqrt_2",)
    assert found.tensors["a"] == TensorFact("float32", ("batch", 40))
    assert found.scalars == {"half": 0.5}
    assert [node.name for node in found.graph.nodes][:2] == ["Mul_0", "Cast_1"]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize(
    "name", ["drop-casts", "drop-unused", "float32", "flush-denormals", "fold-constants", "merge-transposes", "opset"]
)
def test_a_rewritten_model_gives_the_same_results(name: str, apart: bool, tmp_path: Path) -> None:
    original = saved_apart(made(), tmp_path) if apart else tmp_path / "model.onnx"
    if not apart:
        onnx.save_model(made(), original)
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    path = rewritten(open_source(original), name, folder)
    assert path is not None
    np.testing.assert_allclose(run(path), run(original), rtol=1e-5, atol=1e-12)
    assert open_source(path).outputs[0].name == "Y"  # its external data are beside it
    assert bool(list(folder.glob("*.data"))) == apart


def test_einsum_nodes_give_way_for_the_shapes_of_a_call(tmp_path: Path) -> None:
    original = tmp_path / "model.onnx"
    onnx.save_model(made(), original)
    assert rewritten(open_source(original), EINSUM, tmp_path) is None  # the batch is not known
    path = rewritten(open_source(original), EINSUM, tmp_path, {"X": (3, 40)})
    assert path is not None
    assert "Einsum" not in {node.op_type for node in onnx.load(path).graph.node}
    np.testing.assert_allclose(run(path), run(original), rtol=1e-5)
    assert rewritten(open_source(made(3)), EINSUM, tmp_path) is not None


def test_there_is_nothing_to_rewrite(tmp_path: Path, linear_path: Path) -> None:
    model = open_source(linear_path)
    assert [name for name in [*REWRITES, EINSUM] if name != "opset" and rewritten(model, name, tmp_path)] == []
    assert [path.name for path in tmp_path.glob("*.onnx")] == [linear_path.name]


def test_an_unknown_rewrite_is_one_line(tmp_path: Path, linear_path: Path) -> None:
    with pytest.raises(BadOption, match="unknown rewrite 'faster'"):
        rewritten(open_source(linear_path), "faster", tmp_path)


def chain(op_type: str, length: int, **attributes: Any) -> onnx.ModelProto:
    names = ["x", *(f"t{number}" for number in range(length - 1)), "y"]
    nodes = [helper.make_node(op_type, [one], [other], **attributes) for one, other in pairwise(names)]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes, "chain", [value("x", TensorProto.FLOAT, [2, 2])], [value("y", TensorProto.FLOAT, None)]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


LONG: dict[str, Callable[[], onnx.ModelProto]] = {
    "casts": lambda: chain("Cast", 5000, to=1),
    "transposes": lambda: chain("Transpose", 5000, perm=[1, 0]),
    "nodes": lambda: chain("Neg", 5000),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*LONG, *BOMBS])
def test_large_and_hostile_models_are_rewritten_or_refused_in_bounded_time(name: str, tmp_path: Path) -> None:
    with suppress(BadInput):  # within the time that reading a model may take
        model = open_source({**LONG, **BOMBS}[name]())
        inspection_of(model)
        for each in [*REWRITES, EINSUM]:
            rewritten(model, each, tmp_path)
