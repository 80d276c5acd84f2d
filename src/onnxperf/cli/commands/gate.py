"""`onnxperf gate`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass
from typing import Any, Literal

from cyclopts import Group, Parameter

from onnxperf.cli.commands.bench import CaseFlags
from onnxperf.cli.options import File, Flags, SessionFlags, Switch, ToleranceFlags, keywords_of, part
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.records.timeouts import STEP_TIMEOUT_S


@Parameter(name="*", group=Group("Limits", sort_key=0))
@dataclass(frozen=True)
class LimitFlags(ToleranceFlags):
    """What the new model has to keep to, and how that is measured."""

    only_here = ("no_check", "no_yardstick")

    max_slowdown: str = "5%"
    """Largest slow-down that is accepted."""
    max_memory: str | None = None
    """Largest increase of memory that is accepted, such as 5%; without it, memory is not measured."""
    max_error: str | None = None
    """Largest error of outputs that is accepted (largest difference / largest value of an output), such as 0.001 or
    0.1%, in place of the tolerances."""
    undecided: Literal["pass", "fail"] | None = None
    """What an undecided gate counts as; exit code 3 unless given."""
    no_check: Switch = False
    """Do not compare outputs."""
    no_yardstick: Switch = False
    """Do not measure the yardstick, by which a later gate can be compared with the record of this one."""
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
            "max_error": None if self.max_error is None else part(self.max_error, "max-error"),
            "min_effect": part(self.min_effect),
            "yardstick": not self.no_yardstick,
            "check": not self.no_check,
            "undecided": counts[self.undecided],
        }


@Parameter(name="*", group=Group("Baseline", sort_key=1))
@dataclass(frozen=True)
class BaselineFlags(Flags):
    """What else is said of the baseline."""

    baseline_env: str | None = None
    """Environment of a baseline that is a model, built once and kept: onnxruntime==1.20.1, or the path of a Python
    interpreter."""
    baseline_subject: str | None = None
    """Subject of a baseline that is a record, by its name, where several were called alike."""


def gate(
    model: str,
    /,
    *,
    baseline: File,
    call: str = "run",
    before: BaselineFlags = BaselineFlags(),
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

        onnxperf gate new.onnx --baseline base.json --max-slowdown 10%

        onnxperf gate model.onnx --baseline model.onnx --baseline-env onnxruntime==1.20.1

    Parameters
    ----------
    model
        The new model: an ONNX file, or zoo:NAME.
    baseline
        What it is compared with: the model before it (an ONNX file, or zoo:NAME), which races now; or a record, by
        the yardstick: a .json file of a bench or a gate, or a run of the store by its id or last.
    call
        Way of calling onnxruntime: run, run-c, ort-values, io-binding, io-binding-fixed, io-binding-inplace.
    """
    from onnxperf.api.gate import gate as decide
    from onnxperf.results.gate import GateResult

    groups = keywords_of(inputs, session, limits, before)
    keywords = {**groups, "call": call, "feeds": inputs.feeds(), "store": output.store}
    return present(GateResult, output, lambda progress: decide(model, baseline, progress=progress, **keywords))
