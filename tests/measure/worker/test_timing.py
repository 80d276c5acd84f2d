"""The innermost loops, on a clock that only the work moves."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.measure import messages as ms
from onnxperf.measure.worker import timing
from tests.measure.fakes import FakeClock

Timer = Callable[[timing.Work, FakeClock], object]

TIMERS: dict[str, Timer] = {
    "time_block": lambda work, clock: timing.time_block(work, 3, 0, clock=clock),
    "time_each_in_block": lambda work, clock: timing.time_each_in_block(work, 3, 0, clock=clock),
    "time_paced": lambda work, clock: timing.time_paced(work, 3, 0, 50, clock=clock, sleep=asleep(clock)),
    "time_each": lambda work, clock: timing.time_each(work, 3, 0, clock),
    "time_split": lambda work, clock: timing.time_split(lambda: work, lambda _: None, 3, 0, clock),
}


def asleep(clock: FakeClock) -> Callable[[float], object]:
    """Sleeping takes time and does nothing."""
    return lambda seconds: clock.spend(round(seconds * 1e9))


class Work:
    """Spends time, and remembers when the garbage collector was on."""

    def __init__(self, clock: FakeClock, *durations_ns: int) -> None:
        self._clock = clock
        self._durations_ns = durations_ns
        self.collecting: list[bool] = []

    @property
    def calls(self) -> int:
        return len(self.collecting)

    def __call__(self) -> None:
        last = len(self._durations_ns) - 1
        self._clock.spend(self._durations_ns[min(self.calls, last)])
        self.collecting.append(gc.isenabled())


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(autouse=True)
def garbage_collection_is_on_before_and_after() -> Iterator[None]:
    assert gc.isenabled()
    yield
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("duration_ns", "call_ns", "calls"),
    [(0, 5, 1), (1, 5, 1), (10, 100, 1), (100, 10, 10), (95, 10, 10), (101, 10, 11)],
)
def test_warm_up_calls_at_least_once_and_stops_after_the_duration(
    clock: FakeClock, duration_ns: int, call_ns: int, calls: int
) -> None:
    work = Work(clock, call_ns)
    timing.warm_up(work, duration_ns, clock)
    assert work.calls == calls


@pytest.mark.parametrize(
    ("durations_ns", "duration_ns", "expected"),
    [
        ((10,), 100, 10.0),
        ((50, 10), 100, 10.0),  # the slow first call lies in the first half
        ((500, 10), 100, 500.0),  # one call is all there is
        ((40, 80), 100, 80.0),
        ((7,), 0, 7.0),
    ],
)
def test_warm_up_estimates_a_call_from_its_second_half(
    clock: FakeClock, durations_ns: tuple[int, ...], duration_ns: int, expected: float
) -> None:
    assert timing.warm_up(Work(clock, *durations_ns), duration_ns, clock) == expected


def test_warm_up_of_work_that_no_clock_can_see_takes_no_time(clock: FakeClock) -> None:
    assert timing.warm_up(Work(clock, 0), 0, clock) == 0.0


@pytest.mark.parametrize("calls", [1, 2, 17])
def test_a_block_times_exactly_its_calls(clock: FakeClock, calls: int) -> None:
    work = Work(clock, 10)
    timed = timing.time_block(work, calls, 35, clock=clock)
    assert work.calls == 4 + calls
    assert timed.start_ns == 1_000 + 4 * 10
    assert timed.duration_ns == 10 * calls


@pytest.mark.parametrize(
    ("pieces", "quickest"),
    [(1, 30.0), (2, 20.0), (3, 15.0), (6, 10.0)],  # of 10, 20, 30, 40, 60 and 20, in order
)
@pytest.mark.parametrize("time", [timing.time_block, timing.time_each_in_block])
def test_a_block_has_a_quickest_piece(clock: FakeClock, time: Any, pieces: int, quickest: float) -> None:
    work = Work(clock, 99, 10, 20, 30, 40, 60, 20)
    timed = time(work, 6, 0, pieces, clock)
    assert (timed.duration_ns, timed.quickest_ns) == (180, quickest)
    assert timed.call_ns == ([10, 20, 30, 40, 60, 20] if time is timing.time_each_in_block else [])


@pytest.mark.parametrize(
    ("longest_ns", "calls", "duration_ns", "each"),
    [(0, None, 180, 6), (180, None, 180, 6), (99, 4, 100, 4), (1, 2, 30, 1)],  # of 10, 20, 30, 40, 60 and 20, in pairs
)
def test_a_block_that_takes_too_long_ends_after_its_piece_or_call(
    clock: FakeClock, longest_ns: int, calls: int | None, duration_ns: int, each: int
) -> None:
    timed = timing.time_block(Work(clock, 99, 10, 20, 30, 40, 60, 20), 6, 0, 3, clock, longest_ns=longest_ns)
    assert (timed.calls, timed.duration_ns, timed.quickest_ns) == (calls, duration_ns, 15.0)
    work = Work(clock, 99, 10, 20, 30, 40, 60, 20)
    timed = timing.time_each_in_block(work, 6, 0, 3, clock, waited=lambda: 0, longest_ns=longest_ns)
    assert len(timed.call_ns) == each
    assert timed.calls == (each if each < 6 else None)
    assert timed.free_pieces == min(3, each)


@pytest.mark.parametrize("time", [timing.time_block, timing.time_each_in_block])
def test_the_cpu_time_of_a_block_is_that_of_its_timed_calls(clock: FakeClock, time: Any) -> None:
    spent = FakeClock(77)

    def work() -> None:
        clock.spend(10)
        spent.spend(25)

    assert time(work, 4, 35, 1, clock, spent).cpu_ns == 4 * 25


def paced(
    clock: FakeClock, work: timing.Work, every_ns: int, pieces: int = 1, cpu_clock: timing.Clock | None = None
) -> ms.TimedBlock:
    """Three calls with pauses, after one that is not timed."""
    return timing.time_paced(work, 3, 0, every_ns, pieces, clock, cpu_clock or clock, asleep(clock))


@pytest.mark.parametrize(
    ("durations_ns", "starts", "span_ns"),
    [
        ((99, 10, 20, 30), [0, 50, 100], 150),
        ((99, 50, 50, 50), [0, 50, 100], 150),
        ((99, 70, 20, 30), [0, 70, 120], 170),  # too long: the next one starts at once, and the pace goes on from there
        ((99, 10, 70, 30), [0, 50, 120], 170),
        ((99, 60, 60, 60), [0, 60, 120], 180),
    ],
)
def test_calls_start_at_their_pace_or_where_one_is_too_long_at_its_end(
    clock: FakeClock, durations_ns: tuple[int, ...], starts: list[int], span_ns: int
) -> None:
    work, begun = Work(clock, *durations_ns), []

    def noted() -> None:
        begun.append(clock())
        work()

    timed = paced(clock, noted, 50)
    assert [start - timed.start_ns for start in begun[1:]] == starts
    assert timed.start_ns == begun[0] + 99 + 50  # the first call comes after a pause, too
    assert (timed.call_ns, timed.duration_ns) == (list(durations_ns[1:]), sum(durations_ns[1:]))
    assert timed.span_ns == span_ns


def test_sleeping_too_long_does_not_move_the_calls_after_the_next(clock: FakeClock) -> None:
    begun: list[int] = []

    def work() -> None:
        begun.append(clock.now_ns)
        clock.spend(10)

    timed = timing.time_paced(work, 4, 0, 50, clock=clock, sleep=lambda s: clock.spend(round(s * 1e9) + 7))
    assert [start - timed.start_ns for start in begun[1:]] == [0, 57, 107, 157]
    assert timed.span_ns == 4 * 50 + 7


def test_cpu_time_includes_the_pauses_between_calls_and_after_the_last(clock: FakeClock) -> None:
    def three_spinning_threads() -> int:
        return 3 * clock.now_ns

    timed = paced(clock, Work(clock, 99, 10), 50, cpu_clock=three_spinning_threads)
    assert (timed.cpu_ns, timed.span_ns, timed.duration_ns) == (450, 150, 30)


def test_a_block_with_pauses_has_a_quickest_piece(clock: FakeClock) -> None:
    assert paced(clock, Work(clock, 99, 10, 20, 60), 50, pieces=3).quickest_ns == 10


@given(st.integers(1, 100_000), st.integers(1, 20))
def test_pieces_are_as_equal_as_can_be(calls: int, pieces: int) -> None:
    pieces = min(calls, pieces)
    sizes = timing.sizes_of(calls, pieces)
    assert (len(sizes), sum(sizes)) == (pieces, calls)
    assert 1 <= min(sizes) <= max(sizes) <= min(sizes) + 1


def test_single_calls_have_a_duration_each(clock: FakeClock) -> None:
    work = Work(clock, 99, 1, 2, 3, 4)
    assert timing.time_each(work, 4, 0, clock).call_ns == [1, 2, 3, 4]


def test_single_calls_have_a_wait_each_where_the_kernel_tells(clock: FakeClock) -> None:
    readings = iter([100, 100, 103, 103, 105])
    timed = timing.time_each(
        Work(clock, 99, 10, 20, 30), 3, 0, clock, waited=lambda: next(readings), sleep=lambda _seconds: None
    )
    assert timed.call_ns == [10, 20, 30]
    assert timed.waited_ns == [0, 3, 2]


@pytest.mark.parametrize(
    ("durations", "readings", "waits"),
    [
        ([10, 10, 10], [5, 5, 5, 5], [0, 0, 0]),
        ([10, 10, 10], [0, 4, 4, 6], [4, 0, 2]),
        ([10, 10, 10], [0, 0, 0, 25], [5, 10, 10]),
        ([10, 10, 10], [0, 0, 12, 12], [2, 10, 0]),
        ([10, 10, 10], [0, 90, 90, 90], [10, 0, 0]),
        ([], [0], []),
    ],
    ids=["none", "in two calls", "counted at the end", "counted in the next call", "from before all calls", "no calls"],
)
def test_a_wait_belongs_to_the_calls_before_the_one_in_which_it_ended(
    durations: list[int], readings: list[int], waits: list[int]
) -> None:
    assert timing.waits_of_calls(durations, readings) == waits


def test_the_parts_of_a_call_have_a_duration_each(clock: FakeClock) -> None:
    casting, computing, copying = Work(clock, 99, 1, 2), Work(clock, 99, 10, 20), Work(clock, 99, 100, 200)

    def prepare() -> timing.Work:
        casting()
        return computing

    assert timing.time_split(prepare, lambda _: copying(), 2, 0, clock) == ([1, 2], [10, 20], [100, 200])


class Held:
    """Something whose end takes time."""

    def __init__(self, clock: FakeClock, freeing_ns: int) -> None:
        self._clock, self._freeing_ns = clock, freeing_ns

    def __call__(self) -> Held:
        return Held(self._clock, 5)

    def __del__(self) -> None:
        self._clock.spend(self._freeing_ns)


def test_freeing_inputs_is_part_of_preparing_and_freeing_outputs_of_fetching(clock: FakeClock) -> None:
    assert timing.time_split(lambda: Held(clock, 3), lambda _: None, 2, 0, clock) == ([3, 3], [0, 0], [5, 5])


@pytest.mark.parametrize("timer", TIMERS.values(), ids=TIMERS)
def test_garbage_is_collected_only_in_untimed_calls(clock: FakeClock, timer: Timer) -> None:
    work = Work(clock, 10)
    timer(work, clock)
    assert work.collecting == [True, False, False, False]


@pytest.mark.parametrize("timer", TIMERS.values(), ids=TIMERS)
def test_garbage_is_collected_again_after_an_exception(clock: FakeClock, timer: Timer) -> None:
    turns = count()

    def work() -> None:
        clock.spend(1)
        if next(turns) == 2:
            raise ValueError("third call")

    with pytest.raises(ValueError, match="third call"):
        timer(work, clock)
    assert gc.isenabled()
