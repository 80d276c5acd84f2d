"""From a measurement to the exit code, for every command the same: check, measure, keep, show, write."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
import dataclasses
import shlex
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeVar

from cyclopts import Parameter

from onnxperf.cli import exit_codes
from onnxperf.cli.options import OUTPUT, File, OptionalFile, Several, Switch, pairs
from onnxperf.cli.printing import is_terminal, print_text, write_output
from onnxperf.errors import BadOption, FileNotWritten, OnnxperfError, masked
from onnxperf.render.kit import complaints
from onnxperf.wording.options import as_flags

if TYPE_CHECKING:
    from rich.console import Console

    from onnxperf.render.kit.page import Page
    from onnxperf.render.kit.progress import Progress
    from onnxperf.results.base import Result

R = TypeVar("R", bound="Result[Any]")

FilePath = Annotated[OptionalFile, Parameter(allow_leading_hyphen=True)]


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class OutputFlags:
    """Files to write, and how much is printed."""

    output: Annotated[
        list[File],
        Parameter(
            name=["--output", "-o"],
            negative=(),
            show_default=False,
            consume_multiple=False,
            metavar="FILE",
            allow_leading_hyphen=True,
        ),
    ] = field(default_factory=list)
    """Write a file; its extension chooses the format, such as .json, .csv, .md, .html, .xlsx, .parquet, .png or .svg
    (docs/files.md). -.csv writes CSV to standard output. May be repeated."""
    table: str | None = None
    """Which table .csv, .parquet and .md files hold, where there are several; without it, .md holds the page."""
    json: FilePath = None
    """Write the whole record as JSON; - is standard output."""
    quiet: Switch = False
    """Print only the answer."""
    debug: Switch = False
    """Show the traceback of an error."""

    @property
    def where(self) -> str | Literal[False] | None:
        """Which store keeps the run; False means none."""
        return False

    @property
    def requests_files(self) -> bool:
        """Whether anything is to be written."""
        return bool(self.output) or self.json is not None

    @property
    def to_stdout(self) -> bool:
        """Whether standard output belongs to another program."""
        return self.json == "-" or any(map(is_stdout, self.output))

    def check(self, kind: "type[Result[Any]]") -> None:
        """Refuse what could not be written, before anything is measured."""
        from onnxperf.render.kit.files import check_folder

        formats = kind.formats()
        files = list(self.files(kind))
        if sum(is_stdout(path) for path, _ in files) > 1:
            raise BadOption("only one file can go to standard output; name a file for the others")
        for path, suffix in files:
            chosen = formats[suffix]
            if chosen.requires is not None:
                chosen.requires()
            if not is_stdout(path):
                check_folder(path)
            elif chosen.binary and is_terminal():
                raise BadOption(f"-o {path}: {suffix} is not text; redirect standard output, or name a file")
        if self.table is not None and self.table not in kind.tables:
            raise BadOption.unknown("table", self.table, kind.tables, option="table")

    def files(self, kind: "type[Result[Any]]") -> Iterator[tuple[str, str]]:
        """Paths, and the suffixes that say what each file holds."""
        from onnxperf.render.kit.files import suffix_of

        formats = kind.formats()
        if "-" in self.output:
            raise BadOption(f"-o -: name the format of standard output, such as -o -{next(iter(formats))}")
        yield from ((path, suffix_of(path, formats)) for path in self.output)
        if self.json is not None:
            if ".json" not in formats:
                raise BadOption(f"--json {self.json}: this result can be written as {', '.join(formats)}")
            yield self.json, ".json"

    def without_model(self) -> tuple[str, Self]:
        """The .onnx file, which is written while measuring, and the same without it."""
        path, reports = self.with_optional_model()
        if path is None or reports.named(".onnx"):
            raise BadOption(option="output", expected="one name that ends with .onnx, for the model")
        return path, reports

    def with_optional_model(self) -> tuple[str | None, Self]:
        """The .onnx file, where one is named, and the same without it."""
        path = self.named(".onnx")
        if path is not None and is_stdout(path):
            raise BadOption(f"-o {path}: a model goes into a file, as its weights may need one of their own")
        return path, dataclasses.replace(self, output=[each for each in self.output if each != path])

    def named(self, suffix: str) -> str | None:
        """The file of this kind among those of --output."""
        return next((path for path in self.output if path.lower().endswith(suffix)), None)


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class StoreOutputFlags(OutputFlags):
    """Files to write, how much is printed, and which store."""

    store: OptionalFile = None
    """File or URL of the store of runs; ONNXPERF_STORE, or a file in the user's data directory, unless given."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class KeptOutputFlags(StoreOutputFlags):
    """Files to write, how much is printed, and where the run is kept."""

    mlflow: Switch = False
    """Also log the run to MLflow, where its variables lead: MLFLOW_TRACKING_URI, MLFLOW_EXPERIMENT_NAME
    (docs/mlflow.md)."""
    no_store: Switch = False
    """Do not keep the run."""
    tag: Annotated[Several, Parameter(metavar="NAME=VALUE", consume_multiple=False)] = field(default_factory=list)
    """Keep the run with this tag, such as commit=1a2b3c; commit and branch are taken from Git. May be repeated."""

    @property
    def where(self) -> str | Literal[False] | None:
        """Which store keeps the run; False means none."""
        return False if self.no_store else self.store

    @property
    def tags(self) -> dict[str, str]:
        """Names and values that the run is kept with."""
        return pairs("tag", self.tag, str)

    def check(self, kind: "type[Result[Any]]") -> None:
        """Refuse what could not be written, kept or logged, before anything is measured."""
        super().check(kind)
        if self.tag:
            from onnxperf.api._keeping.tags import checked_tags

            checked_tags(self.tags)
        if self.mlflow:
            from onnxperf.api._keeping.mlflow_log import require_mlflow

            require_mlflow()


def is_stdout(path: str) -> bool:
    """Whether a name stands for standard output: - or -.csv; a file of that name is ./-.csv."""
    return path == "-" or path.startswith("-.")


def present(
    kind: type[R],
    output: OutputFlags,
    measure: "Callable[[Progress], R]",
    page: "Callable[[R], Page] | None" = None,
) -> int:
    """Measure, keep the run, show the page or only the answer, write the files; returns the exit code."""
    from msgspec.structs import replace  # help texts do without it

    output.check(kind)
    tags = _tags(output)  # of the repository as it is before the measurement
    with make_progress(output.quiet) as progress:
        result = measure(progress)
    with exit_codes.finishing():
        if hasattr(result.record, "command"):
            result.record = replace(result.record, command=command_line())
        _keep(result, output, tags)  # first, so that a terminal that goes away costs nothing
        code = deliver(result, output, lambda: show(result, output, page), exit_code(result))
    _log(result, output)  # last, as a server may let us wait
    return code


def deliver(result: "Result[Any]", output: OutputFlags, print_result: Callable[[], None], code: int) -> int:
    """Print a result and write its files; what fails costs only itself. Returns the exit code."""
    printed = _printed(print_result)
    written = write_files(result, output) and not result.unwritten
    # Not `result.interrupted`: a kept run that was interrupted once is shown like any other.
    if exit_codes.received() or code == exit_codes.interrupted():
        return exit_codes.interrupted()
    return printed or (code if written else exit_codes.NO_ANSWER)


def _printed(print_result: Callable[[], None]) -> int:
    """Print; returns the exit code if that was not possible, else 0."""
    try:
        print_result()
        sys.stdout.flush()
    except BrokenPipeError:
        abandon_stdout()
        return exit_codes.BROKEN_PIPE
    except OSError as error:  # a full disk, or a terminal that is gone
        abandon_stdout()
        complain(f"cannot write to standard output: {error.strerror}")
        return exit_codes.NO_ANSWER
    return exit_codes.DONE


def abandon_stdout() -> None:
    """Let standard output lead nowhere: what is left in its buffer would fail again at the end."""
    from onnxperf.cli.surroundings import abandon

    abandon(sys.stdout)


def show(result: R, output: OutputFlags, page: "Callable[[R], Page] | None" = None) -> None:
    """Print the page, or only the answer; on stderr where standard output belongs to another program."""
    from onnxperf.render.kit.console import print_page

    if output.quiet:
        if result.answer:
            print_text(result.answer, stderr=output.to_stdout)
    else:
        console = make_console(stderr=output.to_stdout)
        print_page(page(result) if page is not None else result.page(), console, as_flags)


def _tags(output: OutputFlags) -> dict[str, str]:
    if output.where is False or not isinstance(output, KeptOutputFlags):
        return {}
    from onnxperf.api._keeping.tags import run_tags

    return run_tags(output.tags)


def _keep(result: "Result[Any]", output: OutputFlags, tags: dict[str, str]) -> None:
    """Keep the run, unless its cases were kept one by one."""
    if output.where is not False and not result.run:
        from onnxperf.api._keeping.kept_runs import keep

        result.run = keep(result, store=output.where, tags=tags) or ""


def _log(result: "Result[Any]", output: OutputFlags) -> None:
    """Log the run to MLflow, if that was requested; a failure is one line of warning."""
    if not isinstance(output, KeptOutputFlags) or not output.mlflow:
        return
    from onnxperf.api._keeping.mlflow_log import log_result

    try:
        run = log_result(result)
    except KeyboardInterrupt:
        complain("interrupted: this run was not logged to MLflow as a whole")
    except Exception as error:
        complain(f"this run was not logged: {error}")
    else:
        if not output.quiet:
            complain(f"logged to MLflow as run {run}")


def write_files(result: "Result[Any]", output: OutputFlags) -> bool:
    """Write every file that was requested; False if one could not be written."""
    from onnxperf.render.kit.files import write

    written, formats = True, result.formats()
    for path, suffix in output.files(type(result)):
        try:
            content = result.encode(suffix, result.table_in(path, suffix) or output.table)
            if is_stdout(path):
                _write_stdout(content, formats[suffix].binary)
            else:
                write(Path(path), content)
        except OnnxperfError as error:
            complain(error)
            written = False
        except Exception as error:  # of a library that draws or encodes
            if output.debug:
                raise
            complain(f"cannot write {path}: unexpected {type(error).__name__}: {error} (--debug shows where)")
            written = False
    return written


def _write_stdout(content: bytes, binary: bool) -> None:
    try:
        write_output(content, binary)
    except OSError as error:
        abandon_stdout()
        raise FileNotWritten(f"cannot write to standard output: {error.strerror}") from error


def exit_code(result: "Result[Any]") -> int:
    """The exit code that says how a measurement ended."""
    if result.interrupted:
        return exit_codes.interrupted()
    if not result.ok:
        return exit_codes.PARTIAL
    return exit_codes.DONE if result.has_answer else exit_codes.NO_ANSWER


def complain(message: object) -> None:
    """One line on stderr, in which options are spelled as they are typed."""
    complaints.complain(as_flags(str(message)))


def command_line() -> str:
    """What the user typed, for the record; the password of a database is left out."""
    return shlex.join(["onnxperf", *map(masked, sys.argv[1:])])


def make_console(stderr: bool = False) -> "Console":
    """Where pages are printed: on stderr when stdout belongs to another program."""
    from onnxperf.render.kit.console import PageConsole

    return PageConsole(stderr=stderr, highlight=False)


def make_progress(quiet: bool) -> "Progress":
    """A bar on stderr, unless it should be quiet or stderr is not a terminal."""
    from onnxperf.render.kit.progress import Progress

    return Progress(enabled=not quiet)
