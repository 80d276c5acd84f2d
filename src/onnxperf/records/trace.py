"""Onnxruntime's events as columns: one row per event, in the order of the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:  # the command line imports the records before it is clear whether numpy will be needed
    import numpy as np

    Integers = np.ndarray[Any, np.dtype[np.int64]]

V = TypeVar("V")

MISSING = -(2**63)
"""Stands in a column of numbers where an event has no such number; deltas may be negative, so -1 will not do."""

EVENT_CAP = 1_000_000
"""Events that onnxruntime records at most; it drops later ones."""


class TensorType(NamedTuple):
    """Element type, in ONNX's words (float, int64…), and shape of a tensor."""

    dtype: str
    shape: tuple[int, ...]


TensorTypes = tuple[TensorType, ...]


@dataclass(frozen=True, eq=False)
class Coded(Generic[V]):
    """A column with few distinct values: each of them once, and for every row its place among them."""

    values: tuple[V, ...]
    codes: Integers
    """Place in `values`; -1 where the event has no value."""

    def rows(self) -> list[V | None]:
        """The value of every row."""
        known: tuple[V | None, ...] = (*self.values, None)  # -1 finds the None at the end
        return [known[code] for code in self.codes.tolist()]

    def at(self, row: int, default: V) -> V:
        """The value of a row, or the default where it has none."""
        code = int(self.codes[row])
        return default if code < 0 else self.values[code]


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """What onnxruntime's profiler wrote, in any of its versions."""

    categories: Coded[str]
    """Session, Node, Kernel or Api (`cat`)."""
    phases: Coded[str]
    """How an event is recorded; always X, a whole one, so far (`ph`)."""
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
    """Operator types; fence events have one, too."""
    providers: Coded[str]
    parent_names: Coded[str]
    """Of a kernel on another device: the event of the node that launched it."""
    inputs: Coded[TensorTypes]
    outputs: Coded[TensorTypes]
    numbers: dict[str, Integers]
    """Every numeric argument that occurs (node_index, output_size, mem_bytes_in_use…), MISSING where it does not."""
    thread_statistics: Sequence[bytes]
    """What the thread pool did during each event, as the JSON text of the trace; empty where there is none."""
    notes: tuple[str, ...] = ()
    """What was lost: a cut end, unreadable events, a full buffer."""

    def __len__(self) -> int:
        """Number of events."""
        return len(self.start_us)
