"""`onnxperf.delete_run`: remove a run from the store."""

from __future__ import annotations

from onnxperf.api._keeping.kept_runs import Where, place_in, refuse_missing
from onnxperf.api._keeping.run_writer import RunWriter
from onnxperf.api._shared.public import public
from onnxperf.options.functions import STORED


@public(STORED)
def delete_run(run: str, *, store: Where) -> str:
    """Delete a run with everything that it measured; returns its whole id."""
    refuse_missing(run, store)
    with RunWriter(place_in(store)) as writer:
        name = writer.opened().find(run).id
        writer.opened().delete(name)
        return name
