"""Ways to quantize a model: each is made, compared with the original on inputs that choose, and raced against it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from onnxperf.analyze.judges.quantization import is_acceptable, too_slow_to_race, worst_error
from onnxperf.api._quantization.budget import QuantizeBudget
from onnxperf.api._quantization.quantizer import Quantized, Quantizer
from onnxperf.api._quantization.samples import MOST_COMPARED
from onnxperf.api._shared.requests import Settings
from onnxperf.api._shared.setups import Setup
from onnxperf.api._shared.subjects import Entry
from onnxperf.api._tuning.candidates import RunCandidate, race_candidates
from onnxperf.errors import BadInput, SubjectError
from onnxperf.measure.quantizing import ComparedModels
from onnxperf.measure.race import Progress
from onnxperf.records.options import RaceOptions
from onnxperf.records.quantize import Mode, QuantizationWay, TriedWay
from onnxperf.records.race import Case
from onnxperf.wording.numbers import significant

WAYS = (
    QuantizationWay(name="dynamic S8", mode="dynamic", weights="int8"),
    QuantizationWay(name="static U8S8", mode="static", activations="uint8", weights="int8"),
    QuantizationWay(name="static S8S8", mode="static", activations="int8", weights="int8"),
    QuantizationWay(name="static U8S8 per channel", mode="static", weights="int8", per_channel=True),
    QuantizationWay(name="dynamic S8 per channel", mode="dynamic", weights="int8", per_channel=True),
    QuantizationWay(name="dynamic U8", mode="dynamic", weights="uint8"),
    QuantizationWay(name="static U8U8", mode="static", activations="uint8", weights="uint8"),
)
"""Types of activations and weights, in this order; activations of dynamic ways are always unsigned.

The first won most often: large models have time for these alone.
"""

_COSTLY_CALL_S = 0.001

NO_TIME = "not tried for lack of time; increase `time`"


def in_order(ways: Sequence[QuantizationWay], has_convolutions: bool) -> tuple[QuantizationWay, ...]:
    """Ways in the order in which they are tried: of convolutions, static ones first, as dynamic ones are far slower."""
    return tuple(sorted(ways, key=lambda way: has_convolutions and way.mode != "static"))


@dataclass
class Attempts:
    """What was made so far."""

    rows: list[TriedWay] = field(default_factory=list)
    models: dict[str, Quantized] = field(default_factory=dict)
    compared: dict[str, ComparedModels] = field(default_factory=dict)
    """Both by the names of ways."""
    took_s: dict[Mode, float] = field(default_factory=dict)
    """What the last way of each mode took."""

    @property
    def runnable(self) -> list[str]:
        """Ways that can be raced."""
        return [row.way.name for row in self.rows if row.status == "ok"]

    @property
    def opening_s(self) -> float:
        """What opening a session takes, at most."""
        return max((each.opening_s for each in self.compared.values()), default=0.0)

    def expected_s(self, mode: Mode) -> float:
        """What another way of this mode probably takes."""
        return self.took_s.get(mode, max(self.took_s.values(), default=0.0))


def try_ways(
    quantizer: Quantizer,
    ways: Sequence[QuantizationWay],
    attempts: Attempts,
    max_error: float,
    budget: QuantizeBudget,
    progress: Progress,
) -> None:
    """Make all ways for which there is time; the first of each mode in any case, until one can be run."""
    for number, way in enumerate(ways):
        is_enough = bool(attempts.runnable) or way.mode in attempts.took_s
        if is_enough and budget.left_of("quantising") < attempts.expected_s(way.mode):
            attempts.rows.append(TriedWay(way=way, status="skipped", reason=NO_TIME))
            continue
        progress(number / len(ways), f"quantizing: {way.name}")
        begin_s = budget.clock()
        attempt(quantizer, way, attempts, max_error)
        attempts.took_s[way.mode] = budget.clock() - begin_s
    _leave_out_slow(attempts)


def _leave_out_slow(attempts: Attempts) -> None:
    """Do not race what takes far longer than float32: it would take most of the time of the race, too.

    Where a call takes almost no time, a race of all costs nothing, and a few calls say little.
    """
    ratios = {name: attempts.compared[name].ratio for name in attempts.runnable}
    acceptable = [row.way.name for row in attempts.rows if row.status == "ok" and row.acceptable]
    slow = too_slow_to_race(ratios, acceptable)
    for number, row in enumerate(attempts.rows):
        if row.way.name in slow and attempts.compared[row.way.name].call_s >= _COSTLY_CALL_S:
            reason = f"not raced: its calls took {significant(ratios[row.way.name])} times as long as those of float32"
            attempts.rows[number] = replace(row, status="skipped", reason=reason)


def attempt(
    quantizer: Quantizer, way: QuantizationWay, attempts: Attempts, max_error: float, exclude: tuple[str, ...] = ()
) -> None:
    """Make a model in one way, and measure its error; whatever goes wrong is a row with a reason."""
    row = TriedWay(way=way, excluded=exclude)
    try:
        model = quantizer.quantized(way, exclude=exclude)
        row = replace(row, nodes=len(model.nodes), size_bytes=model.size_bytes)
        if not model.nodes:
            attempts.rows.append(replace(row, status="skipped", reason="it quantizes no node"))
            return
        compared = quantizer.compared(model.path, MOST_COMPARED)
    except SubjectError as error:
        attempts.rows.append(replace(row, status=error.status, reason=error.reason))
        return
    except BadInput as error:
        attempts.rows.append(replace(row, status="failed", reason=str(error)))
        return
    worst = worst_error(compared.errors)
    attempts.models[way.name], attempts.compared[way.name] = model, compared
    attempts.rows.append(replace(row, status="ok", error=worst, acceptable=is_acceptable(worst, max_error)))


def race_models(
    entry: Entry,
    setup: Setup,
    models: Sequence[tuple[str, Path | None]],
    settings: Settings,
    options: RaceOptions,
    progress: Progress,
) -> Case:
    """Race the model itself (without a path) or files that were made of it, whose outputs are meant to differ."""
    tolerances = replace(settings.tolerances, check=False)
    candidates = [RunCandidate(name, setup.session, setup.calls[0], path=path) for name, path in models]
    settings = dataclasses.replace(settings, tolerances=tolerances)
    return race_candidates(entry, candidates, settings, options, progress)
