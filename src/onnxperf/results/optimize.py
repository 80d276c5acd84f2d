"""What an optimization did to a model: a view on its record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.errors import BadInput
from onnxperf.records.profile import Optimization, SourceGroup
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.optimization import optimization_page
from onnxperf.render.web.sections.optimize import optimize_sections
from onnxperf.results.old_base import OldResult, frame_of, struct_frame
from onnxperf.results.old_formats import Format

if TYPE_CHECKING:
    from pandas import DataFrame


class OptimizeResult(OldResult[Optimization]):
    """What `onnxperf.optimize` returns; the optimized model is in the file `path`."""

    tables = {
        "groups": lambda self: struct_frame(self.record.groups, SourceGroup),
        "operators": lambda self: self.counts(),
    }
    """One row per group, which nodes became which; and the nodes per operator type."""
    sections = (optimize_sections,)
    own_formats = {".onnx": Format("the optimized model", lambda result, _table: _model(result.path), binary=True)}

    @property
    def path(self) -> str:
        """File of the optimized model."""
        return self.record.output

    def page(self, everything: bool = False) -> Page:
        """Operators before and after, and what became of the nodes."""
        return optimization_page(self.record, everything)

    def counts(self) -> DataFrame:
        """Nodes per operator type, before and after."""
        names = list(dict.fromkeys([*self.record.before, *self.record.after]))
        rows = [(name, self.record.before.get(name, 0), self.record.after.get(name, 0)) for name in names]
        return frame_of(rows, ["op_name", "before", "after"])


def _model(path: str) -> bytes:
    if Path(f"{path}.data").exists():
        raise BadInput(f"the weights of {path} are in {path}.data; copy both files")
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read the optimized model {path}: {error.strerror}") from error
