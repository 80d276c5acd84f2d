"""What every framework offers: a model that travels to a worker, is bound to its inputs once and then called."""

from __future__ import annotations

import dataclasses
import importlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self

import cloudpickle
import numpy as np

from onnxperf.errors import BadFeed, BadOption, MissingExtra
from onnxperf.records import Scalar
from onnxperf.runtimes.base import Parts

FRAMEWORKS = ("torch", "tensorflow", "sklearn")
DEVICES = ("cpu", "cuda")

# Keras comes first: on its torch backend, its models are modules of torch as well.
_TYPES = (
    ("tensorflow", "keras", "Layer"),
    ("tensorflow", "tensorflow", "Module"),
    ("torch", "torch", "nn.Module"),
    ("sklearn", "sklearn.base", "BaseEstimator"),
)
_SAVED_MODEL_FILES = ("saved_model.pb", "saved_model.pbtxt")


def framework_of(source: object) -> str | None:
    """The framework that a model belongs to; imports nothing, because whoever made the model has done so."""
    if is_saved_model(source):
        return "tensorflow"
    return next((name for name, module, path in _TYPES if _is_instance(source, module, path)), None)


def required(module: str, extra: str) -> Any:
    """Import a library on first use: a parent that only sends a model to its worker never needs its framework."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # it is there, and lacks something itself
        raise MissingExtra(error.name, extra) from error


def is_saved_model(source: object) -> bool:
    """Whether this is the path of a TensorFlow saved_model folder."""
    if not isinstance(source, str | os.PathLike):
        return False
    try:
        return any(Path(source, name).is_file() for name in _SAVED_MODEL_FILES)
    except (OSError, ValueError, TypeError):  # no path at all
        return False


def _is_instance(source: object, module: str, path: str) -> bool:
    kind: Any = sys.modules.get(module)
    for name in path.split("."):
        kind = getattr(kind, name, None)
    return isinstance(kind, type) and isinstance(source, kind)


class Live:
    """A model of this process; on its way to another one it is packed, and unpacked there when it is needed."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def __call__(self) -> Any:
        """The model."""
        return self.model

    def __reduce__(self) -> tuple[Any, ...]:
        """Written by cloudpickle for a worker of this very run, and never stored."""
        return Packed, (bytes(cloudpickle.dumps(self.model)),)


class Packed:
    """A model on its way, not unpacked at once: threads and devices are set before its framework holds a tensor."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __call__(self) -> Any:
        """The model, unpacked."""
        return cloudpickle.loads(self._data)


class FrameworkModel(ABC):
    """A model of a framework: `bind` turns numpy inputs into tensors once, and returns what is timed."""

    framework: ClassVar[str]
    calls: ClassVar[tuple[str, ...]] = ("call",)
    """The ways in which the framework itself calls a model."""

    def __init__(
        self, load: Callable[[], Any], *, call: str = "call", input_names: Sequence[str] = (), device: str = "cpu"
    ) -> None:
        if call not in self.calls:
            raise BadOption.unknown(f"{self.framework} call", call, self.calls)
        if device not in DEVICES:
            raise BadOption.unknown("device", device, DEVICES)
        self.load = load
        self.call = call
        self.input_names = tuple(input_names)
        """Names of the ONNX model's inputs, in the order of the arrays; empty when only the order is known."""
        self.device = device

    def told(self, input_names: Sequence[str] = (), device: str = "cpu") -> Self:
        """The same model, told how the arrays are named and where it has to run; what it was told before stays."""
        names, place = input_names or self.input_names, self.device if device == "cpu" else device
        return type(self)(self.load, call=self.call, input_names=names, device=place)

    def bind(self, *arrays: Any) -> Callable[[], Any]:
        """Load the model, move the inputs to it, and return one complete inference."""
        return self.parts(*arrays).prepare()

    def parts(self, *arrays: Any) -> Parts:
        """Load the model, and divide an inference into moving the inputs to it, computing, and fetching arrays."""
        return self.opened()(*arrays)

    def opened(self) -> Callable[..., Parts]:
        """Load the model; what is returned divides an inference on arrays, and may be called for several sizes."""
        bind = self._opened()

        def parts(*arrays: Any) -> Parts:
            if self.input_names and len(arrays) != len(self.input_names):
                raise BadFeed(f"the model has {len(self.input_names)} inputs, {len(arrays)} arrays were given")
            return Parts(partial(bind, arrays), to_numpy)

        return parts

    @abstractmethod
    def _opened(self) -> Callable[[tuple[Any, ...]], Callable[[], Any]]:
        """What binds arrays to the loaded model; the framework is set up in here, before anything is loaded."""

    @abstractmethod
    def conditions(self) -> dict[str, Scalar]:
        """Versions, threads and device, as they are once the model is bound."""

    def __call__(self, *arrays: Any) -> list[Any] | dict[str, Any]:
        """Outputs as arrays, once."""
        # Tensors may lie on the memory of arrays, and a model may write into them.
        return to_numpy(self.bind(*(np.array(array, order="K") for array in arrays))())


def threads_allowed() -> int | None:
    """The number of threads that the environment of a worker allows."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


def arranged(arrays: Sequence[Any], given: Sequence[str], wanted: Sequence[str]) -> dict[str, Any] | None:
    """Arrays under the names that a model gives its inputs: by name where all match, else by order.

    None when their numbers differ.
    """
    plain = [name.partition(":")[0] for name in given]
    if len(plain) == len(wanted) and set(plain) == set(wanted):
        by_name = dict(zip(plain, arrays, strict=True))
        return {name: by_name[name] for name in wanted}
    return dict(zip(wanted, arrays, strict=True)) if len(arrays) == len(wanted) else None


def to_numpy(outputs: object) -> list[Any] | dict[str, Any]:
    """Outputs of any framework as arrays: by name where they have names, else in their order.

    Nested outputs are flattened (`hidden_states.0`) and missing ones left out, as exporters do it.
    """
    leaves = list(_leaves((), outputs))
    if leaves and all(path for path, _ in leaves) and _fields(outputs) is not None:
        return {".".join(path): value for path, value in leaves}
    return [value for _, value in leaves]


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if value is None:
        return
    fields = _fields(value)
    several = isinstance(value, list | tuple) or type(value).__name__ == "OrtValueVector"
    if fields is None and several and not _is_plain(value):
        fields = {str(index): each for index, each in enumerate(value)}
    if fields is None:
        yield path, _array(value)
    else:
        for name, each in fields.items():
            yield from _leaves((*path, name), each)


def _fields(value: Any) -> dict[str, Any] | None:
    """Names and values of a dictionary, a dataclass or a named tuple."""
    if isinstance(value, Mapping):
        return {str(name): each for name, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


def _is_plain(value: Sequence[Any]) -> bool:
    """Numbers or texts in a list are one array, not an output each; a table of dictionaries stays what it is."""
    if not value:
        return False
    return all(isinstance(each, bool | int | float | complex | str | bytes | np.generic) for each in value) or (
        all(isinstance(each, dict) and all(np.isscalar(x) for x in each.values()) for each in value)
    )


def _array(value: Any) -> Any:
    """One tensor as an array; a table of dictionaries as it is."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return value
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        value = value.detach().cpu()
        # numpy has no bfloat16; float32 holds all of its values
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return value.resolve_conj().resolve_neg().numpy()
    method = next((getattr(value, name) for name in ("numpy", "toarray") if hasattr(value, name)), None)
    return np.asarray(value if method is None else method())
