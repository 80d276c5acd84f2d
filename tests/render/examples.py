"""Small records to render: a machine, subjects of every standing, and the cases and benches they make."""

from __future__ import annotations

from typing import Any

from onnxperf.records.base import Machine
from onnxperf.records.comparison import Verdict
from onnxperf.records.race import Bench, Block, Case, Subject
from onnxperf.render.race.subjects import COLUMNS

NASTY_NAMES = (
    "",
    "plain",
    "two\nlines",
    "\x1b[31mred\x1b[0m",
    "</script><b>bold</b>",
    "=cmd()",
    "+1",
    "-2+3",
    "@sum",
    "\tab",
    "\rcr",
    "[bold]x[/bold]",
    "[/]",
    "$x$ and $\\frac",
    "quo\"te's",
    "pi|pe",
    "back\\slash",
    "日本語 モデル",
    "\u202egnp.exe",
    "\udcff",
    "a" * 200,
)

SUBJECT_KEYS = [key for column in COLUMNS for key in column.file_keys]

CALL_STYLES: tuple[tuple[str, float, Verdict], ...] = (
    ("run", 8430.0, "baseline"),
    ("run-c", 7920.0, "faster"),
    ("ort-values", 7010.0, "faster"),
    ("io-binding", 12900.0, "slower"),
    ("io-binding-fixed", 8390.0, "equivalent"),
    ("io-binding-inplace", 7105.0, "faster"),
    ("skl", 41200.0, "slower"),
    ("reference", 1_204_000.0, "slower"),
)


def machine(**changes: Any) -> Machine:
    fields: dict[str, Any] = {
        "cpu": "Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz",
        "vector_extensions": ("avx2", "avx512f"),
        "cores": 2,
        "logical_cpus": 4,
        "memory_bytes": 16 * 2**30,
        "available_bytes": 9 * 2**30,
        "system": "Linux 6.1",
        "python": "3.11.9",
        "versions": {"onnx": "1.23.2", "onnxruntime": "1.31.1"},
        "load_before": 0.31,
    }
    return Machine(**(fields | changes))


def blocks(mean_ns: float, count: int = 4, calls: int = 100) -> tuple[Block, ...]:
    return tuple(
        Block(round=i, position=0, launch=0, calls=calls, start_ns=i * 10**8, duration_ns=int(mean_ns * calls))
        for i in range(count)
    )


def subject(
    name: str = "run", mean_ns: float = 8430.0, verdict: Verdict | None = "baseline", **changes: Any
) -> Subject:
    speedup = 8430.0 / mean_ns
    compared = verdict not in {"baseline", None}
    fields: dict[str, Any] = {
        "name": name,
        "runtime": "ort",
        "call": name,
        "status": "ok",
        "load_ns": 3_210_000,
        "first_call_ns": 214_000,
        "input_bytes": 40_000,
        "blocks": blocks(mean_ns),
        "call_ns": tuple(int(mean_ns) for _ in range(100)),
        "conditions": {"threads": 2},
        "time_ns": mean_ns,
        "time_low_ns": mean_ns * 0.99,
        "time_high_ns": mean_ns * 1.01,
        "own_time_ns": mean_ns * 1.001,
        "mean_ns": mean_ns,
        "median_ns": mean_ns * 0.99,
        "deviation_ns": mean_ns * 0.014,
        "min_ns": mean_ns * 0.97,
        "max_ns": mean_ns * 1.21,
        "p90_ns": mean_ns * 1.05,
        "p99_ns": None,
        "cpu_ns": mean_ns * 1.9,
        "speedup": speedup,
        "speedup_low": speedup * 0.99 if compared else None,
        "speedup_high": speedup * 1.012 if compared else None,
        "verdict": verdict,
    }
    return Subject(**(fields | changes))


def failed(name: str = "io-binding", status: Any = "failed", reason: str = "X is not contiguous") -> Subject:
    return Subject(name=name, runtime="ort", call=name, status=status, reason=reason)


def case(*subjects: Subject, **changes: Any) -> Case:
    fields: dict[str, Any] = {
        "model": "linear.onnx",
        "dims": {"batch": 1000},
        "baseline": "run",
        "answer": "ort-values is fastest: 1.203 times as fast as run (95 % interval 1.191 to 1.217).",
        "notes": ("batch was not set and became 1",),
        "subjects": subjects or tuple(subject(*row) for row in CALL_STYLES),
    }
    return Case(**(fields | changes))


def bench(*cases: Case, **changes: Any) -> Bench:
    fields: dict[str, Any] = {"machine": machine(), "command": "onnxperf bench linear.onnx --call all"}
    return Bench(**(fields | changes), cases=cases or (case(),))
