"""`onnxperf diff`."""

from __future__ import annotations

from dataclasses import replace

from onnxperf.cli.command import KEPT, File, OptionalFile, Typed, command
from onnxperf.cli.present import present
from onnxperf.options.base import refuse_useless
from onnxperf.options.functions import DIFF, DIFF_VIEW
from onnxperf.options.output import Everything, MinShare

_HARMLESS = {"store", "tags"}
"""Of a drawing, which is not saved as a run."""


@command(DIFF, MinShare, Everything, *KEPT, common=("dims", "opt_level", "variants", "time", "output"))
def diff(before: File, after: OptionalFile = None, /, *, typed: Typed) -> int:
    """Compare two models, two traces, or one model under two settings, node by node.

    -o NAME.graph.svg or NAME.graph.png draws both graphs, and marks fused, removed and added nodes. If you name no
    other file, nothing is run.

    Examples
    --------
    # What do the graph optimizations gain, and where?
    onnxperf diff model.onnx --opt-level disable,all
    # Compare two versions of a model, and draw a chart
    onnxperf diff old.onnx new.onnx --dim batch=8 -o diff.png
    # Compare two sets of settings
    onnxperf diff model.onnx --variant 'usual: threads=4' --variant 'lean: threads=1, arena=off'
    # Draw what onnxruntime fuses, without running the model
    onnxperf diff model.onnx -o optimized.graph.svg

    Parameters
    ----------
    before
        The first side: an ONNX file or a trace.
    after
        The second side: an ONNX file or a trace. Leave it out to compare two values of a setting.
    """
    import onnxperf
    from onnxperf.results.diff import SHOW

    suffixes = {suffix for _, suffix in typed.output.files(SHOW)}
    if suffixes and suffixes <= SHOW.own.keys() and not typed.output.open:
        return _draw(before, after, typed)
    min_share = 0.0 if typed.own["all"] else typed.own["min_share"]
    return present(
        SHOW,
        typed.output,
        lambda progress: onnxperf.diff(before, after, progress=progress, **typed.keywords),
        page=lambda result: result.page(min_share),
    )


def _draw(before: str, after: str | None, typed: Typed) -> int:
    import onnxperf
    from onnxperf.results.view import SHOW

    option = MinShare.declared["min_share"]
    given = {name: True for name in typed.keywords if name not in _HARMLESS}
    shown = {
        "min_share": typed.own["min_share"] != option.value(option.default),
        "all": typed.own["all"],
        "table": typed.output.table,
        "chart": typed.output.chart,
        "width": typed.output.width != "page",
        "mlflow": typed.output.mlflow,
    }
    refuse_useless(given | shown, list(DIFF_VIEW.options), "a drawing of both graphs, which runs nothing")
    keywords = {name: value for name, value in typed.keywords.items() if name in DIFF_VIEW.options}
    return present(
        SHOW,
        replace(typed.output, quiet=False),
        lambda _progress: onnxperf.diff_view(before, after, **keywords),
        page=lambda _result: [],
    )
