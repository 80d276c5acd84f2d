"""Is our graph for an einsum equation the fastest? Races against onnxruntime's Einsum, numpy, torch and the limit.

usage: python -m benchmarks.einsum [--print] [--only TEXT] [--time SECONDS]
       --print shows the figures without keeping them
       --only races the equations that contain TEXT; figures of a part are never kept
       --time is that of each search, its race included

Linux only, twelve minutes, on a quiet machine. Torch is no dependency: pip install torch
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import psutil

import onnxperf
from benchmarks.kept import keep
from onnxperf.api._shared.einsum_plans import DEFAULT_TIME_S, EINSUM
from onnxperf.errors import OnnxperfError
from onnxperf.measure.machine import noise
from onnxperf.measure.machine.describe import cpu_model
from onnxperf.records.einsum import EinsumPlan
from onnxperf.records.race import MIN_ROUNDS, Subject
from onnxperf.wording.numbers import duration

NUMPY, TORCH = "numpy.einsum", "torch.einsum"
SCORES, MIX = "bsnh,btnh->bnts", "bhqk,bkhd->bqhd"
"""The two products of attention; the first one is the document's equation."""
UNSURE = 1.5
"""A ratio is marked where the ends of the interval of either side lie further apart than this factor."""
BUSY = 0.05
"""A row is marked where others had more than this share of the processors meanwhile.

No interval shows that: torch, whose threads wait for each other, is then 100 times slower in every round alike."""

Shapes = tuple[tuple[int, ...], ...]


class Row(NamedTuple):
    """An equation on shapes."""

    equation: str
    shapes: Shapes

    @property
    def is_view(self) -> bool:
        """Whether numpy and torch only look at the operand in another way: nothing is multiplied or summed."""
        operands, output = self.equation.split("->")
        return "," not in operands and set(operands) == set(output)


def _row(equation: str, shapes: str) -> Row:
    return Row(equation, tuple(tuple(int(size) for size in shape.split("x")) for shape in shapes.split()))


DOCUMENT = _row(SCORES, "20x20x20x20 20x20x20x20")
ROWS = (
    # First, so that its time includes what every first search has to import.
    DOCUMENT,
    _row(SCORES, "2x128x12x64 2x128x12x64"),
    _row(MIX, "20x20x20x20 20x20x20x20"),
    _row(MIX, "2x12x128x128 2x128x12x64"),
    # Products of matrices: small, large, with operands and results that lie the other way round.
    _row("ij,jk->ik", "16x16 16x16"),
    _row("ij,jk->ik", "512x512 512x512"),
    _row("ij,kj->ik", "384x512 256x512"),
    _row("ji,jk->ki", "256x512 256x128"),
    _row("ij,j->i", "1000x1000 1000"),
    _row("bij,bjk->bik", "8x16x16 8x16x16"),
    _row("bij,bjk->bik", "32x128x128 32x128x128"),
    _row("bij,bkj->bik", "32x128x64 32x128x64"),
    _row("bji,bjk->ibk", "16x64x64 16x64x64"),
    _row("bsd,dnh->bsnh", "2x128x256 256x4x64"),
    # Outer, inner, elementwise.
    _row("i,j->ij", "10 10"),
    _row("i,j->ij", "1000 1000"),
    _row("i,i->", "100000 100000"),
    _row("ij,ij->ij", "512x512 512x512"),
    _row("ij,ij->", "1000x1000 1000x1000"),
    _row("abc,abc->ab", "64x64x64 64x64x64"),
    # Traces and sums.
    _row("ii->", "1000x1000"),
    _row("ij->", "1000x1000"),
    _row("ijk->k", "64x64x64"),
    _row("ijk->ij", "128x128x64"),
    # Three and four operands.
    _row("bi,ij,bj->b", "64x128 128x128 64x128"),
    _row("ij,jk,kl->il", "8x8 8x8 8x8"),
    _row("ij,jk,kl->il", "64x48 48x64 64x32"),
    _row("ij,jk,kl,lm->im", "30x20 20x30 30x20 20x30"),
    _row("ijk,il,jm,kn->lmn", "24x24x24 24x6 24x6 24x6"),
    # Contractions of tensors.
    _row("abcd,cdef->abef", "16x16x16x16 16x16x16x16"),
    _row("abcd,ecfd->fabe", "4x6x8x10 12x8x6x10"),
    _row("acbd,dbe->ace", "16x16x24x24 24x24x32"),
    # Views for numpy and torch.
    _row("ij->ji", "1000x1000"),
    _row("abcd->dcba", "20x20x20x20"),
    _row("bsnh->bnsh", "2x128x12x64"),
    _row("ii->i", "1000x1000"),
    _row("bii->bi", "64x64x64"),
)


# ---------------------------------------------------------------- one row


class Raced(NamedTuple):
    """What the search found for a row."""

    row: Row
    plan: EinsumPlan
    seconds: float
    """Wall clock of the whole call."""
    others: float
    """Share of the processors that others had meanwhile."""

    def subject(self, name: str | None) -> Subject | None:
        """Who raced under that name, if it was measured."""
        subjects = self.plan.race.subjects if self.plan.race is not None else ()
        return next((each for each in subjects if each.name == name and each.median_ns), None)

    @property
    def winner(self) -> Subject | None:
        """Our graph: the baseline where nothing was decided."""
        baseline = self.plan.race.baseline if self.plan.race is not None else None
        return self.subject(self.plan.winner or baseline)

    def ratio(self, name: str | None) -> float | None:
        """How many times as fast as that subject our graph is."""
        own, other = self.winner, self.subject(name)
        if own is None or other is None or not own.median_ns or not other.median_ns:
            return None
        return other.median_ns / own.median_ns

    def is_sure(self, name: str | None) -> bool:
        """Whether both sides of that ratio were measured well enough."""
        return self.others <= BUSY and all(
            each is None or _is_steady(each) for each in (self.winner, self.subject(name))
        )


def _is_steady(subject: Subject) -> bool:
    rounds = len({block.round for block in subject.blocks})
    low, high = subject.speedup_low, subject.speedup_high
    return rounds >= MIN_ROUNDS and (low is None or high is None or high <= UNSURE * low)


def race(row: Row, seconds: float) -> Raced:
    """Search as a user does who asks for the first time."""
    start, others = time.perf_counter(), others_seconds()
    result = onnxperf.optimize_einsum(row.equation, row.shapes, again=True, time=seconds)
    elapsed = time.perf_counter() - start
    share = (others_seconds() - others) / elapsed / (psutil.cpu_count() or 1)
    if result.record.race is not None and result.record.race.interrupted:
        raise KeyboardInterrupt
    return Raced(row, result.record, elapsed, share)


def others_seconds() -> float:
    """Time of processors since the start of the machine that neither idled nor went to us and our ended children."""
    all_of, own = psutil.cpu_times(), os.times()
    busy = all_of.user + all_of.nice + all_of.system + all_of.irq + all_of.softirq + all_of.steal
    return float(busy) - (own.user + own.system + own.children_user + own.children_system)


def _race_all(rows: Sequence[Row], seconds: float) -> tuple[list[Raced], list[str]]:
    """All rows; one that fails is named and does not end the others."""
    raced, failed = [], []
    for row in rows:
        try:
            raced.append(race(row, seconds))
        except OnnxperfError as error:
            failed.append(f"`{row.equation}` {_shapes_text(row.shapes)}: {error}")
            print(failed[-1], file=sys.stderr, flush=True)
            continue
        print(
            f"{raced[-1].seconds:.1f} s, others {raced[-1].others:.1%} {_cells(raced[-1])}", file=sys.stderr, flush=True
        )
    return raced, failed


# ---------------------------------------------------------------- tables


def _shapes_text(shapes: Shapes) -> str:
    return ", ".join("x".join(map(str, shape)) for shape in shapes)


def _ratio_text(raced: Raced, name: str | None, slower: bool = False) -> str:
    value = raced.ratio(name)
    if value is None:
        return ""
    return f"{1 / value if slower else value:.2f}{'' if raced.is_sure(name) else ' ~'}"


def _cells(raced: Raced) -> str:
    winner = raced.winner
    cells = [
        f"`{raced.row.equation}`",
        _shapes_text(raced.row.shapes),
        raced.plan.graph.replace("|", "\\|"),
        duration(winner.median_ns if winner is not None else None),
        *(_ratio_text(raced, name) for name in (EINSUM, NUMPY, TORCH)),
        _ratio_text(raced, raced.plan.limit, slower=True),
    ]
    return f"| {' | '.join(cells)} |"


def _table(raced: Sequence[Raced]) -> list[str]:
    if not raced:
        return []
    heading = ["equation", "shapes", "best graph", "time", "ORT Einsum", "numpy", "torch", "times bare MatMul"]
    return [f"| {' | '.join(heading)} |", "|---" * len(heading) + "|", *map(_cells, raced), ""]


# ---------------------------------------------------------------- goals


class Judged(NamedTuple):
    """Whether a goal was reached, by what number, and whether that is sure."""

    met: bool
    number: str
    sure: bool = True


Judge = Callable[[Sequence[Raced]], Judged | None]
"""None where there is nothing to judge."""


def _mean_goal(name: str, least: float) -> Judge:
    """A geometric mean; rows that are not sure can neither make it nor save it."""

    def judge(raced: Sequence[Raced]) -> Judged | None:
        ratios = [(one, value) for one in raced if (value := one.ratio(name)) is not None]
        own = [value for one, value in ratios if not one.row.is_view]
        sure = [value for one, value in ratios if not one.row.is_view and one.is_sure(name)]
        views = [value for one, value in ratios if one.row.is_view]
        if not own:
            return None
        means = [statistics.geometric_mean(values) for values in (own, sure) if values]
        told = f"{means[0]:.2f} ({len(own)} of {len(raced)} rows)"
        told += f", {means[1]:.2f} without those marked ~ ({len(sure)})" if 0 < len(sure) < len(own) else ""
        told += f"; views, which do not count: {statistics.geometric_mean(views):.2f}" if views else ""
        return Judged(min(means) >= least, told, 2 * len(sure) >= len(own))

    return judge


def _never_slower(raced: Sequence[Raced]) -> Judged | None:
    compared = [one for one in raced if one.winner is not None and one.subject(EINSUM) is not None]
    if not compared:
        return None
    counts = Counter(str(one.winner.verdict) for one in compared if one.winner is not None)
    own = counts.pop("baseline", 0)
    told = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    # The winner is chosen in this very race, so that a slower one would be a fault of the search.
    told += f"{', ' if told else ''}{own} where the Einsum itself, one of the candidates, was taken"
    sure = sum(one.is_sure(EINSUM) for one in compared)
    return Judged(not counts["slower"], told, 2 * sure >= len(compared))


def _document(raced: Sequence[Raced]) -> Raced | None:
    return next((one for one in raced if one.row == DOCUMENT), None)


def _document_against_numpy(raced: Sequence[Raced]) -> Judged | None:
    one = _document(raced)
    ratio = one.ratio(NUMPY) if one is not None else None
    if one is None or ratio is None:
        return None
    return Judged(ratio >= 10, _ratio_text(one, NUMPY), one.is_sure(NUMPY))


def _attention(raced: Sequence[Raced]) -> Judged | None:
    rows = [one for one in raced if one.row.equation in (SCORES, MIX)]
    if not rows:
        return None
    ratios = [one.ratio(one.plan.limit) for one in rows]
    numbers = ", ".join(_ratio_text(one, one.plan.limit, slower=True) or "not measured" for one in rows)
    met = all(value is not None and 1 / value <= 1.5 for value in ratios)
    return Judged(met, numbers, all(one.is_sure(one.plan.limit) for one in rows))


def _search_time(raced: Sequence[Raced]) -> Judged | None:
    one = _document(raced)
    return None if one is None else Judged(one.seconds <= 20, f"{one.seconds:.1f} s", one.others <= BUSY)


GOALS: dict[str, Judge] = {
    "geometric mean at least 2 times as fast as ORT Einsum as written": _mean_goal(EINSUM, 2),
    "no row slower than it beyond the noise": _never_slower,
    f"at least 10 times as fast as {NUMPY} on the document's equation": _document_against_numpy,
    f"geometric mean at or ahead of {TORCH}": _mean_goal(TORCH, 1),
    "at most 1.5 times the bare MatMul on the rows of attention": _attention,
    "the search for the document's equation, final race included, within 20 s": _search_time,
}


def _goals(raced: Sequence[Raced]) -> Iterator[str]:
    for goal, judge in GOALS.items():
        judged = judge(raced)
        if judged is None:
            yield f"- {goal}: not judged, nothing to compare"
        else:
            word = ("met" if judged.met else "MISSED") + ("" if judged.sure else " (not sure)")
            yield f"- {goal}: {word}, {judged.number}"


def figures(rows: Sequence[Row], seconds: float) -> list[str]:
    """The lines of the report."""
    raced, failed = _race_all(rows, seconds)
    views = [one for one in raced if one.row.is_view]
    lines = [
        f"{len(raced)} equations, float32, searches of {seconds:g} s each. How many times as fast our graph is as",
        "onnxruntime's Einsum as written, numpy.einsum and torch.einsum, all with contiguous results, and its time",
        f"relative to the bare MatMul. ~: not sure, with fewer than {MIN_ROUNDS} rounds, an interval whose ends differ",
        f"by more than a factor of {UNSURE}, or others at work on more than {BUSY:.0%} of the processors.",
        "",
        *_table([one for one in raced if not one.row.is_view]),
    ]
    if views:
        told = (
            "Transposes and diagonals, for which numpy and torch return views; here they must copy them as ours does:"
        )
        lines += [told, "", *_table(views)]
    lines += _goals(raced)
    return [*lines, *(f"- FAILED {text}" for text in failed)]


# ---------------------------------------------------------------- command line


def use_private_cache(folder: str) -> None:
    """Neither use nor replace the user's plans; the noise of the machine, which the doctor measured, stays known."""
    known = noise.recall(cpu_model())
    os.environ["XDG_CACHE_HOME"] = folder
    if known is not None:
        noise.remember(known.band, cpu_model(), known.date)


def main() -> None:
    """Race, print, and keep what is whole."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.einsum", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--print", action="store_true", help="show the figures without keeping them")
    parser.add_argument("--only", metavar="TEXT", help="race the equations that contain TEXT; nothing is kept")
    parser.add_argument("--time", metavar="SECONDS", type=float, default=DEFAULT_TIME_S, help="time of each search")
    options = parser.parse_args()
    if not 0 < options.time < math.inf:
        parser.error(f"--time {options.time}: expected more than 0 seconds")
    rows = [row for row in ROWS if options.only is None or options.only in row.equation]
    if not rows:
        parser.error(f"--only {options.only}: no equation contains it; see ROWS in benchmarks/einsum.py")
    with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
        use_private_cache(folder)
        lines = figures(rows, options.time)
    if options.print or options.only is not None:
        print("\n".join(lines))
    else:
        keep("einsum", lines)


if __name__ == "__main__":
    main()
