"""What a bench found: a view on its record that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from onnxperf.analyze.answers.race import notes_on_parts, notes_on_readings
from onnxperf.analyze.answers.sweep import sweep_answer
from onnxperf.analyze.judges.crossover import (
    cases_of,
    crossover_map,
    duel,
    panels_of,
    sweep_models,
    two_dims,
    usual_baseline,
)
from onnxperf.analyze.judges.nodes import compare_nodes
from onnxperf.analyze.judges.throughput import rate
from onnxperf.errors import BadOption
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.records.sweep import (
    NodeStep,
    SweepModel,
    SweepPanel,
    cells_of,
    subject_in,
    subjects_of,
    time_of,
    values_of,
)
from onnxperf.render.charts.base import Chart, Width
from onnxperf.render.kit.frames import frame_of
from onnxperf.render.kit.page import Page
from onnxperf.render.kit.table import Table
from onnxperf.render.race import sweep
from onnxperf.render.race.calls import call_charts
from onnxperf.render.race.nodes import nodes_at_work, nodes_compared
from onnxperf.render.race.page import bench_page
from onnxperf.render.race.parts import part_charts
from onnxperf.render.race.pytest_benchmark import SUFFIX, pytest_benchmark_json
from onnxperf.render.race.samples import blocks_table, sample_chart, timed
from onnxperf.render.race.sections import labels_of, speedup_chart, time_chart
from onnxperf.render.race.sweep_lines import lines_panes
from onnxperf.render.race.sweep_map import crossover_charts, map_charts
from onnxperf.render.race.sweep_matrix import times_charts
from onnxperf.render.race.tables import classic_table, subjects_table
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format

if TYPE_CHECKING:
    from pandas import DataFrame

_NAN = float("nan")


def _page(record: Bench) -> Page:
    """One race with all its figures, or a row per case of many."""
    if len(record.cases) == 1:
        (case,) = record.cases
        return bench_page(record, [*notes_on_readings(case), *notes_on_parts(case)])
    models = sweep_models(record.cases)
    told = sweep.sweep_page(record, models, panels_of(record), sweep_answer(models))
    return [*told, *nodes_compared(compare_nodes(record.cases))]


def _cases(record: Bench, per_1000: bool = False) -> Table[Any]:
    return sweep.cases_table(sweep_models(record.cases), per_1000=per_1000)


def _of_sweeps(
    make: Callable[[Sequence[SweepPanel], Sequence[SweepModel]], Sequence[Chart]],
) -> Callable[[Bench], Sequence[Chart]]:
    """What many cases say together."""
    return lambda record: make(panels_of(record), sweep_models(record.cases)) if len(record.cases) > 1 else ()


def _of_races(make: Callable[[dict[str, Case]], Sequence[Chart]]) -> Callable[[Bench], Sequence[Chart]]:
    """A chart of one race; of several, a panel each."""
    return lambda record: make({"": record.cases[0]} if len(record.cases) == 1 else labels_of(record.cases))


SHOW = Show(
    Bench,
    "bench",
    _page,
    tables={
        "subjects": subjects_table,
        "cases": _cases,
        "flat": lambda record: _cases(record, per_1000=True),
        "blocks": lambda record: blocks_table(timed(labels_of(record.cases))),
    },
    charts={
        "cases": _of_sweeps(sweep.sweep_charts),
        "map": _of_sweeps(map_charts),
        "lines": _of_sweeps(lines_panes),
        "matrix": _of_sweeps(times_charts),
        "speedups": _of_races(speedup_chart),
        "times": _of_races(time_chart),
        "samples": _of_races(sample_chart),
        "calls": _of_races(call_charts),
        "parts": _of_races(part_charts),
    },
    own={
        SUFFIX: Format(
            "the races as pytest-benchmark writes its own",
            lambda result, _: pytest_benchmark_json(result.cases, result.record.machine),
        )
    },
)


class BenchResult(Result[Bench]):
    """What `onnxperf.bench` and `onnxperf.sweep` return; `record` holds everything, down to the raw blocks."""

    show = SHOW

    max_slowdown: float | None = None
    """Slowdown that subjects must not exceed, if one was given."""

    @property
    def headline(self) -> str:
        """The answer as the title of a chart; of several cases, one sentence about all."""
        return self.answer if len(self.cases) < 2 else sweep_answer(sweep_models(self.cases))

    @property
    def cases(self) -> tuple[Case, ...]:
        """One case per race; a plain bench has one."""
        return self.record.cases

    @property
    def lost(self) -> tuple[Case, ...]:
        """Cases that wait to be resumed: they were not run or not finished, or their node was lost."""
        return tuple(
            case
            for case in self.cases
            if case.interrupted or case.status == "pending" or (case.status == "crashed" and not case.subjects)
        )

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The subjects of all cases, in order."""
        return tuple(subject for case in self.cases for subject in case.subjects)

    def __getitem__(self, name: str) -> Subject:
        """The subject of that name, where only one case has it."""
        found = [subject for subject in self.subjects if subject.name == name]
        if not found:
            raise KeyError(f"no subject {name!r}; there are: {', '.join(subject.name for subject in self.subjects)}")
        if len(found) > 1:
            raise KeyError(f"{len(found)} cases have a subject {name!r}; choose one from .cases")
        return found[0]

    @property
    def ok(self) -> bool:
        """Whether all of it was measured without a fault, and no subject exceeds `max_slowdown`."""
        return super().ok and not self.exceeding

    @property
    def exceeding(self) -> list[Subject]:
        """Subjects that exceed the slowdown that the race was to keep to."""
        return [] if self.max_slowdown is None else self.slower_than(self.max_slowdown)

    def slower_than(self, max_slowdown: float) -> list[Subject]:
        """Subjects that are slower than their baseline by more than this (0.05 is 5 %), beyond the noise."""
        from onnxperf.analyze.judges.gate import standings_in  # numpy is not always needed

        found = zip(self.cases, standings_in(self.cases, max_slowdown), strict=True)
        failed = [
            (case, {name for name, each in of_case.items() if each.outcome == "failed"}) for case, of_case in found
        ]
        return [each for case, names in failed for each in case.subjects if each.name in names]

    # ---------------------------------------------------------------- tables

    def to_df(self, table: str | None = None) -> DataFrame:
        """One row per subject, times in seconds per call, then our own columns; or a table, such as "blocks"."""
        return frame_of(classic_table(self.record)) if table is None else self.table(table)

    def flat(self, per_1000: bool = False) -> DataFrame:
        """One row per case: model, dimensions, unit, and for each subject the time in seconds, of one call or of 1000.

        A time is NaN where a subject was not measured or its outputs differ; its status says oom, failed, skipped,
        differs or not run. Rivals have their speedup and verdict, as the page has them.
        """
        return frame_of(_cases(self.record, per_1000))

    def matrix(self, subject: str, value: str = "time", model: str | None = None) -> DataFrame:
        """One subject over two dimensions: its time in seconds, its speedup, or its throughput in items a second."""
        from pandas import DataFrame, Index

        cases = cases_of(self.record, model)
        values = _cell_values(cases)
        if value not in values:
            raise BadOption.unknown("value of a matrix", value, values, option="value")
        if subject not in subjects_of(cases):
            raise BadOption.unknown("subject", subject, subjects_of(cases), option="subject")
        first, second = two_dims(cases)
        down, across = values_of(cases, first), values_of(cases, second)
        cells = cells_of(cases, first, second)
        rows = [
            [
                _scaled(values[value](cells[place], subject)) if (place := (size, other)) in cells else _NAN
                for other in across
            ]
            for size in down
        ]
        return DataFrame(rows, index=Index(down, name=first), columns=Index(across, name=second))

    # ---------------------------------------------------------------- charts and files

    def crossover(
        self, first: str | None = None, second: str | None = None, ax: Any = None, model: str | None = None
    ) -> Any:
        """A map over two dimensions of how much faster the second subject is than the first, the baseline."""
        return self.drawn(crossover_charts(crossover_map(self.record, first, second, model)), ax)

    def plot(self, ax: Any = None, chart: str | None = None, width: Width = "page", *, case: int | None = None) -> Any:
        """Draw a chart: of one race its speedups, of several cases a map or lines, unless `case` chooses one."""
        return super().plot(ax, chart, width) if case is None else self._of(case).plot(ax, chart, width)

    def save(
        self,
        path: str | Path,
        table: str | None = None,
        *,
        chart: str | None = None,
        width: Width = "page",
        case: int | None = None,
    ) -> None:
        """Write a file in the format of its extension; `table` or `chart` chooses one, and `case` one of several."""
        if case is not None:
            return self._of(case).save(path, table, chart=chart, width=width)
        return super().save(path, table, chart=chart, width=width)

    def _of(self, case: int) -> BenchResult:
        """One of several cases alone."""
        if not 0 <= case < len(self.cases):
            raise BadOption.unknown("case to draw", case, range(len(self.cases)), option="case")
        return BenchResult(replace(self.record, cases=(self.cases[case],)))


def live_page(cases: Sequence[Case], steps: Sequence[NodeStep] = ()) -> Page:
    """The cases of a sweep so far, and what the nodes of a cluster are doing."""
    return [*sweep.live_page(sweep_models(cases)), *nodes_at_work(steps)]


def _scaled(value: float | None, factor: float = 1.0) -> float:
    return _NAN if value is None else value * factor


def _cell_values(cases: Sequence[Case]) -> dict[str, Callable[[Case, str], float | None]]:
    """What a matrix can show of a subject."""
    baseline = usual_baseline(cases)
    return {
        "time": lambda case, name: _scaled(time_of(subject_in(case, name)), 1e-9),
        "speedup": lambda case, name: duel(case, baseline or name, name).speedup,
        "throughput": lambda case, name: rate(case, subject_in(case, name)),
    }
