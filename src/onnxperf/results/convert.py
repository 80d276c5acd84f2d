"""What a conversion made: the model, and a view on its record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import astuple, replace

from onnxperf.analyze.answers.convert import conversion_answer
from onnxperf.errors import BadInput
from onnxperf.records.check import Difference
from onnxperf.records.convert import Conversion
from onnxperf.render.kit.files import check_folder, suffix_of
from onnxperf.render.kit.model_files import write_model
from onnxperf.render.kit.page import Page
from onnxperf.render.race.convert import conversion_page
from onnxperf.render.web.old_base import Section
from onnxperf.render.web.sections.check import difference_parts
from onnxperf.results.old_base import OldResult, frame_of
from onnxperf.results.old_formats import Format

if TYPE_CHECKING:
    from onnx import ModelProto
    from pandas import DataFrame


class ConvertResult(OldResult[Conversion]):
    """What `onnxperf.convert` returns; true when the model agrees with its source, or was not checked."""

    tables = {"outputs": lambda self: _outputs(self.record)}
    own_formats = {
        ".onnx": Format("the converted model", lambda result, _table: result.proto.SerializeToString(), binary=True)
    }

    def __init__(
        self, record: Conversion, proto: ModelProto | None = None, remember: Callable[[Path], None] | None = None
    ) -> None:
        super().__init__(record)
        self._proto = proto
        self._remember = remember
        """Called with the file of the model, so that its source is found again; None if nothing names the source."""

    def page(self) -> Page:
        """Where the model came from, its inputs and outputs, and whether it agrees with its source."""
        return conversion_page(self.record, self.answer)

    def story_sections(self) -> list[Section]:
        """How far outputs are from those of the source."""
        parts = difference_parts(self.record.checks)
        return [Section("Differences by output", parts)] if parts else []

    @property
    def proto(self) -> ModelProto:
        """The model."""
        if self._proto is None:
            raise BadInput(f"the record of {self.record.model} holds no model; convert it again")
        return self._proto

    @property
    def answer(self) -> str:
        """The result in plain sentences."""
        return conversion_answer(self.record)

    @property
    def equal(self) -> bool:
        """Whether no output differs from the source's."""
        return self.record.equal

    def __bool__(self) -> bool:
        """Whether no output differs from the source's."""
        return self.equal

    def save(self, path: str | Path, table: str | None = None, *, force: bool = False) -> None:
        """Write a file in the format of its extension.

        The model is written unless it differs from its source; weights of a large one go into a file next to it.
        """
        if suffix_of(path, self.formats()) == ".onnx":
            self._save_model(Path(path), force)
        else:
            super().save(path, table)

    def _save_model(self, path: Path, force: bool) -> None:
        if not self and not force:
            raise BadInput(f"{self.answer} `force=True` writes the model anyway")
        check_folder(path)
        has_weights_beside = write_model(self.proto, path, self.record.size_bytes)
        notes = (f"its weights are in {path.name}.data, which must stay beside it",) if has_weights_beside else ()
        self.record = replace(self.record, output=str(path), notes=(*self.record.notes, *notes))
        if self._remember is not None:
            self._remember(path)


def _outputs(record: Conversion) -> DataFrame:
    """One row per check and output."""
    rows = [(check.model, *astuple(output)) for check in record.checks for output in check.outputs]
    return frame_of(rows, ["check", *Difference.__struct_fields__])
