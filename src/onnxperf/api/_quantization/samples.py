"""Inputs of many calls, given or random: some calibrate, others choose, and what chose nothing measures errors."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
from msgspec.structs import replace

from onnxperf.errors import BadFeed
from onnxperf.measure.quantizing import InputRange
from onnxperf.model.files import read_archive
from onnxperf.model.generate import numpy_dtype
from onnxperf.model.inputs import Feeds, make_feeds
from onnxperf.model.opened import Model
from onnxperf.records.options import InputOptions, Signature
from onnxperf.wording.names import first_of, name_of
from onnxperf.wording.numbers import count

Calibration = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Mapping[str, Any] | None
"""Files of arrays by the names of inputs, or such arrays: calls, or rows of a batch, along the first axis."""
_MOST_CALIBRATION = 128
MOST_COMPARED = 32
"""Inputs on which ways and layers are compared."""
_MOST_HELD_OUT = 512
_USES = 3
"""Calibration, choice, and the errors that are reported."""
_MOST_RANDOM = 16
_MOST_BYTES = 1 << 28
"""Of random inputs; those given are there already."""
_MOST_ARRAYS = 1 << 15
"""Of random inputs: each takes about 0.1 ms, however small it is."""


@dataclass(frozen=True, eq=False)
class Samples:
    """Inputs of many calls of the same shapes."""

    arrays: dict[str, Any]
    """By input; calls along the first axis."""
    calibration: InputRange
    """Those for calibration."""
    choosing: InputRange
    """Those that choose the way, and the nodes to exclude."""
    held_out: InputRange
    """Those for the errors that are reported, which choose nothing."""
    fresh: Feeds
    """Those of the confirming race, which are not those of the search."""
    given: bool
    """Whether they were given, so that errors on them mean something."""

    @property
    def overlap(self) -> bool:
        """Whether errors are measured on inputs of the calibration."""
        return self.held_out.first < self.calibration.last

    @property
    def chooses_apart(self) -> bool:
        """Whether other inputs choose than those of the calibration."""
        return self.choosing.first >= self.calibration.last


def given_calls(model: Model, calibration: Calibration, options: InputOptions) -> list[dict[str, Any]]:
    """The inputs of each given call; none if there are none."""
    if calibration is None:
        return []
    if isinstance(calibration, Mapping):
        parts: list[tuple[str, Mapping[str, Any]]] = [("the calibration data", calibration)]
    else:
        several = [calibration] if isinstance(calibration, str | os.PathLike) else calibration
        parts = [(repr(str(each)), read_archive(Path(cast("str", each)))) for each in several]
    calls = [call for what, arrays in parts for call in _calls_in(model, arrays, options, what)]
    if not calls:
        raise BadFeed("the calibration data hold no inputs; give at least one call")
    for call in calls[1:]:
        for name, array in call.items():
            if array.shape != calls[0][name].shape:
                raise BadFeed(
                    f"the calibration data have several shapes for input {name!r}: {calls[0][name].shape} and "
                    f"{array.shape}; give inputs of one shape"
                )
    return calls


def stacked(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The inputs of all calls as one array for each input, calls along the first axis: what `given_calls` takes."""
    return {name: np.stack([np.asarray(call[name]) for call in calls]) for name in calls[0]} if calls else {}


def _calls_in(model: Model, arrays: Mapping[str, Any], options: InputOptions, what: str) -> Iterator[dict[str, Any]]:
    names = [signature.name for signature in model.inputs]
    missing = [name for name in names if name not in arrays]
    if missing:
        found = first_of([name_of(name) for name in arrays]) or "none"
        raise BadFeed(f"{what} has no array for input {missing[0]!r}; its arrays are: {found}")
    divided = {s.name: _divided(s, np.asarray(arrays[s.name]), options, what) for s in model.inputs}
    lengths = {name: len(each) for name, each in divided.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{count(length, 'call')} for {name_of(name)}" for name, length in lengths.items())
        raise BadFeed(f"{what} has inputs of different numbers of calls: {listed}")
    for number in range(min(lengths.values(), default=0)):
        call = {name: each[number] for name, each in divided.items()}
        yield make_feeds(model, options, call).arrays


def _divided(signature: Signature, array: Any, options: InputOptions, what: str) -> Sequence[Any]:
    """The array of each call: the first axis is that of calls, or that of rows where it is the only one too many."""
    rank = None if signature.shape is None else len(signature.shape)
    if rank is None or array.ndim == rank + 1:
        return list(array)
    if array.ndim != rank or not rank:
        raise BadFeed(
            f"{what}: the array for input {signature.name!r} has {array.ndim} axes, and the input has {rank}; "
            "calls, or the rows of a batch, go along its first axis"
        )
    size = _batch_size(signature, options)
    if len(array) < size:
        raise BadFeed(f"{what}: input {signature.name!r} takes {count(size, 'row')}, and there are {len(array)}")
    return [array[start : start + size] for start in range(0, len(array) - size + 1, size)]


def _batch_size(signature: Signature, options: InputOptions) -> int:
    first = signature.shape[0] if signature.shape else 1
    if isinstance(first, int):
        return first
    shape = options.shapes.get(signature.name)
    named = options.dims.get(first or "", options.dims.get(f"{signature.name}.0", 1))
    return shape[0] if shape else named


def samples_of(
    model: Model, feeds: Feeds, calls: Sequence[dict[str, Any]], options: InputOptions, given: Mapping[str, Any]
) -> Samples:
    """The given calls, or random ones like `feeds`, for three uses."""
    if not calls:
        calls = _random_calls(model, feeds, options, given)
        real = False
    else:
        real = True
    types = {signature.name: signature.dtype for signature in model.inputs}
    calibration, choosing, held_out = _divided_among_uses(len(calls))
    used = calls[: held_out.last]
    fresh = Feeds({name: np.ascontiguousarray(array) for name, array in used[-1].items()}, feeds.dims, feeds.notes)
    arrays = {name: np.stack([np.asarray(call[name]) for call in used]) for name in used[0]}
    arrays = {name: _of_type(types.get(name, "string"), array) for name, array in arrays.items()}
    return Samples(arrays, calibration, choosing, held_out, fresh, real)


def _divided_among_uses(number: int) -> tuple[InputRange, InputRange, InputRange]:
    """A third for each use, and what is left for errors; of two calls, the last one is kept for these."""
    if number < _USES:
        return InputRange(0, 1), InputRange(0, 1), InputRange(number - 1, number)
    calibration = min(_MOST_CALIBRATION, number // _USES)
    chosen = calibration + min(MOST_COMPARED, number // _USES)
    return (
        InputRange(0, calibration),
        InputRange(calibration, chosen),
        InputRange(chosen, min(number, chosen + _MOST_HELD_OUT)),
    )


def _of_type(dtype: str, array: Any) -> Any:
    """Where inputs of another type are cast inside the timed call, the quantizer gets what the model takes."""
    return array if dtype == "string" else array.astype(numpy_dtype(dtype), copy=False)


def _random_calls(model: Model, feeds: Feeds, options: InputOptions, given: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Inputs of other seeds; one call where all of them were given."""
    if set(given) >= {signature.name for signature in model.inputs}:
        return [feeds.arrays]
    sized = min(_MOST_BYTES // max(feeds.nbytes, 1), _MOST_ARRAYS // max(len(feeds.arrays), 1))
    number = max(_USES, min(_USES * _MOST_RANDOM, sized))
    shapes = {name: array.shape for name, array in feeds.arrays.items() if name not in given}
    like = replace(options, shapes=shapes, dims={})
    seeds = range(options.seed + 1, options.seed + 1 + number)
    return [make_feeds(model, replace(like, seed=seed), given).arrays for seed in seeds]
