"""What a conversion made: the model, and a view on its record."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from onnxperf.errors import BadInput, BadOption
from onnxperf.records.convert import Conversion
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from onnx import ModelProto
    from pandas import DataFrame

_INLINE_BYTES = 2**30
"""Beyond this the weights go into a file beside the model; protobuf ends at 2 GiB, and readers need room."""


class ConvertResult:
    """What `onnxperf.convert` returns; true when the model agrees with its source, or was not checked."""

    def __init__(self, record: Conversion, proto: ModelProto) -> None:
        self.record = record
        self.proto = proto

    @property
    def equal(self) -> bool:
        """Whether no output differs from the source's."""
        return self.record.equal

    def __bool__(self) -> bool:
        """Whether no output differs from the source's."""
        return self.equal

    @property
    def answer(self) -> str:
        """The result in one plain sentence."""
        from onnxperf.render.race.convert import sentence

        return sentence(self.record)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the model, unless it differs from its source; weights of a large one go into a file beside it."""
        if not self.equal and not force:
            raise BadInput(f"{self.answer} force=True writes the model nevertheless")
        output = Path(path)
        check_path(output)
        try:
            has_weights_beside = _write(self.proto, output, self.record.size_bytes > _INLINE_BYTES)
        except OSError as error:
            raise BadInput(f"cannot write {str(path)!r}: {error.strerror or error}") from error
        notes = (f"its weights are in {output.name}.data, which must stay beside it",) if has_weights_beside else ()
        self.record = replace(self.record, output=str(path), notes=(*self.record.notes, *notes))

    def to_df(self) -> DataFrame:
        """One row per check and output."""
        from pandas import DataFrame

        from onnxperf.records import Difference

        fields = Difference.__struct_fields__
        rows = [
            [check.model, *(getattr(output, field) for field in fields)]
            for check in self.record.checks
            for output in check.outputs
        ]
        return DataFrame(rows, columns=["check", *fields])

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.kit.old_export import to_json

        return to_json(self.record).decode()

    def __repr__(self) -> str:
        """The page as the command line prints it, without colours."""
        from onnxperf.render.race.convert import print_conversion

        return as_printed(print_conversion, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import conversion_html

        return conversion_html(self.record)


def check_path(output: Path) -> None:
    """Refuse a file that cannot be written, before a model is converted."""
    if output.suffix.lower() != ".onnx":
        raise BadOption(f"--output {output}: expected a name that ends with .onnx")
    if output.is_dir():
        raise BadOption(f"--output {output}: that is a folder")
    if not output.absolute().parent.is_dir():
        raise BadOption(f"cannot write {str(output)!r}: its folder does not exist")


def _write(proto: ModelProto, output: Path, large: bool) -> bool:
    """Write beside the output and move: whoever looks sees the old model or the new one, never a part.

    Returns whether weights went into a file of their own.
    """
    import onnx

    with tempfile.TemporaryDirectory(prefix=".onnxperf-", dir=output.absolute().parent) as folder:
        written = Path(folder) / output.name
        weights = written.with_name(f"{output.name}.data")
        if large:
            onnx.save_model(_with_raw_weights(proto), written, save_as_external_data=True, location=weights.name)
        else:
            written.write_bytes(proto.SerializeToString())
        has_weights_beside = weights.is_file()
        if has_weights_beside:
            weights.replace(output.with_name(weights.name))
        written.replace(output)
    return has_weights_beside


def _with_raw_weights(proto: ModelProto) -> ModelProto:
    """A copy, for saving moves weights out of the proto it is given; only raw ones can be moved."""
    import onnx
    from onnx import numpy_helper

    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for tensor in copy.graph.initializer:
        if not tensor.HasField("raw_data") and tensor.data_type != onnx.TensorProto.STRING:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor), tensor.name))
    return copy
