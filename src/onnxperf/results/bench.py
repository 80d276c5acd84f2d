"""What a bench found: a view on its record that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from statistics import median_low, stdev
from typing import TYPE_CHECKING

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
from onnxperf.records.race import COUNT_COLUMNS, SPLIT_COLUMNS, SUBJECT_COLUMNS, Bench, Block, Case, Subject
from onnxperf.records.sweep import (
    NodeComparison,
    NodeStep,
    SweepModel,
    cells_of,
    dims_of,
    subject_in,
    subjects_of,
    time_of,
    values_of,
)
from onnxperf.render.kit.page import Page
from onnxperf.render.race import sweep_page
from onnxperf.render.race.bench_chart import bench_plot
from onnxperf.render.race.nodes import nodes_at_work, nodes_compared
from onnxperf.render.race.page import bench_page
from onnxperf.render.race.pytest_benchmark import SUFFIX, pytest_benchmark_json
from onnxperf.render.race.sweep_chart import crossover_plot, sweep_plot
from onnxperf.render.web.old_base import Section, Story
from onnxperf.render.web.sections.nodes import nodes_section
from onnxperf.render.web.sections.race import race_sections
from onnxperf.render.web.sections.sweep import sweep_sections
from onnxperf.results.old_base import OldResult, frame_of
from onnxperf.results.old_formats import Format
from onnxperf.results.sweep_flat import flat_frame
from onnxperf.wording.names import dims_text, name_of, storable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_FIRST_COLUMNS = frozenset({"name", "input_bytes"})
"""Those that the classic notebook table has already."""
_TEXT_COLUMNS = frozenset({"runtime", "call", "status", "reason", "verdict", "instruction_verdict"})
_WHOLE_NUMBERS = ("load_ns", "first_call_ns")
_NAN = float("nan")
_MOST_ANSWERS = 6
"""Stretches of sizes that are told above all else; the details have more."""


def _chart(record: Bench, ax: Axes | None = None) -> Axes:
    """Bars of one case; of several a crossover map or lines."""
    return bench_plot(record.cases[0], ax) if len(record.cases) == 1 else sweep_plot(panels_of(record), ax)


class BenchResult(OldResult[Bench]):
    """What `onnxperf.bench` and `onnxperf.sweep` return; `record` holds everything, down to the raw blocks."""

    tables = {
        "subjects": lambda self: self._subjects(),
        "cases": lambda self: self.flat(),
        "flat": lambda self: self.flat(per_1000=True),
        "blocks": lambda self: self._blocks(),
    }
    charts = {"times": _chart}
    own_formats = {
        SUFFIX: Format(
            "the races as pytest-benchmark writes its own",
            lambda result, _: pytest_benchmark_json(result.cases, result.record.machine),
        )
    }

    max_slowdown: float | None = None
    """Slowdown that subjects must not exceed, if one was given."""

    def page(self) -> Page:
        """One race with all its figures, or a row per case of many."""
        if len(self.cases) == 1:
            return bench_page(self.record, [[*notes_on_readings(case), *notes_on_parts(case)] for case in self.cases])
        return [*sweep_page.sweep_page(self.record, self._models), *nodes_compared(self._nodes)]

    @cached_property
    def _nodes(self) -> NodeComparison | None:
        """How fast the same cases are on several nodes."""
        return compare_nodes(self.cases)

    @cached_property
    def _models(self) -> list[SweepModel]:
        """What was concluded about the cases of each model."""
        return sweep_models(self.cases)

    def story_sections(self) -> list[Section]:
        """One race with its samples, or what many cases say together."""
        if len(self.cases) == 1:
            return race_sections(self.cases[0])
        sections = sweep_sections(self.record, self._models, panels_of(self.record))
        if self._nodes is not None:
            sections.insert(0, nodes_section(self._nodes))
        return sections

    def story(self) -> Story:
        """The result as an HTML page tells it; of many cases a sentence about all, and one per stretch of sizes."""
        told = super().story()
        if len(self.cases) == 1:
            return told
        models = self._models
        several = len(models) > 1
        winners = [f"{name_of(each.model)}, {line}" if several else line for each in models for line in each.winners]
        answers = [sweep_answer(models), *(winners if len(winners) <= _MOST_ANSWERS else ())]
        return told._replace(answers=list(filter(None, answers)), notes=sweep_page.notes_of(self.cases))

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
        if table is not None:
            return self.table(table)
        from pandas import DataFrame

        rows = []
        for index, case, subject in self._rows():
            place = dict(zip(("case", "model", "dims"), (index, *_place(case)), strict=True))
            own = {name: value for name, value in self._values(subject).items() if name not in _FIRST_COLUMNS}
            rows.append(_seconds(subject) | (place if len(self.cases) > 1 else {}) | own)
        return DataFrame(rows)

    def _blocks(self) -> DataFrame:
        """One row per raw block: its calls, and how long they took together."""
        columns = ["case", "name", *Block.__struct_fields__]
        rows = [
            (index, storable(subject.name), *(getattr(block, field) for field in Block.__struct_fields__))
            for index, case in enumerate(self.cases)
            for subject in case.subjects
            for block in subject.blocks
        ]
        return frame_of(rows, columns)

    def flat(self, per_1000: bool = False) -> DataFrame:
        """One row per case: model, dimensions, unit, and for each subject the time in seconds, of one call or of 1000.

        A time is NaN where a subject was not measured or its outputs differ; its status says oom, failed, skipped,
        differs or not run. Rivals have their speedup and verdict, as the page has them.
        """
        return flat_frame(self._models, per_1000)

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

    def _subjects(self) -> DataFrame:
        """One row per subject of each case: model, dimensions, a column per dimension, then ours."""
        from pandas import DataFrame

        dims, columns = dims_of(self.cases), self._columns()
        rows = [
            [*_place(case), *(case.dims.get(dim) for dim in dims), *self._values(subject).values()]
            for _, case, subject in self._rows()
        ]
        # A dimension may have the name of a column, so types are set by place.
        frame = DataFrame(rows, columns=range(2 + len(dims) + len(columns)))
        places = [2 + len(dims) + columns.index(name) for name in _WHOLE_NUMBERS]
        frame = frame.astype(dict.fromkeys(places, "Int64"))
        frame.columns = ["model", "dims", *map(storable, dims), *columns]
        return frame

    def _rows(self) -> Iterator[tuple[int, Case, Subject]]:
        """Every subject with its case; a case that failed as a whole is a row without a name."""
        for index, case in enumerate(self.cases):
            subjects = case.subjects or (Subject(name="", status=case.status, reason=case.answer),)
            yield from ((index, case, subject) for subject in subjects)

    def _columns(self) -> tuple[str, ...]:
        """The columns of a row per subject; those of parts and instructions only where there are some."""
        divided, counted = (any(getattr(each, name) for each in self.subjects) for name in ("split", "instructions"))
        return (*SUBJECT_COLUMNS, *(SPLIT_COLUMNS if divided else ()), *(COUNT_COLUMNS if counted else ()))

    def _values(self, subject: Subject) -> dict[str, object]:
        values = {
            name: getattr(subject.split if name in SPLIT_COLUMNS else subject, name, None) for name in self._columns()
        }
        return {name: _cell(value, name in _TEXT_COLUMNS) for name, value in values.items()}

    # ---------------------------------------------------------------- charts and files

    def crossover(
        self, first: str | None = None, second: str | None = None, ax: Axes | None = None, model: str | None = None
    ) -> Axes:
        """A map over two dimensions of how much faster the second subject is than the first, the baseline."""
        return crossover_plot(crossover_map(self.record, first, second, model), ax)

    def plot(self, ax: Axes | None = None, case: int | None = None) -> Axes:
        """A bar chart of the averages; of several cases a crossover map or lines, unless `case` chooses one."""
        return _chart(self.record, ax) if case is None else bench_plot(self._chosen(case), ax)

    def save(self, path: str | Path, table: str | None = None, case: int | None = None) -> None:
        """Write a file in the format that its ending names; `table` chooses a table, and `case` one of several."""
        if case is None:
            super().save(path, table)
        else:
            BenchResult(replace(self.record, cases=(self._chosen(case),))).save(path, table)

    def _chosen(self, case: int) -> Case:
        if not 0 <= case < len(self.cases):
            raise BadOption.unknown("case to draw", case, range(len(self.cases)), option="case")
        return self.cases[case]


def live_page(cases: Sequence[Case], steps: Sequence[NodeStep] = ()) -> Page:
    """The cases of a sweep so far, and what the nodes of a cluster are doing."""
    return [*sweep_page.live_page(sweep_models(cases)), *nodes_at_work(steps)]


def _seconds(subject: Subject) -> dict[str, object]:
    """The columns of the classic notebook table: seconds per call in `repeat` blocks of `number` calls."""
    number = median_low([block.calls for block in subject.blocks]) if subject.blocks else _NAN
    total = sum(block.duration_ns for block in subject.blocks) / 1e9 if subject.blocks else _NAN
    calls = sum(block.calls for block in subject.blocks)
    blocks = [block.per_call_ns / 1e9 for block in subject.blocks]
    return {
        "name": storable(subject.name),
        "average": total / calls if blocks else _NAN,
        "deviation": stdev(blocks) if len(blocks) > 1 else _NAN,
        "min_exec": min(blocks, default=_NAN),
        "max_exec": max(blocks, default=_NAN),
        "repeat": len(blocks),
        "number": number,
        "ttime": total,
        "context_size": subject.input_bytes,
    }


def _place(case: Case) -> tuple[str, str]:
    return storable(case.model), storable(dims_text(case.dims))


def _cell(value: object, is_text: bool) -> object:
    if isinstance(value, str):
        return storable(value)
    return _NAN if value is None and not is_text else value


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
