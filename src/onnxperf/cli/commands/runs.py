"""`onnxperf runs`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter

from onnxperf.cli import exit_codes
from onnxperf.cli.options import File, OptionalFile, Several, Switch, pairs
from onnxperf.cli.present import StoreOutputFlags, complain, deliver, present
from onnxperf.cli.present import show as show_result
from onnxperf.cli.printing import print_text
from onnxperf.errors import BadOption
from onnxperf.wording.names import name_of

BUNDLE = ".onnxperf.zip"
runs = App(name="runs", version_flags=())


@runs.default
def list_runs(
    *,
    limit: int = 20,
    kind: str | None = None,
    tag: Annotated[Several | None, Parameter(metavar="NAME=VALUE", consume_multiple=False)] = None,
    output: StoreOutputFlags = StoreOutputFlags(),
) -> int:
    """List, show, export, compare and delete the runs that were kept.

    An ID is the short name in the list, the start of one, or last for the newest run.

    For example:

        onnxperf runs

        onnxperf runs show last

        onnxperf runs compare lonuki bafido

        onnxperf runs --tag commit=1a2b3c

    Parameters
    ----------
    limit
        Number of runs to list; 0 means all.
    kind
        Only runs of this kind: bench, sweep, profile, check, einsum, memory…
    tag
        Only runs with this tag, such as branch=main; the start of a commit is enough. May be repeated.
    """
    from onnxperf.api.runs import results_that_wait
    from onnxperf.api.runs import runs as kept
    from onnxperf.results.runs import RunsResult

    chosen: dict[str, Any] = {"kind": kind, "tags": pairs("tag", tag or [], str), "store": output.store}
    try:
        return present(RunsResult, output, lambda _progress: kept(limit or None, **chosen))
    finally:  # a store that cannot be read is why they wait
        for line in results_that_wait():
            complain(line)


@runs.command
def show(run: str, /, *, output: StoreOutputFlags = StoreOutputFlags()) -> int:
    """Print a run again.

    For example:

        onnxperf runs show last

    Parameters
    ----------
    run
        Its id, the start of it, or last.
    """
    return _shown(run, output)


@runs.command
def export(
    *ids: str,
    all_: Annotated[Switch, Parameter(name="--all")] = False,
    format_: Annotated[Literal["bundle"] | None, Parameter(name="--format", show_default=False)] = None,
    output: StoreOutputFlags = StoreOutputFlags(),
) -> int:
    """Write a run to files, or several to a bundle that another store can import.

    For example:

        onnxperf runs export last -o run.json -o run.xlsx -o run.png

        onnxperf runs export last -o -.md

        onnxperf runs export --all --format bundle -o runs.onnxperf.zip

    Parameters
    ----------
    ids
        Its id, the start of it, or last; several for a bundle.
    all_
        Every run of the store, for a bundle.
    format_
        bundle: one file with everything that was measured.
    """
    if format_ == "bundle" or output.named(BUNDLE) is not None:
        return _export_bundle(ids, all_, output)
    if not output.requests_files:
        raise BadOption("no file is named; use -o FILE, such as -o run.json, or --json - for standard output")
    if all_ or len(ids) != 1:
        raise BadOption("name one run; several go into a bundle: --format bundle -o runs.onnxperf.zip")
    return _shown(ids[0], output, printed=False)


def _export_bundle(ids: Sequence[str], every: bool, output: StoreOutputFlags) -> int:
    from onnxperf.api._keeping.bundles import export_bundle
    from onnxperf.wording.numbers import count

    if bool(ids) == every:
        raise BadOption("name the runs for the bundle, or use --all for every run")
    path = output.output[0] if len(output.output) == 1 else ""
    if not path.lower().endswith(".zip"):
        raise BadOption("a bundle is one file that ends with .zip, such as -o runs.onnxperf.zip")
    exported = export_bundle(ids, path, store=output.store)
    for name, reason in exported.damaged.items():
        complain(f"run {name} is damaged and was left out: {reason}")
    if not output.quiet:
        print_text(f"{count(exported.written, 'run')} written to {path}")
    return exit_codes.PARTIAL if exported.damaged else exit_codes.DONE


@runs.command(name="import")
def import_(file: File, /, *, store: OptionalFile = None, quiet: Switch = False, debug: Switch = False) -> int:
    """Take the runs of a bundle into a store.

    Runs that the store has already are left as they are, so that a file can be imported twice. A file of which a part
    is damaged is refused as a whole.

    For example:

        onnxperf runs import runs.onnxperf.zip

        onnxperf runs import runs.onnxperf.zip --store postgresql://user@host/database

    Parameters
    ----------
    file
        The bundle.
    store
        File or URL of the store of runs; ONNXPERF_STORE, or a file in the user's data directory, unless given.
    quiet
        Print nothing.
    debug
        Show the traceback of an error.
    """
    del debug  # `main` reads it
    from onnxperf.api._keeping.bundles import import_bundle
    from onnxperf.wording.numbers import count

    imported = import_bundle(str(file), store=store)
    if quiet:
        return exit_codes.DONE
    for wanted, name in imported.renamed.items():
        reason = ": its name was taken" if wanted else ""
        print_text(f"{wanted or 'a run without a name'} is called {name} here{reason}")
    there = f"; {imported.there} of them {'was' if imported.there == 1 else 'were'} there already"
    total = len(imported.names) + imported.there
    print_text(f"imported {len(imported.names)} of {count(total, 'run')}{there if imported.there else ''}")
    return exit_codes.DONE


def _shown(run: str, output: StoreOutputFlags, printed: bool = True) -> int:
    """Load a run, print it, and write its files."""
    from onnxperf.api._keeping.kept_runs import load_result

    result = load_result(run, store=output.store)
    output.check(type(result))

    def print_result() -> None:
        if printed and not output.quiet:
            tags = "".join(f" · {name_of(f'{name}={value}')}" for name, value in result.tags.items())
            print_text(f"run {result.run}{tags}", stderr=output.to_stdout)
        if printed:
            show_result(result, output)

    return deliver(result, output, print_result, exit_codes.DONE)


@runs.command
def compare(first: str, second: str, /, *, output: StoreOutputFlags = StoreOutputFlags()) -> int:
    """Compare two runs through a subject that both of them have.

    They were not measured in turn, so there is a verdict only where a subject is the same in both runs and can
    serve as a yardstick.

    For example:

        onnxperf runs compare lonuki last

        onnxperf runs compare lonuki last -o comparison.md

    Parameters
    ----------
    first
        The run that the other is compared with.
    second
        The run that the verdicts are about.
    """
    from onnxperf.api._keeping.kept_runs import compare as compared
    from onnxperf.results.runs import ComparisonResult

    return present(ComparisonResult, output, lambda _progress: compared(first, second, store=output.store))


@runs.command
def delete(*ids: str, store: str | None = None, quiet: Switch = False, debug: Switch = False) -> int:
    """Delete runs with everything that they measured.

    For example:

        onnxperf runs delete lonuki bafido

    Parameters
    ----------
    ids
        Their ids, or the starts of them.
    store
        File or URL of the store of runs; ONNXPERF_STORE, or a file in the user's data directory, unless given.
    quiet
        Print nothing.
    debug
        Show the traceback of an error.
    """
    del debug  # `main` reads it
    from onnxperf.api._keeping.kept_runs import delete_run

    if not ids:
        raise BadOption("no run is named; `onnxperf runs` lists them")
    for run in ids:
        name = delete_run(run, store=store)
        if not quiet:
            print_text(f"deleted {name}")
    return exit_codes.DONE
