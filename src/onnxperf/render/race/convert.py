"""A conversion as a page: what was made, with which dimensions, and whether it agrees with its source."""

from __future__ import annotations

from onnxperf.records.convert import Conversion
from onnxperf.records.options import Signature
from onnxperf.render.kit.old_table import Table, plain_table
from onnxperf.render.kit.page import GAP, Heading, Part, closing
from onnxperf.render.race.check import differences_parts
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, size


def conversion_page(record: Conversion, answer: str) -> list[Part]:
    """Framework and versions, inputs and outputs, differences in full, and where the model is."""
    differing = [part for check in record.checks if not check.equal for part in (GAP, *differences_parts(check))]
    heading = Heading(record.model, conversion_facts(record))
    return [heading, interface_table(record), *differing, *closing(answer, record.notes)]


def conversion_facts(record: Conversion) -> list[str]:
    """Where it came from, and how large it is."""
    versions = [f"{name} {version}" for name, version in record.versions.items()]
    nodes = count(record.nodes, "node")
    return [f"from {record.framework}", *versions, f"opset {record.opset}", nodes, size(record.size_bytes)]


def interface_table(record: Conversion) -> Table:
    """A row for every input and output."""
    sides = [*(("input", each) for each in record.inputs), *(("output", each) for each in record.outputs)]
    rows = [(role, name_of(each.name), _kind(each), shape_text(each)) for role, each in sides]
    return plain_table(("", "name", "type", "shape"), rows)


def shape_text(signature: Signature) -> str:
    """A shape with the names of its dimensions; free ones without a name are question marks."""
    if signature.shape is None:
        return ""
    return " x ".join("?" if each is None else str(each) for each in signature.shape) or "a scalar"


def _kind(signature: Signature) -> str:
    return signature.dtype if signature.kind == "tensor" else f"{signature.kind} of {signature.dtype}"
