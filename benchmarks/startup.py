"""How long a user waits: for the help text, for the view of a small model, and for a default bench with two subjects.

usage: python -m benchmarks.startup
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import onnx
import onnx.parser

from benchmarks.report import keep
from onnxperf.zoo.demo import demo_model

HEAVY = ("onnx", "onnxruntime", "pandas", "matplotlib", "numpy", "sqlalchemy")
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


def main() -> None:
    """Print the figures and keep them."""
    command = [sys.executable, "-m", "onnxperf"]
    bare, shown = seconds([sys.executable, "-c", "pass"], 15), seconds([*command, "--help"], 15)
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.onnx"
        onnx.save(onnx.parser.parse_model(ONE_NODE), small)
        viewed, needed = seconds([*command, "view", str(small)], 15), heavy_imports("view", str(small))
        model = Path(folder) / "model.onnx"
        onnx.save(demo_model(), model)
        twin = Path(folder) / "twin.onnx"
        onnx.save(demo_model(), twin)
        styles = seconds([*command, "bench", str(model), "--call", "run,run-c"], 3)
        twins = seconds([*command, "bench", str(model), str(twin)], 3)
    keep(
        "startup",
        [
            f"- `onnxperf --help`: {shown:.2f} s, {shown / bare:.1f} times a bare interpreter; goal at most 0.3 s; "
            f"heavy libraries imported: {', '.join(heavy_imports('--help')) or 'none'}",
            f"- `onnxperf view` of a model with one node: {viewed:.2f} s; goal at most 0.6 s; "
            f"heavy libraries imported: {', '.join(needed)}",
            f"- default bench of two call styles of a small model: {styles:.1f} s; goal at most 12 s",
            f"- default bench of a small model against an equal one: {twins:.1f} s; goal at most 12 s",
        ],
    )


if __name__ == "__main__":
    main()
