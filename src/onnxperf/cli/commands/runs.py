"""`onnxperf runs`."""

from __future__ import annotations

from cyclopts import App

from onnxperf.cli import exit_codes
from onnxperf.cli.command import PRINTED, WRITTEN, File, Typed, command
from onnxperf.cli.present import deliver, opened_at_the_end, present, print_notice
from onnxperf.cli.present import show as show_result
from onnxperf.cli.printing import print_text
from onnxperf.errors import BadOption
from onnxperf.options.base import Takes, refuse_useless
from onnxperf.options.functions import RUNS, STORED
from onnxperf.options.output import Everything
from onnxperf.wording.numbers import count

_BUNDLE = ".zip"
_MOST = 20
_LISTED = Takes(*RUNS.groups, store=True, top=_MOST)
runs = App(name="runs", version_flags=())


@runs.default
@command(_LISTED, Everything, *WRITTEN, common=("top", "kind", "about", "tags", "all"))
def list_runs(*, typed: Typed) -> int:
    """List, show, compare, export and delete saved runs.

    Name a run by its id in the list, by the start of the id, or by last for the newest run.

    Examples
    --------
    # List the newest runs
    onnxperf runs
    # Show the newest run again
    onnxperf runs show last
    # Compare two runs
    onnxperf runs compare lonuki bafido
    # List the runs of a commit
    onnxperf runs --tag commit=1a2b3c
    """
    import onnxperf
    from onnxperf.results.runs import LISTED

    everything: bool = typed.own["all"]
    if everything:
        refuse_useless({"top": typed.keywords.get("top")}, (), "`all`")
    keywords = {"top": None if everything else _MOST, **typed.keywords}
    try:
        return present(LISTED, typed.output, lambda _progress: onnxperf.runs(**keywords))
    finally:  # runs wait if the store cannot be read
        for line in onnxperf.waiting_runs():
            print_notice(line)


@runs.command
@command(STORED, *WRITTEN, common=("output", "json", "open", "store"))
def show(run: str, /, *, typed: Typed) -> int:
    """Print a run again.

    Examples
    --------
    # Print the newest run
    onnxperf runs show last

    Parameters
    ----------
    run
        The id of the run, the start of it, or last.
    """
    return _shown(run, typed)


@runs.command
@command(STORED, *WRITTEN, common=("output", "json", "table", "chart", "store"))
def export(*ids: str, typed: Typed) -> int:
    """Write a run to files, or several runs to a bundle (.zip) that another store can import.

    Examples
    --------
    # Write a run as JSON, as a workbook and as a chart
    onnxperf runs export last -o run.json -o run.xlsx -o run.png
    # Print a run as Markdown
    onnxperf runs export last -o -.md
    # Bundle all runs
    onnxperf runs export all -o runs.onnxperf.zip

    Parameters
    ----------
    ids
        The id of a run, the start of it, or last. For a bundle: one or more ids, or all for every run.
    """
    output = typed.output
    if output.named(_BUNDLE) is not None:
        return _export_bundle(ids, typed)
    if not output.requests_files:
        raise BadOption("no file given; use -o FILE, such as -o run.json, or --json - for standard output")
    if len(ids) != 1 or ids[0] == "all":
        raise BadOption("name one run, or export several to a bundle: -o runs.onnxperf.zip")
    return _shown(ids[0], typed, printed=False)


def _export_bundle(ids: tuple[str, ...], typed: Typed) -> int:
    import onnxperf

    output = typed.output
    if len(output.output) > 1 or output.json is not None:
        raise BadOption("a bundle must be the only file; write other files with another command")
    exported = onnxperf.export_runs(ids, output.output[0], **typed.keywords)
    for name, reason in exported.damaged.items():
        print_notice(f"run {name} is damaged and was skipped: {reason}")
    if not output.quiet:
        print_text(f"{count(exported.written, 'run')} written to {output.output[0]}")
    return exit_codes.PARTIAL if exported.damaged else exit_codes.DONE


@runs.command(name="import")
@command(STORED, *PRINTED, common=("store",))
def import_(file: File, /, *, typed: Typed) -> int:
    """Import the runs of a bundle into a store.

    Existing runs stay as they are, so you can import a bundle twice. A bundle with a damaged part is refused as a
    whole.

    Examples
    --------
    # Import into your own store
    onnxperf runs import runs.onnxperf.zip
    # Import into a shared store
    onnxperf runs import runs.onnxperf.zip --store postgresql://user@host/database

    Parameters
    ----------
    file
        The bundle.
    """
    import onnxperf

    imported = onnxperf.import_runs(str(file), **typed.keywords)
    if typed.output.quiet:
        return exit_codes.DONE
    for wanted, name in imported.renamed.items():
        reason = ", because its name was taken" if wanted else ""
        print_text(f"{wanted or 'a run without a name'} was imported as {name}{reason}")
    there = f"; {imported.there} already existed"
    total = len(imported.names) + imported.there
    print_text(f"imported {len(imported.names)} of {count(total, 'run')}{there if imported.there else ''}")
    return exit_codes.DONE


def _shown(run: str, typed: Typed, printed: bool = True) -> int:
    """Load a run, print it, and write its files."""
    import onnxperf

    result = onnxperf.load_run(run, **typed.keywords)
    with opened_at_the_end(typed.output, result.shown) as output:
        output.check(result.shown)

        def print_result() -> None:
            if printed:
                show_result(result, output, run=result.run)

        return deliver(result, output, print_result, exit_codes.DONE)


@runs.command
@command(STORED, *WRITTEN, common=("output", "json", "store"))
def compare(first: str, second: str, /, *, typed: Typed) -> int:
    """Compare two runs through a subject that both contain.

    The runs did not take turns. There is only a verdict if a subject is the same in both runs and can serve as
    yardstick.

    Examples
    --------
    # How does the newest run compare with an older one?
    onnxperf runs compare lonuki last
    # Write the comparison as Markdown
    onnxperf runs compare lonuki last -o comparison.md

    Parameters
    ----------
    first
        The run to compare with.
    second
        The run that the verdicts are about.
    """
    import onnxperf
    from onnxperf.results.runs import COMPARED

    return present(COMPARED, typed.output, lambda _progress: onnxperf.compare_runs(first, second, **typed.keywords))


@runs.command
@command(STORED, *PRINTED, common=("store",))
def delete(*ids: str, typed: Typed) -> int:
    """Delete runs, with all their measurements.

    Examples
    --------
    # Delete two runs
    onnxperf runs delete lonuki bafido

    Parameters
    ----------
    ids
        The ids of the runs, or the starts of them.
    """
    import onnxperf

    if not ids:
        raise BadOption("no run given; `onnxperf runs` lists them")
    for run in ids:
        name = onnxperf.delete_run(run, **typed.keywords)
        if not typed.output.quiet:
            print_text(f"deleted {name}")
    return exit_codes.DONE
