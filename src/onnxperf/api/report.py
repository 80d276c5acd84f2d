"""`onnxperf.report`: one page about runs, results and traces."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onnxperf.analyze.judges.run_comparison import compare_runs
from onnxperf.api._keeping.kept_runs import Where
from onnxperf.api.load_run import load_run
from onnxperf.records.race import Bench
from onnxperf.render.kit.files import check_folder, suffix_of
from onnxperf.results.base import Result
from onnxperf.results.profile import ProfileResult
from onnxperf.results.report import FORMATS, Report
from onnxperf.results.runs import ComparisonResult

ReportSource = str | os.PathLike[str] | Result[Any]


def report(*sources: ReportSource, output: str | Path | None = None, store: Where = True) -> Report:
    """Put results on one page; without a source, the newest run.

    A source is the id of a run in the `store` ("last" is the newest), a .json file with a result or with a trace of
    onnxruntime, or a result itself. Two races, or two profiles, are compared first. The page is written to `output`
    (.html or .md), if that is given; a notebook shows it.
    """
    if output is not None:
        suffix_of(output, FORMATS)
        check_folder(output)
    results = [_opened(source, store) for source in sources or ("last",)]
    made = Report([*_compared(results), *results])
    if output is not None:
        made.save(output)
    return made


def _opened(source: ReportSource, store: Where) -> Result[Any]:
    return source if isinstance(source, Result) else load_run(str(source), store=store)


def _compared(results: Sequence[Result[Any]]) -> list[Result[Any]]:
    """Two races through what they share, two profiles node by node; nothing else is compared."""
    if len(results) != 2:
        return []
    one, other = results
    if isinstance(one.record, Bench) and isinstance(other.record, Bench):
        names = (one.run or "first", other.run or "second")
        return [ComparisonResult(compare_runs(names, one.record, other.record))]
    if isinstance(one, ProfileResult) and isinstance(other, ProfileResult):
        from onnxperf.api.diff import diff

        return [diff(one, other)]
    return []
