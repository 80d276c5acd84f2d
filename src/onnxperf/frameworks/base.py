"""What a framework is: how its models are detected, converted, sampled and run; and the table of frameworks."""

from __future__ import annotations

import importlib
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypedDict, TypeGuard, TypeVar, Unpack

import cloudpickle
import numpy as np

from onnxperf.errors import BadFeed, BadOption
from onnxperf.frameworks.outputs import Outputs, to_numpy
from onnxperf.records.base import Scalar
from onnxperf.runtimes.base import Array, Parts

if TYPE_CHECKING:  # workers do not need onnx
    import onnx

DEVICES = ("cpu", "cuda")
FRAMEWORKS = ("tensorflow", "torch", "sklearn")
"""Each is a module of this folder. Keras comes first: with its torch backend, its models are also torch modules."""

S = TypeVar("S")
T = TypeVar("T")
Shape = tuple[int, ...]
Libraries = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class ExportRequest:
    """The request to a converter."""

    sample: Mapping[str, Array] | None
    """Arrays by source input name, in order; None if the source itself defines its inputs."""
    opset: int | None = None
    free: frozenset[tuple[str, int]] = frozenset()
    """Axes of inputs whose size must stay free, for a framework that `fixes_sizes`."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of the converter itself, by their original names."""
    timeout: float = 600.0
    """Maximum seconds for a converter that runs in a separate process."""

    def sample_for(self, framework: str) -> Mapping[str, Array]:
        """The sample, for a converter that requires one."""
        if not self.sample:
            raise BadFeed(f"converting a {framework} model needs a sample of its inputs: use `sample` or `shapes`")
        return self.sample


class SubjectOptions(TypedDict, total=False):
    """How a race calls a model."""

    call: str
    """One of the framework's ways to call its models."""
    input_names: Sequence[str]
    """Names of the ONNX model's inputs, to match them with parameters."""
    device: str


class Framework(ABC, Generic[S]):
    """A framework whose models, of type S, can be converted to ONNX and race against the result."""

    name: ClassVar[str]
    """It is also the name of the extra that installs it."""
    converter: ClassVar[str]
    libraries: ClassVar[Libraries]
    """Modules that take part in a conversion, and the distributions that may provide them."""
    calls: ClassVar[tuple[str, ...]] = ("call",)
    """The ways in which the framework calls a model; the first is the default."""
    fixes_sizes: ClassVar[bool] = False
    """Its converter fixes every size that is not explicitly kept free."""
    takes_table: ClassVar[bool] = False
    """A sample is one table, even if it is given as a list."""
    options: ClassVar[tuple[str, ...]] = ()
    """Supported options of the converter."""
    suffix: ClassVar[str] = ""
    """Extension of files that hold a model without pickles; empty if there are none."""

    @abstractmethod
    def detect(self, source: object) -> TypeGuard[S]:
        """Whether a model belongs to this framework; imports nothing, because a loaded model has its modules loaded."""

    @abstractmethod
    def export(self, source: S, request: ExportRequest) -> onnx.ModelProto:
        """Convert a model."""

    def is_file(self, source: object) -> TypeGuard[str | os.PathLike[str]]:
        """Whether this is the path of a file that the framework can read."""
        return bool(self.suffix) and is_path(source) and Path(source).suffix == self.suffix and is_file(source)

    def read(self, path: str) -> S:
        """Load a model from a file; nothing in it is unpickled."""
        raise NotImplementedError(path)

    def opened(self, source: S) -> S:
        """A model, loaded first if it is given as a path."""
        return self.read(os.fspath(source)) if self.is_file(source) else source

    def example(self, source: S) -> dict[str, Array] | None:
        """A sample that is part of the model."""
        del source
        return None

    def defines_inputs(self, source: S) -> bool:
        """Whether the inputs are known before the conversion."""
        del source
        return True

    @abstractmethod
    def input_names(self, source: S, count: int) -> list[str]:
        """Names of a model's first inputs."""

    def ordered(self, source: S, given: dict[str, Array]) -> dict[str, Array]:
        """A sample, reordered like the model's own inputs."""
        del source
        return given

    def shapes(self, source: S, requested: Mapping[str, Shape]) -> Mapping[str, Shape]:
        """Shapes of a random sample, if none is given; empty if the model itself defines its inputs."""
        del source
        return requested

    def tables(self, source: S, arrays: Mapping[str, Array]) -> list[dict[str, Array]]:
        """Additional rows to check a conversion, the most demanding first; none if the inputs are not a table."""
        del source, arrays
        return []

    def calls_of(self, source: S) -> tuple[str, ...]:
        """The ways in which this model can be called."""
        del source
        return self.calls

    @abstractmethod
    def lazy(self, load: Callable[[], S], **options: Unpack[SubjectOptions]) -> Callable[..., object]:
        """A callable on arrays for a race; the model is loaded in the worker if possible."""

    def subject(self, source: S, **options: Unpack[SubjectOptions]) -> Callable[..., object]:
        """A callable on arrays for a race, from a model in this process or in a file."""
        if self.is_file(source):
            return self.lazy(partial(self.read, str(Path(source).absolute())), **options)
        return self.lazy(Live(source), **options)

    def note_on_calls(self, source: S, arrays: Mapping[str, Array]) -> str:
        """A note for readers on how a model is called with such arrays; empty if there is nothing to note."""
        del source, arrays
        return ""

    def outputs(self, source: S, arrays: Mapping[str, Array]) -> Outputs:
        """The outputs that a model computes in this process."""
        return to_numpy(self.subject(source, input_names=tuple(arrays))(*arrays.values()))


AnyFramework = Framework[Any]


def find_framework(name: str) -> AnyFramework:
    """A framework by name; does not import the framework itself."""
    if name not in FRAMEWORKS:
        raise BadOption.unknown("framework", name, FRAMEWORKS, option="against")
    framework = importlib.import_module(f"onnxperf.frameworks.{name}").FRAMEWORK
    assert isinstance(framework, Framework)  # noqa: S101 - it is ours
    return framework


def framework_of(source: object) -> AnyFramework | None:
    """The framework that a model belongs to."""
    return next((each for each in map(find_framework, FRAMEWORKS) if each.detect(source)), None)


def distributions() -> tuple[str, ...]:
    """Packages whose versions belong to a measurement."""
    libraries = [each for name in FRAMEWORKS for each in find_framework(name).libraries.values()]
    return tuple(each for names in libraries for each in names)


def version_of(names: Sequence[str]) -> str:
    """The version of the first installed distribution among these, or an empty text."""
    from importlib.metadata import PackageNotFoundError, version  # every worker imports this module, and few need this

    for name in names:
        with suppress(PackageNotFoundError):
            return version(name)
    return ""


def is_path(source: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether this may be the path of a file or a folder."""
    return isinstance(source, str | os.PathLike)


def is_file(*parts: str | os.PathLike[str]) -> bool:
    """Whether a file with this name exists; the name may be too long or invalid."""
    try:
        return Path(*parts).is_file()
    except (OSError, ValueError, TypeError):
        return False


def is_instance(source: object, module: str, path: str) -> bool:
    """Whether something is an instance of a type in a module, if that is imported."""
    kind: object = sys.modules.get(module)
    for name in path.split("."):
        kind = getattr(kind, name, None)
    return isinstance(kind, type) and isinstance(source, kind)


class Live(Generic[T]):
    """A model of this process; to send it to another one it is pickled, and unpickled there on demand."""

    def __init__(self, model: T) -> None:
        self.model = model

    def __call__(self) -> T:
        """The model."""
        return self.model

    def __reduce__(self) -> tuple[Callable[..., object], tuple[bytes, ...]]:
        """Pickled with cloudpickle for a worker of this very run, and never stored."""
        return Packed, (bytes(cloudpickle.dumps(self.model)),)


class Packed:
    """A model in transit, unpickled on demand: threads and devices are set before its framework creates a tensor."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __call__(self) -> object:
        """The unpickled model."""
        return cloudpickle.loads(self._data)


Bind = Callable[[tuple[Array, ...]], Callable[[], object]]
"""Moves arrays to a loaded model; returns one inference on them."""


class FrameworkModel(ABC, Generic[S]):
    """A framework's model: `bind` turns numpy inputs into tensors once, and returns the timed call."""

    framework: ClassVar[str]
    calls: ClassVar[tuple[str, ...]] = ("call",)
    """The framework's own ways to call a model."""

    def __init__(
        self, load: Callable[[], S], *, call: str = "call", input_names: Sequence[str] = (), device: str = "cpu"
    ) -> None:
        if call not in self.calls:
            raise BadOption.unknown(f"{self.framework} call", call, self.calls, option="call")
        if device not in DEVICES:
            raise BadOption.unknown("device", device, DEVICES, option="device")
        self.load = load
        self.call = call
        self.input_names = tuple(input_names)
        """Names of the ONNX model's inputs, in the order of the arrays; empty if only the order is known."""
        self.device = device

    def adapted(self, input_names: Sequence[str] = (), device: str = "cpu") -> Self:
        """The same model for inputs with these names on this device; omitted arguments stay as they are."""
        names, place = input_names or self.input_names, self.device if device == "cpu" else device
        return type(self)(self.load, call=self.call, input_names=names, device=place)

    def bind(self, *arrays: Array) -> Callable[[], Any]:
        """Load the model, move the inputs to it, and return one complete inference."""
        return self.parts(*arrays).prepare()

    def parts(self, *arrays: Array) -> Parts:
        """Load the model, and split an inference into moving the inputs to it, computing, and fetching arrays."""
        return self.opened()(*arrays)

    def opened(self) -> Callable[..., Parts]:
        """Load the model; the returned function splits an inference on arrays, and may be called for several sizes."""
        bind = self._opened()

        def parts(*arrays: Array) -> Parts:
            if self.input_names and len(arrays) != len(self.input_names):
                raise BadFeed(f"the model has {len(self.input_names)} inputs, but got {len(arrays)} arrays")
            return Parts(partial(bind, arrays), to_numpy)

        return parts

    @abstractmethod
    def _opened(self) -> Bind:
        """A function that binds arrays to the loaded model; it sets up the framework before anything is loaded."""

    @abstractmethod
    def conditions(self) -> dict[str, Scalar]:
        """Versions, threads and device, valid once the model is bound."""

    def __call__(self, *arrays: Array) -> Outputs:
        """Outputs as arrays, computed once."""
        # Tensors may share memory with arrays, and a model may write into them.
        return to_numpy(self.bind(*(np.array(array, order="K") for array in arrays))())


def threads_allowed() -> int | None:
    """The number of threads allowed by a worker's environment variables."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None


def arranged(arrays: Sequence[T], given: Sequence[str], wanted: Sequence[str]) -> dict[str, T] | None:
    """Arrays under the model's input names: matched by name if all match, else by order.

    None if their numbers differ.
    """
    plain = [name.partition(":")[0] for name in given]
    if len(plain) == len(wanted) and set(plain) == set(wanted):
        by_name = dict(zip(plain, arrays, strict=True))
        return {name: by_name[name] for name in wanted}
    return dict(zip(wanted, arrays, strict=True)) if len(arrays) == len(wanted) else None
