"""The time of a quantisation: what is skipped, what stages may take, and what is left for the confirming race."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from onnxperf.api._quantization.budget import QuantizeBudget
from onnxperf.api._quantization.layers import errors_alone
from onnxperf.api._quantization.quantizer import Quantized
from onnxperf.api._quantization.search import NO_TIME, WAYS, Attempts, in_order, try_ways
from onnxperf.errors import SubjectError
from onnxperf.measure.quantizing import ComparedModels
from onnxperf.records.quantize import LayerChange, OutputError, QuantizationWay


class FakeQuantizer:
    """Takes so many seconds for a way of each mode; calls of some ways are slow, and some ways fail."""

    def __init__(
        self,
        folder: Path,
        seconds: dict[str, float],
        slow: tuple[str, ...] = (),
        bad: tuple[str, ...] = (),
        call_s: float = 1.0,
    ) -> None:
        self.now, self.made, self.folder = 0.0, [], folder  # type: float, list[str], Path
        self.seconds, self.slow, self.bad, self.call_s = seconds, slow, bad, call_s

    def clock(self) -> float:
        return self.now

    def quantized(self, way: QuantizationWay, **_more: Any) -> Quantized:
        self.now += self.seconds[way.mode]
        if way.name in self.bad:
            raise SubjectError("failed", "bad weights")
        path = self.folder / f"{len(self.made)}.onnx"
        path.write_bytes(b"model")
        self.made.append(way.name)
        return Quantized(path, ("node",), 5)

    def compared(self, path: Path, _most: int) -> ComparedModels:
        name = self.made[int(path.stem)]
        error = OutputError(name="Y", relative=0.01, max_relative=0.01, elements=1)
        return ComparedModels((error,), 0.5, self.call_s * (3.0 if name in self.slow else 0.5), self.call_s)

    def errors(self, path: Path, most: int) -> tuple[OutputError, ...]:
        return self.compared(path, most).errors


@pytest.fixture
def tried(tmp_path: Path) -> Callable[..., Attempts]:
    def ways(time_s: float, seconds: dict[str, float], **more: Any) -> Attempts:
        quantizer: Any = FakeQuantizer(tmp_path, seconds, **more)
        attempts = Attempts()
        budget = QuantizeBudget(0.0, time_s, quantizer.clock)
        try_ways(quantizer, WAYS, attempts, 0.1, budget, lambda _done, _text: None)
        return attempts

    return ways


def test_ways_are_made_until_half_of_the_time_is_over_and_the_others_say_what_to_do(
    tried: Callable[..., Attempts],
) -> None:
    attempts = tried(120.0, {"dynamic": 10.0, "static": 20.0})
    assert attempts.runnable == ["dynamic S8", "static U8S8", "static S8S8", "dynamic S8 per channel"]
    rest = [row for row in attempts.rows if row.status == "skipped"]
    assert {row.way.name for row in rest} == {"static U8S8 per channel", "dynamic U8", "static U8U8"}
    assert {row.reason for row in rest} == {NO_TIME}


def test_static_ways_come_first_where_there_are_convolutions() -> None:
    assert in_order(WAYS, False) == WAYS
    ordered = in_order(WAYS, True)
    assert [way.mode for way in ordered] == ["static"] * 4 + ["dynamic"] * 3
    assert [way.name for way in ordered[:2]] == ["static U8S8", "static S8S8"]


def test_one_way_is_made_however_long_that_takes(tried: Callable[..., Attempts]) -> None:
    assert tried(10.0, {"dynamic": 60.0, "static": 60.0}).runnable == ["dynamic S8"]
    assert tried(10.0, {"dynamic": 60.0, "static": 60.0}, bad=("dynamic S8",)).runnable == ["static U8S8"]


def test_where_no_way_can_be_made_the_first_of_each_mode_is_tried_and_no_more_than_there_is_time_for(
    tried: Callable[..., Attempts],
) -> None:
    attempts = tried(10.0, {"dynamic": 60.0, "static": 60.0}, bad=tuple(way.name for way in WAYS))
    failed = [row.way.name for row in attempts.rows if row.status == "failed"]
    assert failed == ["dynamic S8", "static U8S8"]
    assert {row.reason for row in attempts.rows if row.status == "skipped"} == {NO_TIME}


def test_with_enough_time_all_ways_are_made(tried: Callable[..., Attempts]) -> None:
    assert len(tried(600.0, {"dynamic": 1.0, "static": 2.0}).runnable) == len(WAYS)


def test_ways_that_were_far_slower_when_outputs_were_compared_are_not_raced(tried: Callable[..., Attempts]) -> None:
    attempts = tried(600.0, {"dynamic": 1.0, "static": 1.0}, slow=("dynamic S8",))
    (row,) = [row for row in attempts.rows if row.status == "skipped"]
    assert row.way.name == "dynamic S8"
    assert row.reason == "not raced: its calls took 3 times as long as those of float32"
    assert row.error == 0.01


def test_ways_whose_calls_take_almost_no_time_are_all_raced(tried: Callable[..., Attempts]) -> None:
    attempts = tried(600.0, {"dynamic": 1.0, "static": 1.0}, slow=("dynamic S8",), call_s=0.0001)
    assert len(attempts.runnable) == len(WAYS)


def test_errors_of_layers_stop_in_time_and_leave_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxperf.api._quantization.layers.nodes_to_exclude", lambda _sides, _layers: ("node",))
    quantizer: Any = FakeQuantizer(tmp_path, {"dynamic": 4.0})
    layers = [LayerChange(nodes=(f"n{i}",), ops=("A",), before_us=1, after_us=1, quantized=True) for i in range(9)]
    budget = QuantizeBudget(0.0, 100.0, quantizer.clock)
    sides: Any = None
    found = errors_alone(quantizer, WAYS[0], sides, layers, budget, 4.0, lambda _done, _text: None)
    assert list(found) == [("n0",), ("n1",), ("n2",)]  # 15 % of the time
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("now_s", "stage", "left_s"),
    [
        (0.0, "quantising", 50.0),
        (45.0, "quantising", 5.0),
        (10.0, "ways", 20.0),
        (60.0, "ways", 10.0),
        (10.0, "explaining", 15.0),
        (90.0, "explaining", -5.0),
        (10.0, "confirming", 90.0),
        (95.0, "confirming", 5.0),
    ],
)
def test_what_a_stage_leaves_is_for_the_confirming_race(now_s: float, stage: Any, left_s: float) -> None:
    assert QuantizeBudget(0.0, 100.0, lambda: now_s).left_of(stage) == pytest.approx(left_s)


@pytest.mark.parametrize(
    ("stage", "opening_s", "time_s"),
    [("confirming", 0.0, 39.5), ("confirming", 5.0, 29.5), ("confirming", 50.0, 1.0), ("ways", 2.0, 5.5)],
)
def test_a_race_is_asked_for_less_where_sessions_take_long_to_be_opened(
    stage: Any, opening_s: float, time_s: float
) -> None:
    assert QuantizeBudget(0.0, 100.0, lambda: 60.0).race_s(stage, 2, opening_s) == pytest.approx(time_s)


@pytest.mark.parametrize(
    ("time_s", "opening_s", "launches"), [(120.0, 0.1, 5), (120.0, 1.5, 5), (120.0, 1.6, 1), (10.0, 0.1, 1)]
)
def test_both_sides_are_profiled_in_several_launches_if_there_is_time(
    time_s: float, opening_s: float, launches: int
) -> None:
    assert QuantizeBudget(0.0, time_s, lambda: 0.0).launches(opening_s) == launches
