"""What each line of a function costs in memory: a view on its record."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadOption
from onnxperf.records.lines import LineMemory, MemoryLines
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from pandas import DataFrame


class LinesResult:
    """What `onnxperf.memory_lines` returns; `record` holds everything."""

    def __init__(self, record: MemoryLines) -> None:
        self.record = record

    @property
    def answer(self) -> str:
        """The result in one plain sentence."""
        return self.record.answer

    def to_df(self) -> DataFrame:
        """One row per line of the function; sizes in bytes, missing where a line did not run."""
        from pandas import DataFrame

        fields = LineMemory.__struct_fields__
        rows = [[getattr(line, field) for field in fields] for line in self.record.lines]
        sizes = {name: "Int64" for name in fields if name.endswith("_bytes")}
        return DataFrame(rows, columns=list(fields)).astype(sizes)

    def plot(self, ax: Sequence[Axes] | None = None) -> Any:
        """Resident memory after each line, and beside it what the line needed and what stays of that."""
        from onnxperf.render.memory.lines_chart import lines_plot

        return lines_plot(self.record, ax)

    def save(self, path: str | Path) -> None:
        """Write .json, .csv, or a .png or .svg chart."""
        from onnxperf.render.kit import chart as figures
        from onnxperf.render.kit import frames as tables
        from onnxperf.render.kit.export import write

        path = Path(path)
        match path.suffix.lower():
            case ".json":
                write(path, self.to_json().encode())
            case ".csv":
                tables.write_table(self.to_df(), path)
            case ".png" | ".svg":
                figures.save_figure(figures.figure_of(self.plot()), path)
            case suffix:
                raise BadOption.unknown("kind of file", suffix or path.name, (".json", ".csv", ".png", ".svg"))

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.kit.export import to_json

        return to_json(self.record).decode()

    def __repr__(self) -> str:
        """The table as the command line prints it, without colours."""
        from onnxperf.render.memory.lines import print_lines

        return as_printed(print_lines, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.memory.lines import lines_html

        return lines_html(self.record)
