"""What the doctor found out about this machine."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from onnxperf.records import FORMAT_VERSION, Machine
from onnxperf.results.showing import as_printed


class DoctorResult:
    """What `onnxperf.doctor` returns: facts, the noise of this machine, and what that means in a sentence."""

    def __init__(
        self,
        machine: Machine,
        rows: Sequence[tuple[str, str]],
        noise_band: float | None,
        sentence: str,
        interrupted: bool = False,
    ) -> None:
        self.machine = machine
        self.rows = tuple(rows)
        self.noise_band = noise_band
        self.sentence = sentence
        self.interrupted = interrupted

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What is shown beside the machine's own facts: the given rows, then the noise where it was measured."""
        from onnxperf.render.kit.machine import noise_text

        noise = () if self.noise_band is None else (("noise", f"{noise_text(self.noise_band)} (A/A race)"),)
        return (*self.rows, *noise)

    def to_json(self) -> str:
        """Everything, as --json writes it: version, machine, rows by name, noise_band (null if unknown), sentence."""
        rows: dict[str, str] = {}
        for name, text in self.rows:
            rows[name] = f"{rows[name]}; {text}" if name in rows else text
        record = {
            "version": FORMAT_VERSION,
            "machine": self.machine,
            "rows": rows,
            "noise_band": self.noise_band,
            "sentence": self.sentence,
        }
        return msgspec.json.format(msgspec.json.encode(record), indent=2).decode() + "\n"

    def __repr__(self) -> str:
        """The two-column report, without colours."""
        from onnxperf.render.race.console import doctor_report

        report = doctor_report(self.machine, self.facts, self.sentence)
        return as_printed(lambda shown, console: console.print(shown), report)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import doctor_html

        return doctor_html(self.machine, self.facts, self.sentence)
