"""Numbers as people read them: three significant digits and the unit that suits them."""

from __future__ import annotations

import math
from typing import TypeGuard

NOTHING = "–"
"""In place of a number that is not known."""

_MAGNITUDES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_DURATIONS = ((1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s"))
_DECIMALS = ((99.5, 0), (9.995, 1), (0.0995, 2), (0.00995, 3))
"""Of ratios, from which one on."""
Ends = tuple[float, float]
"""Of an interval."""
_SIZES = ((1.0, "B"), (1e3, "kB"), (1e6, "MB"), (1e9, "GB"), (1e12, "TB"))
"""Powers of ten, in which arrays are counted most easily."""


def duration(ns: float | None) -> str:
    """A time such as `8.43 µs`; a dash for None."""
    return _humane(ns, _DURATIONS) if _known(ns) else NOTHING


def durations(low_ns: float, high_ns: float) -> str:
    """Both ends of an interval of times, such as `5.36–5.68 µs`: the unit once, if it is the same."""
    low, high = duration(low_ns), duration(high_ns)
    number, _, unit = low.partition(" ")
    return f"{number}–{high}" if high.endswith(f" {unit}") else f"{low}–{high}"


def microseconds(us: float | None) -> str:
    """A time such as `43 µs` or `1.20 ms`; traces have whole microseconds, so there are no digits below them."""
    if us is None or abs(us) >= 999.5:
        return duration(None if us is None else us * 1e3)
    return f"{us:.3g} µs"


def time_text(ns: float) -> str:
    """A time for a sentence, such as `8 µs`: three digits, without zeros at the end."""
    for scale, unit in reversed(_DURATIONS[1:]):
        if ns >= 0.9995 * scale:  # what rounds to 1000 of the smaller unit
            return f"{significant(ns / scale)} {unit}"
    return f"{significant(ns)} ns"


def size(count: float | None) -> str:
    """A number of bytes such as `240 MB`; bytes have no decimals."""
    if not _known(count):
        return NOTHING
    whole = round(count)
    return f"{whole} B" if abs(whole) < 1000 else _humane(count, _SIZES[1:])


decimal_size = size
"""The name by which parts of the house still know it."""


def spoken_size(count: float) -> str:
    """A number of bytes for a sentence, such as `2 MB` or `1.5 MB`: without zeros at its end."""
    number, unit = size(count).split()
    return f"{_without_zeros(number)} {unit}"


def megabytes(count: float | None) -> str:
    """A number of bytes as millions, without the unit, for columns that are compared downwards."""
    return _three_digits(count / 1e6).replace("-0.00", "0.00") if _known(count) else NOTHING


def in_megabytes(count: float | None) -> str:
    """A number of bytes as `302 MB`, `1.5 MB` or `0.025 MB`: one unit for all that is compared with each other."""
    if not _known(count):
        return NOTHING
    if 0 < count < 1000:
        return "<0.001 MB"
    millions = count / 1e6
    small = 0 < abs(millions) < 0.0995
    decimals = 1 - math.floor(math.log10(abs(millions))) if small else 0  # two digits
    return f"{_without_zeros(f'{millions:.{decimals}f}' if small else _three_digits(millions))} MB"


def factor(value: float | None, ends: Ends | None = None) -> str:
    """A ratio such as `1.62`, with more decimals if its interval is narrow."""
    if not _known(value):
        return NOTHING
    return f"{value:.2g}" if 0 < abs(value) < 0.001 else f"{value:.{_decimals(value, ends)}f}"


def ratio(value: float | None, ends: Ends | None = None) -> str:
    """A ratio with its sign, such as `1.62×`."""
    return f"{factor(value, ends)}×" if _known(value) else NOTHING


def interval(low: float | None, high: float | None) -> str:
    """Both ends of the interval of a ratio, such as `1.59–1.66`."""
    if not _known(low) or not _known(high):
        return NOTHING
    return f"{factor(low, (low, high))}–{factor(high, (low, high))}"


def ratio_within(value: float, ends: Ends | None) -> tuple[str, str]:
    """A ratio, and behind it ` (95 % CI 1.59–1.66)`, or nothing if it has no interval."""
    return ratio(value, ends), "" if ends is None else f" (95 % CI {interval(*ends)})"


def exact(value: float | None) -> str:
    """A ratio of counts such as `1.052×`: no noise hides its third decimal."""
    return f"{value:.3f}×" if _known(value) else NOTHING


def percent(share: float | None) -> str:
    """A share such as `12.3 %`."""
    return f"{_three_digits(share * 100)} %" if _known(share) else NOTHING


def significant(value: float, digits: int = 3) -> str:
    """A plain number with three significant digits, without an exponent if it is large."""
    return f"{value:.{digits}g}" if abs(value) < 0.995 * 10**digits else f"{value:.0f}"


def plain(value: float) -> str:
    """A number as it was given, such as `0.5`, `60` or `1e+30`: six digits at most, without zeros at the end."""
    return f"{value:g}"


def tick(value: float) -> str:
    """A round number below an axis, such as `0.5` or `20,000`."""
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e12 else f"{value:g}"


def per_second(rate: float | None) -> str:
    """How many things a second, such as `15.0`, `1,284` or `10.6 M`."""
    if not _known(rate):
        return NOTHING
    if rate >= 99_950:
        return next(f"{_three_digits(rate / scale)} {unit}" for scale, unit in _MAGNITUDES if rate >= 0.9995 * scale)
    return f"{rate:,.0f}" if rate >= 100 else f"{rate:.{1 if rate >= 10 else 2}f}"


def grouped(value: float) -> str:
    """A number rounded to a whole one, with commas between thousands."""
    return f"{round(value):,}"


def average(value: float) -> str:
    """A mean of counts: whole from 10 on, two significant digits below."""
    return grouped(value) if value >= 10 else f"{value:.2g}"


def hundredths(value: float) -> str:
    """A plain number with two decimals."""
    return f"{value:.2f}"


def magnitude(value: float) -> str:
    """A count of operations such as `1.2 G`."""
    scaled = ((value / scale, unit) for scale, unit in _MAGNITUDES if value >= scale)
    return next((f"{significant(number)} {unit}" for number, unit in scaled), grouped(value))


def count(number: int, thing: str, several: str = "") -> str:
    """A number of things, such as `1 thread` or `2 threads`; `several` is a plural that does not end with s."""
    return f"{number:,} {thing if number == 1 else several or f'{thing}s'}"


def probability(p_value: float) -> str:
    """A p-value; below a millionth it is only called smaller."""
    return "< 1e-06" if p_value < 1e-6 else f"{p_value:.1g}"


def signed_percent_tick(share: float) -> str:
    """A round change next to an axis, such as `+12.5 %`."""
    return f"{share * 100:+g} %"


def signed(number: int) -> str:
    """A change in a number of things, such as `+1,200`; a dash for zero."""
    return f"{number:+,}" if number else NOTHING


def mean_count(value: float) -> str:
    """A mean number of things: `3`, or `2.5` if it is not whole."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def share_percent(share: float) -> str:
    """A share as `12 %`, but as `99.7 %` where rounding would claim the whole."""
    return whole_percent(share) if share <= 0.995 or share == 1 else f"{min(100 * share, 99.9):.1f} %"


def whole_percent(share: float) -> str:
    """A share as `12 %`."""
    return f"{share * 100:.0f} %"


def percent_at_most(share: float) -> str:
    """A share with two digits, rounded up, such as `0.81 %`: for what must not be exceeded."""
    if not math.isfinite(share):  # outputs that are compared with zeros
        return "infinite"
    decimals = max(0, 1 - math.floor(math.log10(max(share * 100, 0.01))))
    scale = 10**decimals
    return f"{math.ceil(share * 100 * scale - 1e-9) / scale:g} %"


def sampled_percent(share: float) -> str:
    """A share that samples estimate as `12 %`: what is nearly nothing or nearly all is not rounded to that."""
    if 0 < share < 0.005:
        return "less than 1 %"
    return "more than 99 %" if 0.995 < share < 1 else whole_percent(share)


def rough_time(seconds: float) -> str:
    """A rough time in whole seconds, minutes, or hours and minutes."""
    if not math.isfinite(seconds):
        return "an unknown time"
    if seconds < 90:
        return f"{max(math.ceil(seconds), 0)} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    if not hours:
        return f"{minutes} min"
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def duration_unit(ns: float) -> tuple[float, str]:
    """Nanoseconds per unit, and the unit, in which this time reads best."""
    return _unit(ns, _DURATIONS)


def decimal_size_unit(count: float) -> tuple[float, str]:
    """Bytes per unit, and the unit, in which this size reads best."""
    return _unit(count, _SIZES)


def _unit(value: float, units: tuple[tuple[float, str], ...]) -> tuple[float, str]:
    return next((each for each in reversed(units) if value >= each[0]), units[0])


def _known(value: float | None) -> TypeGuard[float]:
    return value is not None and math.isfinite(value)


def _decimals(value: float, ends: Ends | None) -> int:
    """Two near 1, fewer for large ratios, more for small ones and for those with a narrow interval."""
    usual = next((decimals for least, decimals in _DECIMALS if abs(value) >= least), 4)
    width = abs(ends[1] - ends[0]) if ends is not None and all(map(math.isfinite, ends)) else 0.0
    return max(usual, min(-math.floor(math.log10(width)), 3)) if width > 0 else usual


def _without_zeros(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def _humane(value: float, units: tuple[tuple[float, str], ...]) -> str:
    for scale, unit in units[:-1]:
        text = _three_digits(value / scale)
        if abs(float(text)) < 1000:  # judged after rounding, so that 999.7 never reads 1000
            return f"{text} {unit}"
    scale, unit = units[-1]
    return f"{_three_digits(value / scale)} {unit}"


def _three_digits(value: float) -> str:
    for decimals in (2, 1):
        text = f"{value:.{decimals}f}"
        if len(text.lstrip("-")) <= 4:
            return text
    return f"{value:.0f}"
