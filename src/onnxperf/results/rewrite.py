"""What became of the Einsum nodes of a model: a view on its record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.analyze.answers.race import notes_on_readings
from onnxperf.errors import BadInput
from onnxperf.records.einsum import Rewrite
from onnxperf.render.kit.model_files import write_model
from onnxperf.render.kit.page import Page
from onnxperf.render.race.rewrite import rewrite_page, sites_charts, sites_table
from onnxperf.render.race.sections import charts_of_races
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format, Wanted

if TYPE_CHECKING:
    from onnx import ModelProto


def _page(rewrite: Rewrite) -> Page:
    return rewrite_page(rewrite, notes_on_readings(rewrite.race) if rewrite.race is not None else ())


SHOW = Show(
    Rewrite,
    "einsum",
    _page,
    tables={"sites": sites_table},
    charts={"sites": sites_charts, **charts_of_races(lambda rewrite: [rewrite.race])},
    own={".onnx": Format("the rewritten model", lambda result, _: result.onnx.SerializeToString(), binary=True)},
)


class RewriteResult(Result[Rewrite]):
    """What `onnxperf.rewrite_einsum` returns; the rewritten model is in the file `path`."""

    show = SHOW

    @property
    def path(self) -> str:
        """File of the rewritten model; empty when no gain was proven and nothing written."""
        return self.record.output

    @property
    def onnx(self) -> ModelProto:
        """The rewritten model, read from its file."""
        import onnx

        if not self.path:
            raise BadInput(f"there is no rewritten model: {self.answer}")
        try:
            return onnx.load(self.path)
        except OSError as error:
            raise BadInput(f"the rewritten model {self.path} cannot be read: {error.strerror or error}") from error

    @property
    def has_answer(self) -> bool:
        """Whether a model was written."""
        return bool(self.path)

    def write(self, path: Path, suffix: str, wanted: Wanted) -> None:
        """Write one file; weights of a large model go into a file next to it."""
        if suffix == ".onnx":
            write_model(self.onnx, path, self.onnx.ByteSize())
        else:
            super().write(path, suffix, wanted)
