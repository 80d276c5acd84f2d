"""Words of others (names, reasons, notes) made safe to show."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence

# Control, format (bidirectional overrides), surrogate, line and paragraph separators: nothing a reader would see.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# A spreadsheet would run a cell that starts like this as a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def visible(text: str, encoding: str = "utf-8") -> str:
    """The text on one line, with every character that would steer a terminal or fail to encode shown as an escape."""
    shown = "".join(_escape(c) if unicodedata.category(c) in _HIDDEN else c for c in text)
    return shown.encode(encoding, "backslashreplace").decode(encoding)


def name_of(text: str, encoding: str = "utf-8") -> str:
    """A name as `visible` shows it; an empty one says so."""
    return visible(text, encoding) or "(no name)"


def csv_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: text is guarded, numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if value.startswith(_FORMULA_STARTS) else text


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def dims_text(dims: Mapping[str, int]) -> str:
    """Dimensions as `batch=8, seq=128`."""
    return ", ".join(f"{name}={length}" for name, length in dims.items())


def sizes_text(dims: Mapping[str, Sequence[int]]) -> str:
    """Dimensions with all the sizes that they took, as `batch=1,8, seq=128`."""
    return ", ".join(f"{name}={','.join(map(str, sizes))}" for name, sizes in dims.items())
