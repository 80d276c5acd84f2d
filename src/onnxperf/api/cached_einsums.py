"""`onnxperf.cached_einsums`: the equations whose fastest graph is known."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.contraction import store

if TYPE_CHECKING:
    from pandas import DataFrame


def cached_einsums() -> DataFrame:
    """One row per plan kept, on disk or in memory, for any machine and version."""
    from msgspec.structs import asdict
    from pandas import DataFrame

    rows = [
        asdict(key) | {"graph": plan.graph, "best_equation": plan.best_equation, "searched": plan.searched}
        for key, plan in store.all_kept()
    ]
    columns = [*store.Key.__struct_fields__, "graph", "best_equation", "searched"]
    return DataFrame(rows, columns=columns)
