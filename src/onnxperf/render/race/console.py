"""What is left of the old drawings: the doctor's report."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from onnxperf.records.base import Machine
from onnxperf.render.kit.machine import machine_facts
from onnxperf.wording.names import visible

CPU_DECORATION = re.compile(r"\((R|TM)\)| CPU(?= @|$)| @ .*$", re.IGNORECASE)


def doctor_report(
    machine: Machine, extra: Sequence[tuple[str, str]], sentence: str, encoding: str = "utf-8"
) -> RenderableType:
    """What is known about a machine in two columns, and below it what that means."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in [*machine_facts(machine), *extra]:
        grid.add_row(Text(visible(name, encoding), style="bold"), Text(visible(text, encoding)))
    return Group(grid, Text(), Text(visible(sentence, encoding), style="bold"))
