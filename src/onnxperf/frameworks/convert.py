"""Converters of the frameworks: a scikit-learn, torch, Keras or TensorFlow model becomes a ModelProto."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import logging
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from onnxperf.errors import BadFeed, BadInput, BadOption, MissingExtra
from onnxperf.model.generate import Array
from onnxperf.model.interface import rename_inputs, rename_outputs

Framework = Literal["scikit-learn", "torch", "keras", "saved_model"]

PACKAGES: dict[Framework, tuple[str, ...]] = {
    "scikit-learn": ("scikit-learn", "skl2onnx"),
    "torch": ("torch", "onnxscript"),
    "keras": ("keras", "tensorflow", "tf2onnx"),
    "saved_model": ("tensorflow", "tf2onnx"),
}
_EXTRAS: dict[Framework, str] = {
    "scikit-learn": "sklearn",
    "torch": "torch",
    "keras": "tensorflow",
    "saved_model": "tensorflow",
}
_CONVERTERS: dict[Framework, str] = {
    "scikit-learn": "skl2onnx",
    "torch": "torch.onnx.export",
    "keras": "tf2onnx",
    "saved_model": "tf2onnx",
}
_DISTRIBUTIONS = {"tensorflow": ("tensorflow", "tensorflow-cpu")}
# Keras comes first: on its torch backend, its models are modules of torch as well.
_OWNERS: tuple[tuple[str, Framework], ...] = (
    ("keras", "keras"),
    ("tf_keras", "keras"),
    ("torch", "torch"),
    ("sklearn", "scikit-learn"),
)
_SAVED_MODEL_OPTIONS = {
    "custom_ops": "--custom-ops",
    "extra_opset": "--extra_opset",
    "inputs_as_nchw": "--inputs-as-nchw",
    "outputs_as_nchw": "--outputs-as-nchw",
}


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """What a converter is asked for."""

    sample: dict[str, Array] | None
    """Arrays by the names of the source's inputs, in their order; None where the source itself says what it takes."""
    opset: int | None = None
    free: frozenset[tuple[str, int]] = frozenset()
    """Axes of inputs whose size must not be fixed; only torch needs to be told."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the converter itself, by its own names."""
    timeout: float = 600.0
    """Seconds that a converter in a process of its own may take."""


def framework_of(source: Any) -> Framework:
    """Which framework a model is of, without importing any of them."""
    if isinstance(source, str | os.PathLike):
        return _kind_of_path(Path(source))
    modules = [each.__module__.partition(".")[0] for each in type(source).__mro__]
    found = next((framework for owner, framework in _OWNERS if owner in modules), None)
    if found is not None:
        return found
    if isinstance(source, onnx.ModelProto):
        raise BadOption("the model is an ONNX model already; there is nothing to convert")
    if callable(getattr(source, "fit", None)):  # skl2onnx knows estimators of other libraries too
        return "scikit-learn"
    raise BadOption(
        f"a {type(source).__name__} cannot be converted; expected a fitted scikit-learn estimator, a torch module, "
        "a Keras model, or the folder of a TensorFlow saved_model"
    )


def _kind_of_path(path: Path) -> Framework:
    if path.is_dir() and any((path / name).is_file() for name in ("saved_model.pb", "saved_model.pbtxt")):
        return "saved_model"
    if path.is_dir():
        raise BadOption(f"{str(path)!r} is no saved_model folder: it holds no saved_model.pb")
    raise BadOption(f"{str(path)!r}: expected the folder of a saved_model, FILE.py:function or module:function")


def versions_of(framework: Framework) -> dict[str, str]:
    """Versions of the packages that took part in a conversion."""
    found = {}
    for package in (*PACKAGES[framework], "onnx"):
        for distribution in _DISTRIBUTIONS.get(package, (package,)):
            with contextlib.suppress(PackageNotFoundError):
                found[package] = version(distribution)
    return found


def export(framework: Framework, source: Any, request: ExportRequest) -> onnx.ModelProto:
    """Convert a model; whatever its converter says against it becomes one line."""
    try:
        with _quiet():
            return _EXPORTERS[framework](source, request)
    except (BadInput, KeyboardInterrupt):
        raise
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in {
            name.replace("scikit-learn", "sklearn") for name in PACKAGES[framework]
        }:
            raise MissingExtra(str(error.name), _EXTRAS[framework]) from error
        raise BadInput(_refused(framework, error)) from error
    except Exception as error:
        raise BadInput(_refused(framework, error)) from error


def _imported(name: str) -> Any:
    """A library that is imported on first use and need not be there for others, type checkers among them."""
    return importlib.import_module(name)


def _refused(framework: Framework, error: Exception) -> str:
    # torch puts what went wrong behind a page of advice
    text = str(error).rpartition("## Exception summary")[2].partition("(Refer to the full")[0]
    line = " ".join(text.split())
    shown = line if len(line) <= 300 else f"{line[:300]}…"
    return f"{_CONVERTERS[framework]} cannot convert this model: {type(error).__name__}: {shown}"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Converters warn about themselves at length; what matters to a user is checked afterwards."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow reads it when it is imported
    disabled = logging.root.manager.disable
    unread = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(unread), contextlib.redirect_stderr(unread):
        warnings.simplefilter("ignore")
        logging.disable(logging.ERROR)
        try:
            yield
        finally:
            logging.disable(disabled)


# ---------------------------------------------------------------- scikit-learn


def _export_sklearn(source: Any, request: ExportRequest) -> onnx.ModelProto:
    from skl2onnx import to_onnx

    types = _initial_types(_needed(request, "scikit-learn"))
    proto = to_onnx(source, initial_types=types, target_opset=request.opset, **request.options)
    if not isinstance(proto, onnx.ModelProto):
        raise BadInput("skl2onnx returned no model")
    return proto


def _initial_types(arrays: Mapping[str, Array]) -> list[tuple[str, Any]]:
    from skl2onnx.common.data_types import guess_data_type

    types = []
    for name, array in arrays.items():
        kind = guess_data_type(array)[0][1]
        kind.shape = [None, *array.shape[1:]]
        types.append((name, kind))
    return types


# ---------------------------------------------------------------- torch


def _export_torch(source: Any, request: ExportRequest) -> onnx.ModelProto:
    torch = _imported("torch")
    arrays = _needed(request, "torch")
    device = device_of(source)
    tensors = {name: torch.as_tensor(array).to(device) for name, array in arrays.items()}
    automatic = torch.export.Dim.AUTO
    axes = {name: {axis: automatic for value, axis in request.free if value == name} for name in arrays}
    args, kwargs = _torch_arguments(source, tensors)
    with as_it_was(source):
        with torch.inference_mode():
            outputs = source.eval()(*args, **kwargs)
        program = torch.onnx.export(
            source,
            args,
            kwargs=kwargs,
            dynamo=True,
            dynamic_shapes=_torch_shapes(source, axes) if request.free else None,
            opset_version=request.opset,
            verbose=False,
            **request.options,
        )
    if program is None:
        raise BadInput("torch.onnx.export returned no model")
    proto: onnx.ModelProto = program.model_proto
    _name_like_torch(proto, list(arrays), outputs)
    return proto


def _name_like_torch(proto: onnx.ModelProto, names: Sequence[str], outputs: Any) -> None:
    """Inputs as the module names them, also where the exporter gave an output that name; outputs by their keys."""
    if isinstance(outputs, Mapping) and len(outputs) == len(proto.graph.output):
        wanted = [str(name) for name in outputs]
    else:
        wanted = [value.name for value in proto.graph.output]
    rename_outputs(proto, _distinct(wanted, names))
    if len(names) == len(proto.graph.input):
        rename_inputs(proto, names)


def _distinct(outputs: Sequence[str], inputs: Sequence[str]) -> list[str]:
    """Names of outputs, changed where an input or another output has the same."""
    names: list[str] = []
    for output in outputs:
        name = f"{output}_output" if output in inputs else output
        names.append(name if name not in names else f"{name}_{len(names)}")
    return names


@contextlib.contextmanager
def as_it_was(source: Any) -> Iterator[None]:
    """Leave the modules of a torch model in the mode that they were in; other models have none."""
    modules = list(source.modules()) if framework_of(source) == "torch" else []
    training = [module.training for module in modules]
    try:
        yield
    finally:
        for module, was_training in zip(modules, training, strict=True):
            module.training = was_training


def device_of(module: Any) -> Any:
    """Where the weights of a torch module are."""
    weights = next(module.parameters(), None)
    return "cpu" if weights is None else weights.device


def torch_names(module: Any, count: int) -> list[str]:
    """Names of the first parameters of a torch module; those behind a star are numbered."""
    names: list[str] = []
    for parameter in inspect.signature(module.forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{index}" for index in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    if len(names) < count:
        raise BadFeed(f"the sample has {count} arrays, the module takes {len(names)}: {', '.join(names) or 'none'}")
    return names[:count]


def _torch_arguments(module: Any, values: Mapping[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and named arguments for a torch module: named ones wherever it has such parameters."""
    parameters = inspect.signature(module.forward).parameters.values()
    starred = any(each.kind in (each.VAR_POSITIONAL, each.POSITIONAL_ONLY) for each in parameters)
    return (tuple(values.values()), {}) if starred else ((), dict(values))


def _torch_shapes(module: Any, axes: Mapping[str, Any]) -> Any:
    """Which axes are free, in the structure of the arguments."""
    starred = {
        each.name: f"{each.name}_"
        for each in inspect.signature(module.forward).parameters.values()
        if each.kind is each.VAR_POSITIONAL
    }
    shapes: dict[str, Any] = {}
    for name, free in axes.items():
        owner = next((star for star, prefix in starred.items() if name.startswith(prefix)), None)
        if owner is None:
            shapes[name] = free
        else:
            shapes[owner] = (*shapes.get(owner, ()), free)
    return shapes


# ---------------------------------------------------------------- Keras and TensorFlow


def _export_keras(source: Any, request: ExportRequest) -> onnx.ModelProto:
    keras, tf, tf2onnx = _imported("keras"), _imported("tensorflow"), _imported("tf2onnx")

    if keras.backend.backend() != "tensorflow":
        raise BadInput(f"Keras runs on {keras.backend.backend()} here; set KERAS_BACKEND=tensorflow for tf2onnx")
    inputs = _keras_inputs(source, request.sample)
    names = [name for name, _, _ in inputs]
    signature = [tf.TensorSpec(shape, dtype, name) for name, shape, dtype in inputs]

    def flat(*tensors: Any) -> Any:
        return keras.tree.flatten(_keras_call(source, dict(zip(names, tensors, strict=True))))

    function = tf.function(flat, input_signature=signature)
    converted = tf2onnx.convert.from_function(function, signature, opset=request.opset, **request.options)
    proto: onnx.ModelProto = converted[0]
    outputs = _keras_output_names(source, len(proto.graph.output))
    rename_outputs(proto, _distinct(outputs, names))
    return proto


def keras_names(model: Any, count: int) -> list[str]:
    """Names of the inputs of a functional Keras model; others have none, and get some."""
    if getattr(model, "input", None) is None:
        return _parameters(model, count) or _numbered("input", count)
    names = [each.name for each in model.inputs]
    if len(names) != count:
        raise BadFeed(f"the sample has {count} arrays, the model takes {len(names)}: {', '.join(names)}")
    return names


def _numbered(stem: str, count: int) -> list[str]:
    return [stem] if count == 1 else [f"{stem}_{index}" for index in range(count)]


def _parameters(model: Any, count: int) -> list[str]:
    """What a Keras model of one's own class takes one by one; empty if it takes all inputs in one list."""
    takes = [name for name in inspect.signature(model.call).parameters if name not in ("training", "mask")]
    return takes if len(takes) == count > 1 else []


def _keras_call(model: Any, values: Mapping[str, Any]) -> Any:
    """Call a Keras model in the structure that it was built with."""
    flat, structure = list(values.values()), getattr(model, "input", None)
    if structure is not None:
        return model(_imported("keras").tree.pack_sequence_as(structure, flat), training=False)
    return model(*(flat if len(flat) == 1 or _parameters(model, len(flat)) else [flat]), training=False)


def _keras_output_names(model: Any, count: int) -> list[str]:
    """Names of the outputs of a Keras model in the order in which they come."""
    structure = getattr(model, "output", None)
    names = sorted(structure) if isinstance(structure, dict) else list(getattr(model, "output_names", []))
    if len(set(names)) == count:
        return [str(name) for name in names]
    return _numbered("output", count)


def _keras_inputs(model: Any, sample: Mapping[str, Array] | None) -> list[tuple[str, Any, Any]]:
    if getattr(model, "input", None) is not None:
        return [(each.name, each.shape, each.dtype) for each in model.inputs]
    if sample is not None:
        return [(name, (None, *array.shape[1:]), array.dtype) for name, array in sample.items()]
    inputs = getattr(model, "inputs", None)
    if not inputs:
        raise BadFeed("this Keras model does not say what it takes; give a sample of its inputs")
    # A Sequential model: it has one input, and a batch that a first call fixed is no property of the model.
    return [("input", (None, *inputs[0].shape[1:]), inputs[0].dtype)]


def _export_saved_model(source: Any, request: ExportRequest) -> onnx.ModelProto:
    """Run tf2onnx in a process of its own, as its documentation has it."""
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        output = Path(folder) / "model.onnx"
        command = [sys.executable, "-P", "-m", "tf2onnx.convert", "--saved-model", str(source), "--output", str(output)]
        command += [] if request.opset is None else ["--opset", str(request.opset)]
        for name, value in request.options.items():
            if name not in _SAVED_MODEL_OPTIONS:
                raise BadOption.unknown("option of tf2onnx", name, _SAVED_MODEL_OPTIONS)
            command += [_SAVED_MODEL_OPTIONS[name], str(value)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=request.timeout, check=False)
        except subprocess.TimeoutExpired as error:
            raise BadInput(f"tf2onnx took longer than {request.timeout:g} s; give it more with --timeout") from error
        if done.returncode or not output.is_file():
            if "No module named tf2onnx" in done.stderr:
                raise MissingExtra("tf2onnx", "tensorflow")
            last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "no reason given")
            raise BadInput(f"tf2onnx cannot convert {str(source)!r}: {' '.join(last.split())[:300]}")
        try:
            proto = onnx.load(output)
        except DecodeError as error:
            raise BadInput(f"tf2onnx wrote a damaged model for {str(source)!r}") from error
    proto.graph.ClearField("doc_string")  # it names the folder
    return proto


def _needed(request: ExportRequest, what: str) -> dict[str, Array]:
    if not request.sample:
        raise BadFeed(f"a {what} model is converted with a sample of its inputs; give one (--input, --shape)")
    return request.sample


_EXPORTERS: dict[Framework, Callable[[Any, ExportRequest], onnx.ModelProto]] = {
    "scikit-learn": _export_sklearn,
    "torch": _export_torch,
    "keras": _export_keras,
    "saved_model": _export_saved_model,
}
