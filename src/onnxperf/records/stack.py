"""Where the time of many calls goes: a tree of frames, the share of kernels, and memory allocations."""

from __future__ import annotations

from typing import Literal, NamedTuple

from msgspec import Struct

from onnxperf.records.base import Experiment, Machine, Scalar
from onnxperf.records.numbers import Amount, Calls, Count


class StackFrame(Struct, frozen=True, kw_only=True):
    """A function at one position in the call tree."""

    function: str
    """Name of the function."""
    file: str
    """Source file, relative to its module folder."""
    line: Count
    """First line of the function; 0 if there is none."""
    self_ns: Count
    """Time in the function itself, including operators it applies."""
    total_ns: Count
    """Time in the function including its callees."""
    parent: Count | None
    """Index of its caller in the list of frames; null for the root."""


class FunctionTime(NamedTuple):
    """A function, summed over the call tree."""

    function: str
    file: str
    line: int
    self_ns: int
    total_ns: int
    """Recursive calls are counted once."""
    self_share: float
    total_share: float
    places: int
    """Number of its frames in the tree."""


class FunctionShare(Struct, frozen=True, kw_only=True):
    """A Python function, and the share of a call spent in it and in compiled code that it calls directly."""

    function: str
    """Its name."""
    file: str
    """Source file, or <built-in>."""
    share: Amount
    """Share of the time of a call; the shares of all functions add up to 1."""
    python: Amount
    """Share in the interpreter; the rest is compiled code."""
    kernels: Amount | None = None
    """Share in compute kernels; null if unknown."""
    dispatch: Amount | None = None
    """Share in the rest of numpy; null if unknown."""
    unknown: Amount = 0.0
    """Share in code whose library py-spy cannot identify."""


class CodeShares(Struct, frozen=True, kw_only=True):
    """Division of the time between Python and compiled code, as shares from 0 to 1."""

    python: Amount
    """Share in the interpreter."""
    compiled: Amount
    """Share in compiled libraries: kernels and the library code around them."""
    kernels: Amount | None = None
    """Share in compute kernels: inner loops of numpy and all other compiled libraries; null if unknown."""
    dispatch: Amount | None = None
    """Share in the rest of numpy: parsing arguments, resolving types, creating arrays; null if unknown."""
    unknown: Amount = 0.0
    """Share in code whose library py-spy cannot identify."""
    libraries: dict[str, Amount] = {}
    """Share of each compiled library, largest first."""
    samples: Count
    """Number of samples."""
    margin: Amount = 0.0
    """Sampling error of the least certain share (95 % confidence)."""
    how: Literal["py-spy", "pyinstrument"]
    """py-spy: compiled frames are visible. pyinstrument: operators such as a @ b count as Python, so its share is an
    upper bound."""


class NativeFunction(Struct, frozen=True, kw_only=True):
    """A function, compiled or not, as seen by py-spy."""

    function: str
    """Name of the function; `[onnxruntime: no symbols]` for all functions of a library without symbols."""
    place: str
    """Library or source file."""
    kind: Literal["python", "kernels", "dispatch", "system", "unknown"]
    """Kind of work; `system` is work for the caller."""
    self_share: Amount
    """Share of samples in the function itself."""
    total_share: Amount
    """Share of samples with the function on the stack."""


class Allocator(Struct, frozen=True, kw_only=True):
    """A line of Python that allocates memory, directly or in its callees."""

    function: str
    """Name of its function."""
    file: str
    """Source file, relative to its module folder."""
    line: Count
    """Line number; 0 if there is none."""
    total_bytes: Count
    """Total bytes allocated here, released or not."""
    count: Count
    """Number of allocations here."""
    peak_bytes: Count
    """Bytes held here at the overall peak."""


class Allocations(Struct, frozen=True, kw_only=True):
    """Memory allocations of the calls, as seen by memray."""

    calls: Count
    """Number of recorded calls."""
    peak_bytes: Count
    """Peak of the memory allocated since the calls began."""
    total_bytes: Count
    """Total bytes allocated, released or not."""
    count: Count
    """Number of allocations."""
    allocators: tuple[Allocator, ...] = ()
    """Lines that allocate memory, by bytes."""


class Stack(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf stack`."""

    machine: Machine
    """Machine of the measurement."""
    name: str
    """Label of the model, or name of the callable."""
    runtime: str
    """Runtime: ort, numpy, reference… or callable."""
    call: str | None = None
    """Call style of a model; null for a callable."""
    calls: Calls
    """Number of calls while pyinstrument sampled."""
    call_ns: Amount
    """Undisturbed time of a call, without a profiler, from the fastest pieces of several blocks of calls."""
    duration_ns: Count
    """Total time of the calls while pyinstrument sampled."""
    cpu_ns: Count
    """CPU time of all threads during that time."""
    samples: Count
    """Number of pyinstrument samples."""
    interval_ns: Count
    """Sampling interval."""
    shares: CodeShares | None = None
    """Shares of Python, kernels and dispatch; null if there are no samples."""
    functions: tuple[FunctionShare, ...] = ()
    """Time by function, from the same samples, busiest first."""
    frames: tuple[StackFrame, ...] = ()
    """Call tree; every frame comes after its caller."""
    native: tuple[NativeFunction, ...] = ()
    """Functions by self share, if native frames were requested."""
    allocations: Allocations | None = None
    """Memory allocated by the calls, if requested."""
    conditions: dict[str, Scalar] = {}
    """Conditions actually in effect: threads, versions…"""
