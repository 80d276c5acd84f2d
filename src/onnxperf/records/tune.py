"""Tuning: tested candidates, their results, and which settings are faster than the defaults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from msgspec import Struct

from onnxperf.records.base import Experiment, Status
from onnxperf.records.comparison import Verdict
from onnxperf.records.numbers import Amount, Count, Ratio
from onnxperf.records.race import Case

Goal = Literal["latency", "cpu", "memory"]
TuneStage = Literal["alone", "longer", "together"]
TuneOutcome = Literal["tuned", "defaults", "unconfirmed", "unanswered"]

DEFAULTS = "defaults"
"""Name of onnxruntime's defaults in every race of a tuning."""
SAVED_VERSION = 1
NO_TIME = "no time was left"
"""Marks, in the reason of a row, that its candidate was not tested."""
_DEMANDING_KNOBS = ("denormals", "dimensions")
_DEMANDING_CALLS = ("ort-values", "io-binding-fixed", "io-binding-inplace")


class TuneChoice(Struct, frozen=True, kw_only=True):
    """A candidate for running the model: settings, a call style, a runtime, or a rewritten model."""

    name: str
    """Name of its row, such as `threads=1`; the parts of a combination are separated by commas."""
    knobs: tuple[str, ...]
    """What it changes; candidates that change the same thing are not combined."""
    settings: dict[str, str] = {}
    """Settings by their public names, as in --variant."""
    call: str = ""
    """Call style; empty for `run` or the requested one."""
    runtime: str = ""
    """Runtime; empty for onnxruntime."""
    rewrite: str = ""
    """Name of a rewritten model, such as `einsum` or `int8 dynamic`; empty for the model itself."""
    approximate: bool = False
    """Whether small output differences are expected."""

    @property
    def demands(self) -> tuple[str, ...]:
        """Its knobs, call styles and rewritten models that change results or restrict the caller."""
        knobs = [each for each in _DEMANDING_KNOBS if each in self.knobs]
        calls = [self.call] if self.call in _DEMANDING_CALLS else []
        return (
            *knobs,
            *calls,
            *([self.rewrite] if self.rewrite else []),
            *(["approximate"] if self.approximate else []),
        )


class TuneRow(Struct, frozen=True, kw_only=True):
    """A candidate and its result against the defaults in the search, which is not proof."""

    choice: TuneChoice
    """The candidate."""
    stage: TuneStage = "alone"
    """Last stage it took part in: alone, alone for longer, or in a combination."""
    status: Status = "pending"
    """Final status; `differs` if its outputs differ from those of the defaults, `skipped` if there was no time."""
    reason: str = ""
    """Why the status is not ok, or why it was dropped."""
    dropped: bool = False
    """Whether it left the search early because it was slower or gained too little."""
    launch_speedups: tuple[Ratio, ...] = ()
    """Defaults / own amount of each launch; above 1 is better."""
    speedup: Amount | None = None
    """Trimmed mean of these, as a ratio."""
    speedup_low: Amount | None = None
    """Lower end of its 95 % confidence interval, not corrected for the number of candidates; null below 2 launches."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    amount: Amount | None = None
    """Median over launches: nanoseconds per call (CPU time with the goal `cpu`), or bytes with the goal `memory`."""
    error: float | None = None
    """For an approximate candidate: largest difference of an output / largest value of that output, on fresh inputs."""
    pareto: bool = False
    """Whether it is on the Pareto front of speed and error."""

    @property
    def launches(self) -> int:
        """Number of its launches compared with the defaults."""
        return len(self.launch_speedups)

    @property
    def was_tried(self) -> bool:
        """Whether there was time to test it; a candidate that cannot run is also skipped, but counts as tested."""
        return not (self.status == "skipped" and NO_TIME in self.reason)


class Tuning(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf tune`: settings proven better than the defaults, or none."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of the model file and its external data."""
    dims: dict[str, Count] = {}
    """Size chosen for every free dimension of the model."""
    shapes: dict[str, tuple[Count, ...]] = {}
    """Shape of every input."""
    goal: Goal = "latency"
    """Quantity to minimize."""
    call: str = ""
    """Call style requested for all candidates; empty if call styles were candidates too."""
    min_effect: Amount = 0.01
    """Smallest relative gain that matters."""
    max_error: float | None = None
    """Largest error with which an approximate candidate may win; null if none may."""
    budget_s: Amount = 0.0
    """Total time budget in seconds, including resumed runs."""
    spent_s: Amount = 0.0
    """Seconds used, including resumed runs."""
    threads: Count = 0
    """Number of threads of the defaults."""
    default_amount: Amount | None = None
    """Median of the defaults over all launches of the search: nanoseconds per call, or bytes."""
    rows: tuple[TuneRow, ...] = ()
    """All candidates, in the order they were first tested."""
    outcome: TuneOutcome = "unconfirmed"
    """tuned: settings proven better; defaults: keep the defaults; unconfirmed: best so far when interrupted;
    unanswered: too few candidates were tested."""
    winner: TuneChoice | None = None
    """The best candidate; null if the defaults are best."""
    left_out: tuple[str, ...] = ()
    """Names of parts of the best combination that gained nothing by themselves and were left out of the winner."""
    tried: TuneChoice | None = None
    """Candidate of the confirming race; null if none was worth confirming."""
    gain: Amount | None = None
    """Defaults / winner in the confirming race; above 1 is better."""
    gain_low: Amount | None = None
    """Lower end of its confidence interval."""
    gain_high: Amount | None = None
    """Upper end of that interval."""
    verdict: Verdict | None = None
    """Verdict of the confirming race; `faster` means less of the goal's quantity."""
    before: Amount | None = None
    """Amount of the defaults in the confirming race: nanoseconds per call, or bytes."""
    after: Amount | None = None
    """Amount of the winner in that race."""
    confirmation: Case | None = None
    """The confirming race with its raw timings; null if there was none, or memory was compared."""
    snippet: str = ""
    """Python code that sets up and calls the winner with onnxruntime only."""
    interrupted: bool = False
    """Whether the user stopped it early."""

    @property
    def counts(self) -> tuple[int, int]:
        """Numbers of tested candidates and of all candidates, without combinations."""
        return counts_of(self.rows)


def counts_of(rows: Iterable[TuneRow]) -> tuple[int, int]:
    """Numbers of tested candidates and of all candidates, without combinations."""
    singles = [row for row in rows if len(row.choice.knobs) == 1]
    return sum(row.was_tried for row in singles), len(singles)


class TunedSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A settings file. For safety it contains nothing that runs code: no library, interpreter or other file."""

    version: Count = SAVED_VERSION
    """Version of this format."""
    model: str = ""
    """Label of the model the settings were found for."""
    fingerprint: str = ""
    """Hash of that model."""
    dims: dict[str, Count] = {}
    """Dimension sizes the settings were found for."""
    settings: dict[str, str] = {}
    """Settings by name, as in --variant."""
    call: str = ""
    """Call style; empty for `run`."""
    runtime: str = ""
    """Runtime; empty for onnxruntime."""
