"""What a conversion made: the model, and a view on its record."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from onnxperf.analyze.answers.convert import conversion_answer
from onnxperf.errors import BadInput
from onnxperf.records.convert import Conversion
from onnxperf.render.charts.base import Width
from onnxperf.render.kit.files import check_folder, suffix_of
from onnxperf.render.kit.model_files import write_model
from onnxperf.render.race.convert import conversion_charts, conversion_page, interface_table, outputs_table
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format

if TYPE_CHECKING:
    from onnx import ModelProto

SHOW = Show(
    Conversion,
    "convert",
    lambda record: conversion_page(record, conversion_answer(record)),
    tables={"outputs": outputs_table, "interface": interface_table},
    charts={"differences": conversion_charts},
    own={".onnx": Format("the converted model", lambda result, _: result.proto.SerializeToString(), binary=True)},
)


class ConvertResult(Result[Conversion]):
    """What `onnxperf.convert` returns; true when the model agrees with its source, or was not checked."""

    show = SHOW

    def __init__(
        self, record: Conversion, proto: ModelProto | None = None, remember: Callable[[Path], None] | None = None
    ) -> None:
        super().__init__(record)
        self._proto = proto
        self._remember = remember
        """Called with the file of the model, so that its source is found again; None if nothing names the source."""

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

    def save(
        self,
        path: str | Path,
        table: str | None = None,
        *,
        chart: str | None = None,
        width: Width = "page",
        force: bool = False,
    ) -> None:
        """Write a file in the format of its extension.

        The model is written unless it differs from its source; weights of a large one go into a file next to it.
        """
        if suffix_of(path, self.formats()) == ".onnx":
            self._save_model(Path(path), force)
        else:
            super().save(path, table, chart=chart, width=width)

    def _save_model(self, path: Path, force: bool) -> None:
        if not self and not force:
            raise BadInput(f"{self.answer} `force=True` writes the model anyway")
        check_folder(path)
        has_weights_beside = write_model(self.proto, path, self.record.size_bytes)
        notes = (f"its weights are in {path.name}.data, which must stay next to it",) if has_weights_beside else ()
        self.record = replace(self.record, output=str(path), notes=(*self.record.notes, *notes))
        if self._remember is not None:
            self._remember(path)
