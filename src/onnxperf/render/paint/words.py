"""Words in figures: how wide they are, and what of them fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import accumulate

from matplotlib import rcParams
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import text_to_path

from onnxperf.wording.names import shortened_apart, text_width

FONT, SMALL, TITLE = 7.5, 7.0, 8.5
"""Sizes in points: of most words; of captions and words in cells; of titles."""
LINE = 1.2
"""Height of a line of words, in parts of their size."""
_HINTED = 1.04
"""How much wider words may be on a screen, where letters begin at whole dots."""
_SCRIPTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "WenQuanYi Zen Hei",
    "Hiragino Sans",
    "PingFang SC",
    "Apple SD Gothic Neo",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Segoe UI Symbol",
    "Noto Sans",
)
"""Fallback fonts; only installed ones are used."""
BREAKS = "/._-:, "
"""Signs behind which a name may continue on the next line."""


def families() -> list[str]:
    """The user's fonts, and behind them those for other scripts."""
    return [*dict.fromkeys([*rcParams["font.family"], *_installed()])]


@cache
def _installed() -> tuple[str, ...]:
    known = {font.name for font in fontManager.ttflist}
    return tuple(name for name in _SCRIPTS if name in known)


def width_of(text: str, size: float = FONT, bold: bool = False) -> float:
    """Width of the longest line in inches."""
    return max(sum(_widths(line, bold)) for line in text.split("\n")) * size / 72


def height_of(lines: int, size: float = FONT) -> float:
    """Height of so many lines in inches."""
    return lines * LINE * size / 72


def _widths(text: str, bold: bool) -> list[float]:
    """Widths of signs in parts of the size of their font; pairs that stand closer to each other only make room."""
    family = tuple(rcParams["font.family"])
    return [_part(sign, family, bold) for sign in text]


@lru_cache(maxsize=10_000)
def _part(sign: str, family: tuple[str, ...], bold: bool) -> float:
    font = FontProperties(family=list(family), size=100, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(sign, font, False)
    return _HINTED * float(width) / 100


def wrapped(text: str, inches: float, size: float = FONT, *, bold: bool = False, breaks: str = " ") -> list[str]:
    """Lines that are at most this wide, broken after one of these signs if there is one in their second half."""
    widths, room = _widths(text, bold), inches * 72 / size
    lines, start = [], 0
    while sum(widths[start:]) > room:
        most = start + _most(widths[start:], room)
        ends = (text.rfind(sign, (start + most) // 2, most + (sign == " ")) + 1 for sign in breaks)
        end = max(ends, default=0) or most
        end -= text[end - 1 : end + 1] == "->" and end > start + 1
        lines.append(text[start:end].rstrip())
        start = end + len(text[end:]) - len(text[end:].lstrip())
    rest = text[start:]
    return [*lines, rest] if rest or not lines else lines


def _most(widths: Sequence[float], room: float) -> int:
    """How many signs have room, at least one."""
    ends = accumulate(widths)
    return max(next((place for place, end in enumerate(ends) if end > room), len(widths)), 1)


def limited(text: str, inches: float, size: float = FONT, *, most: int = 1, bold: bool = False) -> str:
    """A text on at most so many lines; its end is left out if it is too long."""
    lines = wrapped(text, inches, size, bold=bold)
    if len(lines) > most:
        last = f"{lines[most - 1]} {lines[most]}"
        while last and width_of(f"{last}…", size, bold) > inches:
            last = last[:-1]
        lines = [*lines[: most - 1], f"{last.rstrip()}…"]
    return "\n".join(lines)


def fitting_names(names: Sequence[str], inches: float, size: float = FONT, most: int = 1) -> list[str]:
    """Names on at most this many lines, shortened in the middle if too long; different ones stay distinct."""
    if all(_fits(name, inches, size, most) for name in names):
        return [_on_lines(name, inches, size) for name in names]
    return _narrower(names, lambda name: _fits(name, inches, size, most), lambda name: _on_lines(name, inches, size))


def _narrower(names: Sequence[str], fits: Callable[[str], bool], laid: Callable[[str], str]) -> list[str]:
    """The longest of shortened names that fit."""
    low, high = 1, max(map(text_width, names))
    while high - low > 1:
        middle = (low + high) // 2
        shorter = all(map(fits, shortened_apart(names, middle)))
        low, high = (middle, high) if shorter else (low, middle)
    return list(map(laid, shortened_apart(names, low)))


def _on_lines(name: str, inches: float, size: float) -> str:
    return "\n".join(wrapped(name, inches, size, breaks=BREAKS))


def _fits(name: str, inches: float, size: float, most: int) -> bool:
    return len(wrapped(name, inches, size, breaks=BREAKS)) <= most
