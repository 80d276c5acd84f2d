"""One row per case of a sweep, as a notebook would print it: sizes, and of each subject time, status and speedup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from onnxperf.records.sweep import SweepModel, dims_of, subject_in, subjects_of, time_of, word_of
from onnxperf.wording.names import storable

if TYPE_CHECKING:
    from pandas import DataFrame


def flat_frame(models: Sequence[SweepModel], per_1000: bool = False) -> DataFrame:
    """Model, sizes as whole numbers and the unit; then for each subject its time and its status, and for each rival the
    speedup and the verdict that the page shows.

    Where a subject has no time, its status says why: oom, failed, skipped, differs, not run.
    """
    from pandas import DataFrame

    rows = [row for model in models for row in model.rows]
    cases = [row.case for row in rows]
    dims, names = dims_of(cases), subjects_of(cases)
    rivals = [name for name in names if len(names) > 1 and any(name in row.duels for row in rows)]
    scale, unit = (1e-6, "s per 1000 calls") if per_1000 else (1e-9, "s per call")
    table = []
    for row in rows:
        cells: list[object] = [storable(row.case.model), *(row.case.dims.get(dim) for dim in dims), unit]
        for name in names:
            subject = subject_in(row.case, name)
            ns = time_of(subject)
            cells += [float("nan") if ns is None else ns * scale, word_of(row.case, subject) or "ok"]
            if name in rivals:
                duel = row.duels.get(name)
                known = duel is not None and duel.speedup is not None
                cells += [duel.speedup if duel and known else float("nan"), (duel.verdict if duel else None) or ""]
        table.append(cells)
    headings = ["model", *map(storable, dims), "unit"]
    for name in map(storable, names):
        headings += [name, f"{name} status", *([f"{name} speedup", f"{name} verdict"] if name in rivals else [])]
    # A dimension may have the name of a column, so types are set by place; a case may lack a dimension.
    frame = DataFrame(table, columns=range(len(headings))).astype(dict.fromkeys(range(1, 1 + len(dims)), "Int64"))
    frame.columns = headings
    return frame
