"""A check on the terminal: a row per output, and where the difference begins."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from onnxperf.records import Check, Difference
from onnxperf.wording.names import name_of, visible

COLUMNS = ("output", "equal", "differing", "max abs", "max rel", "max ULP", "NaN", "inf")


def cells(difference: Difference) -> tuple[str, ...]:
    """The row of one output."""
    return (
        name_of(difference.name),
        "yes" if difference.equal else "no",
        f"{difference.differing} of {difference.elements}",
        _number(difference.max_absolute),
        _number(difference.max_relative),
        _number(difference.max_ulp),
        _pair(difference.nans),
        _pair(difference.infinities),
    )


def sentence(check: Check) -> str:
    """The answer."""
    wrong = [output.name for output in check.outputs if not output.equal]
    if not wrong:
        return f"{check.first} and {check.second} agree on {len(check.outputs)} output{_s(len(check.outputs))}."
    told = f"{check.first} and {check.second} differ in {', '.join(wrong)}."
    node = check.node
    if node is not None:
        place = f"node {node.index} ({node.operator}{f' {node.name!r}' if node.name else ''})"
        told += f" The first node that differs is {place}, in its output {node.difference.name!r}."
    return told


def print_check(check: Check, console: Console) -> None:
    """The table, the answer, and what else there is to know."""
    heading = f"{check.model}: {check.first} against {check.second}, rtol {check.rtol:g}, atol {check.atol:g}"
    console.print(Text(visible(heading, console.encoding), style="bold cyan"))
    console.print()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column in COLUMNS:
        table.add_column(column, justify="left" if column in ("output", "equal") else "right", overflow="fold")
    for output in check.outputs:
        table.add_row(*(Text(cell, style="" if output.equal else "red") for cell in cells(output)))
    console.print(table)
    console.print()
    for output in check.outputs:
        if output.reason:
            console.print(Text(visible(f"{output.name}: {output.reason}", console.encoding)))
    console.print(Text(visible(sentence(check), console.encoding), style="bold"))
    if check.node is not None and check.node.saved:
        console.print(Text(visible(f"Its inputs and outputs are in {check.node.saved}.", console.encoding)))
    for note in check.notes:
        console.print(Text(visible(note, console.encoding), style="dim"))


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _pair(counts: tuple[int, int]) -> str:
    return "0" if counts == (0, 0) else f"{counts[0]} / {counts[1]}"


def _s(count: int) -> str:
    return "" if count == 1 else "s"
