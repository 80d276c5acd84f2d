"""Profiles of several variants on a page: a bar for each of them per operator, and their inferences."""

from __future__ import annotations

from onnxperf.records.profile import Profile
from onnxperf.records.profiles import Profiles
from onnxperf.render.web.bars import BarSeries, bars, time_unit
from onnxperf.render.web.old_base import Chart, Section
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, microseconds

_OPERATORS = 12
_COLOURS = (0, 1, 2, 3, 4, 5, 7, 6)


def profiles_sections(record: Profiles) -> list[Section]:
    """Time per operator under all variants, and the whole inference."""
    if not record.variants:
        return []
    return [Section("Variants", [whole_chart(record), operators_chart(record)])]


def whole_chart(record: Profiles) -> Chart:
    """The usual inference of each variant, and its time in nodes."""
    names = [each.model for each in record.variants]
    runs = [each.usual_run_us or 0.0 for each in record.variants]
    nodes = [each.usual_nodes_us for each in record.variants]
    series = [BarSeries("in nodes", nodes, [microseconds(us) for us in nodes], 0)]
    if all(runs):
        series.insert(0, BarSeries("inference", runs, [microseconds(us) for us in runs], 6))
    summary = f"The usual inference of {count(len(names), 'variant')}. Profiles have no verdict: a race has."
    return bars("Usual inference", summary, names, series, time_unit([*runs, *nodes], ""))


def operators_chart(record: Profiles) -> Chart:
    """A bar for each variant per operator."""
    names = record.operators[:_OPERATORS]
    series = []
    for number, profile in enumerate(record.variants):
        times = _times(profile, names)
        words = [microseconds(us) if us else "" for us in times]
        series.append(BarSeries(profile.model, times, words, _COLOURS[number % len(_COLOURS)]))
    most = name_of(names[0]) if names else "none"
    summary = (
        f"Time per operator in the usual inference under {count(len(series), 'variant')}; the most in one of them "
        f"takes {most}."
    )
    return bars("Time per operator", summary, names, series, time_unit([us for each in series for us in each.values]))


def _times(profile: Profile, names: tuple[str, ...]) -> list[float]:
    known = {each.op_name: each.usual_us for each in profile.operators}
    return [known.get(name, 0.0) for name in names]
