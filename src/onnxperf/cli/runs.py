"""`onnxperf runs`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from cyclopts import App, Parameter

from onnxperf.cli.options import OUTPUT, CommonFlags
from onnxperf.cli.output import OutputFlags, make_console, write_text
from onnxperf.errors import BadOption


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class StoreFlags(CommonFlags):
    """Which store."""

    store: str | None = None
    """File or URL of the store; ONNXPERF_STORE, or a file in the user's data directory, unless given."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class ExportFlags(StoreFlags):
    """Files to write."""

    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the whole record as JSON; - is standard output."""
    csv: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write a row per subject as CSV; - is standard output."""
    markdown: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the table as Markdown; - is standard output."""

    def files(self) -> OutputFlags:
        """The same files, as the commands that measure have them."""
        return OutputFlags(json=self.json, csv=self.csv, markdown=self.markdown)


_PRINTERS = {
    "Bench": "race.console:print_bench",
    "Check": "race.check:print_check",
    "EinsumPlan": "race.einsum:print_plan",
    "Rewrite": "race.einsum:print_rewrite",
    "Stack": "stack.stack:print_stack",
}

runs = App(name="runs", version_flags=())


@runs.default
def list_runs(*, limit: int = 20, kind: str | None = None, output: StoreFlags = StoreFlags()) -> int:
    """List, show, export, compare and delete the runs that were kept.

    An ID is the short name in the list, the start of one, or last, the newest.

    For example:

        onnxperf runs

        onnxperf runs show last

        onnxperf runs compare lonuki bafido

    Parameters
    ----------
    limit
        Runs to list; 0 means all.
    kind
        Only runs of this kind: bench, sweep, profile, check, einsum, memory…
    """
    from onnxperf.api.runs import runs as kept
    from onnxperf.render.race.runs import print_runs

    found = kept(limit or None, kind=kind, store=output.store)
    if output.quiet:
        for run in found:
            print(run.id)
    else:
        print_runs(found, make_console())
    return 0


@runs.command
def show(run: str, /, *, output: StoreFlags = StoreFlags()) -> int:
    """Print a run again.

    For example:

        onnxperf runs show last

    Parameters
    ----------
    run
        Its id, the start of it, or last.
    """
    from onnxperf.api.runs import answers, load_record
    from onnxperf.wording.names import visible

    name, record = load_record(run, store=output.store)
    console = make_console()
    if output.quiet:
        for answer in answers(record):
            console.print(visible(answer, console.encoding), markup=False, soft_wrap=True)
    else:
        console.print(f"run {name}", markup=False, style="dim")
        _printer(record)(record, console)
    return 0


@runs.command
def export(run: str, /, *, output: ExportFlags = ExportFlags()) -> int:
    """Write a run to files.

    For example:

        onnxperf runs export last --json run.json --markdown -

    Parameters
    ----------
    run
        Its id, the start of it, or last.
    """
    from onnxperf.api.runs import load_record
    from onnxperf.records import Bench
    from onnxperf.render.kit.old_export import to_json
    from onnxperf.results.bench import BenchResult

    files = output.files()
    if not (files.json or files.csv or files.markdown):
        raise BadOption("say where to: --json FILE, --csv FILE or --markdown FILE (- is standard output)")
    files.check()
    name, record = load_record(run, store=output.store)
    if isinstance(record, Bench):
        files.write(BenchResult(record))
    elif files.csv or files.markdown:
        raise BadOption(f"run {name} is a {type(record).__name__}, which can be exported with --json only")
    else:
        write_text(str(files.json), to_json(record))
    return 0


@runs.command
def compare(
    first: str,
    second: str,
    /,
    *,
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    output: StoreFlags = StoreFlags(),
) -> int:
    """Compare two runs through a subject that both of them have.

    They were not measured in turn, so there is a verdict only where a subject is the same in both runs and can
    serve as a yardstick.

    For example:

        onnxperf runs compare lonuki last

    Parameters
    ----------
    first
        The run that the other is compared with.
    second
        The run that the verdicts are about.
    json
        Write the comparison as JSON; - is standard output, and then nothing else is printed there.
    """
    from onnxperf.api.runs import compare as compared
    from onnxperf.render.kit.old_export import to_json
    from onnxperf.render.race.runs import print_comparison
    from onnxperf.wording.names import visible

    comparison = compared(first, second, store=output.store)
    console = make_console(stderr=json == "-")
    if output.quiet:
        console.print(visible(comparison.answer, console.encoding), markup=False, soft_wrap=True)
    else:
        print_comparison(comparison, console)
    if json is not None:
        write_text(json, to_json(comparison))
    return 0


@runs.command
def delete(*ids: str, output: StoreFlags = StoreFlags()) -> int:
    """Delete runs with everything that they measured.

    For example:

        onnxperf runs delete lonuki bafido

    Parameters
    ----------
    ids
        Their ids, or the starts of them.
    """
    from onnxperf.api.runs import delete_run

    if not ids:
        raise BadOption("say which run to delete; onnxperf runs lists them")
    for run in ids:
        name = delete_run(run, store=output.store)
        if not output.quiet:
            print(f"deleted {name}")
    return 0


def _printer(record: object) -> Callable[[Any, Any], None]:
    from onnxperf.render.kit.console import print_page
    from onnxperf.results.base import result_classes

    made = result_classes().get(type(record))
    if made is not None:
        return lambda record, console: print_page(made(record).page(), console)
    module, _, function = _PRINTERS[type(record).__name__].partition(":")
    printer: Callable[[Any, Any], None] = getattr(importlib.import_module(f"onnxperf.render.{module}"), function)
    return printer
