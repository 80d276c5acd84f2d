"""The time of a call by Python function, from the same samples as the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from onnxperf.analyze.trace.stack import BUILT_IN, Sample, functions, native_shares, parts
from onnxperf.records.stack import FunctionShare, StackFrame

_PLACE = re.compile(r"(?P<file>.*):\d+", re.DOTALL)
_Key = tuple[str, str]
"""Function and file."""


def by_samples(samples: Sequence[Sample]) -> tuple[FunctionShare, ...]:
    """Assign every py-spy sample to its innermost Python frame, which called the compiled code below it.

    Samples are classified as in the answer, so the columns add up to its shares.
    """
    groups: dict[_Key, list[Sample]] = {}
    for sample in samples:
        groups.setdefault(_innermost(sample[0]), []).append(sample)
    total = sum(count for _, count in samples)
    found = []
    for (function, file), own in groups.items():
        shares = native_shares(own)
        if shares is None:
            continue
        weight = shares.samples / total
        found.append(
            FunctionShare(
                function=function,
                file=file,
                share=weight,
                python=weight * shares.python,
                kernels=weight * (shares.kernels or 0.0),
                dispatch=weight * (shares.dispatch or 0.0),
                unknown=weight * shares.unknown,
            )
        )
    return _busiest_first(found)


def by_frames(frames: Sequence[StackFrame]) -> tuple[FunctionShare, ...]:
    """The same from pyinstrument's frames, which show built-in functions but no kernels."""
    shares: dict[_Key, float] = {}
    for each in functions(frames):
        key = each.function, each.file
        shares[key] = shares.get(key, 0.0) + each.self_share
    return _busiest_first(
        [
            FunctionShare(function=function, file=file, share=share, python=0.0 if file == BUILT_IN else share)
            for (function, file), share in shares.items()
            if share > 0
        ]
    )


def _innermost(stack: Sequence[str]) -> _Key:
    """The innermost Python frame, without its line number."""
    for frame in reversed(stack):
        function, place = parts(frame)
        if found := _PLACE.fullmatch(place):
            return function, found["file"]
    return "", ""


def _busiest_first(found: Sequence[FunctionShare]) -> tuple[FunctionShare, ...]:
    return tuple(sorted(found, key=lambda each: (-each.share, each.function, each.file)))
