"""How long a user waits: for help texts, the view of a small model, the list of runs, and a default bench.

usage: python -m benchmarks.startup
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import onnx
import onnx.parser

from benchmarks.kept import keep
from onnxperf.cli.main import app
from onnxperf.zoo.demo import demo_model

HEAVY = ("onnx", "onnxruntime", "pandas", "matplotlib", "numpy", "sqlalchemy")
SHORT, LONG = 9, 1
"""How often a command is timed: a default bench takes its time limit, about ten seconds, whatever the machine does."""
ONE_NODE = '<ir_version: 8, opset_import: ["": 18]> g (float[N] x) => (float[N] y) { y = Relu(x) }'


def seconds(command: list[str], repeats: int) -> float:
    """The median time of a command."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def heavy_imports(*arguments: str) -> list[str]:
    """The heavy libraries that a command imports."""
    code = (
        f"import sys; from onnxperf.cli.main import run; run({list(arguments)!r}); "
        f"print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return [name for name in HEAVY if repr(name) in done.stderr]


def figures(folder: Path) -> Iterator[str]:
    """One line per command; those that take milliseconds come first."""
    command = [sys.executable, "-m", "onnxperf"]
    bare, shown = seconds([sys.executable, "-c", "pass"], SHORT), seconds([*command, "--help"], SHORT)
    yield (
        f"- `onnxperf --help`: {shown:.2f} s, {shown / bare:.1f} times a bare interpreter; goal at most 16.5 times; "
        f"heavy libraries imported: {', '.join(heavy_imports('--help')) or 'none'}"
    )
    helps = {name: seconds([*command, name, "--help"], SHORT) for name in app if not name.startswith("-")}
    slowest = max(helps, key=lambda name: helps[name])
    yield (
        f"- `onnxperf CMD --help`: at most {helps[slowest] / shown:.2f} times `onnxperf --help` ({slowest}); "
        "goal at most 1.2 times; " + ", ".join(f"{name} {taken / shown:.2f}" for name, taken in helps.items())
    )
    small = str(folder / "small.onnx")
    onnx.save(onnx.parser.parse_model(ONE_NODE), small)
    yield (
        f"- `onnxperf view` of a model with one node: {seconds([*command, 'view', small], SHORT):.2f} s; "
        f"goal at most 0.6 s; heavy libraries imported: {', '.join(heavy_imports('view', small))}"
    )
    store = ["--store", str(folder / "runs.db")]
    optimised = ["-o", str(folder / "optimised.onnx")]
    subprocess.run([*command, "optimize", small, *optimised, *store], check=True, stdout=subprocess.DEVNULL)
    yield (
        f"- `onnxperf runs` of a store with one run: {seconds([*command, 'runs', *store], SHORT):.2f} s; "
        f"goal at most 0.5 s; heavy libraries imported: {', '.join(heavy_imports('runs', *store))}"
    )
    model, twin = str(folder / "model.onnx"), str(folder / "twin.onnx")
    for path in (model, twin):
        onnx.save(demo_model(), path)
    styles = seconds([*command, "bench", model, "--call", "run,run-c", "--no-store"], LONG)
    yield f"- default bench of two call styles of a small model: {styles:.1f} s; goal at most 12 s"
    twins = seconds([*command, "bench", model, twin, "--no-store"], LONG)
    yield f"- default bench of a small model against an equal one: {twins:.1f} s; goal at most 12 s"


def main() -> None:
    """Print each figure as soon as it is known, and keep them all."""
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for line in figures(Path(folder)):
            print(line, file=sys.stderr, flush=True)
            lines.append(line)
    keep("startup", lines)


if __name__ == "__main__":
    main()
