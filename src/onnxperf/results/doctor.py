"""What the doctor found out about this machine: a view on its record."""

from __future__ import annotations

from onnxperf.records.doctor import MachineReport
from onnxperf.render.race.doctor import (
    arithmetic_charts,
    arithmetic_table,
    bandwidth_charts,
    bandwidth_table,
    doctor_page,
    facts_table,
)
from onnxperf.results.base import Show

SHOW = Show(
    MachineReport,
    "doctor",
    doctor_page,
    tables={"facts": facts_table, "bandwidth": bandwidth_table, "arithmetic": arithmetic_table},
    charts={"bandwidth": bandwidth_charts, "arithmetic": arithmetic_charts},
)
