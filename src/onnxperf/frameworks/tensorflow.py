"""Models of Keras and saved_models of TensorFlow."""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import cloudpickle

from onnxperf.errors import BadFeed, BadModel, BadOption
from onnxperf.frameworks.base import (
    FrameworkModel,
    Live,
    Packed,
    arranged,
    is_saved_model,
    required,
    threads_allowed,
)
from onnxperf.records import Scalar

_SIGNATURE = "serving_default"


class LiveKeras(Live):
    """A Keras model of this process; layers of one's own go with it, for Keras packs no more than their names."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Packed by Keras itself, which stores its models in pickles as it does in files."""
        registered_name = required("keras", "tensorflow").saving.get_registered_name
        kinds = {type(layer) for layer in self.model._flatten_layers()}
        own = {registered_name(kind): kind for kind in kinds if kind.__module__.partition(".")[0] != "keras"}
        return _PackedKeras, (bytes(cloudpickle.dumps(self.model)), bytes(cloudpickle.dumps(own)))


class _PackedKeras(Packed):
    def __init__(self, data: bytes, own: bytes) -> None:
        super().__init__(data)
        self._own = own

    def __call__(self) -> Any:
        with required("keras", "tensorflow").saving.custom_object_scope(cloudpickle.loads(self._own)):
            return super().__call__()


class _TensorFlowModel(FrameworkModel):
    framework = "tensorflow"

    def conditions(self) -> dict[str, Scalar]:
        """Version, threads and device."""
        tf = _tensorflow()
        known: dict[str, Scalar] = {"tensorflow": str(tf.__version__), "device": self.device}
        threads = tf.config.threading.get_intra_op_parallelism_threads() or threads_allowed()
        return {**known, "threads": int(threads)} if threads else known  # 0 is TensorFlow's own choice

    def _waiting(self, infer: Callable[[], Any]) -> Callable[[], Any]:
        """On a GPU, kernels run on after the call has returned."""
        if self.device != "cuda":
            return infer
        tf = _tensorflow()

        def infer_and_wait() -> Any:
            outputs = infer()
            tf.test.experimental.sync_devices()
            return outputs

        return infer_and_wait


class KerasModel(_TensorFlowModel):
    """A Keras model, called in one of Keras' three ways."""

    calls = ("call", "predict", "predict_on_batch")

    def _opened(self) -> Callable[[tuple[Any, ...]], Callable[[], Any]]:
        _prepare(self.device)
        model = self.load()
        _require_tensorflow()
        if not hasattr(model, self.call) and self.call != "call":
            raise BadOption(f"{type(model).__name__} is a layer, not a model, and has no {self.call}")
        return partial(self._inference, model)

    def _inference(self, model: Any, arrays: tuple[Any, ...]) -> Callable[[], Any]:
        if self.call == "predict":  # makes batches of arrays by itself: that is its way
            size = max((len(array) for array in arrays if array.ndim), default=1)
            values = self._arguments(model, arrays)
            return partial(model.predict, _only(values), batch_size=max(size, 1), verbose=0)
        values = self._arguments(model, tuple(map(_tensor, arrays)))
        if self.call == "predict_on_batch":
            return partial(model.predict_on_batch, _only(values))
        return self._waiting(partial(model, *values, training=False))

    def _arguments(self, model: Any, values: tuple[Any, ...]) -> tuple[Any, ...]:
        """The inputs in the structure that the model was built with: one, several, or a dictionary."""
        structure = getattr(model, "_inputs_struct", None)
        if len(values) == 1 and not isinstance(structure, dict):
            return values
        tensors = getattr(model, "inputs", None) or []
        names = list(structure) if isinstance(structure, dict) else [each.name.partition(":")[0] for each in tensors]
        if names:
            by_name = arranged(values, self.input_names, names)
            if by_name is None:
                raise BadFeed(f"the Keras model has inputs {', '.join(names)}; {len(values)} arrays were given")
            return (by_name,) if isinstance(structure, dict) else (list(by_name.values()),)
        # A model of one's own class says what it takes in `call`.
        takes = [name for name in inspect.signature(model.call).parameters if name not in ("training", "mask")]
        by_name = arranged(values, self.input_names, takes)
        return (list(values),) if by_name is None else tuple(by_name.values())

    def conditions(self) -> dict[str, Scalar]:
        """Versions, threads, device and the way of calling."""
        keras = required("keras", "tensorflow")
        return {**super().conditions(), "keras": str(keras.__version__), "call": self.call}


class SavedModel(_TensorFlowModel):
    """The serving signature of a saved_model folder; `load` returns its path."""

    def _opened(self) -> Callable[[tuple[Any, ...]], Callable[[], Any]]:
        _prepare(self.device)
        path = os.fspath(self.load())
        try:
            loaded = _tensorflow().saved_model.load(path)
        except (OSError, ValueError) as error:
            raise BadModel(f"saved_model {path!r} cannot be loaded: {' '.join(str(error).split())}") from error
        if _SIGNATURE not in loaded.signatures:
            has = ", ".join(loaded.signatures) or "none"
            raise BadModel(f"saved_model {path!r} has no signature {_SIGNATURE}; it has: {has}")
        return partial(self._inference, path, loaded)

    def _inference(self, path: str, loaded: Any, arrays: tuple[Any, ...]) -> Callable[[], Any]:
        signature = loaded.signatures[_SIGNATURE]
        # TensorFlow flattens dictionaries by sorted names, and keeps those of a signature in the order of a hash.
        wanted, returned = sorted(signature.structured_input_signature[1]), sorted(signature.structured_outputs)
        values = arranged([_tensor(array) for array in arrays], self.input_names, wanted)
        if values is None:
            raise BadFeed(f"saved_model {path!r} has inputs {', '.join(wanted)}; {len(arrays)} arrays were given")

        def infer(_owner: Any = loaded) -> Any:  # variables live only as long as what was loaded
            outputs = signature(**values)
            return {name: outputs[name] for name in returned}

        return self._waiting(infer)


def tensorflow_model(source: Any, **options: Any) -> FrameworkModel:
    """A Keras model, or the path of a saved_model, as something that can be bound to inputs."""
    if is_saved_model(source):
        return SavedModel(Live(os.path.abspath(source)), **options)  # noqa: PTH100 - a worker may start elsewhere
    if not hasattr(source, "get_config"):
        what = f"a {type(source).__name__} of TensorFlow"
        raise BadOption(f"{what} cannot be sent to a process of its own; give the path of a saved_model folder instead")
    _require_tensorflow()
    return KerasModel(LiveKeras(source), **options)


def _prepare(device: str) -> None:
    """Threads and devices; both can only be set before TensorFlow has run anything."""
    tf = _tensorflow()
    threads = threads_allowed()
    if threads is not None:
        with contextlib.suppress(RuntimeError):  # set by the environment already, in a worker
            tf.config.threading.set_intra_op_parallelism_threads(threads)
            tf.config.threading.set_inter_op_parallelism_threads(1)
    gpus = tf.config.list_physical_devices("GPU")
    if device == "cuda":
        if not gpus:
            raise BadOption("device cuda: TensorFlow finds no such device here; use --device cpu")
        for gpu in gpus:
            if not tf.config.experimental.get_memory_growth(gpu):
                tf.config.experimental.set_memory_growth(gpu, True)
    elif tf.config.get_visible_devices("GPU"):
        tf.config.set_visible_devices([], "GPU")


def _tensorflow() -> Any:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # read once, at import
    return required("tensorflow", "tensorflow")


def _require_tensorflow() -> None:
    """Keras 3 runs on torch and jax as well; there, it has to be timed as what it is."""
    backend = required("keras", "tensorflow").backend.backend()
    if backend != "tensorflow":
        raise BadOption(f"Keras runs on {backend} here; set KERAS_BACKEND=tensorflow")


def _only(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else list(values)


def _tensor(array: Any) -> Any:
    try:
        return _tensorflow().convert_to_tensor(array)
    except (TypeError, ValueError) as error:
        raise BadFeed(f"TensorFlow has no tensors of type {array.dtype.name}") from error
