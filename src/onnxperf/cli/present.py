"""From a measurement to the exit code, the same for every command: check, measure, save, show, write."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from onnxperf.caller import caller
from onnxperf.cli import exit_codes
from onnxperf.cli.printing import is_terminal, print_text, write_output
from onnxperf.errors import BadOption, FileNotWritten, MissingExtra, OnnxperfError
from onnxperf.options.spelling import as_flags, plain_flags
from onnxperf.render.kit import complaints
from onnxperf.wording.names import name_of

if TYPE_CHECKING:
    from rich.console import Console

    from onnxperf.render.charts.base import Width
    from onnxperf.render.kit.page import Page
    from onnxperf.render.kit.progress import Progress
    from onnxperf.results.base import Result

R = TypeVar("R", bound="Result[Any]")
Showing = Any
"""How a kind of result is shown: its `Show`, or a class of results."""
_PAGE = ".html"
_WIDE = 500
"""Columns of a console that shows whole tables."""


@dataclass(frozen=True)
class Output:
    """Files to write, how much is printed, and whether the run is logged."""

    output: Sequence[str] = ()
    """Files, whose extensions set the format; -.csv is standard output."""
    table: str | None = None
    chart: str | None = None
    width: Width = "page"
    json: str | None = None
    open: bool = False
    """Whether the page is shown in the browser."""
    quiet: bool = False
    wide: bool = False
    """Whether tables show all columns."""
    debug: bool = False
    mlflow: bool = False

    @property
    def requests_files(self) -> bool:
        """Whether files were requested."""
        return bool(self.output) or self.json is not None

    @property
    def to_stdout(self) -> bool:
        """Whether standard output is for another program."""
        return self.json == "-" or any(map(is_stdout, self.output))

    def check(self, kind: Showing) -> None:
        """Refuse files that cannot be written, and missing libraries, before anything is measured."""
        from onnxperf.render.kit.files import check_folder

        formats = kind.formats()
        files = list(self.files(kind))
        if sum(is_stdout(path) for path, _ in files) > 1:
            raise BadOption("only one file can go to standard output; write the others to files")
        for path, suffix in files:
            chosen = formats[suffix]
            if chosen.requires is not None:
                chosen.requires()
            if not is_stdout(path):
                check_folder(path)
            elif chosen.binary and is_terminal():
                raise BadOption(f"-o {path}: {suffix} is binary; redirect standard output, or write to a file")
        if self.table is not None and self.table not in kind.tables:
            raise BadOption.unknown("table", self.table, kind.tables, option="table")
        if self.chart is not None and self.chart not in kind.charts:
            raise BadOption.unknown("chart", self.chart, kind.charts, option="chart")
        if self.mlflow and find_spec("mlflow") is None:
            raise MissingExtra("mlflow-skinny", "mlflow")

    def files(self, kind: Showing) -> Iterator[tuple[str, str]]:
        """Paths, each with the suffix that sets its format."""
        from onnxperf.render.kit.files import suffix_of

        formats = kind.formats()
        if "-" in self.output:
            raise BadOption(f"-o -: add the format, such as -o -{next(iter(formats))}")
        yield from ((path, suffix_of(path, formats)) for path in self.output)
        if self.json is not None:
            if ".json" not in formats:
                raise BadOption(f"--json {self.json}: this result has no JSON form; choose from: {', '.join(formats)}")
            yield self.json, ".json"

    def without_model(self) -> tuple[str, Self]:
        """The .onnx file, which is written while measuring, and the output without it."""
        path, reports = self.with_optional_model()
        if path is None or reports.named(".onnx"):
            raise BadOption(option="output", expected="exactly one .onnx file, for the model")
        return path, reports

    def with_optional_model(self) -> tuple[str | None, Self]:
        """The .onnx file, if any, and the output without it."""
        path = self.named(".onnx")
        if path is not None and is_stdout(path):
            raise BadOption(f"-o {path}: write the model to a file; its weights may need a second file")
        return path, dataclasses.replace(self, output=[each for each in self.output if each != path])

    def named(self, suffix: str) -> str | None:
        """The --output file with this suffix."""
        return next((path for path in self.output if path.lower().endswith(suffix)), None)


def is_stdout(path: str) -> bool:
    """Whether a name means standard output: - or -.csv (use ./-.csv for a file of that name)."""
    return path == "-" or path.startswith("-.")


def present(
    kind: Showing,
    output: Output,
    measure: Callable[[Progress], R],
    page: Callable[[R], Page] | None = None,
) -> int:
    """Measure and save the run, show the page or only the answer, and write files; returns the exit code."""
    with opened_at_the_end(output, kind) as written:
        written.check(kind)
        with make_progress(output.quiet) as progress:
            result = measure(progress)
        with exit_codes.finishing():
            code = deliver(result, written, lambda: show(result, written, page), exit_code(result))
    _log(result, output)  # last, because a server may be slow
    return code


@contextmanager
def opened_at_the_end(output: Output, kind: Showing) -> Iterator[Output]:
    """If requested, also write the page to a file that is kept, and open it in the browser."""
    if not output.open:
        yield output
        return
    if _PAGE not in kind.formats():
        raise BadOption("this result has no page; leave it out", option="open")
    from onnxperf.cli.browser import open_page
    from onnxperf.cli.scratch import lasting_file

    page = lasting_file(_PAGE)
    try:
        yield dataclasses.replace(output, output=[*output.output, str(page)])
    finally:
        is_written = page.stat().st_size > 0
        if not is_written:
            page.unlink()
    if is_written:
        print_text(str(page), stderr=output.to_stdout)
        open_page(page)


def deliver(result: Result[Any], output: Output, print_result: Callable[[], None], code: int) -> int:
    """Print a result and write its files; a failure of one does not affect the others. Returns the exit code."""
    printed = _printed(print_result)
    written = write_files(result, output) and not result.unwritten
    # Not `result.interrupted`: a saved run that was interrupted is shown like any other.
    if exit_codes.received() or code == exit_codes.interrupted():
        return exit_codes.interrupted()
    return printed or (code if written else exit_codes.NO_ANSWER)


def _printed(print_result: Callable[[], None]) -> int:
    """Print; returns 0, or the exit code of a failure."""
    try:
        print_result()
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        return exit_codes.BROKEN_PIPE
    except OSError as error:  # a full disk, or a closed terminal
        abandon_stdout()
        print_notice(f"cannot write to standard output: {error.strerror}")
        return exit_codes.NO_ANSWER
    return exit_codes.DONE


def abandon_stdout() -> None:
    """Redirect standard output to nowhere: flushing its buffer at exit would fail again."""
    from onnxperf.cli.surroundings import abandon

    abandon(sys.stdout)


def show(result: R, output: Output, page: Callable[[R], Page] | None = None, run: str = "last") -> None:
    """Print the page, or only the answer; on stderr if standard output is for another program.

    `run` is what `onnxperf runs show` takes to show it again.
    """
    from onnxperf.render.kit.console import print_page
    from onnxperf.render.kit.page import with_foot

    if output.quiet:
        if result.answer:
            print_text(result.answer, stderr=output.to_stdout)
    else:
        console = make_console(stderr=output.to_stdout, wide=output.wide)
        shown = page(result) if page is not None else result.page()
        print_page(with_foot(shown, _about_run(result, output, run)), console, as_flags)


def _about_run(result: Result[Any], output: Output, run: str) -> list[str]:
    """Under which name and tags the run was saved, and how to see all of it."""
    if not result.run:
        return []
    tags = [name_of(f"{name}={value}") for name, value in result.tags.items()]
    more = [] if output.wide else [f"all figures: onnxperf runs show {run} --wide"]
    return [f"saved as run {result.run}", *tags, *more]


def _log(result: Result[Any], output: Output) -> None:
    """Log the run to MLflow if requested; a failure only prints a warning."""
    if not output.mlflow:
        return
    from onnxperf.api.log_to_mlflow import log_to_mlflow

    try:
        run = log_to_mlflow(result)
    except KeyboardInterrupt:
        print_notice("interrupted: this run was not completely logged to MLflow")
    except Exception as error:
        print_notice(f"this run was not logged: {error}")
    else:
        if not output.quiet:
            print_notice(f"logged to MLflow as run {run}")


def write_files(result: Result[Any], output: Output) -> bool:
    """Write all requested files; False if one could not be written."""
    from onnxperf.results.formats import Wanted

    chosen = Wanted(output.table, output.chart, output.width)
    written, formats = True, result.formats()
    for path, suffix in output.files(result):
        try:
            wanted = result.named_in(path, suffix, chosen)
            if not is_stdout(path):
                result.write(Path(path), suffix, wanted)
            elif result.needs_a_folder(suffix):
                raise FileNotWritten(f"-o {path}: this format needs several files; write to a file")
            else:
                _write_stdout(result.encode(suffix, wanted), formats[suffix].binary)
        except OnnxperfError as error:
            print_notice(error)
            written = False
        except Exception as error:  # from a library that draws or encodes
            if output.debug:
                raise
            print_notice(f"cannot write {path}: unexpected {type(error).__name__}: {error} (--debug shows where)")
            written = False
    return written


def _write_stdout(content: bytes, binary: bool) -> None:
    try:
        write_output(content, binary)
    except OSError as error:
        abandon_stdout()
        raise FileNotWritten(f"cannot write to standard output: {error.strerror}") from error


def exit_code(result: Result[Any]) -> int:
    """The exit code of a finished measurement."""
    if result.interrupted:
        return exit_codes.interrupted()
    if not result.ok:
        return exit_codes.PARTIAL
    return exit_codes.DONE if result.has_answer else exit_codes.NO_ANSWER


def print_notice(message: object) -> None:
    """Print one line on stderr, with options spelled as flags."""
    complaints.complain(plain_flags(str(message)))


def make_console(stderr: bool = False, wide: bool = False) -> Console:
    """A console for pages: on stderr if stdout is for another program; a `wide` one does not break lines."""
    from onnxperf.render.kit.console import PageConsole

    return PageConsole(stderr=stderr, width=_WIDE if wide else None, soft_wrap=wide)


def make_progress(quiet: bool) -> Progress:
    """The command and how far it is on stderr, except if quiet."""
    from onnxperf.render.kit.progress import Progress

    return Progress(enabled=not quiet, title=caller().command)
