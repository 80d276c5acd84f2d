"""`onnxperf.export_runs`: runs in one file that another store can import."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from onnxperf.api._keeping.bundles import ExportedRuns, export_bundle
from onnxperf.api._keeping.kept_runs import Where
from onnxperf.api._shared.public import public
from onnxperf.errors import BadOption
from onnxperf.options.functions import STORED

ALL = "all"


@public(STORED)
def export_runs(runs: str | Sequence[str], path: str | Path, *, store: Where) -> ExportedRuns:
    """Write runs to a bundle (.zip) with everything that they measured; "all" is every run of the store.

    Damaged runs are left out, and the result has their reasons; if all are damaged, nothing is written.
    """
    ids = [runs] if isinstance(runs, str) else list(runs)
    if not ids or (ALL in ids and len(ids) > 1):
        raise BadOption("name the runs for the bundle, or all for every run")
    if not str(path).lower().endswith(".zip"):
        raise BadOption("a bundle is one file that ends with .zip, such as runs.onnxperf.zip")
    return export_bundle([] if ids == [ALL] else ids, path, store=store)
