"""Determines the size of every free dimension of a model, from given arrays and options."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onnxperf.errors import BadFeed, BadInput, BadOption
from onnxperf.records.options import InputOptions, Signature

Shape = tuple[int, ...]
Pattern = tuple[int | str | None, ...]
BATCH_NAMES = ("batch", "batch_size", "N")
"""Possible names of the batch dimension."""


@dataclass(frozen=True)
class Settled:
    """Shapes of all inputs, sizes of all free dimensions, and the unset ones."""

    shapes: dict[str, Shape]
    dims: dict[str, int]
    unset: tuple[str, ...]


@dataclass(frozen=True)
class _Claim:
    """A statement that a dimension has a certain size."""

    key: str
    size: int
    source: str
    error: type[BadInput]


def settle(signatures: Sequence[Signature], options: InputOptions, given: Mapping[str, Shape]) -> Settled:
    """Shapes that agree with the model, the given arrays and the options; unset sizes become 1."""
    _check_options(signatures, options)
    patterns = {s.name: _pattern(s, options, given) for s in signatures}
    batch = {} if options.batch is None else _batch_dims(patterns, options.batch)
    free = {key: None for name, pattern in patterns.items() for _, key in _free_axes(name, pattern)}
    claims = [
        *(c for name, shape in given.items() for c in _claims_of_shape(name, patterns[name], shape, BadFeed)),
        *(
            c
            for name, shape in options.shapes.items()
            for c in _claims_of_shape(name, patterns[name], shape, BadOption)
        ),
        *(_claim_of_dim(key, size, patterns) for key, size in (*options.dims.items(), *batch.items())),
    ]
    sizes = _agree(claims)
    dims = {key: sizes.get(key, 1) for key in free}
    return Settled(
        shapes={name: _shape(name, pattern, dims) for name, pattern in patterns.items()},
        dims=dims,
        unset=tuple(key for key in free if key not in sizes),
    )


def _batch_dims(patterns: Mapping[str, Pattern], size: int) -> dict[str, int]:
    """The batch dimension by name, or the first axes of all inputs if they have no names."""
    free = {key: None for name, pattern in patterns.items() for _, key in _free_axes(name, pattern)}
    named = [key for key in BATCH_NAMES if key in free]
    if named:
        return dict.fromkeys(named, size)
    first = [f"{name}.0" for name in patterns]
    if first and all(key in free for key in first):
        return dict.fromkeys(first, size)
    which = f"use `dims` with one of: {', '.join(free)}" if free else "all sizes of this model are fixed"
    raise BadOption(f"no dimension is named {', '.join(BATCH_NAMES)}; {which}", option="batch", value=size)


def text_of_pattern(pattern: Pattern) -> str:
    """A shape as people write it: batch x 10, or a scalar."""
    return " x ".join("?" if d is None else str(d) for d in pattern) or "a scalar"


def _check_options(signatures: Sequence[Signature], options: InputOptions) -> None:
    names = dict.fromkeys(s.name for s in signatures)
    for name, shape in options.shapes.items():
        if name not in names:
            raise BadOption.unknown("input", name, names)
        if any(size < 0 for size in shape):
            raise BadOption("a size cannot be negative", option="shapes", value=_shape_text(name, shape))
    for key, size in options.dims.items():
        if size < 0:
            raise BadOption("a size cannot be negative", option="dims", value=f"{key}={size}")


def _pattern(signature: Signature, options: InputOptions, given: Mapping[str, Shape]) -> Pattern:
    """The declared shape, or as many free axes as given if even the rank is unknown."""
    if signature.shape is not None:
        return signature.shape
    known = given.get(signature.name, options.shapes.get(signature.name))
    if known is None:
        raise BadFeed(
            f"the model does not declare how many axes input {signature.name!r} has; "
            f"set its shape with `shapes={signature.name}=2x3`"
        )
    return (None,) * len(known)


def _key(name: str, axis: int, dim: str | None) -> str:
    return f"{name}.{axis}" if dim is None else dim


def _free_axes(name: str, pattern: Pattern) -> Iterator[tuple[int, str]]:
    return ((axis, _key(name, axis, dim)) for axis, dim in enumerate(pattern) if not isinstance(dim, int))


def _shape_text(name: str, shape: Shape) -> str:
    return f"{name}={'x'.join(map(str, shape))}"


def _claims_of_shape(name: str, pattern: Pattern, shape: Shape, error: type[BadInput]) -> Iterator[_Claim]:
    what = f"`shapes={_shape_text(name, shape)}`" if error is BadOption else f"the array given for {name!r}"
    if len(shape) != len(pattern):
        raise error(f"{what} has {len(shape)} axes, the model expects {len(pattern)} ({text_of_pattern(pattern)})")
    for axis, (dim, size) in enumerate(zip(pattern, shape, strict=True)):
        if not isinstance(dim, int):
            yield _Claim(_key(name, axis, dim), size, what, error)
        elif dim != size:
            raise error(
                f"{what} has size {size} on axis {axis}, the model expects {dim} (shape {text_of_pattern(pattern)})"
            )


def _claim_of_dim(key: str, size: int, patterns: Mapping[str, Pattern]) -> _Claim:
    free = {k: k for name, pattern in patterns.items() for _, k in _free_axes(name, pattern)}
    by_axis = {f"{name}.{axis}": k for name, pattern in patterns.items() for axis, k in _free_axes(name, pattern)}
    fixed = {f"{n}.{a}": d for n, pattern in patterns.items() for a, d in enumerate(pattern) if isinstance(d, int)}
    known = by_axis | free
    if key in known:
        return _Claim(known[key], size, f"`dims={key}={size}`", BadOption)
    if key not in fixed:
        raise BadOption.unknown("dimension", key, dict.fromkeys([*free, *by_axis]))
    if fixed[key] != size:
        problem = f"this dimension is fixed at {fixed[key]} in the model and cannot be changed"
        raise BadOption(problem, option="dims", value=f"{key}={size}")
    return _Claim(key, size, f"`dims={key}={size}`", BadOption)


def _agree(claims: Sequence[_Claim]) -> dict[str, int]:
    first: dict[str, _Claim] = {}
    for claim in claims:
        other = first.setdefault(claim.key, claim)
        if other.size != claim.size:
            error = BadFeed if BadFeed in (claim.error, other.error) else BadOption
            raise error(
                f"dimension {claim.key!r} cannot be both {other.size} ({other.source}) and {claim.size} "
                f"({claim.source}); make them agree"
            )
    return {key: claim.size for key, claim in first.items()}


def _shape(name: str, pattern: Pattern, dims: Mapping[str, int]) -> Shape:
    return tuple(dim if isinstance(dim, int) else dims[_key(name, axis, dim)] for axis, dim in enumerate(pattern))
