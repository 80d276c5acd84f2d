"""`onnxperf.import_runs`: take the runs of a bundle into a store."""

from __future__ import annotations

from pathlib import Path

from onnxperf.api._keeping.bundles import ImportedRuns, import_bundle
from onnxperf.api._keeping.kept_runs import Where
from onnxperf.api._shared.public import public
from onnxperf.options.functions import STORED


@public(STORED)
def import_runs(path: str | Path, *, store: Where) -> ImportedRuns:
    """Take the runs of a bundle that the store does not have; nothing if a part of the file is damaged."""
    return import_bundle(path, store=store)
