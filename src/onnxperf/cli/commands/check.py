"""`onnxperf check`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass

from cyclopts import Group, Parameter

from onnxperf.cli.options import File, InputFlags, OptionalFile, Switch, ToleranceFlags, VariantFlags, keywords_of
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import LONG_TIMEOUT_S


@Parameter(name="*", group=Group("Comparison", sort_key=0))
@dataclass(frozen=True)
class ComparisonFlags(ToleranceFlags):
    """What counts as equal, how far to look, and within which limits."""

    nodes: Switch = False
    """Compare node by node, and name the first node that differs; always done for two models that differ."""
    save: OptionalFile = None
    """Folder for the inputs and outputs of that node (.npz); implies --nodes."""
    timeout: float = LONG_TIMEOUT_S
    """Seconds that one step (loading, a call) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may use, such as 2GB or 512MB; the check ends where one needs more."""


def check(
    *models: File,
    runtime: str | None = None,
    against: str | None = None,
    comparison: ComparisonFlags = ComparisonFlags(),
    inputs: InputFlags = InputFlags(),
    session: VariantFlags = VariantFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Compare the results of two models, of two runtimes, or of a model and its source.

    Exit code 1 when they differ, or when a side draws random numbers or is not deterministic.

    For example:

        onnxperf check model.onnx --dim batch=8

        onnxperf check old.onnx new.onnx

        onnxperf check model.onnx --runtime ort,reference --nodes --save where

        onnxperf check model.onnx --against train.py:make_model --input X=x.npy

        onnxperf check zoo:tiny-bert --against torch

    Parameters
    ----------
    models
        An ONNX file or zoo:NAME, or two of them.
    runtime
        Two runtimes (ort,numpy unless given); one for two models or with --against (ort): ort, numpy, reference,
        openvino.
    against
        The source of the model: a function that returns it, FILE.py:function; for a zoo model, or one that was
        converted here, torch, tensorflow or sklearn.
    """
    from onnxperf.api.check import check as compare
    from onnxperf.results.check import CheckResult

    return present(
        CheckResult,
        output,
        lambda _progress: compare(
            list(models),
            runtime=runtime,
            against=against,
            feeds=inputs.feeds(),
            **keywords_of(comparison, inputs, session),
        ),
    )
