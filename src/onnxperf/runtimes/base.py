"""What every runtime offers: a session that turns inputs into something callable, and one Runner for all of them."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np

from onnxperf.errors import BadOption
from onnxperf.records import Scalar, SessionOptions

if TYPE_CHECKING:  # a worker has no use for onnx, which takes longer to import than a session to open
    from pandas import DataFrame

    from onnxperf.model.load import Model

Array = np.ndarray[Any, np.dtype[Any]]
Arrays = Mapping[str, Array]
Call = Callable[[], Sequence[Any]]
"""One complete inference on inputs that were bound before: the thing that is timed."""


class Parts(NamedTuple):
    """What a caller with arrays does for one inference: `fetch(prepare()())`."""

    prepare: Callable[[], Callable[[], Any]]
    """Casts, copies and binds the inputs; returns the computation on them, which keeps them alive."""
    fetch: Callable[[Any], Any]
    """Turns what the computation returned into arrays."""


_MODULES = {
    "ort": "onnxperf.runtimes.ort",
    "numpy": "onnxperf.runtimes.numpy",
    "reference": "onnxperf.runtimes.reference",
}
RUNTIMES = tuple(_MODULES)


class Session(ABC):
    """A model loaded by a runtime, ready to be called in any of the runtime's styles."""

    input_names: tuple[str, ...]
    output_names: tuple[str, ...]
    conditions: dict[str, Scalar]
    """What the runtime really uses: providers, threads, versions…"""

    @abstractmethod
    def bind(self, call: str, feeds: Arrays, casts: Mapping[str, str]) -> Call:
        """Prepare a call on `feeds`; inputs named in `casts` are converted to that type within every call."""

    @abstractmethod
    def parts(self, call: str, feeds: Arrays, casts: Mapping[str, str]) -> Parts:
        """The work of a call on `feeds`, divided; where `bind` does some of it beforehand, it is in here too."""

    @abstractmethod
    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        """Every tensor of one run by name, in the order of the graph; inputs and outputs included."""


class RuntimeModule(Protocol):
    """What the module of a runtime has to define."""

    CALLS: tuple[str, ...]

    def open_session(self, model: Path | bytes, options: SessionOptions) -> Session:
        """Load a model; raises BadModel or BadOption with one line."""


class Runner:
    """A loaded model that predicts; the same object whatever runtime is behind it."""

    def __init__(self, session: Session, model: Model, runtime: str, call: str) -> None:
        self.session = session
        self.model = model
        self.runtime = runtime
        self.call = call
        self.input_names = session.input_names
        self.output_names = session.output_names

    def run(self, feeds: Mapping[str, Any], intermediate: bool = False) -> dict[str, Any]:
        """Predict once; returns the outputs by name, or every tensor of the run."""
        from onnxperf.model.inputs import check_feeds

        checked = check_feeds(self.model, feeds)
        if intermediate:
            return self.session.intermediates(checked)
        outputs = self.session.bind(self.call, checked, {})()
        return dict(zip(self.output_names, map(_as_numpy, outputs), strict=True))

    @property
    def source(self) -> str:
        """The Python source that the numpy runtime compiled the model into."""
        return str(self._of_numpy("source"))

    @property
    def fallbacks(self) -> tuple[str, ...]:
        """Operators that the numpy runtime leaves to onnx's reference evaluator."""
        return tuple(self._of_numpy("fallbacks"))

    def node_times(self, feeds: Mapping[str, Any], repeat: int = 10) -> DataFrame:
        """Time per node of the numpy runtime: medians over `repeat` runs, after one that is not counted."""
        from pandas import DataFrame

        from onnxperf.model.inputs import check_feeds

        return DataFrame(self._of_numpy("node_times")(check_feeds(self.model, feeds), repeat))

    def _of_numpy(self, attribute: str) -> Any:
        if not hasattr(self.session, attribute):
            raise BadOption(f"only the numpy runtime has {attribute}; load the model with runtime='numpy'")
        return getattr(self.session, attribute)

    def __repr__(self) -> str:
        """Show the runtime and the signature."""
        inputs, outputs = ", ".join(self.input_names), ", ".join(self.output_names)
        return f"Runner({self.runtime}, {self.call}: {inputs} -> {outputs})"


def runtime_module(name: str) -> RuntimeModule:
    """Import the module of a runtime by the runtime's name."""
    if name not in _MODULES:
        raise BadOption.unknown("runtime", name, RUNTIMES)
    return cast(RuntimeModule, importlib.import_module(_MODULES[name]))


def check_call(module: RuntimeModule, call: str) -> None:
    """Refuse a call style that the runtime does not have."""
    if call not in module.CALLS:
        raise BadOption.unknown("call style", call, module.CALLS)


def cast_feeds(feeds: Arrays, casts: Mapping[str, str]) -> dict[str, Array]:
    """Convert the inputs that `casts` names, and keep the others as they are."""
    return {name: array.astype(casts[name]) if name in casts else array for name, array in feeds.items()}


def as_it_is(outputs: Any) -> Any:
    """Fetch outputs that are arrays already."""
    return outputs


def _as_numpy(output: Any) -> Any:
    """Onnxruntime's own value type becomes an array; everything else is a plain Python value already."""
    return output.numpy() if hasattr(output, "numpy") and not isinstance(output, np.ndarray) else output
