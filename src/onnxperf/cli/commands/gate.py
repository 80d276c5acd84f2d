"""`onnxperf gate`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass
from typing import Any, Literal

from cyclopts import Group, Parameter

from onnxperf.cli.commands.bench import CaseFlags
from onnxperf.cli.options import File, SessionFlags, Switch, ToleranceFlags, keywords_of, part
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import STEP_TIMEOUT_S


@Parameter(name="*", group=Group("Limits", sort_key=0))
@dataclass(frozen=True)
class LimitFlags(ToleranceFlags):
    """What the new model has to keep to, and how that is measured."""

    only_here = ("no_check",)

    max_slowdown: str = "5%"
    """Largest slow-down that is accepted."""
    max_memory: str | None = None
    """Largest increase of memory that is accepted, such as 5%; without it, memory is not measured."""
    undecided: Literal["pass", "fail"] | None = None
    """What an undecided gate counts as; exit code 3 unless given."""
    no_check: Switch = False
    """Do not compare outputs."""
    time: float = 20.0
    """Most seconds of a race; it ends as soon as it can tell."""
    min_effect: str = "1%"
    """Smallest difference by which the control may fail."""
    warmup: float = 0.1
    """Seconds of untimed calls before a subject is measured."""
    count: str | None = None
    """Also count, and limit alike: instructions (needs valgrind and a C compiler)."""
    timeout: float = STEP_TIMEOUT_S
    """Seconds that one step (loading, a block of calls) may take."""
    memory_limit: str | None = None
    """Resident memory that a worker may use, such as 2GB or 512MB."""

    def keywords(self) -> dict[str, Any]:
        """The keywords of the Python function."""
        counts = {"pass": "passed", "fail": "failed", None: "undecided"}
        return {
            **super().keywords(),
            "max_slowdown": part(self.max_slowdown.removeprefix("+"), "max-slowdown"),
            "max_memory": None if self.max_memory is None else part(self.max_memory.removeprefix("+"), "max-memory"),
            "min_effect": part(self.min_effect),
            "check": not self.no_check,
            "undecided": counts[self.undecided],
        }


def gate(
    model: str,
    /,
    *,
    baseline: File,
    call: str = "run",
    limits: LimitFlags = LimitFlags(),
    inputs: CaseFlags = CaseFlags(),
    session: SessionFlags = SessionFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Decide in CI whether a model may replace the one before it.

    Exit code 0: it may. 1: it is slower, or needs more memory, beyond the limit and the noise; its outputs differ; or
    it does not run. 3: that cannot be told on this machine, or the control failed: the baseline against itself.

    For example:

        onnxperf gate new.onnx --baseline old.onnx --max-slowdown 3%

        onnxperf gate new.onnx --baseline old.onnx --max-memory 5% -o gate.md -o gate.xml

        onnxperf gate new.onnx --baseline old.onnx --dim batch=1,8 --undecided pass

    Parameters
    ----------
    model
        The new model: an ONNX file, or zoo:NAME.
    baseline
        The model before it: an ONNX file, or zoo:NAME.
    call
        Way of calling onnxruntime: run, run-c, ort-values, io-binding, io-binding-fixed, io-binding-inplace.
    """
    from onnxperf.api.gate import gate as decide
    from onnxperf.results.gate import GateResult

    keywords = {**keywords_of(inputs, session, limits), "call": call, "feeds": inputs.feeds()}
    return present(GateResult, output, lambda progress: decide(model, baseline, progress=progress, **keywords))
