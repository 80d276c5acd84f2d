"""What is known about a machine, as a page."""

from __future__ import annotations

from onnxperf.records.doctor import MachineReport
from onnxperf.render.kit.machine import machine_facts, noise_text
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import Part, closing


def doctor_page(report: MachineReport) -> list[Part]:
    """All facts in two columns, and what they mean."""
    rows = [Row(fact, styles={0: "bold"}) for fact in report_facts(report)]
    columns = (Column("fact", left=True), Column("value", left=True, room=24, folds=True))
    return [Table(columns, rows), *closing(report.answer, interrupted=report.interrupted)]


def report_facts(report: MachineReport) -> list[tuple[str, str]]:
    """The facts of the machine, what else was found, and the noise where it was measured."""
    noise = [] if report.noise_band is None else [("noise", f"{noise_text(report.noise_band)} (A/A race)")]
    return [*machine_facts(report.machine), *report.rows.items(), *noise]
