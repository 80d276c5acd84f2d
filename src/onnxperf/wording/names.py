"""Texts from outside (names, reasons, notes) made safe to show, and shortened if there is little room."""

from __future__ import annotations

import codecs
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile

# Control, format (bidirectional overrides), surrogate, line and paragraph separators: a reader would not see them.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
# A spreadsheet would run a cell that starts like this as a formula.
_FORMULA_SIGNS = frozenset("=+-@")
# Our own signs in a terminal that cannot show them.
_PLAIN = str.maketrans(
    {"µ": "u", "×": "x", "±": "+-", "–": "-", "…": "..", "·": "|", "░": ".", "█": "#", "▒": "="}
    | {"─": "-", "│": "|", "├": "|", "└": "`", "●": "o", "◂": "<", "▸": ">"}
    | {"✓": "+", "✗": "-", "≈": "=", "≠": "!=", "⛔": "!", "⚠": "!", "→": "->"}
)

_SEPARATORS = "/._ :"
_LEAST_ROOM = 6


def visible(text: str, encoding: str = "utf-8") -> str:
    """The text on one line; characters that would control a terminal or cannot be encoded become plain or escapes."""
    if text.isascii() and text.isprintable():  # nearly all texts are, and a page has hundreds of thousands
        return text
    return encodable("".join(_escape(c) if unicodedata.category(c) in _HIDDEN else c for c in text), encoding)


def visible_lines(text: str, encoding: str = "utf-8") -> str:
    """The text with its line breaks, every line as `visible` shows it."""
    return "\n".join(visible(line, encoding) for line in text.split("\n"))


def one_line(text: object) -> str:
    """The text of an error or another object without line breaks."""
    return " ".join(str(text).split())


def encodable(text: str, encoding: str) -> str:
    """The text itself where an encoding has all of its characters; otherwise in ASCII, with escapes."""
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return text.translate(_PLAIN).encode("ascii", "backslashreplace").decode("ascii")
    return text


def _plain_signs(error: UnicodeError) -> tuple[str, int]:
    """What `encodable` would show, for a stream that meets signs which it cannot encode."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    return encodable(error.object[error.start : error.end], "ascii"), error.end


PLAIN_SIGNS = "onnxperf.plain_signs"
"""How a stream treats what its encoding lacks, as Python names it."""
codecs.register_error(PLAIN_SIGNS, _plain_signs)


def capital(text: str) -> str:
    """The text as the beginning of a sentence."""
    return text[:1].upper() + text[1:]


def storable(text: str) -> str:
    """A text that files and tables take: half a surrogate pair, as file names may hold, becomes an escape."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def name_of(text: str, encoding: str = "utf-8") -> str:
    """A name as `visible` shows it; an empty one is marked as such."""
    return visible(text, encoding) or "(no name)"


def starts_formula(text: str) -> bool:
    """Whether a spreadsheet may take a text for a formula: one that trims spaces, or reads full-width signs."""
    first = next((c for c in text if not c.isspace() and unicodedata.category(c) not in _HIDDEN), "")
    return unicodedata.normalize("NFKC", first) in _FORMULA_SIGNS


def csv_cell(value: object) -> object:
    """A cell that no spreadsheet takes for a formula: text is guarded, numbers stay numbers."""
    if not isinstance(value, str):
        return value
    text = visible(value)
    return f"'{text}" if starts_formula(value) else text


def dims_text(dims: Mapping[str, int]) -> str:
    """Dimensions as `batch=8, seq=128`."""
    return ", ".join(f"{name}={length}" for name, length in dims.items())


def sizes_text(dims: Mapping[str, Sequence[int]]) -> str:
    """Dimensions with all their sizes, as `batch=1,8, seq=128`."""
    return ", ".join(f"{name}={','.join(map(str, sizes))}" for name, sizes in dims.items())


def listed(names: Iterable[str]) -> str:
    """Names as `a, b and c`."""
    several = list(names)
    return " and ".join(filter(None, [", ".join(several[:-1]), *several[-1:]]))


def first_of(names: Sequence[str], most: int | None = 5) -> str:
    """The first names, and how many there are besides; all of them if `most` is None."""
    kept = names[:most]
    rest = len(names) - len(kept)
    return ", ".join(kept) + (f" and {rest:,} more" if rest else "")


def with_reasons(named: Iterable[tuple[str, str]]) -> list[str]:
    """`name: reason` of all that have a reason; names that share one stand together."""
    names: dict[str, list[str]] = {}
    for name, reason in named:
        if reason:
            names.setdefault(reason, []).append(name_of(name))
    return [f"{first_of(several, 3)}: {reason}" for reason, several in names.items()]


def text_width(text: str) -> int:
    """Columns that a text takes in a terminal, or average characters in a chart."""
    return sum(map(_width, text))


def shortened(text: str, width: int, mark: str = "…") -> str:
    """The text with a mark in place of its middle if it is too wide: the ends of names differ the most."""
    if text_width(text) <= width:
        return text
    room = max(width - len(mark), 0)
    tail = _start(reversed(text), room // 2)[::-1]
    return _start(text, room - text_width(tail)) + mark[:width] + tail


def cut(text: str, width: int, mark: str = "…") -> str:
    """The text with a mark in place of its end if it is too wide: the start of a sentence matters most."""
    if text_width(text) <= width:
        return text
    return _start(text, max(width - len(mark), 0)).rstrip() + mark[:width]


def shortened_apart(texts: Sequence[str], width: int, mark: str = "…") -> list[str]:
    """Texts shortened as `shortened` does; where different ones would look alike, what they share goes instead."""
    alike: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        alike.setdefault(shortened(text, width, mark), []).append(text)
    found = {text: short for short, several in alike.items() for text in several}
    for several in alike.values():
        if len(several) > 1:
            found.update(zip(several, _without_start(several, width, mark), strict=True))
    return [found[text] for text in texts]


def _without_start(texts: Sequence[str], width: int, mark: str) -> list[str]:
    """Texts that begin alike without most of that, so that there is room for what differs."""
    shared = sum(1 for _ in takewhile(lambda signs: len(set(signs)) == 1, zip(*texts, strict=False)))
    word = max(texts[0].rfind(sign, 0, shared) for sign in _SEPARATORS) + 1
    head = _start(texts[0], width // 4)
    start = word if word > len(head) else shared
    room = width - text_width(head) - len(mark)
    if start <= len(head) or room < _LEAST_ROOM:
        return [shortened(text, width, mark) for text in texts]
    return [f"{head}{mark}{rest}" for rest in shortened_apart([text[start:] for text in texts], room, mark)]


def flowed(parts: Iterable[str], width: int, separator: str) -> str:
    """Parts side by side, on as many lines as they need; a part is broken only if it alone is too long."""
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]}{separator}{part}" if lines else part
        if lines and text_width(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return "\n".join(lines)


def _start(characters: Iterable[str], width: int) -> str:
    kept = []
    for character in characters:
        width -= _width(character)
        if width < 0:
            break
        kept.append(character)
    return "".join(kept)


def _width(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def _escape(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
