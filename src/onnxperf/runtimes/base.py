"""What a runtime is: its description, its sessions, and one Runner for all runtimes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from numpy import ndarray

from onnxperf.errors import BadFeed, BadOption, SubjectError, unusable
from onnxperf.records.base import Scalar
from onnxperf.records.options import Recording, SessionOptions

if TYPE_CHECKING:  # workers do not need onnx, whose import takes longer than opening a session
    import tempfile

    from onnx import ModelProto
    from pandas import DataFrame

    from onnxperf.model.opened import Model

Array = npt.NDArray[Any]
Arrays = Mapping[str, Array]
Casts = Mapping[str, str]
"""Inputs that are converted within every call, each with its target type."""
Call = Callable[[], Sequence[Any]]
"""One complete inference on bound inputs: what is timed."""
Caller = Callable[[Arrays], Sequence[Any]]
"""One inference on any inputs with the names, types, shapes and layout of those that it was made for."""
Checks = tuple[tuple[str, np.dtype[Any], tuple[int, ...], bool], ...]
"""The signature that inputs of one caller share: name, type, shape and contiguity of each."""
Inputs = Mapping[str, Any] | npt.ArrayLike
"""Arrays by name, or the array of the only input."""
T = TypeVar("T")


class Parts(NamedTuple):
    """The steps of one inference for a caller with arrays: `fetch(prepare()())`."""

    prepare: Callable[[], Callable[[], Any]]
    """Casts, copies and binds the inputs; returns the computation on them, which keeps them alive."""
    fetch: Callable[[Any], Any]
    """Turns the result of the computation into arrays."""


class Session(ABC):
    """A model loaded by a runtime, ready to be called in any of the runtime's styles."""

    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    conditions: dict[str, Scalar]
    """The settings that the runtime really uses: providers, threads, versions…"""

    @abstractmethod
    def bind(self, call: str, feeds: Arrays, casts: Casts) -> Call:
        """Prepare a call on `feeds`."""

    def parts(self, call: str, feeds: Arrays, casts: Casts) -> Parts:
        """The work of a call on `feeds`, split into steps; it includes what `bind` does beforehand."""
        return Parts(lambda: self.bind(call, cast_feeds(feeds, casts), {}), as_it_is)

    def caller(self, call: str, feeds: Arrays) -> Caller:
        """A function of inputs like `feeds`, for any number of threads; its results are never touched again.

        This one binds again in every call and copies the outputs. A runtime that can keep more between calls, or whose
        outputs are new arrays anyway, overrides it.
        """
        del feeds
        return lambda arrays: [owned(output) for output in self.bind(call, arrays, {})()]

    @abstractmethod
    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        """Every tensor of one run by name, in graph order, including inputs and outputs."""

    def end_recording(self) -> str:
        """Write the trace; returns its file."""
        raise SubjectError("failed", "this session does not record traces")


@runtime_checkable
class CompiledSession(Protocol):
    """Additional members of a session whose model was compiled to Python."""

    @property
    def source(self) -> str:
        """The generated Python source."""

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Operators left to onnx's reference evaluator."""

    def node_times(self, feeds: Arrays, repeat: int) -> list[dict[str, Scalar]]:
        """One row per node: its place, its operator, and its time."""


@dataclass(frozen=True, kw_only=True)
class CallStyle:
    """One way to call a runtime, with traits that others may query instead of comparing names."""

    name: str
    needs_contiguous: bool = False
    """Passes addresses to the runtime, so it accepts only contiguous inputs."""
    makes_contiguous: bool = False
    """The runtime copies a non-contiguous input in every call."""
    made_once: bool = False
    """Its calls use tensors made once; a caller with arrays also pays for making them."""

    def check(self, feeds: Arrays) -> None:
        """Reject inputs without a single address if the style needs one."""
        for name, array in feeds.items():
            if self.needs_contiguous and not array.flags.c_contiguous:
                raise BadFeed(f"input {name!r} is not contiguous; for {self.name}, pass np.ascontiguousarray({name})")


class OpenSession(Protocol):
    """How a runtime loads a model."""

    def __call__(self, model: Path | bytes, options: SessionOptions, recording: Recording | None = None, /) -> Session:
        """Load a model; raises BadModel or BadOption with one line. Only recording runtimes receive a recording."""


def _accept(_options: SessionOptions, /) -> None:
    """Any session options are accepted."""


@dataclass(frozen=True, kw_only=True)
class RuntimeDescription:
    """A runtime: everything that others may query about it, without importing its library."""

    name: str
    calls: tuple[CallStyle, ...]
    load: Callable[[], OpenSession]
    """Imports the library and returns the function that opens sessions."""
    check_options: Callable[[SessionOptions], None] = _accept
    """Raises BadOption if a session cannot have these options."""
    distributions: tuple[str, ...] = ()
    """Packages whose versions belong to a measurement; the first one is indispensable."""
    extra: str | None = None
    """The onnxperf extra that installs them; None if they are always installed."""
    records: bool = False
    """Its sessions can write a trace and the executed graph."""
    domains: tuple[str, ...] = ()
    """Operator domains that it executes in addition to those of ONNX."""
    settings: frozenset[str] = frozenset({"threads"})
    """Fields of SessionOptions that affect it."""

    @property
    def call_names(self) -> tuple[str, ...]:
        """The names of its call styles."""
        return tuple(call.name for call in self.calls)

    def call(self, name: str) -> CallStyle:
        """A call style by its name."""
        for call in self.calls:
            if call.name == name:
                return call
        raise BadOption.unknown("call style", name, self.call_names)

    def ready(self) -> OpenSession:
        """Import the library; if this fails, the error gives the extra to install, or the cause."""
        try:
            return self.load()
        except Exception as error:
            if self.extra is None:
                raise
            raise unusable(error, self.extra, self.distributions[0]) from error

    def open_session(self, model: Path | bytes, options: SessionOptions, recording: Recording | None = None) -> Session:
        """Load a model; raises BadModel or BadOption with one line."""
        return self.ready()(model, options, recording)


class Runner:
    """A loaded model that predicts; the same class for all runtimes."""

    def __init__(
        self,
        session: Session,
        model: Model,
        runtime: str,
        call: str,
        options: SessionOptions | None = None,
        data: bytes | None = None,
    ) -> None:
        self.session = session
        self.model = model
        self.runtime = runtime
        self.call = call
        self.options = options or SessionOptions()
        self._data = data
        """The data that the session was opened from, if not from the model's file."""
        self.input_names = session.input_names
        self.output_names = session.output_names
        # Read once per call and replaced as a whole, as threads may share a runner; a single output needs no loop.
        self._known: tuple[Caller, Checks, str | None] | None = None

    def __reduce__(self) -> tuple[Callable[..., Runner], tuple[object, ...]]:
        """Send the model to another process, which opens its own session."""
        model, data = self.model.for_another_process()
        return _reopened, (model, self._data or data, self.runtime, self.call, self.options)

    def run(self, feeds: Inputs, intermediate: bool = False) -> dict[str, Any]:
        """Predict once; returns the outputs by name, or every tensor of the run.

        `feeds` maps input names to arrays; a model with one input also takes the array itself. Inputs like those of the
        last call cost a few comparisons; others are checked, and converted if possible.
        """
        known = self._known
        if known is None or intermediate or type(feeds) is not dict:
            return self._run_other(feeds, intermediate)
        call, checks, only = known
        if len(feeds) != len(checks):
            return self._run_other(feeds)
        for name, dtype, shape, contiguous in checks:  # most calls do only this and compute
            array = feeds.get(name)
            if type(array) is not ndarray or array.dtype is not dtype or array.shape != shape:
                return self._run_other(feeds)
            if array.flags.c_contiguous is not contiguous:
                return self._run_other(feeds)
        if only is not None:
            return {only: call(feeds)[0]}
        return dict(zip(self.output_names, call(feeds), strict=True))

    def _run_other(self, feeds: Inputs, intermediate: bool = False) -> dict[str, Any]:
        """Predict on inputs unlike the last ones, and remember their signature."""
        if not isinstance(feeds, Mapping):
            return self.run(self._by_name(feeds), intermediate)
        checked = self._checked(feeds)
        if intermediate:
            return self.session.intermediates(checked)
        known, checks = self._known, _checks_of(checked)
        call = known[0] if known is not None and known[1] == checks else self.session.caller(self.call, checked)
        outputs = dict(zip(self.output_names, call(checked), strict=True))
        if checks is not None:
            self._known = (call, checks, self.output_names[0] if len(outputs) == 1 else None)
        return outputs

    def bind(self, feeds: Inputs) -> Call:
        """The call itself on these inputs: a function without arguments and without any wrapper around the computation.

        It reads the given arrays in every call, so new values written into them are used; converted inputs (lists,
        another byte order, for `ort-values` non-contiguous arrays) are read only here. It returns the outputs in the
        order of `output_names`, in the form of the call style: for `ort-values` onnxruntime's own values, for
        `io-binding-fixed` and `io-binding-inplace` the same arrays every time, which the next call overwrites.
        A bound call is for one thread at a time.
        """
        checked = self._checked(feeds)
        bound = BoundCall(self.session.bind(self.call, checked, {}))
        bound.runner, bound.feeds = self, checked
        return bound

    def _by_name(self, feeds: Inputs) -> Mapping[str, Any]:
        from onnxperf.model.inputs import by_name

        return by_name(self.model, feeds)

    def _checked(self, feeds: Inputs) -> dict[str, Any]:
        from onnxperf.model.inputs import check_feeds

        return check_feeds(self.model, self._by_name(feeds))

    @property
    def source(self) -> str:
        """The Python source into which the numpy runtime compiled the model."""
        return self._compiled("source").source

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Operators that the numpy runtime leaves to onnx's reference evaluator."""
        return self._compiled("fallbacks").fallbacks

    def node_times(self, feeds: Inputs, repeat: int = 10) -> DataFrame:
        """Time per node of the numpy runtime: medians over `repeat` runs, after one uncounted run."""
        from pandas import DataFrame

        return DataFrame(self._compiled("node_times").node_times(self._checked(feeds), repeat))

    def _compiled(self, attribute: str) -> CompiledSession:
        if not isinstance(self.session, CompiledSession):
            raise BadOption(f"only the numpy runtime has {attribute}; load the model with runtime='numpy'")
        return self.session

    def __repr__(self) -> str:
        """Show the runtime and the signature."""
        inputs, outputs = ", ".join(self.input_names), ", ".join(self.output_names)
        return f"Runner({self.runtime}, {self.call}: {inputs} -> {outputs})"


class BoundCall(partial[Sequence[Any]]):
    """A runner's call on bound inputs: in another process it is bound again, to copies of them."""

    runner: Runner
    feeds: Mapping[str, Any]

    def __reduce__(self) -> tuple[Callable[..., Call], tuple[object, ...]]:
        """Send the runner and the inputs: bound addresses mean nothing in another process."""
        return Runner.bind, (self.runner, self.feeds)


def _reopened(model: Model, data: bytes | None, runtime: str, call: str, options: SessionOptions) -> Runner:
    """A runner received from another process."""
    from onnxperf.runtimes.find import find_runtime  # imports all runtimes, and each of them this module

    session = find_runtime(runtime).open_session(data or model.path, options)
    return Runner(session, model, runtime, call, options, data)


def read_proto(model: Path | bytes) -> ModelProto:
    """A model with its external data."""
    import onnx

    from onnxperf.model.external import load_external_data

    if isinstance(model, bytes):
        return onnx.load_from_string(model)
    proto = onnx.load(model, load_external_data=False)
    load_external_data(proto, model)
    return proto


def reveal_all(model: Path | bytes) -> tuple[Path, tempfile.TemporaryDirectory[str]]:
    """A copy of a model that returns every tensor, placed so that its external data are found."""
    import tempfile  # its import takes longer than opening a small session

    import onnx

    proto = read_proto(model)
    known = {output.name for output in proto.graph.output}
    inner = [name for node in proto.graph.node for name in node.output if name and name not in known]
    outputs = [*(onnx.ValueInfoProto(name=name) for name in inner), *proto.graph.output]
    del proto.graph.output[:]
    proto.graph.output.extend(outputs)
    folder = tempfile.TemporaryDirectory(prefix="onnxperf-")
    path = Path(folder.name) / "revealed.onnx"
    large = proto.ByteSize() > 2**30
    onnx.save_model(proto, path, save_as_external_data=large)
    return path, folder


def cast_feeds(feeds: Arrays, casts: Casts) -> dict[str, Array]:
    """Convert the inputs in `casts`, and keep the others as they are."""
    return {name: array.astype(casts[name]) if name in casts else array for name, array in feeds.items()}


def as_it_is(outputs: T) -> T:
    """Fetch outputs that are already arrays."""
    return outputs


def owned(output: Any) -> Any:
    """The same values in memory that nothing else uses; onnxruntime's value type becomes an array."""
    if isinstance(output, list):
        return [owned(each) for each in output]
    array = output.numpy() if hasattr(output, "numpy") else output
    return array.copy() if isinstance(array, np.ndarray) else array


def _checks_of(feeds: Mapping[str, Any]) -> Checks | None:
    """The signature shared by checked inputs and others that need no check; None if values matter."""
    if any(type(array) is not ndarray or array.dtype.hasobject for array in feeds.values()):
        return None
    return tuple((name, array.dtype, array.shape, array.flags.c_contiguous) for name, array in feeds.items())
