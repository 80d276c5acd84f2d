"""What a bench found: a view on its record that makes tables, charts and files."""

from __future__ import annotations

import io
from pathlib import Path
from statistics import median_low
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadOption
from onnxperf.records import SUBJECT_COLUMNS, Bench, Block, Case, Subject

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame

OWN_COLUMNS = tuple(column for column in SUBJECT_COLUMNS if column not in ("name", "input_bytes"))
_TEXT_COLUMNS = frozenset({"runtime", "call", "status", "reason", "verdict"})
_REPR_WIDTH = 100
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
        return all(subject.status in ("ok", "skipped") for subject in self.subjects)

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

        rows = []
        for index, case in enumerate(self.cases):
            for subject in case.subjects:
                place = _place(index, case) if len(self.cases) > 1 else {}
                own = {column: _value(subject, column) for column in OWN_COLUMNS}
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

    def plot(self, ax: Axes | None = None, case: int | None = None) -> Axes:
        """A bar chart of the averages; `case` chooses one where there are several."""
        from onnxperf.render.plots import bench_plot

        return bench_plot(self._chosen(case), ax)

    def save(self, path: str | Path, case: int | None = None) -> None:
        """Write a .json, .csv or .md file of everything, or a .png or .svg chart of one case."""
        from onnxperf.render.export import EXPORTERS, write
        from onnxperf.render.figures import PLOT_SUFFIXES
        from onnxperf.render.plots import save_plot

        path = Path(path)
        suffix = path.suffix.lower()
        if suffix in PLOT_SUFFIXES:
            save_plot(self._chosen(case), path)
        elif suffix in EXPORTERS:
            write(path, EXPORTERS[suffix](self.record))
        else:
            raise BadOption.unknown("kind of file", suffix or path.name, [*EXPORTERS, *PLOT_SUFFIXES])

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.export import to_json

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
        from rich.console import Console

        from onnxperf.render.console import print_bench

        text = io.StringIO()
        print_bench(self.record, Console(file=text, width=_REPR_WIDTH, color_system=None, force_terminal=False))
        return "\n".join(line.rstrip() for line in text.getvalue().splitlines())

    def _repr_html_(self) -> str:
        from onnxperf.render.html import bench_html

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
    value = getattr(subject, column)
    return _NAN if value is None and column not in _TEXT_COLUMNS else value


def _place(index: int, case: Case) -> dict[str, Any]:
    from onnxperf.render.text import dims_text

    return {"case": index, "model": case.model, "dims": dims_text(case.dims)}
