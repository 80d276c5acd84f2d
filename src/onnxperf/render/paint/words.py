"""Words in figures: how wide they are, and what of them fits."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, lru_cache

from matplotlib import rcParams
from matplotlib.font_manager import FontProperties, fontManager
from matplotlib.textpath import text_to_path

from onnxperf.wording.names import shortened_apart, text_width

FONT, SMALL, TITLE = 7.5, 7.0, 8.5
"""Sizes in points: of most words; of captions and words in cells; of titles."""
LINE = 1.2
"""Height of a line of words, in parts of their size."""
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
"""Fonts for what the usual one lacks, of which those that are installed are used."""
_BREAKS = "/._-:, "
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
    family = tuple(rcParams["font.family"])
    lines = (sum(_part(sign, family, bold) for sign in line) for line in text.split("\n"))
    return max(lines) * size / 72


def height_of(lines: int, size: float = FONT) -> float:
    """Height of so many lines in inches."""
    return lines * LINE * size / 72


@lru_cache(maxsize=10_000)
def _part(sign: str, family: tuple[str, ...], bold: bool) -> float:
    """Width of one sign in parts of the size of its font; pairs that stand closer to each other only make room."""
    font = FontProperties(family=list(family), size=100, weight="bold" if bold else "normal")
    width, _, _ = text_to_path.get_text_width_height_descent(sign, font, False)
    return float(width) / 100


def wrapped(text: str, inches: float, size: float = FONT, *, bold: bool = False, breaks: str = " ") -> list[str]:
    """Lines that are no wider than this, broken behind one of these signs where there is one in their second half."""
    lines = []
    while width_of(text, size, bold) > inches:
        most = _most(text, inches, size, bold)
        ends = (text.rfind(sign, most // 2, most + (sign == " ")) + 1 for sign in breaks)
        end = max(ends, default=0) or most
        lines.append(text[:end].rstrip())
        text = text[end:].lstrip()
    return [*lines, text] if text or not lines else lines


def _most(text: str, inches: float, size: float, bold: bool) -> int:
    """How many signs have room, at least one."""
    used = 0.0
    for place, sign in enumerate(text):
        used += width_of(sign, size, bold)
        if used > inches:
            return max(place, 1)
    return len(text)


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
    """Names on at most so many lines, without their middle where they are too long; different ones stay apart."""
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
    return "\n".join(wrapped(name, inches, size, breaks=_BREAKS))


def _fits(name: str, inches: float, size: float, most: int) -> bool:
    return len(wrapped(name, inches, size, breaks=_BREAKS)) <= most
