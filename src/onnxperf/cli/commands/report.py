"""`onnxperf report`."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from onnxperf.cli import exit_codes
from onnxperf.cli.options import File, OptionalFile, Switch
from onnxperf.cli.printing import print_text

_USUAL = "report.html"


def report(
    *sources: str,
    output: Annotated[
        list[File] | None, Parameter(name=["--output", "-o"], negative=(), consume_multiple=False)
    ] = None,
    open_: Annotated[Switch, Parameter(name="--open")] = False,
    store: OptionalFile = None,
    quiet: Switch = False,
    debug: Switch = False,
) -> int:
    """Write a page that tells the story of a run: answer, charts, tables, conditions.

    The page is one file that needs no network. Two races, or two profiles, are compared first.

    For example:

        onnxperf report

        onnxperf report lonuki bafido -o comparison.html

        onnxperf report trace.json -o trace.html --open

        onnxperf report last -o report.md

    Parameters
    ----------
    sources
        Ids of runs, last for the newest (which is also what is taken where nothing is named), results that were
        written as .json, or traces of onnxruntime.
    output
        The page (.html), or Markdown for a pull request (.md). report.html unless given; may be repeated.
    open_
        Open the page in a browser.
    store
        File or URL of the store of runs; ONNXPERF_STORE, or a file in the user's data directory, unless given.
    quiet
        Print nothing.
    debug
        Show the traceback of an error.
    """
    del debug  # `main` reads it
    from onnxperf.api.report import report as made
    from onnxperf.cli.browser import open_page
    from onnxperf.render.kit.files import check_folder, suffix_of
    from onnxperf.results.report import FORMATS

    paths = output or [_USUAL]
    for path in paths:
        suffix_of(path, FORMATS)
        check_folder(path)
    found = made(*sources, store=store)
    for path in paths:
        found.save(path)
    if not quiet:
        print_text(found.answer)
        print_text(f"wrote {', '.join(paths)}")
    if open_:
        open_page(paths[0])
    return exit_codes.DONE
