"""`onnxperf check`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass

from cyclopts import Group, Parameter

from onnxperf.cli.options import InputFlags, SessionFlags, Switch, ToleranceFlags, keywords_of
from onnxperf.cli.present import KeptOutputFlags, present


@Parameter(name="*", group=Group("Comparison", sort_key=0))
@dataclass(frozen=True)
class ComparisonFlags(ToleranceFlags):
    """What counts as equal, and how far to look."""

    nodes: Switch = False
    """Walk the graph, and name the first node whose output differs."""
    save: str | None = None
    """Folder for the inputs and outputs of that node (.npz)."""


def check(
    model: str,
    /,
    *,
    runtime: str = "ort,numpy",
    against: str | None = None,
    comparison: ComparisonFlags = ComparisonFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Compare the results of two runtimes, or of a model and its source.

    Exit code 1 when they differ.

    For example:

        onnxperf check model.onnx --dim batch=8

        onnxperf check model.onnx --runtime ort,reference --nodes --save where

        onnxperf check model.onnx --against train.py:make_model --input X=x.npy

    Parameters
    ----------
    model
        An ONNX file.
    runtime
        Two runtimes, or one with --against: ort, numpy, reference.
    against
        A function that returns the source of the model, an estimator or a callable: FILE.py:function.
    """
    from onnxperf.api._shared.sources import load_source
    from onnxperf.api.check import check as compare
    from onnxperf.results.check import CheckResult

    return present(
        CheckResult,
        output,
        lambda _progress: compare(
            model,
            runtime=runtime,
            against=None if against is None else load_source(against),
            feeds=inputs.feeds(),
            **keywords_of(comparison, inputs, session),
        ),
    )
