"""Models of real frameworks, bound to numpy inputs."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections import namedtuple
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cloudpickle
import ml_dtypes
import numpy as np
import pytest

from onnxperf.errors import BadFeed, BadModel, BadOption, MissingExtra, required
from onnxperf.frameworks.base import (
    FrameworkModel,
    Live,
    arranged,
    find_framework,
    framework_of,
    threads_allowed,
)
from onnxperf.frameworks.outputs import to_numpy
from onnxperf.frameworks.tensorflow import KerasModel, SavedModel, is_saved_model
from onnxperf.frameworks.torch import TorchModel
from onnxperf.measure import messages as ms
from onnxperf.measure import packing
from onnxperf.measure.worker.host import Host

FIRST = np.arange(6, dtype=np.float32).reshape(2, 3)
SECOND = np.full((2, 3), 10, dtype=np.float32)
Pair = namedtuple("Pair", "low high")


@pytest.fixture(scope="module")
def torch() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return required("torch", "torch")


@pytest.fixture(scope="module")
def keras() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        required("tensorflow", "tensorflow")
        return required("keras", "tensorflow")


@pytest.fixture(scope="module")
def saved_model(keras: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """minuend - subtrahend, with the inputs as a dictionary."""
    folder = tmp_path_factory.mktemp("models") / "saved"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subtraction(keras, as_dictionary=True).export(folder, verbose=False)
    return folder


def subtraction(keras: Any, *, as_dictionary: bool) -> Any:
    names = ("minuend", "subtrahend")
    inputs = {name: keras.Input((3,), name=name) for name in names}
    output = keras.layers.Subtract()([inputs[name] for name in names])
    return keras.Model(inputs if as_dictionary else list(inputs.values()), {"difference": output})


def torch_subtraction(torch: Any) -> Any:
    class Subtraction(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(3))
            self.dropout = torch.nn.Dropout(0.9)

        def forward(self, minuend: Any, subtrahend: Any) -> Any:
            return {"difference": self.dropout(minuend - subtrahend) * self.weight, "nothing": None}

    return Subtraction()


def test_asking_for_the_framework_imports_none() -> None:
    script = (
        "import sys; from onnxperf.zoo.build import zoo_model; from onnxperf.frameworks.base import framework_of;"
        "others = {'torch', 'tensorflow', 'keras', 'sklearn', 'onnx'} & set(sys.modules);"
        "print(framework_of(len), framework_of('x'), others)"
    )
    out = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "None None set()"


def test_models_are_known_by_their_types(torch: Any, keras: Any, saved_model: Path) -> None:
    from sklearn.linear_model import LinearRegression

    tf = required("tensorflow", "tensorflow")
    cases = [
        (torch.nn.Linear(1, 1), "torch"),
        (keras.Sequential(), "tensorflow"),
        (keras.layers.ReLU(), "tensorflow"),
        (tf.Module(), "tensorflow"),
        (saved_model, "tensorflow"),
        (str(saved_model), "tensorflow"),
        (LinearRegression(), "sklearn"),
        (torch.ones(1), None),
        (LinearRegression, None),
        (saved_model.parent, None),
    ]
    found = [framework_of(source) for source, _ in cases]
    assert [each and each.name for each in found] == [name for _, name in cases]


@pytest.mark.parametrize("source", ["", "no\0path", "a" * 5000, 3, b"bytes", None])
def test_what_is_no_path_is_no_saved_model(source: object) -> None:
    assert not is_saved_model(source)


@dataclass
class Output:
    logits: Any
    hidden: Any = None


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        (FIRST, [FIRST]),
        ((FIRST, None, [SECOND]), [FIRST, SECOND]),
        ({"a": FIRST, "b": None}, {"a": FIRST}),
        ({"a": (FIRST, {"c": SECOND})}, {"a.0": FIRST, "a.1.c": SECOND}),
        (Output(FIRST), {"logits": FIRST}),
        (Output(FIRST, (SECOND, FIRST)), {"logits": FIRST, "hidden.0": SECOND, "hidden.1": FIRST}),
        (Pair(FIRST, SECOND), {"low": FIRST, "high": SECOND}),
        ([1, 2.5], [np.array([1, 2.5])]),
        (["a", "b"], [np.array(["a", "b"])]),
        (3, [np.array(3)]),
        (None, []),
        ([], []),
        ({}, []),
    ],
)
def test_outputs_become_arrays_by_name_or_by_order(outputs: object, expected: Any) -> None:
    got: Any = to_numpy(outputs)
    assert type(got) is type(expected)
    if isinstance(got, dict):
        assert list(got) == list(expected)
        got, expected = list(got.values()), list(expected.values())
    assert len(got) == len(expected)
    for ours, theirs in zip(got, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_table_of_probabilities_stays_a_table() -> None:
    table = [{"cat": 0.25, "dog": 0.75}, {"cat": 0.5, "dog": 0.5}]
    assert to_numpy([FIRST, table])[1] == table  # type: ignore[index]


def test_tensors_that_numpy_cannot_take_as_they_are(torch: Any) -> None:
    with_gradient = torch.ones(2, requires_grad=True)
    half, negative = torch.ones(2, dtype=torch.bfloat16), torch.tensor([1j]).conj().imag
    got = to_numpy((with_gradient, half, negative))
    assert [array.tolist() for array in got] == [[1, 1], [1, 1], [-1]]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("given", "wanted", "expected"),
    [
        (["b", "a"], ["a", "b"], {"a": 2, "b": 1}),
        (["b:0", "a:0"], ["a", "b"], {"a": 2, "b": 1}),
        ([], ["a", "b"], {"a": 1, "b": 2}),
        (["x", "y"], ["a", "b"], {"a": 1, "b": 2}),
        (["a:0", "a:1"], ["a"], None),
        (["a", "b"], ["a", "b", "c"], None),
    ],
)
def test_inputs_find_their_place(given: list[str], wanted: list[str], expected: dict[str, int] | None) -> None:
    assert arranged([1, 2], given, wanted) == expected


@pytest.mark.parametrize(("text", "threads"), [("3", 3), ("0", None), ("", None), ("4,2", None), ("²", None)])
def test_threads_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, text: str, threads: int | None) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", text)
    assert threads_allowed() == threads


def test_a_library_that_is_missing_is_named_with_its_extra() -> None:
    with pytest.raises(MissingExtra, match=r"no_such_library is not installed; .*\[torch\]"):
        required("no_such_library.torch", "torch")


def test_torch_takes_inputs_by_name_else_by_order(torch: Any) -> None:
    model = TorchModel(Live(torch_subtraction(torch)))
    np.testing.assert_array_equal(model(FIRST, SECOND)["difference"], FIRST - SECOND)  # type: ignore[call-overload]
    swapped = model.adapted(["subtrahend", "minuend"])
    np.testing.assert_array_equal(swapped(FIRST, SECOND)["difference"], SECOND - FIRST)  # type: ignore[call-overload]
    unknown = model.adapted(["x", "y"])
    np.testing.assert_array_equal(unknown(FIRST, SECOND)["difference"], FIRST - SECOND)  # type: ignore[call-overload]


def test_torch_infers_without_gradients_on_tensors_made_once(torch: Any) -> None:
    seen: list[Any] = []

    class Identity(torch.nn.Module):  # type: ignore[misc]
        def forward(self, value: Any) -> Any:
            seen.append(value)
            return value + torch.nn.Parameter(torch.ones(1))

    read_only = np.asfortranarray(FIRST)
    read_only.flags.writeable = False
    call = TorchModel(Live(Identity())).bind(read_only)
    assert call().is_inference()
    call()
    assert seen[0] is seen[1]
    assert seen[0].stride() == (1, 2)


def test_torch_divides_an_inference_without_copying_arrays_that_it_can_use(torch: Any) -> None:
    array = FIRST.copy()
    parts = TorchModel(Live(torch.nn.Identity())).parts(array)
    tensor = parts.prepare()()
    assert tensor.data_ptr() == array.ctypes.data
    np.testing.assert_array_equal(parts.fetch(tensor)[0], array)


def test_a_model_that_writes_into_its_input_leaves_the_arrays_of_the_user_alone(torch: Any) -> None:
    class InPlace(torch.nn.Module):  # type: ignore[misc]
        def forward(self, value: Any) -> Any:
            return value.zero_()

    array = FIRST.copy()
    TorchModel(Live(InPlace()))(array)
    np.testing.assert_array_equal(array, FIRST)


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (FIRST.astype(ml_dtypes.bfloat16), "torch.bfloat16"),
        (FIRST.astype(">f4"), "torch.float32"),
        (FIRST[:, ::-1], "torch.float32"),
        (np.array(3), "torch.int64"),
    ],
)
def test_torch_gets_arrays_of_all_kinds(torch: Any, array: Any, dtype: str) -> None:
    tensor = TorchModel(Live(torch.nn.Identity())).bind(array)()
    assert str(tensor.dtype) == dtype
    np.testing.assert_array_equal(to_numpy(tensor)[0], array.astype(np.float32))  # type: ignore[index]


@pytest.mark.parametrize(
    ("options", "arrays", "error", "message"),
    [
        ({}, [np.array(["a"], dtype=object)], BadFeed, "torch does not support tensors of type object"),
        ({"input_names": ["a", "b"]}, [FIRST], BadFeed, "2 inputs, but got 1 arrays"),
        ({"device": "cuda"}, [FIRST], BadOption, "does not find this device"),
        ({"device": "tpu"}, [], BadOption, "unknown device 'tpu'; choose from: cpu, cuda"),
        ({"call": "predict"}, [], BadOption, "unknown torch call 'predict'; choose from: call"),
    ],
)
def test_what_torch_cannot_do_is_refused(torch: Any, options: Any, arrays: Any, error: Any, message: str) -> None:
    if options.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("there is one here")
    with pytest.raises(error, match=message):
        TorchModel(Live(torch.nn.Identity()), **options).bind(*arrays)


@pytest.mark.parametrize("call", KerasModel.calls)
@pytest.mark.parametrize("as_dictionary", [False, True])
def test_keras_is_called_in_all_its_ways(keras: Any, call: str, as_dictionary: bool) -> None:
    source = Live(subtraction(keras, as_dictionary=as_dictionary))
    model = KerasModel(source, call=call, input_names=["subtrahend", "minuend"])
    outputs = model(FIRST, SECOND)
    np.testing.assert_array_equal(outputs["difference"], SECOND - FIRST)  # type: ignore[call-overload]
    np.testing.assert_array_equal(
        KerasModel(source, call=call)(FIRST, SECOND)["difference"],  # type: ignore[call-overload]
        FIRST - SECOND,
    )
    assert {"tensorflow", "keras", "device"} <= set(model.conditions())


def test_a_keras_model_of_ones_own_class_takes_what_its_call_takes(keras: Any) -> None:
    class Subtraction(keras.Model):  # type: ignore[misc]
        def call(self, minuend: Any, subtrahend: Any, training: bool = True) -> Any:
            return minuend * 0 if training else minuend - subtrahend

    source = Live(Subtraction())
    np.testing.assert_array_equal(KerasModel(source)(FIRST, SECOND), [FIRST - SECOND])
    named = KerasModel(source, input_names=["subtrahend", "minuend"])
    np.testing.assert_array_equal(named(FIRST, SECOND), [SECOND - FIRST])


def test_a_saved_model_takes_inputs_by_name_else_by_order(saved_model: Path, keras: Any) -> None:
    model = SavedModel(Live(str(saved_model)))
    np.testing.assert_array_equal(model(FIRST, SECOND)["difference"], FIRST - SECOND)  # type: ignore[call-overload]
    swapped = model.adapted(["subtrahend:0", "minuend:0"])
    np.testing.assert_array_equal(swapped(FIRST, SECOND)["difference"], SECOND - FIRST)  # type: ignore[call-overload]


def test_what_tensorflow_cannot_do_is_refused(keras: Any, saved_model: Path, tmp_path: Path) -> None:
    tf, subject = required("tensorflow", "tensorflow"), find_framework("tensorflow").subject
    (tmp_path / "saved_model.pb").write_bytes(b"no model")
    cases: list[tuple[Any, list[Any], type[Exception], str]] = [
        (lambda: subject(tmp_path), [FIRST], BadModel, "cannot be loaded"),
        (lambda: subject(saved_model), [FIRST], BadFeed, "has inputs minuend, subtrahend, but got 1 arrays"),
        (lambda: subject(tf.Module()), [], BadOption, "use the path of a saved_model folder"),
        (lambda: subject(tf.saved_model.load(saved_model)), [], BadOption, "saved_model folder"),
        (lambda: KerasModel(Live(keras.layers.ReLU()), call="predict"), [FIRST], BadOption, "ReLU is a layer"),
        (lambda: KerasModel(Live(subtraction(keras, as_dictionary=True))), [FIRST], BadFeed, "has inputs minuend"),
    ]
    for make, arrays, error, message in cases:
        with pytest.raises(error, match=message):
            make().bind(*arrays)


def test_models_survive_the_way_to_a_worker(torch: Any, keras: Any, saved_model: Path) -> None:
    compiled = subtraction(keras, as_dictionary=True)
    models: list[FrameworkModel[Any]] = [
        TorchModel(Live(torch_subtraction(torch))),
        KerasModel(Live(compiled), call="predict_on_batch"),
        SavedModel(Live(str(saved_model))),
    ]
    subjects = tuple(ms.FunctionSubject(name="f", function=cloudpickle.dumps(model)) for model in models)
    host = Host()
    feeds = packing.pack_feeds({"minuend": FIRST, "subtrahend": SECOND})
    host.answer(ms.Load(ms.WorkerSpec(subjects=subjects, threads=1, feeds=feeds)))
    for index, model in enumerate(models):
        prepared = host.answer(ms.Prepare(index))
        assert isinstance(prepared, ms.Prepared), prepared
        assert model.framework in prepared.conditions
        computed = host.answer(ms.Compute(index))
        assert isinstance(computed, ms.Computed), computed
        assert computed.names == ["difference"]
        np.testing.assert_array_equal(packing.unpack_value(computed.value)[0], FIRST - SECOND)
