"""Inputs for a model: given ones, checked, and seeded random ones for the rest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnxperf.errors import BadFeed, BadOption
from onnxperf.model.generate import (
    Array,
    DType,
    Range,
    check_memory,
    check_range,
    family,
    generate,
    integer_bounds,
    is_mask,
    numpy_dtype,
)
from onnxperf.model.opened import Model
from onnxperf.model.shapes import Settled, settle
from onnxperf.records.options import InputOptions, Signature
from onnxperf.wording.names import first_of, one_line
from onnxperf.wording.numbers import count

_MOST_AXES = 64
"""The maximum number of axes of a numpy array."""
_MOST_LISTED = 20
"""The maximum number of names in a message."""


@dataclass(frozen=True, eq=False)
class Feeds:
    """Arrays for one call of a model."""

    arrays: dict[str, Array]
    """By name, in the order of the model's inputs, then of the overridden initializers."""
    dims: dict[str, int]
    """Every dimension that the model leaves free, by symbolic name or as "X.0", with its size."""
    notes: tuple[str, ...] = ()
    """What a reader must know about these inputs, one sentence each."""

    @property
    def nbytes(self) -> int:
        """Total size of all arrays."""
        return sum(a.nbytes for a in self.arrays.values())


def make_feeds(model: Model, options: InputOptions, given: Mapping[str, object] | None = None) -> Feeds:
    """Given arrays, checked, and random ones that agree with them for all other inputs."""
    given = given or {}
    _check_names(model, given)
    signatures = [*model.inputs, *(s for s in model.overridable if s.name in given)]
    for signature in signatures:
        _refuse_what_is_no_array(signature)
    _check_values_asked(model, options, given)
    checked = {s.name: _checked(s, given[s.name], options.cast) for s in signatures if s.name in given}
    settled = settle(signatures, options, {name: array.shape for name, array in checked.items()})
    missing = [s for s in signatures if s.name not in checked]
    check_memory({s.name: (numpy_dtype(s.dtype), settled.shapes[s.name]) for s in missing})
    made = {s.name: _made(s, settled, options, model.table_sizes.get(s.name)) for s in missing}
    return Feeds(
        arrays={s.name: made[s.name] if s.name in made else checked[s.name] for s in signatures},
        dims=settled.dims,
        notes=(
            *_notes_on_dims(settled),
            *_few(_notes_on_tables(missing, options, model.table_sizes)),
            *_few(_notes_on_casts(signatures, checked)),
        ),
    )


def by_name(model: Model, given: object) -> Mapping[str, Any]:
    """Given values by name; a value that is not a dict belongs to the only input."""
    if isinstance(given, Mapping):
        return given
    names = [s.name for s in model.inputs]
    if len(names) != 1:
        listed = first_of(names, _MOST_LISTED) or "none"
        raise BadFeed(f"expected a dict of arrays by input name, got {type(given).__name__}; the inputs are: {listed}")
    return {names[0]: given}


def check_feeds(model: Model, given: Mapping[str, object]) -> dict[str, Any]:
    """Given values as arrays of the types and shapes that the model expects; all inputs are required."""
    _check_names(model, given)
    missing = [s.name for s in model.inputs if s.name not in given]
    if missing:
        expected = first_of([s.name for s in model.inputs], _MOST_LISTED)
        names = first_of(list(given), _MOST_LISTED) or "none"
        raise BadFeed(f"missing input {first_of(missing, _MOST_LISTED)}; given: {names}; the model expects: {expected}")
    tensors = [s for s in (*model.inputs, *model.overridable) if s.name in given and s.kind == "tensor"]
    arrays = {s.name: _checked(s, _native(given[s.name]), cast=False) for s in tensors}
    settle(tensors, InputOptions(), {name: array.shape for name, array in arrays.items()})
    return {**given, **arrays}


# ---------------------------------------------------------------- checks


def _check_names(model: Model, given: Mapping[str, object]) -> None:
    valid = dict.fromkeys(s.name for s in (*model.inputs, *model.overridable))
    for name in given:
        if name not in valid:
            raise BadFeed(
                f"the model has no input {name!r}; its inputs are: {first_of(list(valid), _MOST_LISTED) or 'none'}"
            )


def _refuse_what_is_no_array(signature: Signature) -> None:
    if signature.kind != "tensor":
        raise BadFeed(
            f"input {signature.name!r} is not a tensor but of kind {signature.kind}; load the model in this "
            "process: onnxperf.load(model).run takes lists, and with profile=True it records them"
        )
    axes = len(signature.shape or ())
    if axes > _MOST_AXES:
        raise BadFeed(f"input {signature.name!r} has {axes} axes, but numpy arrays have at most {_MOST_AXES}")


def _check_values_asked(model: Model, options: InputOptions, given: Mapping[str, object]) -> None:
    if options.seed < 0:
        raise BadOption("a seed cannot be negative", option="seed", value=options.seed)
    signatures = {s.name: s for s in model.inputs}
    for name, bounds in options.ranges.items():
        if name not in signatures:
            raise BadOption.unknown("input", name, signatures)
        if name in given:
            problem = "its values are given, so a range has no effect; leave out one of the two"
            raise BadOption(problem, option="ranges", value=name)
        check_range(name, numpy_dtype(signatures[name].dtype), bounds)


def _checked(signature: Signature, value: Any, cast: bool) -> Array:
    """A given value as an array of the type that the model expects, or of its own type if a cast is allowed."""
    expected = numpy_dtype(signature.dtype)
    array = _as_array(signature.name, value, expected)
    if signature.dtype == "string":
        return _checked_strings(signature.name, array)
    if array.dtype == expected:
        return array
    if array.dtype.type is np.void and expected.kind == "V" and array.dtype.itemsize == expected.itemsize:
        return array.view(expected)  # .npy files lose the names of ml_dtypes' types
    wrong = f"input {signature.name!r}: expected {signature.dtype}, got {_dtype_text(array.dtype)}"
    if not _is_castable(array.dtype, expected):
        raise BadFeed(f"{wrong}; convert it first")
    if not cast:
        raise BadFeed(f"{wrong}; convert it first, or use `cast` to convert it inside the timed call")
    return array


def _native(value: Any) -> Any:
    """Convert foreign byte order, which runtimes silently read as native."""
    foreign = isinstance(value, np.ndarray) and not value.dtype.isnative
    return value.astype(value.dtype.newbyteorder("=")) if foreign else value


def _as_array(name: str, value: Any, expected: DType) -> Array:
    try:
        array = np.asarray(value)
        # lists and Python numbers are untyped: they get the model's type, unless this would change values
        has_no_type = isinstance(value, list | tuple | int | float | complex)
        if has_no_type and array.dtype.kind in "biufc" and _keeps_values(array, expected):
            return array.astype(expected)
    except (ValueError, TypeError, RuntimeError) as error:
        raise BadFeed(f"input {name!r} is not an array: {one_line(error)}") from error
    return array


def _keeps_values(array: Array, expected: DType) -> bool:
    """Whether a type can represent these numbers, except for rounding."""
    kinds = {"bool": "b", "integer": "biu", "float": "biuf", "complex": "biufc", "string": ""}
    if array.dtype.kind not in kinds[family(expected)]:
        return False
    return family(expected) != "integer" or bool(np.array_equal(array.astype(expected).astype(array.dtype), array))


def _checked_strings(name: str, array: Array) -> Array:
    texts = array.astype(object)
    if not all(isinstance(text, str) for text in texts.flat):
        raise BadFeed(f"input {name!r}: expected strings, got {_dtype_text(array.dtype)} with other values")
    return texts


def _is_castable(got: DType, expected: DType) -> bool:
    is_number = got.kind in "biufc" or (got.kind == "V" and got.type is not np.void)
    return is_number and (got.kind != "c" or expected.kind == "c")


def _dtype_text(dtype: DType) -> str:
    return dtype.name if dtype.isnative else f"{dtype.name} in foreign byte order"


# ---------------------------------------------------------------- values and notes


def _made(signature: Signature, settled: Settled, options: InputOptions, table_size: int | None) -> Array:
    dtype = numpy_dtype(signature.dtype)
    bounds: Range | None = options.ranges.get(signature.name)
    if bounds is None and family(dtype) == "integer":
        bounds = integer_bounds(signature.name, dtype, table_size)
    return generate(signature.name, dtype, settled.shapes[signature.name], bounds, options.seed)


def _notes_on_dims(settled: Settled) -> list[str]:
    listed = first_of(settled.unset, _MOST_LISTED)
    return [f"unset dimensions default to 1: {listed} (set them with `dims`)"] if listed else []


def _few(notes: list[str]) -> list[str]:
    """The first notes, if very many inputs have one each."""
    rest = len(notes) - _MOST_LISTED
    return [*notes[:_MOST_LISTED], f"the same applies to {count(rest, 'more input')}"] if rest > 0 else notes


def _notes_on_tables(missing: list[Signature], options: InputOptions, sizes: Mapping[str, int]) -> list[str]:
    return [
        f"{s.name} limited to 0–{sizes[s.name] - 1} (embedding size)"
        for s in missing
        if s.name in sizes and s.name not in options.ranges and not is_mask(s.name, numpy_dtype(s.dtype))
    ]


def _notes_on_casts(signatures: list[Signature], checked: Mapping[str, Array]) -> list[str]:
    return [
        f"{s.name} is cast from {_dtype_text(checked[s.name].dtype)} to {s.dtype} inside the timed call"
        for s in signatures
        if s.name in checked and checked[s.name].dtype != numpy_dtype(s.dtype)
    ]
