"""What a bench found: a view on its record that makes tables, charts and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadOption
from onnxperf.records import Bench, Block, Case, Subject
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

_FIRST_COLUMNS = frozenset({"name", "input_bytes"})
"""Those that the classic notebook table has already."""
_TEXT_COLUMNS = frozenset({"runtime", "call", "status", "reason", "verdict"})
_PARQUET = ".parquet"
_NAN = float("nan")


class BenchResult:
    """What `onnxperf.bench` returns; `record` holds everything, down to the raw blocks."""

    def __init__(self, record: Bench) -> None:
        self.record = record

    @property
    def cases(self) -> tuple[Case, ...]:
        """One case per race; a plain bench has one."""
        return self.record.cases

    @property
    def subjects(self) -> tuple[Subject, ...]:
        """The subjects of all cases, in order."""
        return tuple(subject for case in self.cases for subject in case.subjects)

    @property
    def ok(self) -> bool:
        """Whether every subject was measured without a fault, those aside that had to be skipped."""
        statuses = [*(case.status for case in self.cases), *(subject.status for subject in self.subjects)]
        return all(status in ("ok", "skipped") for status in statuses)

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it before its end."""
        return any(case.interrupted for case in self.cases)

    @property
    def answer(self) -> str:
        """The result in one plain sentence per case."""
        return "\n".join(case.answer for case in self.cases if case.answer)

    def __getitem__(self, name: str) -> Subject:
        """The subject of that name, where only one case has it."""
        found = [subject for subject in self.subjects if subject.name == name]
        if not found:
            raise KeyError(f"no subject {name!r}; there are: {', '.join(subject.name for subject in self.subjects)}")
        if len(found) > 1:
            raise KeyError(f"{len(found)} cases have a subject {name!r}; look into .cases")
        return found[0]

    def to_df(self, per_call: bool = False) -> DataFrame:
        """One row per subject: times in seconds for `number` calls (or for one), then our own columns."""
        from pandas import DataFrame

        from onnxperf.render.kit.old_export import subject_columns

        own_columns = [column for column in subject_columns(self.cases) if column not in _FIRST_COLUMNS]
        rows = []
        for index, case in enumerate(self.cases):
            for subject in case.subjects:
                place = _place(index, case) if len(self.cases) > 1 else {}
                own = {column: _value(subject, column) for column in own_columns}
                rows.append(_seconds(subject, per_call) | place | own)
        return DataFrame(rows)

    def blocks_df(self) -> DataFrame:
        """One row per raw block."""
        from pandas import DataFrame

        columns = ["case", "name", *Block.__struct_fields__]
        rows = [
            (index, subject.name, *(getattr(block, field) for field in Block.__struct_fields__))
            for index, case in enumerate(self.cases)
            for subject in case.subjects
            for block in subject.blocks
        ]
        return DataFrame(rows, columns=columns)

    def flat(self, per_1000: bool = False) -> DataFrame:
        """One row per case: model, dimensions, and for each subject the median in seconds, of one call or of 1000.

        A cell is NaN where a subject was not measured or its outputs differ; `to_df` says why.
        """
        from pandas import DataFrame

        from onnxperf.render.race import sweep_grid as grid

        calls = 1000 if per_1000 else 1
        dims, names = grid.dims_of(self.cases), grid.subjects_of(self.cases)
        rows = []
        for case in self.cases:
            times = [_scaled(grid.time_of(grid.found(case, name)), calls / 1e9) for name in names]
            rows.append([case.model, *(case.dims.get(dim) for dim in dims), *times])
        return DataFrame(rows, columns=["model", *dims, *names])

    def matrix(self, subject: str, value: str = "median", model: str | None = None) -> DataFrame:
        """One subject over two dimensions: its median in seconds, its speedup, or its throughput in rows a second."""
        from pandas import DataFrame, Index

        from onnxperf.render.race import sweep_grid as grid
        from onnxperf.render.race.sweep_chart import cases_of, two_dims

        cases = cases_of(self.record, model)
        values = _cell_values(cases)
        if value not in values:
            raise BadOption.unknown("value of a matrix", value, values)
        if subject not in grid.subjects_of(cases):
            raise BadOption.unknown("subject", subject, grid.subjects_of(cases))
        first, second = two_dims(cases)
        down, across = grid.values_of(cases, first), grid.values_of(cases, second)
        cells = grid.cells_of(cases, first, second)
        rows = [
            [
                _scaled(values[value](cells[place], subject)) if (place := (size, other)) in cells else _NAN
                for other in across
            ]
            for size in down
        ]
        return DataFrame(rows, index=Index(down, name=first), columns=Index(across, name=second))

    def crossover(
        self, first: str | None = None, second: str | None = None, ax: Axes | None = None, model: str | None = None
    ) -> Axes:
        """A map over two dimensions of how much faster the second subject is than the first, the baseline."""
        from onnxperf.render.race.sweep_chart import crossover_plot

        return crossover_plot(self.record, first, second, ax, model)

    def plot(self, ax: Axes | None = None, case: int | None = None) -> Axes:
        """A bar chart of the averages; of several cases a crossover map or lines, unless `case` chooses one."""
        from onnxperf.render.race.bench_chart import bench_plot
        from onnxperf.render.race.sweep_chart import sweep_plot

        if case is None and len(self.cases) > 1:
            return sweep_plot(self.record, ax)
        return bench_plot(self._chosen(case), ax)

    def save(self, path: str | Path, case: int | None = None) -> None:
        """Write a .json, .csv, .md or .parquet file of everything, or a .png or .svg chart as `plot` draws it."""
        from onnxperf.render.kit.chart import PLOT_SUFFIXES
        from onnxperf.render.kit.frames import write_table
        from onnxperf.render.kit.old_export import EXPORTERS, write
        from onnxperf.render.race.bench_chart import save_plot
        from onnxperf.render.race.sweep_chart import save_sweep

        path = Path(path)
        suffix = path.suffix.lower()
        if suffix in PLOT_SUFFIXES and case is None and len(self.cases) > 1:
            save_sweep(self.record, path)
        elif suffix in PLOT_SUFFIXES:
            save_plot(self._chosen(case), path)
        elif suffix in EXPORTERS:
            write(path, EXPORTERS[suffix](self.record))
        elif suffix == _PARQUET:
            write_table(self._long(), path)
        else:
            raise BadOption.unknown("kind of file", suffix or path.name, [*EXPORTERS, *PLOT_SUFFIXES, _PARQUET])

    def _long(self) -> DataFrame:
        """One row per subject of each case, as CSV has them, and a column per dimension."""
        from pandas import DataFrame

        from onnxperf.render.kit.old_export import subject_columns
        from onnxperf.render.race.sweep_grid import dims_of
        from onnxperf.wording.names import dims_text

        dims, columns = dims_of(self.cases), subject_columns(self.cases)
        rows = []
        for case in self.cases:
            # A case that failed as a whole has no subjects, and must not be lost.
            subjects = case.subjects or (Subject(name="", status=case.status, reason=case.answer),)
            place = [case.model, dims_text(case.dims), *(case.dims.get(dim) for dim in dims)]
            rows += [place + [_value(subject, column) for column in columns] for subject in subjects]
        return DataFrame(rows, columns=["model", "dims", *dims, *columns])

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.kit.old_export import to_json

        return to_json(self.record).decode()

    def _chosen(self, case: int | None) -> Case:
        count = len(self.cases)
        if case is None and count == 1:
            return self.cases[0]
        if case is None or not 0 <= case < count:
            raise BadOption.unknown("case to draw", case, range(count))
        return self.cases[case]

    def __repr__(self) -> str:
        """The table as the command line prints it, without colours."""
        from onnxperf.render.race.console import print_bench
        from onnxperf.render.race.sweep import print_sweep

        return as_printed(print_sweep if len(self.cases) > 1 else print_bench, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import bench_html

        return bench_html(self.record)


def _seconds(subject: Subject, per_call: bool) -> dict[str, Any]:
    """The columns of the classic notebook table: seconds for a block of `number` calls."""
    number = median_low([block.calls for block in subject.blocks]) if subject.blocks else _NAN
    factor = (1 if per_call else number) / 1e9
    return {
        "name": subject.name,
        "average": _value(subject, "mean_ns") * factor,
        "deviation": _value(subject, "deviation_ns") * factor,
        "min_exec": _value(subject, "min_ns") * factor,
        "max_exec": _value(subject, "max_ns") * factor,
        "repeat": len(subject.blocks),
        "number": number,
        "ttime": sum(block.duration_ns for block in subject.blocks) / 1e9 if subject.blocks else _NAN,
        "context_size": subject.input_bytes,
    }


def _value(subject: Subject, column: str) -> Any:
    from onnxperf.render.kit.old_export import subject_value

    value = subject_value(subject, column)
    return _NAN if value is None and column not in _TEXT_COLUMNS else value


def _scaled(value: float | None, factor: float = 1.0) -> float:
    return _NAN if value is None else value * factor


def _cell_values(cases: Sequence[Case]) -> dict[str, Callable[[Case, str], float | None]]:
    """What a matrix can show of a subject."""
    from onnxperf.render.race import sweep_grid as grid

    baseline, dim = grid.usual_baseline(cases), grid.rows_dim(cases)
    return {
        "median": lambda case, name: _scaled(grid.time_of(grid.found(case, name)), 1e-9),
        "speedup": lambda case, name: grid.duel(case, baseline or name, name).speedup,
        "throughput": lambda case, name: grid.rate(case, grid.found(case, name), dim),
    }


def _place(index: int, case: Case) -> dict[str, Any]:
    from onnxperf.wording.names import dims_text

    return {"case": index, "model": case.model, "dims": dims_text(case.dims)}
