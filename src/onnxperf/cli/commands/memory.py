"""`onnxperf memory`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass

from cyclopts import Group, Parameter

from onnxperf.cli.options import File, Flags, InputFlags, SourceFlags, Switch, VariantFlags, keywords_of, refuse_others
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import STEP_TIMEOUT_S

_WITH_LINES = frozenset(("lines", "timeout", "memory_limit"))
"""Options that mean something for a function that is called once, as it is."""


@Parameter(name="*", group=Group("Memory", sort_key=0))
@dataclass(frozen=True)
class MemoryFlags(Flags):
    """What is called, how often, and within which limits."""

    only_here = ("lines",)

    call: str = "run"
    """Ways of calling onnxruntime, separated by commas."""
    runtime: str = "ort"
    """What executes the model, separated by commas: ort, numpy, reference, openvino."""
    repeat: int | None = None
    """Number of calls over which growth is judged, at least 5."""
    interval: float = 0.001
    """Seconds between two samples of the curve."""
    timeout: float = STEP_TIMEOUT_S
    """Seconds that one step (loading, a call) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may use, such as 2GB or 512MB; a subject that needs more ends as oom."""
    skip_arena: Switch = False
    """Do not measure other settings of onnxruntime's arena where much of its need is unexplained."""
    lines: Switch = False
    """Call a function (FILE.py:function) once, and show its memory line by line."""


def memory(
    model: File,
    /,
    *,
    options: MemoryFlags = MemoryFlags(),
    against: SourceFlags = SourceFlags(),
    inputs: InputFlags = InputFlags(),
    session: VariantFlags = VariantFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Show how much memory a prediction needs, what stays, whether it grows, and where the bytes are.

    Each subject runs in a fresh process, and the kernel's own peak is read.

    For example:

        onnxperf memory model.onnx --dim batch=300000 --runtime ort,numpy

        onnxperf memory model.onnx --input X=float64.npy --cast -o memory.png

        onnxperf memory train.py:predict

        onnxperf memory train.py:predict --lines

    Parameters
    ----------
    model
        An ONNX file, or a function that is called without arguments: FILE.py:function.
    """
    if options.lines:
        refuse_others(_WITH_LINES, "`lines`, which calls a function once", options, against, inputs, session)
        return _lines(model, options, output)
    from onnxperf.api.memory import memory as measure
    from onnxperf.results.memory import MemoryResult

    sources, keywords = against.sources(), keywords_of(options, against, inputs, session)
    return present(
        MemoryResult,
        output,
        lambda progress: measure(model, feeds=inputs.feeds(), against=sources, progress=progress, **keywords),
    )


def _lines(source: str, options: MemoryFlags, output: KeptOutputFlags) -> int:
    from onnxperf.api.memory_lines import memory_lines
    from onnxperf.results.lines import LinesResult

    return present(
        LinesResult,
        output,
        lambda progress: memory_lines(
            source, timeout=options.timeout, memory_limit=options.memory_limit, progress=progress
        ),
    )
