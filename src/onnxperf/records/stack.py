"""Where the time of many calls goes: a tree of frames, the share of kernels, and the memory that is taken."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from onnxperf.records.base import Experiment, Machine, Scalar
from onnxperf.records.numbers import Amount, Calls, Count


class StackFrame(Struct, frozen=True, kw_only=True):
    """A function in one place of the tree."""

    function: str
    """Its name."""
    file: str
    """Its file, shortened to what lies below a folder of modules."""
    line: Count
    """Where the function begins; 0 where there is none."""
    self_ns: Count
    """Time in the function itself, and in operators that it applies."""
    total_ns: Count
    """Time until it returns, what it calls included."""
    parent: Count | None
    """Place of its caller in the list of frames; None for the root."""


class FunctionTime(NamedTuple):
    """A function, wherever in the tree it is."""

    function: str
    file: str
    line: int
    self_ns: int
    total_ns: int
    """What calls itself is counted once."""
    self_share: float
    total_share: float
    places: int
    """Frames of it in the tree."""


class FunctionShare(Struct, frozen=True, kw_only=True):
    """A function of Python, and what part of a call is spent in it and in compiled code that it calls itself."""

    function: str
    """Its name."""
    file: str
    """Its file, or <built-in>."""
    share: Amount
    """Part of the time of a call; the shares of all functions add up to 1."""
    python: Amount
    """Of it, in the interpreter; the rest is compiled code."""
    kernels: Amount | None = None
    """Of it, in what computes; None where that is not known."""
    dispatch: Amount | None = None
    """Of it, in the rest of numpy; None where that is not known."""
    unknown: Amount = 0.0
    """Of it, in code that belongs to no library that py-spy can name."""


class CodeShares(Struct, frozen=True, kw_only=True):
    """How the time divides into Python and compiled code; the parts are shares from 0 to 1."""

    python: Amount
    """In the interpreter."""
    compiled: Amount
    """In compiled libraries: kernels, and what libraries do around them."""
    kernels: Amount | None = None
    """In what computes: inner loops of numpy, and all of any other compiled library; None where that is not known."""
    dispatch: Amount | None = None
    """In the rest of numpy: parsing arguments, resolving types, making arrays; None where that is not known."""
    unknown: Amount = 0.0
    """In code that belongs to no library that py-spy can name."""
    libraries: dict[str, Amount] = {}
    """Of each compiled library, the largest first."""
    samples: Count
    """How many samples this rests on."""
    margin: Amount = 0.0
    """How far sampling alone can move the least certain share, with 95 % confidence."""
    how: Literal["py-spy", "pyinstrument"]
    """py-spy sees compiled frames; pyinstrument counts operators such as a @ b as Python: an upper bound."""


class NativeFunction(Struct, frozen=True, kw_only=True):
    """A function, compiled or not, as py-spy sees it."""

    function: str
    """Its name; `[onnxruntime: no symbols]` for all functions of a library that has none."""
    place: str
    """Its library, or its file."""
    kind: Literal["python", "kernels", "dispatch", "system", "unknown"]
    """What it does itself; the system works for its caller."""
    self_share: Amount
    """Part of the samples in which it was at work itself."""
    total_share: Amount
    """Part of the samples in which it was on the stack."""


class Allocator(Struct, frozen=True, kw_only=True):
    """A line of Python below which memory was taken."""

    function: str
    """Name of its function."""
    file: str
    """Its file, shortened to what lies below a folder of modules."""
    line: Count
    """Number of the line; 0 where there is none."""
    total_bytes: Count
    """All that was taken here, given back or not."""
    count: Count
    """How often."""
    peak_bytes: Count
    """What was held here when most was held altogether."""


class Allocations(Struct, frozen=True, kw_only=True):
    """What memory the calls took, as memray saw it."""

    calls: Count
    """Calls made meanwhile."""
    peak_bytes: Count
    """Most that was held at once of what was taken since the calls began."""
    total_bytes: Count
    """All that was taken, given back or not."""
    count: Count
    """How often memory was taken."""
    allocators: tuple[Allocator, ...] = ()
    """Lines that took memory, by bytes."""


class Stack(Experiment, frozen=True, kw_only=True):
    """What `onnxperf stack` found."""

    machine: Machine
    """Where it was measured."""
    name: str
    """Label of the model, or name of the callable."""
    runtime: str
    """ort, numpy, reference… or callable."""
    call: str | None = None
    """Call style of a model; None for a callable."""
    calls: Calls
    """Calls made while pyinstrument took samples."""
    call_ns: Amount
    """Undisturbed time of a call: no profiler runs, and of several blocks of calls the quickest pieces count."""
    duration_ns: Count
    """Time of all calls while pyinstrument took samples."""
    cpu_ns: Count
    """Processor time of all threads meanwhile."""
    samples: Count
    """Samples that pyinstrument took."""
    interval_ns: Count
    """Time between two of them."""
    shares: CodeShares | None = None
    """Python, kernels and what lies between; None where there are no samples."""
    functions: tuple[FunctionShare, ...] = ()
    """The same time by function, from the same samples, the busiest first."""
    frames: tuple[StackFrame, ...] = ()
    """The tree, every frame behind its caller."""
    native: tuple[NativeFunction, ...] = ()
    """Functions by their own share, where native frames were requested."""
    allocations: Allocations | None = None
    """Memory taken by the calls, where it was requested."""
    conditions: dict[str, Scalar] = {}
    """What was really used: threads, versions…"""
