"""A conversion as a page: what was made, with which dimensions, and whether it agrees with its source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from onnxperf.records.check import Check, Difference
from onnxperf.records.convert import Conversion
from onnxperf.records.options import Signature
from onnxperf.render.charts.base import Chart
from onnxperf.render.kit.column import NAME, Column, for_files
from onnxperf.render.kit.page import GAP, Heading, Line, Page, Section, answered
from onnxperf.render.kit.table import Table
from onnxperf.render.race.check import DIFFERENCE, check_facts, differences_charts, differences_parts
from onnxperf.wording.names import name_of
from onnxperf.wording.numbers import count, size


class _Side(NamedTuple):
    """An input or an output."""

    role: str
    signature: Signature


class _Checked(NamedTuple):
    """An output and the comparison that it is of."""

    check: Check
    output: Difference


def conversion_page(record: Conversion, answer: str) -> Page:
    """Framework and versions, inputs and outputs, differences in full, and where the model is."""
    return [
        Heading(record.model, conversion_facts(record)),
        Section("Inputs and outputs", [interface_table(record)]),
        Section("Differences by output", list(_differences(record))),
        *answered(answer, record.notes, verdict=_verdict(record)),
    ]


def _verdict(record: Conversion) -> str:
    if not record.checks:
        return ""
    return "passed" if all(check.equal for check in record.checks) else "differs"


def conversion_facts(record: Conversion) -> list[str]:
    """Where it came from, and how large it is."""
    versions = [f"{name} {version}" for name, version in record.versions.items()]
    nodes = count(record.nodes, "node")
    return [f"from {record.framework}", *versions, f"opset {record.opset}", nodes, size(record.size_bytes)]


def interface_table(record: Conversion) -> Table[_Side]:
    """A row for every input and output."""
    columns: list[Column[_Side]] = [
        Column("role", "", lambda row: row.role),
        Column("name", "name", lambda row: row.signature.name, NAME, room=16),
        Column("type", "type", lambda row: _kind(row.signature), room=16),
        Column("shape", "shape", lambda row: shape_text(row.signature), room=16),
    ]
    sides = {"input": record.inputs, "output": record.outputs}
    return Table(columns, [_Side(role, each) for role, several in sides.items() for each in several])


def outputs_table(record: Conversion) -> Table[_Checked]:
    """A row for every output of every comparison with the source."""
    columns: list[Column[_Checked]] = [
        for_files("check", lambda row: row.check.model),
        *(each.of(lambda row: row.output) for each in DIFFERENCE),
    ]
    return Table(columns, [_Checked(check, output) for check in record.checks for output in check.outputs])


def conversion_charts(record: Conversion) -> list[Chart]:
    """The largest differences of each comparison with the source."""
    return [chart for check in record.checks for chart in differences_charts(check)]


def shape_text(signature: Signature) -> str:
    """A shape with the names of its dimensions; free ones without a name are question marks."""
    if signature.shape is None:
        return ""
    return "×".join("?" if each is None else str(each) for each in signature.shape) or "a scalar"


def _differences(record: Conversion) -> Iterator[Any]:
    """Comparisons that found a difference; of the others only their charts on a page."""
    for check in record.checks:
        if check.equal:
            yield from (chart._replace(on="page") for chart in differences_charts(check))
        else:
            yield from (
                GAP,
                Line(" · ".join([name_of(check.model), *check_facts(check)]), "bold"),
                *differences_parts(check),
            )


def _kind(signature: Signature) -> str:
    return signature.dtype if signature.kind == "tensor" else f"{signature.kind} of {signature.dtype}"
