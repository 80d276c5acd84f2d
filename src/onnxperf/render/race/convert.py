"""A conversion on the terminal: what was made, with which dimensions, and whether it agrees with its source."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from onnxperf.records import Signature
from onnxperf.records.convert import Conversion
from onnxperf.render.kit.old_console import print_end, print_heading
from onnxperf.render.race.check import print_check
from onnxperf.wording.names import name_of, visible
from onnxperf.wording.numbers import size

COLUMNS = ("", "name", "type", "shape")


def print_conversion(record: Conversion, console: Console) -> None:
    """Framework and versions, inputs and outputs, the check, and where the model is; differences in full."""
    print_heading(record.model, facts(record), console)
    console.print()
    console.print(_table(interface(record)))
    for check in record.checks:
        if not check.equal:
            console.print()
            print_check(check, console)
    print_end(sentence(record), record.notes, console)


def facts(record: Conversion) -> list[str]:
    """Where it came from, and how large it is."""
    nodes = f"{record.nodes:,} node{'' if record.nodes == 1 else 's'}"
    versions = [f"{name} {version}" for name, version in record.versions.items()]
    return [f"from {record.framework}", *versions, f"opset {record.opset}", nodes, size(record.size_bytes)]


def sentence(record: Conversion) -> str:
    """The answer."""
    wrong = {output.name: None for check in record.checks for output in check.outputs if not output.equal}
    where = f"Written to {record.output}." if record.output else ""
    if wrong:
        return f"The model differs from its source in {', '.join(wrong)}. {where or 'Nothing was written.'}"
    if not record.checks:
        return f"The model was not compared with its source. {where}".rstrip()
    outputs = len(record.checks[0].outputs)
    sizes = f", with {len(record.checks)} sizes" if len(record.checks) > 1 else ""
    worst = max((output.max_absolute or 0.0 for check in record.checks for output in check.outputs), default=0.0)
    told = f"{outputs} output{'' if outputs == 1 else 's'}{sizes} (largest difference {worst:.3g})"
    return f"The model agrees with its source on {told}. {where}".rstrip()


def interface(record: Conversion) -> list[tuple[str, ...]]:
    """A row of COLUMNS for every input and output."""
    sides = [*(("input", each) for each in record.inputs), *(("output", each) for each in record.outputs)]
    return [(role, name_of(each.name), _kind(each), visible(shape_text(each))) for role, each in sides]


def _kind(signature: Signature) -> str:
    return signature.dtype if signature.kind == "tensor" else f"{signature.kind} of {signature.dtype}"


def _table(rows: Sequence[tuple[str, ...]]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in COLUMNS:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    return table


def shape_text(signature: Signature) -> str:
    """A shape as people write it, with the names of its dimensions; free ones without a name are question marks."""
    if signature.shape is None:
        return ""
    return " x ".join("?" if each is None else str(each) for each in signature.shape) or "a scalar"
