"""The way of a tuning: every choice alone, the better ones longer, then together; what does nothing is left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from msgspec.structs import replace

from onnxperf.analyze.judges.tuning import Confirmation, Sample, earns_its_place, row_of
from onnxperf.api._tuning.measures import Measure
from onnxperf.measure.race import Progress
from onnxperf.records.comparison import Comparison
from onnxperf.records.tune import DEFAULTS, NO_TIME, TuneChoice, TuneRow, TuneStage
from onnxperf.tuning import halving
from onnxperf.tuning.base import is_part
from onnxperf.tuning.halving import FEWEST_LAUNCHES, LAUNCHES_TO_CONFIRM, Budget, TimeIsUp
from onnxperf.wording.numbers import ratio

_SHORTEST_CONFIRMATION_S = 1.0
_SPARE = 0.15
"""Part of the time that is left which is not planned: machines slow down."""
_REST = 0.7
"""Part of the time left for choices that were skipped, if there is nothing to confirm yet."""
_ELIMINATION = 0.4
"""Part of the time that is left for testing every part of the best combination."""
_MOST_LAPS = 60
"""Launches after which a part of a combination is known well enough."""
_RECENT = 3
"""Laps by which the next ones are planned: one with a choice that takes very long says little about them."""
_NOT_TRIED = f"{NO_TIME} to try it; a longer `time` or `resume` tries it"
_NOT_CONFIRMED = f"{NO_TIME} to confirm it; increase `time`"
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
    """The best of the search, of which parts may be left out in the end."""
    confirmed: Confirmation | None = None
    confirming_s: float = 0.0
    """What the confirming race was given."""
    interrupted: bool = False
    base_amounts: list[float] = field(default_factory=list)
    _samples: dict[str, list[Sample]] = field(default_factory=lambda: defaultdict(list))
    """Launches of this run."""
    _resumed: dict[str, TuneRow] = field(default_factory=dict)
    _each_s: float = 0.0
    """Time of one choice in one launch, as the last ones took."""
    _lap_s: list[float] = field(default_factory=list)
    _is_late: bool = False
    """The last race was stopped because its time was up."""

    def run(self) -> None:
        """Go through all stages; Ctrl-C leaves the results so far."""
        self.rows = {name: row for name, row in self.rows.items() if row.status != "skipped"}
        self._resumed = dict(self.rows)
        try:
            try:
                self._search()
            except TimeIsUp:
                self.best = self._best_so_far()
            finalists = self._finalists()
            self._skip_the_rest()
            self._confirm(finalists)
        except KeyboardInterrupt:
            self.interrupted = True
            self.best = self.best or self._best_so_far()

    @property
    def winner(self) -> TuneChoice | None:
        """What is proven better than the defaults."""
        found = self.confirmed
        return found.choice if found is not None and found.found.verdict == "faster" else None

    @property
    def left_out(self) -> list[TuneChoice]:
        """Parts of the best that are not in the winner, as they did not earn their place."""
        if self.best is None or self.winner is None:
            return []
        parts = halving.parts_of(self.best.choice, self._singles())
        return [each for each in parts if not is_part(each, self.winner)]

    @property
    def default_amount(self) -> float | None:
        """The defaults over all launches."""
        return median(self.base_amounts) if self.base_amounts else None

    # ---------------------------------------------------------------- stages

    def _search(self) -> None:
        self._lap([], "alone", self.budget.end_s)  # shows what a launch takes
        self._alone(partial(self._left_of, "alone"))
        self._at_once()
        self._longer()
        self._together()
        if self.best is None:  # there is nothing to confirm, so that there is time for what was skipped
            self._alone(lambda: _REST * self.budget.left(self.clock()))
            self._together()

    def _alone(self, left_s: Callable[[], float]) -> None:
        """Every choice has a few launches, side by side with others, as long as there is time."""
        waiting = [each for each in self.choices if not self._is_known(each)]
        waiting = halving.in_order(waiting, self.default_amount or 0.0)
        while waiting:
            now = self._affordable(waiting[: halving.side_by_side(waiting)], left_s())
            now = now or self._affordable(list(filter(halving.shares_process, waiting)), left_s())
            if not now:
                return
            waiting = [each for each in waiting if each not in now]
            for _ in range(FEWEST_LAUNCHES):
                if racing := [each for each in now if self._races_on(each)]:
                    self._lap(racing, "alone")
            self._measure_errors()

    def _at_once(self) -> None:
        """All that seem to help are launched together: that shows in a few launches what single steps lead to."""
        proposed = self._unknown(halving.all_at_once(self._singles(), self.min_effect))
        self._launched(self._affordable(proposed, self._left_of("longer")))

    def _longer(self) -> None:
        """Those that were not dropped have more launches; of many, the better half goes on."""
        pool = halving.halved(self._alive())
        while pool := halving.need_more(pool):
            racing = self._affordable([row.choice for row in halving.ranked(pool)], self._left_of("longer"), laps=1)
            if not racing:
                return
            self._lap(racing, "longer")
            pool = [self.rows[each.name] for each in racing]
            pool = [row for row in pool if row.status == "ok" and not row.dropped]
            if pool and pool[0].launches % FEWEST_LAUNCHES == 0:
                pool = halving.halved(pool)

    def _together(self) -> None:
        """The best with one part more or less, as long as there is one that was not tried, and time."""
        self.best = self._best_so_far()
        while self.best is not None:
            proposed = self._unknown(halving.neighbours(self.best.choice, self._singles(), self.min_effect))
            proposed = [self.best.choice, *proposed[: halving.MOST_TOGETHER]]
            proposed = self._affordable(proposed, self._left_of("together"))
            if len(proposed) < 2:
                return
            self._launched(proposed)
            self.best = self._best_so_far()

    def _finalists(self) -> list[TuneChoice]:
        """The best, and what is left of it without the parts that do nothing; every part is tested in new launches.

        A part that changes numbers, or what a caller may do, is in neither of them unless it has a gain of its own.
        """
        if self.best is None:
            return []
        singles = self._singles()
        parts = halving.parts_of(self.best.choice, singles)
        if len(parts) < 2:
            return [self.best.choice]
        kept = self._earned(parts, singles) or self._best_alone(parts)
        most = [each for each in parts if each in kept or not each.demands]
        wholes = [halving.whole_of(each, singles) for each in (most, kept) if each]
        return list({each.name: each for each in wholes}.values())

    def _earned(self, parts: Sequence[TuneChoice], singles: Sequence[TuneRow]) -> list[TuneChoice]:
        """Parts without which the best is worse; without time for that, those that have won clearly alone."""
        whole = halving.whole_of(parts, singles)
        rests = {
            each.name: halving.whole_of([other for other in parts if other is not each], singles) for each in parts
        }
        racing = [whole, *rests.values()]
        left_s = _ELIMINATION * self.budget.left(self.clock())
        number = min(int(left_s / max(halving.processes(racing) * self._each_s, 1e-9)), _MOST_LAPS)
        if number < FEWEST_LAUNCHES:
            return [each for each in parts if halving.won_clearly(self.rows[each.name], self.min_effect)]
        laps = self._laps_until(racing, number, self.clock() + left_s)
        return [each for each in parts if self._earns(each, laps, whole.name, rests[each.name].name)]

    def _laps_until(self, racing: Sequence[TuneChoice], number: int, end_s: float) -> list[dict[str, Sample]]:
        laps: list[dict[str, Sample]] = []
        try:
            for _ in range(number):
                laps.append(self._lap(racing, "together", end_s))
        except TimeIsUp:  # the laps until then are what there is
            pass
        return laps

    def _earns(self, part: TuneChoice, laps: Sequence[dict[str, Sample]], whole: str, rest: str) -> bool:
        pairs = [(lap[whole].speedup, lap[rest].speedup) for lap in laps]
        both = [(one, other) for one, other in pairs if one and other]
        if len(both) < FEWEST_LAUNCHES:  # without it nothing works, or nothing is known
            return halving.won_clearly(self.rows[part.name], self.min_effect)
        wholes, rests = [one for one, _ in both], [other for _, other in both]
        return earns_its_place(wholes, rests, self.min_effect, bool(part.demands))

    def _best_alone(self, parts: Sequence[TuneChoice]) -> list[TuneChoice]:
        """Of parts that do the same, so that each of them is dispensable, one is enough."""
        rows = [self.rows[each.name] for each in parts]
        best = halving.best_of([row for row in rows if halving.has_gain(row, self.min_effect)], self.min_effect)
        return [best.choice] if best is not None else []

    def _confirm(self, finalists: Sequence[TuneChoice]) -> None:
        """Race the finalists against the defaults, or only the one that changes least where time is short."""
        if not finalists:
            return
        left_s = self.budget.left(self.clock())
        if halving.processes(finalists) * LAUNCHES_TO_CONFIRM * self._each_s > left_s:
            finalists = finalists[-1:]
        start_s = halving.processes(finalists) * self._each_s
        found = Confirmation(finalists[-1], Comparison(verdict="undecided", reason=_NOT_CONFIRMED))
        if start_s < left_s:
            self.confirming_s = max((1 - _SPARE) * left_s - start_s, _SHORTEST_CONFIRMATION_S)
            found = self._raced(finalists, self.confirming_s) or found
        self.confirmed = found

    def _raced(self, finalists: Sequence[TuneChoice], time_s: float) -> Confirmation | None:
        """The confirming race, which ends with what it has when the time is up; None if that is nothing."""
        report = partial(self._tell, f"confirming {finalists[-1].name}", self.budget.end_s)
        try:
            found = self.measure.confirm(finalists, time_s, report)
        except KeyboardInterrupt:
            if self._is_late:
                return None
            raise
        if found.case is None or not found.case.interrupted:
            return found
        self.interrupted = not self._is_late
        return found._replace(case=replace(found.case, interrupted=self.interrupted))

    # ---------------------------------------------------------------- steps

    def _launched(self, choices: Sequence[TuneChoice]) -> None:
        """Combinations have their first launches, and the best so far as many more."""
        for _ in range(FEWEST_LAUNCHES):
            if racing := [each for each in choices if self._races_on(each)]:
                self._lap(racing, "together")
        self._measure_errors()

    def _lap(self, choices: Sequence[TuneChoice], stage: TuneStage, end_s: float | None = None) -> dict[str, Sample]:
        """One launch of each; where it takes until its end, or until the confirming race needs the time, it stops."""
        begin, cost = self.clock(), halving.processes(choices)
        end_s = self.budget.latest(self._each_s) if end_s is None else end_s
        report = partial(self._tell, _STAGES[stage], end_s)
        try:
            samples = self.measure.lap(choices, report)
        except KeyboardInterrupt:
            raise TimeIsUp if self._is_late else KeyboardInterrupt from None
        self._lap_s.append((self.clock() - begin) / cost)
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
        return samples

    def _measure_errors(self) -> None:
        for name, row in self.rows.items():
            if row.choice.approximate and row.status == "ok" and row.error is None and row.launches:
                self.rows[name] = replace(row, error=self.measure.error(row.choice))

    def _tell(self, stage: str, end_s: float, _done: float, text: str) -> None:
        """Show a step, and stop what takes too long."""
        now_s = self.clock()
        self._is_late = now_s >= end_s
        if self._is_late:
            raise TimeIsUp
        best = self.best or self._best_so_far()
        found = f"; best so far {best.choice.name}: {ratio(best.speedup)}" if best is not None else ""
        share = (now_s - self.budget.start_s) / self.budget.total_s
        self.report(min(share, 1.0), f"{stage}: {text}{found}")

    def _skip_the_rest(self) -> None:
        """Those that were not launched, or not often enough to tell anything."""
        for each in self.choices:
            if not self._is_known(each):
                row = self.rows.get(each.name, TuneRow(choice=each))
                self.rows[each.name] = replace(row, status="skipped", reason=_NOT_TRIED)

    # ---------------------------------------------------------------- questions

    def _is_known(self, choice: TuneChoice) -> bool:
        row = self.rows.get(choice.name)
        if row is None:
            return False
        return row.status != "ok" or row.dropped or row.launches >= FEWEST_LAUNCHES

    def _races_on(self, choice: TuneChoice) -> bool:
        row = self.rows.get(choice.name)
        return row is None or (row.status == "ok" and not row.dropped)

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

    def _affordable(self, wanted: Sequence[TuneChoice], left_s: float, laps: int = FEWEST_LAUNCHES) -> list[TuneChoice]:
        """The first of these that can have their launches in so many seconds."""
        most = left_s / max(laps * self._each_s, 1e-9)
        number = next((n for n in range(len(wanted), 0, -1) if halving.processes(wanted[:n]) <= most), 0)
        return list(wanted[:number])


def _stage_of(choice: TuneChoice, stage: TuneStage) -> TuneStage:
    """What its row says: one choice stays alone, however often it races next to combinations."""
    if len(choice.knobs) > 1:
        return "together"
    return "alone" if stage == "alone" else "longer"
