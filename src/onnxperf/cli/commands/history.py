"""`onnxperf history`."""

from __future__ import annotations

from typing import Literal

from onnxperf.cli.options import File, part
from onnxperf.cli.present import StoreOutputFlags, present


def history(
    model: File,
    /,
    *,
    by: Literal["version", "commit", "machine", "day"] | None = None,
    since: str | None = None,
    limit: int = 0,
    min_effect: str = "1%",
    output: StoreOutputFlags = StoreOutputFlags(),
) -> int:
    """Show how the times of a model changed from run to run, and since when.

    Every machine, way of calling and size is a series of its own. A change point is where the times of a series
    change, beyond their noise and for good.

    For example:

        onnxperf history model.onnx

        onnxperf history zoo:tiny-linear --by commit --since 30d

        onnxperf history model.onnx -o history.html -o history.png

    Parameters
    ----------
    model
        A model as runs show it: its label, its .onnx file, or zoo:NAME.
    by
        Order and group the runs by the version of onnxruntime, the commit or the day, or compare machines.
    since
        Only runs since a date such as 2026-11-03, or of the last days, such as 30d.
    limit
        Newest runs of each series; 0 means all.
    min_effect
        Smallest change that counts.
    """
    from onnxperf.api.history import history as trend
    from onnxperf.results.history import HistoryResult

    if limit < 0:
        from onnxperf.errors import BadOption

        raise BadOption(f"--limit {limit}: expected a number of runs, or 0 for all")
    least = part(min_effect)
    chosen = limit or None
    return present(
        HistoryResult,
        output,
        lambda _progress: trend(model, by=by, store=output.store, since=since, limit=chosen, min_effect=least),
    )
