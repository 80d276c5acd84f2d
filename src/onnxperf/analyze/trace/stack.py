"""Stack samples, classified as Python, kernels, and the dispatch code in between."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from math import sqrt
from typing import Literal

from onnxperf.records.stack import CodeShares, FunctionTime, NativeFunction, StackFrame

Sample = tuple[tuple[str, ...], int]
"""Frames from outermost to innermost, and the number of samples."""
_Key = tuple[str, str, int]
"""Function, file and line."""
Kind = Literal["python", "kernels", "dispatch", "unknown"]

LOOP = "call_again"
"""The function that makes the calls; frames outside it do not belong to them."""
BUILT_IN = "<built-in>"
_FRAME = re.compile(r"(?P<function>.*) \((?P<place>.*)\)", re.DOTALL)
_PYTHON_PLACE = re.compile(r".*:\d+$", re.DOTALL)
_NO_PLACE = re.compile(r"\W*$|\[(anon|heap|stack|unknown)\b|//anon")
_ADDRESS = re.compile(r"0x[0-9a-f]+$|\[.*no symbols\]$")
_INTERPRETER = re.compile(r"(lib)?python[\d.]*[a-z]*(\.so.*|\.dylib|\.dll|\.exe)?$", re.IGNORECASE)
_SYSTEM = re.compile(
    r"(libc|libm|libpthread|libdl|librt|libstdc\+\+|libgcc_s|ld-linux[\w-]*|linux-vdso|\[?vdso\]?)(?!\w)"
)
_SUFFIX = re.compile(r"\.(cpython|abi3|so|dylib|dll|pyd).*$")

# numpy names loops by their types; functions with other names prepare a loop or search for one.
_TYPED_LOOP = (
    r"(BOOL|U?(BYTE|SHORT|INT|LONG|LONGLONG)|HALF|C?(FLOAT|DOUBLE|LONGDOUBLE)|DATETIME|TIMEDELTA|OBJECT|STRING|UNICODE"
    r"|VOID)_(?!getitem|setitem|nonzero|copyswap)"
)
_COPY_OR_CAST = r"_(aligned|unaligned|contig|strided|swap|cast)_"
_LOOPS_OF_THEIR_OWN = r"(PyArray_Where|array_boolean_subscript|mapiter_)"
_OTHER_LOOP = (
    r"(?!array_|_?Py|ufunc_|npyiter)"
    r".*(simd|npyv|svml|sum_of_products|pairwise|arg(max|min)|sort|partition|fast(take|putmask))"
)
_NUMPY_LOOP = re.compile("|".join((_TYPED_LOOP, _COPY_OR_CAST, _LOOPS_OF_THEIR_OWN, _OTHER_LOOP)))


def read_collapsed(text: str) -> list[Sample]:
    """Parse py-spy's samples: frames separated by semicolons, and a count."""
    samples = []
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        if stack and count.isascii() and count.isdigit():
            samples.append((tuple(stack.split(";")), int(count)))
    return samples


def inside_calls(samples: Iterable[Sample]) -> list[Sample]:
    """The samples taken within calls, without the frames around them."""
    inside = []
    for stack, count in samples:
        loops = [place for place, frame in enumerate(stack) if parts(frame)[0].rpartition(".")[2] == LOOP]
        if loops:
            inside.append((stack[loops[0] :], count))
    return inside


def grouped_by_library(samples: Iterable[Sample]) -> list[Sample]:
    """Merge consecutive frames of a library without symbols into one frame, since addresses are meaningless."""
    merged: Counter[tuple[str, ...]] = Counter()
    for stack, count in samples:
        frames: list[str] = []
        for frame in stack:
            function, place = parts(frame)
            nameless = f"[{_library(place) or '?'}: no symbols] ({place})" if _ADDRESS.match(function) else ""
            if not nameless or frames[-1:] != [nameless]:
                frames.append(nameless or frame)
        merged[tuple(frames)] += count
    return list(merged.items())


def native_shares(samples: Sequence[Sample]) -> CodeShares | None:
    """Shares by the innermost frame; system libraries count for their caller."""
    total = sum(count for _, count in samples)
    if not total:
        return None
    kinds: Counter[Kind] = Counter()
    libraries: Counter[str] = Counter()
    for stack, count in samples:
        kind, library = _at_work(stack)
        kinds[kind] += count
        libraries[library] += count
    del libraries[""]
    share = {kind: kinds[kind] / total for kind in ("python", "kernels", "dispatch", "unknown")}
    return CodeShares(
        **share,
        compiled=share["kernels"] + share["dispatch"],
        libraries={name: count / total for name, count in libraries.most_common()},
        samples=total,
        margin=max(_margin(each, total) for each in share.values()),
        how="py-spy",
    )


def python_shares(frames: Sequence[StackFrame], samples: int) -> CodeShares | None:
    """Shares from pyinstrument's frames, which include built-in functions but not operators."""
    total = sum(frame.self_ns for frame in frames)
    if not total:
        return None
    compiled = sum(frame.self_ns for frame in frames if frame.file == BUILT_IN) / total
    margin = _margin(compiled, max(samples, 1))
    return CodeShares(python=1 - compiled, compiled=compiled, samples=samples, margin=margin, how="pyinstrument")


def functions(frames: Sequence[StackFrame]) -> list[FunctionTime]:
    """One row per function, summed over the call tree: its self time and its total time, recursion counted once."""
    whole = max(sum(frame.self_ns for frame in frames), 1)
    keys = [(frame.function, frame.file, frame.line) for frame in frames]
    own, total, places = Counter[_Key](), Counter[_Key](), Counter(keys)
    above: list[frozenset[_Key]] = []
    for frame, key in zip(frames, keys, strict=True):
        callers = frozenset() if frame.parent is None else above[frame.parent]
        own[key] += frame.self_ns
        total[key] += 0 if key in callers else frame.total_ns  # recursive calls are already in the time of the caller
        above.append(callers | {key})
    order = sorted(own, key=lambda key: (-own[key], -total[key], key))
    return [
        FunctionTime(*key, own[key], total[key], own[key] / whole, total[key] / whole, places[key]) for key in order
    ]


def native_functions(samples: Sequence[Sample]) -> tuple[NativeFunction, ...]:
    """Every function with its share of the samples, busiest first."""
    total = sum(count for _, count in samples)
    own: Counter[tuple[str, str]] = Counter()
    every: Counter[tuple[str, str]] = Counter()
    kinds: dict[tuple[str, str], Kind | None] = {}
    for stack, count in samples:
        named = [(function, re.sub(r":\d+$", "", place)) for function, place in map(parts, stack)]
        kinds.update(zip(named, map(kind_of, stack), strict=True))
        own[named[-1]] += count
        every.update(dict.fromkeys(named, count))
    return tuple(
        NativeFunction(
            function=key[0],
            place=key[1],
            kind=kinds[key] or "system",
            self_share=own[key] / total,
            total_share=every[key] / total,
        )
        for key in sorted(every, key=lambda key: (-own[key], -every[key], key))
    )


def parts(frame: str) -> tuple[str, str]:
    """Function and place of a frame; the place of a Python frame ends with a line number."""
    found = _FRAME.fullmatch(frame)
    return (found["function"], found["place"]) if found else (frame, "")


def kind_of(frame: str) -> Kind | None:
    """Kind of a frame; None if that depends on its caller."""
    function, place = parts(frame)
    base = place.replace("\\", "/").rpartition("/")[2]
    if _PYTHON_PLACE.match(place) or _INTERPRETER.match(base) or _SUFFIX.sub("", place) in sys.stdlib_module_names:
        return "python"
    if _SYSTEM.match(base):
        return None
    if _NO_PLACE.match(place):
        return "unknown"
    if _library(place) != "numpy":
        return "kernels"
    if _ADDRESS.match(function):
        return None
    return "kernels" if _NUMPY_LOOP.match(function) else "dispatch"


def _at_work(stack: Sequence[str]) -> tuple[Kind, str]:
    """Kind of work in the innermost frame, and its compiled library."""
    nameless = False
    for frame in reversed(stack):
        kind = kind_of(frame)
        if kind in ("kernels", "dispatch"):
            return kind, _library(parts(frame)[1])
        if kind is not None:
            return ("dispatch", "numpy") if nameless else (kind, "")
        nameless = nameless or _library(parts(frame)[1]) == "numpy"
    return "unknown", ""


def _library(place: str) -> str:
    """Name of a library without version and hash; the package, if it is in one."""
    text = place.replace("\\", "/").partition("/")[0]
    if "openblas" in place:
        return "OpenBLAS"
    return re.sub(r"-[0-9a-f]{8,}$", "", _SUFFIX.sub("", text)) or text


def _margin(share: float, samples: int) -> float:
    """Half the width of a share's interval; at least one sample."""
    return max(1.96 * sqrt(share * (1 - share) / samples), 1 / samples)
