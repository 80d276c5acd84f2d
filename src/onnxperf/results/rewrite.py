"""What became of the Einsum nodes of a model: a view on its record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.analyze.answers.race import notes_on_readings
from onnxperf.errors import BadInput
from onnxperf.records.einsum import Rewrite, RewrittenSite
from onnxperf.render.kit.files import suffix_of
from onnxperf.render.kit.model_files import write_model
from onnxperf.render.kit.page import Page
from onnxperf.render.race.rewrite import rewrite_page
from onnxperf.render.web.sections.einsum import rewrite_sections
from onnxperf.results.old_base import OldResult, struct_frame
from onnxperf.results.old_formats import Format

if TYPE_CHECKING:
    from onnx import ModelProto


class RewriteResult(OldResult[Rewrite]):
    """What `onnxperf.rewrite_einsum` returns; the rewritten model is in the file `path`."""

    kind = "einsum"
    tables = {"sites": lambda self: struct_frame(self.record.sites, RewrittenSite)}
    """One row per group of equal Einsum nodes."""
    sections = (rewrite_sections,)
    own_formats = {
        ".onnx": Format("the rewritten model", lambda result, _table: result.onnx.SerializeToString(), binary=True)
    }

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

    def page(self) -> Page:
        """What became of the Einsum nodes and why, and the race of the whole models."""
        race = self.record.race
        return rewrite_page(self.record, notes_on_readings(race) if race is not None else ())

    def save(self, path: str | Path, table: str | None = None) -> None:
        """Write a file in the format of its extension; weights of a large model go into a file next to it."""
        if suffix_of(path, self.formats()) == ".onnx":
            model = self.onnx
            write_model(model, Path(path), model.ByteSize())
        else:
            super().save(path, table)
