"""Where int8 wins and loses: profiles of both sides in turn, and the error of each layer quantized alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

from onnxperf.analyze.judges.quantization import Sides, nodes_to_exclude, worst_error
from onnxperf.api._quantization.budget import QuantizeBudget
from onnxperf.api._quantization.quantizer import Quantized, Quantizer
from onnxperf.api._quantization.samples import MOST_COMPARED
from onnxperf.api._shared import recordings
from onnxperf.api._shared.opening import open_source
from onnxperf.api._shared.setups import Setup
from onnxperf.api._shared.side_by_side import profile_plans
from onnxperf.api._shared.subjects import Entry
from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.model_reader import outline_of_file
from onnxperf.measure.profiling import Progress
from onnxperf.records.graph import Graph
from onnxperf.records.options import WorkerLimits
from onnxperf.records.quantize import LayerChange, QuantizationWay

MOST_LAYERS = 12
"""Layers whose errors are measured, the costliest first."""


def profile_sides(
    entry: Entry,
    quantizer: Quantizer,
    model: Quantized,
    setup: Setup,
    limits: WorkerLimits,
    progress: Progress,
    launches: int,
) -> Sides:
    """Profile the original and a quantized model in turn."""
    other = dataclasses.replace(entry, model=open_source(model.path, entry.model.label), twin=entry)
    folder = quantizer.folder
    named = [(entry, "float32"), (other, f"{model.path.stem}-int8")]
    plans = [recordings.plan_recording(each, setup.session, folder, name, setup.calls) for each, name in named]
    (before, after), interrupted = profile_plans(plans, None, limits, progress, launches)
    if interrupted:
        raise KeyboardInterrupt
    return Sides(
        original=plans[0].recorded.outlined.graph,
        prepared=outline_of_file(quantizer.prepared, "the prepared model").graph,
        quantized=plans[1].recorded.outlined.graph,
        before=before.record,
        before_graph=_executed(plans[0].recorded.executed_path),
        after=after.record,
        after_graph=_executed(plans[1].recorded.executed_path),
        touched=frozenset(model.nodes),
    )


def _executed(path: Path) -> Graph:
    return outline_of_file(path, "the graph that onnxruntime executes").graph


def errors_alone(
    quantizer: Quantizer,
    way: QuantizationWay,
    sides: Sides,
    layers: Sequence[LayerChange],
    budget: QuantizeBudget,
    each_s: float,
    progress: Progress,
) -> dict[tuple[str, ...], float | None]:
    """The error of an output where only one layer is quantized, for the costliest ones, as long as there is time.

    `each_s` is what the first of them probably takes.
    """
    chosen = [layer for layer in layers if layer.quantized][:MOST_LAYERS]
    found: dict[tuple[str, ...], float | None] = {}
    end_s = budget.clock() + budget.left_of("layers")
    for number, layer in enumerate(chosen):
        begin_s = budget.clock()
        if begin_s + each_s > end_s:
            break
        progress(number / len(chosen), f"error of layer {number + 1} of {len(chosen)} alone")
        try:
            alone = quantizer.quantized(way, only=nodes_to_exclude(sides, [layer]))
            if alone.nodes:
                found[layer.nodes] = worst_error(quantizer.errors(alone.path, MOST_COMPARED))
            alone.path.unlink(missing_ok=True)  # nearly as large as the model, and there may be many
        except (SubjectError, BadInput):
            continue  # a layer that cannot stand alone has no number
        each_s = budget.clock() - begin_s
    return found
