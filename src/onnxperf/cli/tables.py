"""Files that profiles and diffs can be written to."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Protocol

from cyclopts import Parameter

from onnxperf.cli.options import OUTPUT, KeepFlags
from onnxperf.cli.output import write_text
from onnxperf.errors import BadOption


class Savable(Protocol):
    """A result that can be written to files."""

    def to_json(self) -> str:
        """The whole record."""

    def save(self, path: str | Path, table: str) -> None:
        """Write a file of the kind that its name ends with."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class TableFlags(KeepFlags):
    """Files to write."""

    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the record as JSON; - is standard output, and then nothing else is printed there."""
    csv: str | None = None
    """Write a table (--table) as CSV."""
    xlsx: str | None = None
    """Write all tables into an Excel workbook."""
    parquet: str | None = None
    """Write a table (--table) as Parquet."""
    plot: str | None = None
    """Write the chart: out.png or out.svg."""

    def check(self, *others: str | None) -> None:
        """Refuse what could not be written, before anything is measured."""
        from onnxperf.render.kit.frames import check_table_path

        suffixes = {"csv": (".csv",), "xlsx": (".xlsx",), "parquet": (".parquet",), "plot": (".png", ".svg")}
        for option, known in suffixes.items():
            path = getattr(self, option)
            if path is not None and Path(path).suffix.lower() not in known:
                raise BadOption(f"--{option} {path}: expected a name that ends with {' or '.join(known)}")
            if path is not None and option != "plot":
                check_table_path(Path(path))
        for path in (self.json, self.csv, self.xlsx, self.parquet, self.plot, *others):
            if path not in (None, "-") and not Path(str(path)).absolute().parent.is_dir():
                raise BadOption(f"cannot write {path}: its folder does not exist")

    def write(self, result: Savable, table: str) -> None:
        """Write every file that was asked for."""
        for path in (self.csv, self.xlsx, self.parquet, self.plot):
            if path is not None:
                result.save(path, table)
        if self.json is not None:
            write_text(self.json, result.to_json())
