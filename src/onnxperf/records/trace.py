"""Onnxruntime's trace events as columns: one row per event, in file order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:  # the command line imports the records before it is clear whether numpy will be needed
    import numpy as np

    Integers = np.ndarray[Any, np.dtype[np.int64]]

V = TypeVar("V")

MISSING = -(2**63)
"""Placeholder in a numeric column for events without that number; deltas may be negative, so -1 cannot be used."""

EVENT_CAP = 1_000_000
"""Maximum number of events that onnxruntime records; it drops later ones."""


class TensorType(NamedTuple):
    """Element type by its ONNX name (float, int64…) and shape of a tensor."""

    dtype: str
    shape: tuple[int, ...]


TensorTypes = tuple[TensorType, ...]


@dataclass(frozen=True, eq=False)
class Coded(Generic[V]):
    """A column with few distinct values: the values, and for every row an index into them."""

    values: tuple[V, ...]
    codes: Integers
    """Index into `values`; -1 if the event has no value."""

    def rows(self) -> list[V | None]:
        """Values of all rows."""
        known: tuple[V | None, ...] = (*self.values, None)  # -1 finds the None at the end
        return [known[code] for code in self.codes.tolist()]

    def at(self, row: int, default: V) -> V:
        """Value of a row, or the default if it has none."""
        code = int(self.codes[row])
        return default if code < 0 else self.values[code]


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """A trace written by any version of onnxruntime's profiler."""

    categories: Coded[str]
    """Session, Node, Kernel or Api (`cat`)."""
    phases: Coded[str]
    """How an event is recorded (`ph`); so far always X, a complete event."""
    names: Coded[str]
    processes: Integers
    """`pid`."""
    threads: Integers
    """`tid`."""
    start_us: Integers
    """Since the profiler started (`ts`)."""
    duration_us: Integers
    """`dur`."""
    op_names: Coded[str]
    """Operator types; fence events have one too."""
    providers: Coded[str]
    parent_names: Coded[str]
    """For a kernel on another device: the event of the node that launched it."""
    inputs: Coded[TensorTypes]
    outputs: Coded[TensorTypes]
    numbers: dict[str, Integers]
    """All numeric arguments (node_index, output_size, mem_bytes_in_use…), with MISSING for events without them."""
    thread_statistics: Sequence[bytes]
    """Thread pool statistics of each event, as JSON text from the trace; empty if there are none."""
    notes: tuple[str, ...] = ()
    """What was lost: a truncated end, unreadable events, a full buffer."""

    def __len__(self) -> int:
        """Number of events."""
        return len(self.start_us)
