"""The way of a tuning: every choice alone, the better ones longer, then together; the best is raced once more."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from msgspec.structs import replace

from onnxperf.analyze.judges.tuning import Confirmed, Sample, row_of
from onnxperf.api._tuning.measures import Measure
from onnxperf.measure.race import Progress
from onnxperf.records.tune import DEFAULTS, TuneChoice, TuneRow, TuneStage
from onnxperf.tuning import halving
from onnxperf.tuning.halving import FEWEST_LAUNCHES, Budget
from onnxperf.wording.numbers import ratio

_SHORTEST_CONFIRMATION_S = 1.0
_SPARE = 0.15
"""Part of the time that is left which is not planned: machines slow down."""
_REST = 0.5
"""Part of the time that is left for choices that were skipped, where there is nothing to confirm yet."""
_RECENT = 3
"""Laps by which the next ones are planned: one with a choice that takes very long says little about them."""
_NO_TIME = "no time was left to try it; a longer `time` or `resume` tries it"
_STAGES: dict[TuneStage, str] = {"alone": "each alone", "longer": "the better ones", "together": "combinations"}


@dataclass
class TuneSearch:
    """What a tuning has found so far."""

    measure: Measure
    choices: Sequence[TuneChoice]
    budget: Budget
    min_effect: float
    clock: Callable[[], float]
    report: Progress
    max_error: float | None = None
    rows: dict[str, TuneRow] = field(default_factory=dict)
    """By name; those of a run that is resumed are there from the start."""
    best: TuneRow | None = None
    confirmed: Confirmed | None = None
    interrupted: bool = False
    base_amounts: list[float] = field(default_factory=list)
    _samples: dict[str, list[Sample]] = field(default_factory=lambda: defaultdict(list))
    """Launches of this run."""
    _resumed: dict[str, TuneRow] = field(default_factory=dict)
    _each_s: float = 0.0
    """Time of one choice in one launch, as the last ones took."""
    _lap_s: list[float] = field(default_factory=list)

    def run(self) -> None:
        """Go through all stages; Ctrl-C leaves what was found until then."""
        self.rows = {name: row for name, row in self.rows.items() if row.status != "skipped"}
        self._resumed = dict(self.rows)
        try:
            self._lap([], "alone")  # shows what a launch takes
            self._alone(partial(self._left_of, "alone"))
            self._at_once()
            self._longer()
            self._together()
            if self.best is None:  # there is nothing to confirm, so that there is time for what was skipped
                self._alone(lambda: _REST * self.budget.left(self.clock()))
                self._together()
            self._confirm()
        except KeyboardInterrupt:
            self.interrupted = True
            self.best = self.best or self._best_so_far()

    @property
    def default_amount(self) -> float | None:
        """The defaults over all launches."""
        return median(self.base_amounts) if self.base_amounts else None

    # ---------------------------------------------------------------- stages

    def _alone(self, left_s: Callable[[], float]) -> None:
        """Every choice has a few launches, side by side with others, as long as there is time."""
        waiting = [each for each in self.choices if not self._is_known(each)]
        waiting = halving.in_order(waiting, self.default_amount or 0.0)
        while waiting and (number := self._affordable(halving.side_by_side(waiting), left_s())):
            now, waiting = waiting[:number], waiting[number:]
            for _ in range(FEWEST_LAUNCHES):
                if racing := [each for each in now if self._races_on(each)]:
                    self._lap(racing, "alone")
        for each in waiting:
            self.rows[each.name] = TuneRow(choice=each, status="skipped", reason=_NO_TIME)
        self._measure_errors()

    def _at_once(self) -> None:
        """All that seem to help are launched together: that shows in a few launches what single steps lead to."""
        proposed = self._unknown(halving.all_at_once(self._singles(), self.min_effect))
        proposed = proposed[: self._affordable(len(proposed), self._left_of("longer"))]
        self._launched(proposed)

    def _longer(self) -> None:
        """Those that were not dropped have more launches; of many, the better half goes on."""
        pool = halving.halved(self._alive())
        while pool := halving.need_more(pool):
            number = self._affordable(len(pool), self._left_of("longer"), laps=1)
            if not number:
                return
            pool = halving.ranked(pool)[:number]
            self._lap([row.choice for row in pool], "longer")
            pool = [self.rows[row.choice.name] for row in pool]
            pool = [row for row in pool if row.status == "ok" and not row.dropped]
            if pool and pool[0].launches % FEWEST_LAUNCHES == 0:
                pool = halving.halved(pool)

    def _together(self) -> None:
        """The best with one part more or less, as long as there is one that was not tried, and time."""
        self.best = self._best_so_far()
        while self.best is not None:
            proposed = self._unknown(halving.neighbours(self.best.choice, self._singles(), self.min_effect))
            number = self._affordable(min(len(proposed), halving.MOST_TOGETHER) + 1, self._left_of("together"))
            if not proposed or number < 2:
                return
            self._launched([self.best.choice, *proposed[: number - 1]])
            self.best = self._best_so_far()

    def _confirm(self) -> None:
        if self.best is None:
            return
        left = self.budget.left(self.clock())
        time_s = max((1 - _SPARE) * left - 2 * self._each_s, _SHORTEST_CONFIRMATION_S)
        start_s = self.budget.total_s - left
        report = partial(self._tell, f"confirming {self.best.choice.name}", start_s, left)
        self.confirmed = self.measure.confirm(self.best.choice, time_s, report)
        self.interrupted = self.confirmed.case is not None and self.confirmed.case.interrupted

    # ---------------------------------------------------------------- steps

    def _launched(self, choices: Sequence[TuneChoice]) -> None:
        """Combinations have their first launches, and the best so far as many more."""
        for _ in range(FEWEST_LAUNCHES):
            if racing := [each for each in choices if self._races_on(each)]:
                self._lap(racing, "together")
        self._measure_errors()

    def _lap(self, choices: Sequence[TuneChoice], stage: TuneStage) -> None:
        begin = self.clock()
        done_s = begin - self.budget.start_s
        report = partial(self._tell, _STAGES[stage], done_s, self._each_s * (len(choices) + 1))
        samples = self.measure.lap(choices, report)
        self._lap_s.append((self.clock() - begin) / (len(choices) + 1))
        self._each_s = median(self._lap_s[-_RECENT:])
        self.base_amounts += [each for each in [samples[DEFAULTS].amount] if each is not None]
        for choice in choices:
            self._samples[choice.name].append(samples[choice.name])
            row = row_of(choice, _stage_of(choice, stage), self._samples[choice.name], self._resumed.get(choice.name))
            known = self.rows.get(choice.name)
            if known is not None:
                row = replace(row, error=known.error)
            why = halving.why_dropped(row, self.min_effect)
            self.rows[choice.name] = replace(row, dropped=bool(why), reason=row.reason or why)

    def _measure_errors(self) -> None:
        for name, row in self.rows.items():
            if row.choice.approximate and row.status == "ok" and row.error is None and row.launches:
                self.rows[name] = replace(row, error=self.measure.error(row.choice))

    def _tell(self, stage: str, start_s: float, length_s: float, done: float, text: str) -> None:
        best = self.best or self._best_so_far()
        found = f"; best so far {best.choice.name}: {ratio(best.speedup)}" if best is not None else ""
        self.report(min((start_s + done * length_s) / self.budget.total_s, 1.0), f"{stage}: {text}{found}")

    # ---------------------------------------------------------------- questions

    def _is_known(self, choice: TuneChoice) -> bool:
        row = self.rows.get(choice.name)
        if row is None or self._is_waiting(row):
            return False
        return row.status != "ok" or row.launches >= FEWEST_LAUNCHES

    def _is_waiting(self, row: TuneRow) -> bool:
        """Whether there was no time for it; a call style that cannot take the inputs is skipped, too, but was tried."""
        return row.status == "skipped" and not self._samples.get(row.choice.name)

    def _races_on(self, choice: TuneChoice) -> bool:
        row = self.rows.get(choice.name)
        return row is None or self._is_waiting(row) or (row.status == "ok" and not row.dropped)

    def _alive(self) -> list[TuneRow]:
        return [row for row in self.rows.values() if row.status == "ok" and not row.dropped and row.launches]

    def _may_win(self, row: TuneRow) -> bool:
        return halving.may_win(row, self.max_error)

    def _singles(self) -> list[TuneRow]:
        """Choices that may be part of the answer, each alone."""
        rows = [self.rows[each.name] for each in self.choices if each.name in self.rows]
        return [row for row in rows if halving.may_be_part(row, self.max_error)]

    def _unknown(self, choices: Sequence[TuneChoice]) -> list[TuneChoice]:
        return [each for each in choices if each.name not in self.rows]

    def _best_so_far(self) -> TuneRow | None:
        won = [row for row in self._alive() if halving.has_gain(row, self.min_effect) and self._may_win(row)]
        return halving.best_of(won, self.min_effect)

    def _left_of(self, stage: TuneStage) -> float:
        """Seconds until a stage ends."""
        return self.budget.end_of(stage, self._each_s) - self.clock()

    def _affordable(self, wanted: int, left_s: float, laps: int = FEWEST_LAUNCHES) -> int:
        """How many choices can have their launches in so many seconds; the first has them in any case."""
        number = int(left_s / max(laps * self._each_s, 1e-9)) - 1
        return max(0 if self._samples else 1, min(wanted, number))


def _stage_of(choice: TuneChoice, stage: TuneStage) -> TuneStage:
    """What its row says: one choice stays alone, however often it races beside combinations."""
    if len(choice.knobs) > 1:
        return "together"
    return "alone" if stage == "alone" else "longer"
