"""`onnxperf.einsum` finds how to compute an equation once; later calls only compute."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

import onnxperf
from onnxperf.api import einsum as computing
from onnxperf.api._shared import einsum_plans as planning
from onnxperf.contraction import store
from onnxperf.errors import BadOption
from onnxperf.records.race import Case, Subject
from onnxperf.runtimes.find import find_runtime
from tests.contraction.running import arrays_for
from tests.threads import in_threads


class Clock:
    """Seconds that pass only when a test lets them."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock that decides when the file of a plan is looked at."""
    made = Clock()
    monkeypatch.setattr(computing, "monotonic", made)
    return made


@pytest.fixture
def searches(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Requests that are searched, from an empty memory on; the estimate answers in place of a search."""
    seen: list[Any] = []

    def searched(request: Any, *_others: Any) -> store.Kept:
        seen.append(request)
        kept = planning.estimated_plan(request)
        return kept._replace(plan=replace(kept.plan, searched=True))

    monkeypatch.setattr(store, "in_memory", {})
    monkeypatch.setattr(planning, "searched_plan", searched)
    return seen


_numbers = count(1)


def unseen(text: str) -> str:
    """The same equation, spelt as in no call before."""
    return " " * next(_numbers) + text


@pytest.mark.parametrize("optimize", [True, "estimate", False])
def test_later_calls_neither_read_the_equation_nor_plan(optimize: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def noted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **keywords: Any) -> Any:
            done.append(name)
            return function(*arguments, **({**keywords, "search": False} if name == "plan_for" else keywords))

        return call

    for name in ("parse", "request_for", "plan_for", "find_runtime"):
        monkeypatch.setattr(computing, name, noted(name, getattr(computing, name)))
    text, arrays = unseen("ij,jk->ik"), arrays_for([(2, 30), (30, 100)], "float32")
    for turn in range(4):
        result = onnxperf.einsum(text, *arrays, threads=1, optimize=optimize)
        np.testing.assert_array_equal(result, np.einsum("ij,jk->ik", *arrays))
        assert len(done) == len(set(done)), turn
    assert "parse" in done


@given(
    calls=st.lists(
        st.tuples(
            st.sampled_from(["ij,jk->ik", "ij,jk", " ij , jk->ki", "ij,jk->i", "ij,jk->"]),
            st.sampled_from(["float32", "float64", "int64", "longlong", ">f4"]),
            st.sampled_from(["float32", "int64"]),
            st.sampled_from([1, 2, 30]),
            st.sampled_from([{}, {"optimize": False}, {"runtime": "numpy"}, {"decompose": False}]),
            st.sampled_from("CF"),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_whatever_was_called_before_values_are_numpys_and_belong_to_the_caller(calls: list[Any]) -> None:
    kept = []
    for text, first, second, size, way, order in calls:
        arrays = [np.asarray(array, order=order) for array in arrays_for([(size, 3), (3, 4)], "float64")]
        operands = [array.astype(dtype) for array, dtype in zip(arrays, (first, second), strict=True)]
        expected = np.einsum(text, *operands)
        result = onnxperf.einsum(text, *operands, threads=1, **{"optimize": "estimate", **way})
        assert (np.shape(result), result.dtype, type(result)) == (np.shape(expected), expected.dtype, type(expected))
        np.testing.assert_array_equal(result, expected)
        kept.append((result, expected))
    for result, expected in kept:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"optimize": ["greedy"]}, "unknown optimize"),
        ({"optimize": {"a": 1}}, "unknown optimize"),
        ({"optimize": "greedy"}, "unknown optimize 'greedy'"),
        ({"threads": 0}, "`threads=0`"),
    ],
)
def test_wrong_options_are_refused_after_right_ones_too(keywords: dict[str, Any], message: str) -> None:
    arrays = arrays_for([(2, 3), (3, 4)], "float32")
    for _ in range(2):
        onnxperf.einsum("ij,jk->ik", *arrays, optimize="estimate", threads=1)
        with pytest.raises(BadOption, match=message):
            onnxperf.einsum("ij,jk->ik", *arrays, **{"optimize": "estimate", **keywords})


def test_threads_may_compute_at_once() -> None:
    operands = [arrays_for([(size, 30), (30, 40)], "float32") for size in (50, 60)]
    wrong: list[int] = []

    def repeat(number: int) -> None:
        expected = np.einsum("ij,jk->ik", *operands[number])
        for _ in range(100):
            value = onnxperf.einsum("ij,jk->ik", *operands[number], optimize="estimate", threads=1)
            if not np.array_equal(value, expected):
                wrong.append(number)

    in_threads(repeat, (0, 1, 0, 1))
    assert not wrong


# ---------------------------------------------------------------- the file of a plan


def test_a_plan_whose_file_was_deleted_is_searched_again_within_a_second(
    clock: Clock, searches: list[Any], own_cache: Path
) -> None:
    text, arrays = unseen("ij,jk->ik"), arrays_for([(2, 30), (30, 100)], "float32")
    onnxperf.einsum(text, *arrays, threads=1)
    (file,) = (own_cache / "onnxperf" / "einsum").iterdir()
    file.unlink()
    counts = []
    for seconds in (0.0, 0.9, 0.2, 0.0, 5.0):
        clock.now += seconds
        np.testing.assert_array_equal(onnxperf.einsum(text, *arrays, threads=1), np.einsum("ij,jk", *arrays))
        counts.append(len(searches))
    assert counts == [1, 1, 2, 2, 2]


def test_a_plan_that_was_replaced_takes_its_place_within_a_second(
    clock: Clock, searches: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    text, arrays = unseen("ij,jk->ik"), arrays_for([(2, 30), (30, 100)], "float32")
    onnxperf.einsum(text, *arrays, threads=1)
    kept = store.recall(searches[0].key)
    assert kept is not None
    opened: list[Any] = []

    def noted(name: str) -> Any:
        opened.append(name)
        return find_runtime(name)

    monkeypatch.setattr(computing, "find_runtime", noted)
    store.keep(searches[0].key, kept._replace(model=kept.decomposed, plan=replace(kept.plan, notes=("newer",))))
    for seconds, sessions in [(0.5, 0), (1.0, 1), (1.5, 1)]:
        clock.now += seconds
        onnxperf.einsum(text, *arrays, threads=1)
        assert len(opened) == sessions
    assert len(searches) == 1


def test_where_nothing_can_be_written_the_plan_of_this_process_stays(
    clock: Clock, searches: list[Any], own_cache: Path
) -> None:
    (own_cache / "onnxperf").write_text("no folder", encoding="utf-8")
    text, arrays = unseen("ij,jk->ik"), arrays_for([(2, 30), (30, 100)], "float32")
    for _ in range(3):
        onnxperf.einsum(text, *arrays, threads=1)
        clock.now += 2.0
    assert len(searches) == 1


# ---------------------------------------------------------------- numpy


def by_numpy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Equations that numpy computes from now on."""
    computed: list[str] = []

    def noted(text: str, *operands: Any) -> Any:
        computed.append(text)
        return np.einsum(text, *operands)

    monkeypatch.setattr(computing, "c_einsum", noted)
    return computed


@pytest.mark.parametrize(
    ("speedup", "keywords", "expected"),
    [
        (1.5, {}, ["ij,jk->ik"]),
        (0.5, {}, []),
        (1.5, {"runtime": "numpy"}, ["ij,jk->ik"]),
        (1.5, {"decompose": False}, []),
        (1.5, {"optimize": False}, []),
    ],
)
def test_numpy_computes_where_the_race_of_the_plan_has_it_ahead(
    speedup: float, keywords: dict[str, Any], expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = Subject(name="a graph", runtime="ort", status="ok", time_ns=1.0, verdict="baseline", speedup=1.0)
    library = Subject(name="numpy.einsum", runtime="callable", status="ok", time_ns=1.0, speedup=speedup)
    case = Case(model="m", baseline="a graph", subjects=(graph, library))

    def searched(request: Any, *_others: Any) -> store.Kept:
        kept = planning.estimated_plan(request)
        return kept._replace(plan=replace(kept.plan, searched=True, race=case))

    monkeypatch.setattr(store, "in_memory", {})
    monkeypatch.setattr(planning, "searched_plan", searched)
    computed = by_numpy(monkeypatch)
    arrays = arrays_for([(2, 30), (30, 100)], "float32")
    result = onnxperf.einsum(unseen("ij,jk"), *arrays, threads=1, **keywords)
    np.testing.assert_array_equal(result, np.einsum("ij,jk", *arrays))
    assert computed == expected


@pytest.mark.parametrize(("size", "expected"), [(3, ["ij,jk->ik"]), (100, [])])
def test_by_estimate_numpy_computes_what_is_small(
    size: int, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = by_numpy(monkeypatch)
    onnxperf.einsum(unseen("ij,jk"), *arrays_for([(size, size)] * 2, "float32"), threads=1, optimize="estimate")
    assert computed == expected


@pytest.mark.parametrize("text", ["ij->ji", "ij->ij", "ii->i", "...->..."])
def test_what_numpy_returns_as_a_view_is_copied(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    computed = by_numpy(monkeypatch)
    array = arrays_for([(3, 3)], "float32")[0]
    result = onnxperf.einsum(unseen(text), array, optimize="estimate", threads=1)
    assert computed
    assert not np.shares_memory(result, array)
    np.testing.assert_array_equal(result, np.einsum(text, array))
