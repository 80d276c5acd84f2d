"""What a tuning tried, what each setting gave, and which settings are faster than the defaults."""

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
"""The name of onnxruntime's defaults in every race of a tuning."""
SAVED_VERSION = 1
NO_TIME = "no time was left"
"""With this, the reason of a row says that it was not tried."""
_DEMANDING_KNOBS = ("denormals", "dimensions")
_DEMANDING_CALLS = ("ort-values", "io-binding-fixed", "io-binding-inplace")


class TuneChoice(Struct, frozen=True, kw_only=True):
    """One way to run the model: settings, a call style, a runtime, or a rewritten model."""

    name: str
    """What its row is called, such as `threads=1`; those of a combination are joined by a comma."""
    knobs: tuple[str, ...]
    """What it changes; two choices that change the same are not combined."""
    settings: dict[str, str] = {}
    """Settings by the names that users give them, as in --variant."""
    call: str = ""
    """Call style; empty for `run`, or for the one that was requested."""
    runtime: str = ""
    """Runtime; empty for onnxruntime."""
    rewrite: str = ""
    """Name of a rewritten model, such as `einsum` or `int8 dynamic`; empty for the model itself."""
    approximate: bool = False
    """Its outputs are meant to differ a little."""

    @property
    def demands(self) -> tuple[str, ...]:
        """Knobs, call styles and rewritten models in it that change numbers, or what a caller may do."""
        knobs = [each for each in _DEMANDING_KNOBS if each in self.knobs]
        calls = [self.call] if self.call in _DEMANDING_CALLS else []
        return (
            *knobs,
            *calls,
            *([self.rewrite] if self.rewrite else []),
            *(["approximate"] if self.approximate else []),
        )


class TuneRow(Struct, frozen=True, kw_only=True):
    """A choice, and what it gave against the defaults in the search, which is not proof."""

    choice: TuneChoice
    """What was tried."""
    stage: TuneStage = "alone"
    """The last stage in which it took part: alone, alone and longer, or in a combination."""
    status: Status = "pending"
    """How it ended; `differs` where its outputs are not those of the defaults, `skipped` where there was no time."""
    reason: str = ""
    """Why it is not ok, or why it was dropped."""
    dropped: bool = False
    """It left the search before its end: slower, or without a gain that matters."""
    launch_speedups: tuple[Ratio, ...] = ()
    """Defaults / own, of one launch of both each; above 1 is better."""
    speedup: Amount | None = None
    """Trimmed mean of these (on the scale of ratios)."""
    speedup_low: Amount | None = None
    """Lower end of its 95 % interval, not widened for the number of choices; null below 2 launches."""
    speedup_high: Amount | None = None
    """Upper end of that interval."""
    amount: Amount | None = None
    """Median over launches: nanoseconds of a call (CPU time with the goal `cpu`), or bytes with the goal `memory`."""
    error: float | None = None
    """Of an approximate choice: largest difference of an output / largest value of that output, on fresh inputs."""
    pareto: bool = False
    """No other choice is both at least as good and at least as exact."""

    @property
    def launches(self) -> int:
        """How many launches of it were compared with the defaults."""
        return len(self.launch_speedups)

    @property
    def was_tried(self) -> bool:
        """Whether there was time for it; one that cannot be run at all is skipped, too, but was tried."""
        return not (self.status == "skipped" and NO_TIME in self.reason)


class Tuning(Experiment, frozen=True, kw_only=True):
    """What `onnxperf tune` found: settings that are proven better than the defaults, or that there are none."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of its file and its external data."""
    dims: dict[str, Count] = {}
    """Every dimension that was free in the model, with the size it got."""
    shapes: dict[str, tuple[Count, ...]] = {}
    """Shape of every input."""
    goal: Goal = "latency"
    """What should become less."""
    call: str = ""
    """Call style that was requested for all choices; empty where styles were choices, too."""
    min_effect: Amount = 0.01
    """Smallest relative gain that matters."""
    max_error: float | None = None
    """Largest error with which an approximate choice may win; null: none may."""
    budget_s: Amount = 0.0
    """Seconds for everything, those of resumed runs included."""
    spent_s: Amount = 0.0
    """Seconds that were used, those of resumed runs included."""
    threads: Count = 0
    """Threads of the defaults."""
    default_amount: Amount | None = None
    """Median of the defaults over all launches of the search: nanoseconds of a call, or bytes."""
    rows: tuple[TuneRow, ...] = ()
    """Every choice, in the order in which it was first tried."""
    outcome: TuneOutcome = "unconfirmed"
    """Settings that are proven better, the defaults, what was best until it was interrupted, or `unanswered`: too few
    candidates were tried."""
    winner: TuneChoice | None = None
    """What is best; null where the defaults are."""
    left_out: tuple[str, ...] = ()
    """Names of parts of the best combination that gave no gain of their own, and are not in the winner."""
    tried: TuneChoice | None = None
    """What was raced against the defaults in the end; null where nothing was worth it."""
    gain: Amount | None = None
    """Defaults / winner in the confirming race alone; above 1 is better."""
    gain_low: Amount | None = None
    """Lower end of its interval."""
    gain_high: Amount | None = None
    """Upper end of that interval."""
    verdict: Verdict | None = None
    """What the confirming race says; `faster` stands for less of what the goal names."""
    before: Amount | None = None
    """The defaults in the confirming race: nanoseconds of a call, or bytes."""
    after: Amount | None = None
    """The winner in that race."""
    confirmation: Case | None = None
    """The confirming race with its raw timings; null where none took place, or memory was compared."""
    snippet: str = ""
    """Python that sets up and calls the winner with onnxruntime alone."""
    interrupted: bool = False
    """Stopped by the user before its end."""

    @property
    def counts(self) -> tuple[int, int]:
        """How many candidates were tried, and how many there are; combinations of them do not count."""
        return counts_of(self.rows)


def counts_of(rows: Iterable[TuneRow]) -> tuple[int, int]:
    """How many candidates were tried, and how many there are; combinations of them do not count."""
    singles = [row for row in rows if len(row.choice.knobs) == 1]
    return sum(row.was_tried for row in singles), len(singles)


class TunedSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A file of settings, which names nothing that runs code: no library, interpreter or other file."""

    version: Count = SAVED_VERSION
    """Version of this format."""
    model: str = ""
    """Label of the model for which they were found."""
    fingerprint: str = ""
    """Hash of that model."""
    dims: dict[str, Count] = {}
    """The sizes for which they were found."""
    settings: dict[str, str] = {}
    """Settings by name, as in --variant."""
    call: str = ""
    """Call style; empty for `run`."""
    runtime: str = ""
    """Runtime; empty for onnxruntime."""
