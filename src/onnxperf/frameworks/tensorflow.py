"""Models of Keras and saved_models of TensorFlow."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeGuard, TypeVar, Unpack, cast

import cloudpickle

from onnxperf.errors import BadFeed, BadModel, BadOption, required
from onnxperf.frameworks.base import (
    Bind,
    ExportRequest,
    Framework,
    FrameworkModel,
    Libraries,
    Live,
    Packed,
    Shape,
    SubjectOptions,
    arranged,
    is_file,
    is_instance,
    is_path,
    threads_allowed,
)
from onnxperf.frameworks.logs import quiet_libraries
from onnxperf.frameworks.saved_model import SAVED_MODEL_OPTIONS, export_saved_model
from onnxperf.records.base import Scalar
from onnxperf.runtimes.base import Array

if TYPE_CHECKING:
    import onnx

S = TypeVar("S")

_SIGNATURE = "serving_default"
_FILES = ("saved_model.pb", "saved_model.pbtxt")


class KerasLayer(Protocol):
    """The attributes used of a Keras layer or model; only a model has inputs and predicts."""

    inputs: Sequence[Any]
    call: Callable[..., object]
    predict: Callable[..., object]
    predict_on_batch: Callable[..., object]

    def _flatten_layers(self) -> Iterable[object]: ...

    def __call__(self, *values: object, training: bool = ...) -> object:
        """Compute."""


Source = KerasLayer | str | os.PathLike[str]
"""A Keras model, or a saved_model folder."""


class TensorflowFramework(Framework[Source]):
    """Keras models and saved_model folders, converted by tf2onnx."""

    name = "tensorflow"
    converter = "tf2onnx"
    libraries: ClassVar[Libraries] = {
        "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-macos", "tensorflow-intel"),
        "keras": ("keras",),
        "tf2onnx": ("tf2onnx",),
    }
    calls = ("call", "predict", "predict_on_batch")
    suffix = ".keras"
    options = (
        *SAVED_MODEL_OPTIONS,
        "custom_op_handlers",
        "custom_rewriter",
        "shape_override",
        "target",
    )

    def detect(self, source: object) -> TypeGuard[Source]:
        """A Keras layer or model, a TensorFlow module, a .keras file, or a saved_model folder."""
        kinds = (("keras", "Layer"), ("tensorflow", "Module"))
        return is_saved_model(source) or self.is_file(source) or any(is_instance(source, *kind) for kind in kinds)

    def read(self, path: str) -> KerasLayer:
        """A Keras model, loaded in safe mode: files that would run code are rejected."""
        _tensorflow()
        _require_tensorflow()
        try:
            model: KerasLayer = required("keras", self.name).saving.load_model(path, compile=False, safe_mode=True)
        except Exception as error:
            why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            hint = "for custom layers, pass a function that builds the model: FILE.py:function"
            raise BadModel(f"{path!r} cannot be loaded in Keras' safe mode ({hint}): {why}") from error
        return model

    def export(self, source: Source, request: ExportRequest) -> onnx.ModelProto:
        """Convert with tf2onnx; a saved_model in a separate process."""
        if is_saved_model(source):
            return export_saved_model(source, request)
        return _export_keras(_keras_only(source, "converted"), request)

    def defines_inputs(self, source: Source) -> bool:
        """The inputs of a saved_model are known only during its conversion."""
        return not is_saved_model(source)

    def input_names(self, source: Source, count: int) -> list[str]:
        """Those of a functional model; other models get generated names."""
        return _keras_names(_keras_only(source, "converted"), count)

    def ordered(self, source: Source, given: dict[str, Array]) -> dict[str, Array]:
        """In the order of the inputs of a functional model."""
        if is_saved_model(source) or getattr(source, "input", None) is None:
            return given
        known = self.input_names(source, len(given))
        if set(known) != set(given):
            raise BadFeed(f"the sample has {', '.join(given)}, but the model's inputs are {', '.join(known)}")
        return {name: given[name] for name in known}

    def shapes(self, source: Source, requested: Mapping[str, Shape]) -> Mapping[str, Shape]:
        """A model declares its own shapes."""
        del source, requested
        return {}

    def calls_of(self, source: Source) -> tuple[str, ...]:
        """A Keras model has three; layers and saved_models are only called."""
        return self.calls if hasattr(source, "predict_on_batch") or self.is_file(source) else self.calls[:1]

    def lazy(self, load: Callable[[], Source], **options: Unpack[SubjectOptions]) -> KerasModel:
        """A Keras model that is loaded in a worker."""
        return KerasModel(cast("Callable[[], KerasLayer]", load), **options)

    def subject(self, source: Source, **options: Unpack[SubjectOptions]) -> KerasModel | SavedModel:
        """A Keras model, or a saved_model folder."""
        if is_saved_model(source):
            path = os.path.abspath(source)  # noqa: PTH100 - a worker may start elsewhere
            return SavedModel(Live(path), **options)
        if self.is_file(source):
            return self.lazy(partial(self.read, os.path.abspath(source)), **options)  # noqa: PTH100 - as above
        return KerasModel(LiveKeras(_keras_only(source, "sent to another process")), **options)


def is_saved_model(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether this is the path of a saved_model folder."""
    return is_path(source) and any(is_file(source, name) for name in _FILES)


def _keras_only(source: Source, purpose: str) -> KerasLayer:
    if not hasattr(source, "get_config"):
        what = f"a {type(source).__name__} of TensorFlow"
        raise BadOption(f"{what} cannot be {purpose}; use the path of a saved_model folder instead")
    _require_tensorflow()
    return source  # type: ignore[return-value]  # paths have no configuration


class LiveKeras(Live[KerasLayer]):
    """A Keras model of this process; custom layers are sent with it, as Keras pickles only their names."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[bytes, ...]]:
        """Pickled by Keras itself, which stores its models in pickles as it does in files."""
        registered_name = required("keras", "tensorflow").saving.get_registered_name
        kinds = {type(layer) for layer in self.model._flatten_layers()}
        own = {registered_name(kind): kind for kind in kinds if kind.__module__.partition(".")[0] != "keras"}
        return _PackedKeras, (bytes(cloudpickle.dumps(self.model)), bytes(cloudpickle.dumps(own)))


class _PackedKeras(Packed):
    def __init__(self, data: bytes, own: bytes) -> None:
        super().__init__(data)
        self._own = own

    def __call__(self) -> object:
        with required("keras", "tensorflow").saving.custom_object_scope(cloudpickle.loads(self._own)):
            return super().__call__()


class _TensorFlowModel(FrameworkModel[S]):
    framework = "tensorflow"

    def conditions(self) -> dict[str, Scalar]:
        """Version, threads and device."""
        tf = _tensorflow()
        known: dict[str, Scalar] = {"tensorflow": str(tf.__version__), "device": self.device}
        threads = tf.config.threading.get_intra_op_parallelism_threads() or threads_allowed()
        return {**known, "threads": int(threads)} if threads else known  # 0 is TensorFlow's own choice

    def _waiting(self, infer: Callable[[], object]) -> Callable[[], object]:
        """Wait for the GPU, where kernels may still run after the call has returned."""
        if self.device != "cuda":
            return infer
        tf = _tensorflow()

        def infer_and_wait() -> object:
            outputs = infer()
            tf.test.experimental.sync_devices()
            return outputs

        return infer_and_wait


class KerasModel(_TensorFlowModel[KerasLayer]):
    """A Keras model, called in one of Keras' three ways."""

    calls = TensorflowFramework.calls

    def _opened(self) -> Bind:
        _prepare(self.device)
        model = self.load()
        _require_tensorflow()
        if not hasattr(model, self.call) and self.call != "call":
            raise BadOption(f"{type(model).__name__} is a layer without {self.call}, not a model")
        return partial(self._inference, model)

    def _inference(self, model: KerasLayer, arrays: tuple[Array, ...]) -> Callable[[], object]:
        if self.call == "predict":  # splits arrays into batches by itself: that is part of it
            size = max((len(array) for array in arrays if array.ndim), default=1)
            values = _arguments(model, arrays, self.input_names)
            return partial(model.predict, _only(values), batch_size=max(size, 1), verbose=0)
        values = _arguments(model, tuple(map(_tensor, arrays)), self.input_names)
        if self.call == "predict_on_batch":
            return partial(model.predict_on_batch, _only(values))
        return self._waiting(partial(model, *values, training=False))

    def conditions(self) -> dict[str, Scalar]:
        """Versions, threads, device and call style."""
        keras = required("keras", "tensorflow")
        return {**super().conditions(), "keras": str(keras.__version__), "call": self.call}


class SavedModel(_TensorFlowModel[str]):
    """The serving signature of a saved_model folder; `load` returns its path."""

    def _opened(self) -> Bind:
        _prepare(self.device)
        path = self.load()
        try:
            loaded = _tensorflow().saved_model.load(path)
        except (OSError, ValueError) as error:
            raise BadModel(f"saved_model {path!r} cannot be loaded: {' '.join(str(error).split())}") from error
        if _SIGNATURE not in loaded.signatures:
            has = ", ".join(loaded.signatures) or "none"
            raise BadModel(f"saved_model {path!r} has no signature {_SIGNATURE}; it has: {has}")
        return partial(self._inference, path, loaded)

    def _inference(self, path: str, loaded: Any, arrays: tuple[Array, ...]) -> Callable[[], object]:
        signature = loaded.signatures[_SIGNATURE]
        # TensorFlow flattens dictionaries by sorted names, but orders those of a signature by a hash.
        wanted, returned = sorted(signature.structured_input_signature[1]), sorted(signature.structured_outputs)
        values = arranged([_tensor(array) for array in arrays], self.input_names, wanted)
        if values is None:
            raise BadFeed(f"saved_model {path!r} has inputs {', '.join(wanted)}, but got {len(arrays)} arrays")

        def infer(_owner: object = loaded) -> object:  # variables live only as long as the loaded object
            outputs = signature(**values)
            return {name: outputs[name] for name in returned}

        return self._waiting(infer)


def _prepare(device: str) -> None:
    """Set threads and devices, which is possible only before TensorFlow has run anything."""
    tf = _tensorflow()
    threads = threads_allowed()
    if threads is not None:
        with contextlib.suppress(RuntimeError):  # already set by the environment, in a worker
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(1)
    gpus = tf.config.list_physical_devices("GPU")
    if device == "cuda":
        if not gpus:
            raise BadOption("TensorFlow does not find this device; use `device=cpu`", option="device", value=device)
        for gpu in gpus:
            if not tf.config.experimental.get_memory_growth(gpu):
                tf.config.experimental.set_memory_growth(gpu, True)
    elif tf.config.get_visible_devices("GPU"):
        tf.config.set_visible_devices([], "GPU")


def _tensorflow() -> ModuleType:
    with quiet_libraries():
        return required("tensorflow", "tensorflow")


def _require_tensorflow() -> None:
    """Keras 3 runs on torch and jax as well; those backends must be timed as what they are."""
    backend = required("keras", "tensorflow").backend.backend()
    if backend != "tensorflow":
        raise BadOption(f"Keras runs on {backend} here; set KERAS_BACKEND=tensorflow")


def _only(values: tuple[object, ...]) -> object:
    return values[0] if len(values) == 1 else list(values)


def _tensor(array: Array) -> object:
    try:
        return _tensorflow().convert_to_tensor(array)
    except (TypeError, ValueError) as error:
        raise BadFeed(f"TensorFlow does not support tensors of type {array.dtype.name}") from error


def _export_keras(source: KerasLayer, request: ExportRequest) -> onnx.ModelProto:
    from onnxperf.model.interface import distinct_names, rename_outputs

    keras, tf, tf2onnx = (required(module, "tensorflow") for module in ("keras", "tensorflow", "tf2onnx"))
    _require_tensorflow()
    inputs = _keras_inputs(source, request.sample)
    names = [name for name, _, _ in inputs]
    signature = [tf.TensorSpec(shape, dtype, name) for name, shape, dtype in inputs]

    def flat(*tensors: object) -> object:
        return keras.tree.flatten(source(*_arguments(source, tensors, names), training=False))

    function = tf.function(flat, input_signature=signature)
    converted = tf2onnx.convert.from_function(function, signature, opset=request.opset, **request.options)
    proto: onnx.ModelProto = converted[0]
    outputs = _keras_output_names(source, len(proto.graph.output))
    rename_outputs(proto, distinct_names(outputs, names))
    return proto


def _keras_names(model: KerasLayer, count: int) -> list[str]:
    """Names of the inputs of a functional Keras model; other models get generated names."""
    if getattr(model, "input", None) is None:
        return _own_parameters(model, count) or _numbered("input", count)
    names = [each.name for each in model.inputs]
    if len(names) != count:
        raise BadFeed(f"the sample has {count} arrays, but the model takes {len(names)}: {', '.join(names)}")
    return names


def _numbered(stem: str, count: int) -> list[str]:
    return [stem] if count == 1 else [f"{stem}_{index}" for index in range(count)]


def _parameters(model: KerasLayer) -> list[str]:
    return [name for name in inspect.signature(model.call).parameters if name not in ("training", "mask")]


def _own_parameters(model: KerasLayer, count: int) -> list[str]:
    """The separate parameters of a custom Keras model; empty if it takes all inputs in one list."""
    takes = _parameters(model)
    return takes if len(takes) == count > 1 else []


def _arguments(model: KerasLayer, values: tuple[object, ...], names: Sequence[str]) -> tuple[object, ...]:
    """Inputs, with their names if any, in the structure that a model was built with or that its `call` declares."""
    structure = getattr(model, "input", None)
    if structure is None:
        by_name = arranged(values, names, _parameters(model))
        return (_only(values),) if by_name is None else tuple(by_name.values())
    wanted = [each.name.partition(":")[0] for each in model.inputs]
    if isinstance(structure, dict) and len(structure) == len(wanted):
        wanted = sorted(structure)  # as Keras flattens it
    by_name = arranged(values, names, wanted)
    if by_name is None:
        raise BadFeed(f"the Keras model has inputs {', '.join(wanted)}, but got {len(values)} arrays")
    return (required("keras", "tensorflow").tree.pack_sequence_as(structure, list(by_name.values())),)


def _keras_output_names(model: KerasLayer, count: int) -> list[str]:
    """Names of a Keras model's outputs, in order."""
    structure = getattr(model, "output", None)
    names = sorted(structure) if isinstance(structure, dict) else list(getattr(model, "output_names", []))
    if len(set(names)) == count:
        return [str(name) for name in names]
    return _numbered("output", count)


def _keras_inputs(model: KerasLayer, sample: Mapping[str, Array] | None) -> list[tuple[str, object, object]]:
    if getattr(model, "input", None) is not None:
        return [(each.name, each.shape, each.dtype) for each in model.inputs]
    if sample is not None:
        return [(name, (None, *array.shape[1:]), array.dtype) for name, array in sample.items()]
    inputs = getattr(model, "inputs", None)
    if not inputs:
        raise BadFeed("this Keras model does not declare its inputs; pass a sample of its inputs")
    # A Sequential model: it has one input, and a batch size fixed by the first call is not part of the model.
    return [("input", (None, *inputs[0].shape[1:]), inputs[0].dtype)]


FRAMEWORK = TensorflowFramework()
