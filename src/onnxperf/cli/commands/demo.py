"""`onnxperf demo`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from onnxperf.cli.command import KEPT, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.functions import DEMO

if TYPE_CHECKING:
    from onnxperf.render.kit.page import Page
    from onnxperf.results.bench import BenchResult


@command(DEMO, *KEPT, common=("quiet", "no_store", "debug"))
def demo(*, typed: Typed) -> int:
    """Build a small model, race all ways of calling it, and draw a chart.

    This writes onnxperf-demo.onnx and onnxperf-demo.png into the current folder.

    Examples
    --------
    # Start here
    onnxperf demo
    """
    import onnxperf
    from onnxperf.render.kit.files import write
    from onnxperf.results.bench import SHOW
    from onnxperf.zoo.demo import CHART_FILE, MODEL_FILE, demo_model

    write(Path(MODEL_FILE), demo_model().SerializeToString())
    return present(
        SHOW,
        replace(typed.output, output=[*typed.output.output, CHART_FILE]),
        lambda progress: onnxperf.bench(
            MODEL_FILE, call="all", dims={"batch": 32}, progress=progress, **typed.keywords
        ),
        page=lambda result: _page(result, MODEL_FILE, CHART_FILE),
    )


def _page(result: BenchResult, model: str, chart: str) -> Page:
    from onnxperf.render.kit.page import GAP, Line, Verbatim

    commands = "\n".join(f"  onnxperf {command.format(model=model):<28} {purpose}" for command, purpose in _NEXT)
    files = Line(f"Files: {model} (the model) and {chart} (the chart).")
    return [*result.page(), GAP, files, GAP, Line("Try next:"), Verbatim(commands)]


_NEXT = (
    ("profile {model}", "where does the time go?"),
    ("advise {model}", "what would make it faster?"),
    ("doctor", "what can this machine measure?"),
    ("bench --help", "examples and options"),
)
