"""What an optimization did to a model: a view on its record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.errors import BadInput
from onnxperf.records.profile import Optimization
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.optimization import counts_charts, counts_table, groups_table, optimization_page
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format

if TYPE_CHECKING:
    from pandas import DataFrame


def _model(path: str) -> bytes:
    if Path(f"{path}.data").exists():
        raise BadInput(f"the weights of {path} are in {path}.data; copy both files")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read the optimized model {path}: {error.strerror}") from error


SHOW = Show(
    Optimization,
    "optimize",
    optimization_page,
    tables={"groups": groups_table, "operators": counts_table},
    charts={"operators": counts_charts},
    own={".onnx": Format("the optimized model", lambda result, _: _model(result.record.output), binary=True)},
)


class OptimizeResult(Result[Optimization]):
    """What `onnxperf.optimize` returns; the optimized model is in the file `path`."""

    show = SHOW

    @property
    def path(self) -> str:
        """File of the optimized model."""
        return self.record.output

    def page(self, everything: bool = False) -> Page:
        """Operators before and after, and what became of the nodes."""
        return optimization_page(self.record, everything)

    def counts(self) -> DataFrame:
        """Nodes per operator type, before and after."""
        return self.table("operators")
