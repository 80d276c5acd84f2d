"""Converts outputs of any framework to arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

Outputs = list[Any] | dict[str, Any]
"""Arrays by name or in order; other values, such as a table of probabilities, are unchanged."""


def to_numpy(outputs: object) -> Outputs:
    """Outputs of any framework as arrays: by name if they have names, else in order.

    Nested outputs are flattened (`hidden_states.0`) and missing ones left out, as exporters do.
    """
    leaves = list(_leaves((), outputs))
    if leaves and all(path for path, _ in leaves) and _fields(outputs) is not None:
        return {".".join(path): value for path, value in leaves}
    return [value for _, value in leaves]


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if value is None:
        return
    fields = _fields(value)
    several = isinstance(value, list | tuple) or type(value).__name__ == "OrtValueVector"
    if fields is None and several and not _is_plain(value):
        fields = {str(index): each for index, each in enumerate(value)}
    if fields is None:
        yield path, as_array(value)
    else:
        for name, each in fields.items():
            yield from _leaves((*path, name), each)


def _fields(value: object) -> dict[str, object] | None:
    """Names and values of a dictionary, a dataclass or a named tuple."""
    if isinstance(value, Mapping):
        return {str(name): each for name, each in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return dict(zip(value._fields, value, strict=True))
    return None


def _is_plain(value: Sequence[object]) -> bool:
    """Numbers or texts in a list are one array, not one output each; a table of dictionaries is unchanged."""
    if not value:
        return False
    return all(isinstance(each, bool | int | float | complex | str | bytes | np.generic) for each in value) or (
        all(isinstance(each, dict) and all(np.isscalar(x) for x in each.values()) for each in value)
    )


def as_array(value: Any) -> Any:
    """One tensor of any framework as an array; a table of dictionaries is unchanged."""
    if isinstance(value, list | tuple) and value and isinstance(value[0], dict):
        return value
    if type(value).__module__.partition(".")[0] == "torch" and hasattr(value, "detach"):
        value = value.detach().cpu()
        # numpy has no bfloat16; float32 represents all its values
        value = value.float() if str(value.dtype) == "torch.bfloat16" else value
        return value.resolve_conj().resolve_neg().numpy()
    method = next((getattr(value, name) for name in ("numpy", "toarray") if hasattr(value, name)), None)
    return np.asarray(value if method is None else method())
