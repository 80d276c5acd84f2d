"""Where the results of a command go: the terminal, files, or standard output for other programs."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from onnxperf.cli.options import OUTPUT, CommonFlags, KeepFlags
from onnxperf.errors import BadOption

PARTIAL = 1
BAD_INPUT = 2
INTERRUPTED = 130

if TYPE_CHECKING:
    from rich.console import Console

    from onnxperf.records import Case
    from onnxperf.render.kit.progress import Progress
    from onnxperf.results.bench import BenchResult


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class JsonOutput(CommonFlags):
    """Where the report goes."""

    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the report as JSON; - is standard output, and then nothing else is printed there."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class OutputFlags(KeepFlags):
    """Files to write; `-` is standard output, and then nothing else is printed there."""

    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write everything that was measured as JSON; - is standard output."""
    csv: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write a row per subject as CSV; - is standard output."""
    markdown: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the table as Markdown; - is standard output."""
    parquet: str | None = None
    """Write a row per subject and case as Parquet."""
    plot: str | None = None
    """Write the chart: out.png or out.svg; of several cases, the times over the sizes, or where the winner changes."""

    def check(self) -> None:
        """Refuse what could not be written, before anything is measured."""
        from onnxperf.render.kit.chart import check_plot_path
        from onnxperf.render.kit.frames import check_table_path

        if [self.json, self.csv, self.markdown].count("-") > 1:
            raise BadOption("only one of --json, --csv and --markdown can write to standard output")
        if self.plot is not None:
            check_plot_path(Path(self.plot))
        if self.parquet is not None:
            check_table_path(Path(self.parquet))
        for path in (self.json, self.csv, self.markdown, self.parquet, self.plot):
            if path not in (None, "-") and not Path(str(path)).absolute().parent.is_dir():
                raise BadOption(f"cannot write {path}: its folder does not exist")

    def write(self, result: BenchResult) -> None:
        """Write every file that was asked for."""
        from onnxperf.render.kit import old_export as export

        exporters: tuple[tuple[str | None, Callable[..., str | bytes]], ...] = (
            (self.json, export.to_json),
            (self.csv, export.to_csv),
            (self.markdown, export.to_markdown),
        )
        for path, exporter in exporters:
            if path is not None:
                write_text(path, exporter(result.record))
        for picture_or_table in (self.parquet, self.plot):
            if picture_or_table is not None:
                result.save(picture_or_table)

    @property
    def to_stdout(self) -> bool:
        """Whether standard output belongs to another program."""
        return "-" in (self.json, self.csv, self.markdown)


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class JsonKeep(KeepFlags):
    """Where the record goes."""

    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the record as JSON; - is standard output, and then nothing else is printed there."""


def command_line() -> str:
    """What the user typed, for the record."""
    return shlex.join(["onnxperf", *sys.argv[1:]])


def make_console(stderr: bool = False) -> Console:
    """Where tables are printed: on stderr when stdout belongs to another program."""
    from rich.console import Console

    return Console(stderr=stderr, highlight=False)


def make_progress(quiet: bool) -> Progress:
    """A bar on stderr, unless it should be quiet or stderr is no terminal."""
    from onnxperf.render.kit.progress import Progress

    return Progress(enabled=not quiet)


def shown_in(progress: Progress) -> Callable[[Sequence[Case]], None]:
    """Show the cases of a sweep as they finish, in a table above the bar."""

    def show(cases: Sequence[Case]) -> None:
        from onnxperf.render.race.sweep import live_table

        progress.show(partial(live_table, list(cases)))

    return show


def exit_code(result: BenchResult) -> int:
    """0 when all subjects were measured, 1 for a part of them, 130 after Ctrl-C."""
    if result.interrupted:
        return INTERRUPTED
    return 0 if result.ok else PARTIAL


def write_text(path: str, data: str | bytes) -> None:
    """Write to a file, or to standard output when its name is -."""
    from onnxperf.render.kit.old_export import write

    content = data.encode() if isinstance(data, str) else data
    if path == "-":
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()
    else:
        write(Path(path), content)
