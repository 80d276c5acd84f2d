"""`onnxperf check`."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from cyclopts import Group, Parameter

from onnxperf.cli.options import InputFlags, SessionFlags, Switch
from onnxperf.cli.present import KeptOutputFlags, present


@Parameter(name="*", group=Group("Comparison", sort_key=0))
@dataclass(frozen=True)
class ComparisonFlags:
    """What counts as equal, and how far to look."""

    rtol: float = 1e-3
    """Relative tolerance."""
    atol: float = 1e-5
    """Absolute tolerance."""
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

    keywords = {**asdict(comparison), **inputs.keywords(), **session.keywords()}
    return present(
        CheckResult,
        output,
        lambda _progress: compare(
            model,
            runtime=runtime,
            against=None if against is None else load_source(against),
            feeds=inputs.feeds(),
            **keywords,
        ),
    )
