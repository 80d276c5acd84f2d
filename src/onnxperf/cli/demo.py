"""`onnxperf demo`."""

from __future__ import annotations

from onnxperf.cli.options import KeepFlags
from onnxperf.cli.output import exit_code, make_console, make_progress


def demo(*, common: KeepFlags = KeepFlags()) -> int:
    """Build a small model here, race every way of calling it, and draw the chart.

    Writes onnxperf-demo.onnx and onnxperf-demo.png into the current folder.

    For example:

        onnxperf demo
    """
    import onnx

    from onnxperf.api.bench import bench
    from onnxperf.render.race.console import print_bench
    from onnxperf.zoo.demo import CHART_FILE, MODEL_FILE, demo_model

    onnx.save(demo_model(), MODEL_FILE)
    with make_progress(common.quiet) as progress:
        result = bench(MODEL_FILE, call="all", dims={"batch": 32}, progress=progress)
    result.save(CHART_FILE)
    common.keep(result.record, "bench")
    console = make_console()
    if common.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
        return exit_code(result)
    print_bench(result.record, console)
    console.print(f"\nWritten: {MODEL_FILE} (the model) and {CHART_FILE} (the chart).", markup=False)
    console.print("\nTry next:")
    for command, purpose in _NEXT:
        console.print(f"  onnxperf {command.format(model=MODEL_FILE):<58} {purpose}", markup=False, soft_wrap=True)
    return exit_code(result)


_NEXT = (
    ("bench {model} --call all --dim batch=1", "the same with single rows"),
    ("bench {model} --runtime ort,reference", "against onnx's own evaluator"),
    ("bench {model} --json result.json", "everything that was measured"),
    ("doctor", "how small a difference this machine can show"),
    ("bench --help", "all options"),
)
