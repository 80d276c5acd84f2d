"""`onnxperf report`."""

from __future__ import annotations

from onnxperf.cli import exit_codes
from onnxperf.cli.command import PRINTED, Typed, command
from onnxperf.cli.printing import print_text
from onnxperf.options.functions import STORED, Page

_USUAL = "report.html"


@command(STORED, Page, *PRINTED, common=("output", "open", "store"))
def report(*sources: str, typed: Typed) -> int:
    """Write a self-contained HTML page about runs: answer, charts, tables and conditions.

    The page is one file and needs no network. Two races or two profiles are compared first.

    Examples
    --------
    # Write report.html about the newest run
    onnxperf report
    # Compare two runs
    onnxperf report lonuki bafido -o comparison.html
    # Show a trace of onnxruntime in the browser
    onnxperf report trace.json -o trace.html --open
    # Write Markdown for a pull request
    onnxperf report last -o report.md

    Parameters
    ----------
    sources
        Ids of runs, last for the newest run, .json files of results, or traces of onnxruntime. [default: last]
    """
    import onnxperf
    from onnxperf.cli.browser import open_page
    from onnxperf.render.kit.files import check_folder, suffix_of
    from onnxperf.results.report import FORMATS

    paths = list(typed.own["output"]) or [_USUAL]
    for path in paths:
        suffix_of(path, FORMATS)
        check_folder(path)
    found = onnxperf.report(*sources, **typed.keywords)
    for path in paths:
        found.save(path)
    if not typed.output.quiet:
        print_text(found.answer)
        print_text(f"wrote {', '.join(paths)}")
    if typed.own["open"]:
        open_page(paths[0])
    return exit_codes.DONE
