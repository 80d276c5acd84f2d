"""A runner that compares inputs with the last ones predicts as one that checks and binds them in every call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx.parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.errors import BadFeed
from onnxperf.model.inputs import check_feeds
from onnxperf.model.load import open_model
from onnxperf.model.opened import Model
from onnxperf.records.options import SessionOptions
from onnxperf.runtimes.base import Arrays, Call, Caller, Casts, Runner, Session
from onnxperf.runtimes.find import find_runtime, runtimes
from tests.threads import in_threads

STYLES = [(runtime, call) for runtime in runtimes() for call in find_runtime(runtime).call_names]
# A view, a constant, a shape that depends on values, values that are refused, and an initialiser that may be fed.
TEXT = """
<ir_version: 8, opset_import: ["" : 17]>
all (float[n, 3] A, int64[m] K, float[3] W)
=> (float[n, 3] total, float[k] flat, float[3] weights, int64[2, z] places, float[m, 3] picked)
<float[3] W = {1, 2, 3}, int64[1] ONE = {-1}>
{ total = Add(A, W)
  flat = Reshape(A, ONE)
  weights = Identity(W)
  places = NonZero(A)
  picked = Gather(A, K) }
"""
ALL = bytes(onnx.parser.parse_model(TEXT).SerializeToString())
Outcome = tuple[str, Any]
LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "as it is": lambda array: array,
    "fortran": np.asfortranarray,
    "strided": lambda array: np.repeat(array, 2, axis=0)[::2],
    "reversed": lambda array: array[::-1].copy()[::-1],
    "read-only": lambda array: np.frombuffer(array.tobytes(), array.dtype).reshape(array.shape),
    "foreign": lambda array: array.astype(array.dtype.newbyteorder()),
    "of a subclass": np.ma.MaskedArray,
    "list": lambda array: array.tolist(),
    "wider": lambda array: array.astype(array.dtype.str.replace("4", "8")),
    "without an axis": lambda array: array.reshape(-1),
    "of objects": lambda array: array.astype(object),
}
MAPPINGS: list[Callable[[dict[str, Any]], Mapping[str, Any]]] = [dict, OrderedDict, MappingProxyType]
NUMBERS = st.sampled_from([0.0, 1.0, -2.5, float("nan"), float("inf")])


@st.composite
def feeds_of_any_kind(draw: st.DrawFn) -> Mapping[str, Any]:
    rows = draw(st.integers(0, 3))
    values = draw(st.lists(NUMBERS, min_size=3 * rows, max_size=3 * rows))
    indices = draw(st.lists(st.integers(-1, 3), max_size=2))
    layout = st.one_of(st.just("as it is"), st.sampled_from(sorted(LAYOUTS)))
    given_values = {
        "A": np.array(values, np.float32).reshape(rows, 3),
        "K": np.array(indices, draw(st.sampled_from(["int64", "longlong", "int32"]))),
        "W": np.array([4, 5, 6], np.float32),
        "other": np.ones(1, np.float32),
    }
    names = draw(st.sampled_from(["AK", "AK", "AK", "KA", "AKW", "A", ""]))
    chosen = [*names, *(["other"] if draw(st.integers(0, 9)) == 0 else [])]
    feeds = {name: LAYOUTS[draw(layout)](given_values[name]) for name in chosen}
    mapping: Callable[[dict[str, Any]], Mapping[str, Any]] = draw(st.sampled_from(MAPPINGS))
    return mapping(feeds)


def session_of(data: bytes, runtime: str) -> Session:
    return find_runtime(runtime).open_session(data, SessionOptions(threads=1))


def outcome(run: Callable[[], Mapping[str, Any]]) -> Outcome:
    """What a call returns, or how it fails."""
    try:
        return "outputs", run()
    except Exception as error:
        return type(error).__name__, str(error)


def by_check_and_bind(session: Session, model: Model, call: str, feeds: Mapping[str, Any]) -> dict[str, Any]:
    bound = session.bind(call, check_feeds(model, feeds), {})()
    values = [bound[place] for place in range(len(session.output_names))]
    arrays = [value.numpy() if hasattr(value, "numpy") else value for value in values]
    return {name: array.copy() for name, array in zip(session.output_names, arrays, strict=True)}


def assert_same(got: Outcome, expected: Outcome) -> None:
    assert got[0] == expected[0], (got, expected)
    if expected[0] != "outputs":
        assert got[1] == expected[1]
        return
    assert list(got[1]) == list(expected[1])
    for name, array in expected[1].items():
        assert (got[1][name].dtype, got[1][name].shape) == (array.dtype, array.shape), name
        np.testing.assert_array_equal(got[1][name], array, err_msg=name)


@pytest.fixture(scope="module", params=STYLES, ids="-".join)
def style(request: pytest.FixtureRequest) -> tuple[Runner, Session, str]:
    """A runner, and a session of its own to compare with."""
    runtime, call = request.param
    return Runner(session_of(ALL, runtime), open_model(ALL), runtime, call), session_of(ALL, runtime), call


@given(sequence=st.lists(st.tuples(feeds_of_any_kind(), st.integers(1, 3)), min_size=1, max_size=6))
def test_any_sequence_of_inputs_gives_the_outputs_and_errors_of_a_check_and_a_bind_in_every_call(
    style: tuple[Runner, Session, str], sequence: list[tuple[Mapping[str, Any], int]]
) -> None:
    runner, session, call = style
    kept: list[tuple[Any, Any]] = []
    for feeds, times in sequence:
        for _ in range(times):
            if runner.runtime == "openvino" and beyond_the_table(feeds):
                continue  # it reads whatever lies there, without an error
            got = outcome(partial(runner.run, feeds))
            assert_same(got, outcome(partial(by_check_and_bind, session, runner.model, call, feeds)))
            if got[0] == "outputs":
                kept += [(array, array.copy()) for array in got[1].values()]
            change_in_place(feeds)
    for number, (array, copy) in enumerate(kept):
        np.testing.assert_array_equal(array, copy)
        assert not any(np.shares_memory(array, other) for other, _ in kept[number + 1 :])
    for array, _ in kept:
        array.fill(77)  # the caller may do so: they are the caller's own


def beyond_the_table(feeds: Mapping[str, Any]) -> bool:
    rows = len(feeds.get("A", []))
    return any(not -rows <= int(index) < rows for index in np.ravel(feeds.get("K", [])))


def change_in_place(feeds: Mapping[str, Any]) -> None:
    array = feeds.get("A")
    if isinstance(array, np.ndarray) and array.flags.writeable and array.size and array.dtype.kind == "f":
        array[0] = 1.0 - array[0]


Feeds = dict[str, Any]


def of_input_a(change: Callable[[Any], Any]) -> Callable[[Feeds], Feeds]:
    return lambda feeds: {**feeds, "A": change(feeds["A"])}


CHANGES: dict[str, Callable[[Feeds], Feeds]] = {
    **{f"A {name}": of_input_a(change) for name, change in LAYOUTS.items()},
    "A longer": lambda feeds: {**feeds, "A": np.ones((4, 3), np.float32)},
    "A wrong": lambda feeds: {**feeds, "A": np.ones((2, 4), np.float32)},
    "A transposed": lambda feeds: {**feeds, "A": np.ones((3, 2), np.float32).T},
    "A a number": lambda feeds: {**feeds, "A": np.float32(1)},
    "K longer": lambda feeds: {**feeds, "K": np.array([0, 1])},
    "K int32": lambda feeds: {**feeds, "K": feeds["K"].astype(np.int32)},
    "K longlong": lambda feeds: {**feeds, "K": feeds["K"].astype(np.longlong)},
    "K out of range": lambda feeds: {**feeds, "K": np.array([7])},
    "other values": lambda feeds: {**feeds, "A": np.full((2, 3), np.nan, np.float32)},
    "fewer that are not zero": lambda feeds: {**feeds, "A": np.zeros((2, 3), np.float32)},
    "W too": lambda feeds: {**feeds, "W": np.zeros(3, np.float32)},
    "W instead of K": lambda feeds: {"A": feeds["A"], "W": np.zeros(3, np.float32)},
    "without K": lambda feeds: {"A": feeds["A"]},
    "nothing": lambda _feeds: {},
    "another order": lambda feeds: dict(reversed(feeds.items())),
}


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_is_noticed_by_every_call_style(style: tuple[Runner, Session, str], change: str) -> None:
    runner, session, call = style
    same = {"A": np.arange(6, dtype=np.float32).reshape(2, 3), "K": np.array([1])}
    changed = CHANGES[change](same)
    for feeds in (same, same, changed, changed, same, changed):
        expected = outcome(partial(by_check_and_bind, session, runner.model, call, feeds))
        assert_same(outcome(partial(runner.run, feeds)), expected)


@pytest.mark.parametrize("runtime", [name for name in runtimes() if name != "openvino"])  # it refuses texts
def test_texts_are_checked_in_every_call(runtime: str) -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (string[n] X) => (string[n] Y) { Y = Identity(X) }'
    data = bytes(onnx.parser.parse_model(text).SerializeToString())
    runner = Runner(session_of(data, runtime), open_model(data), runtime, "run")
    for _ in range(2):
        assert runner.run({"X": np.array(["a", "b"], object)})["Y"].tolist() == ["a", "b"]
    with pytest.raises(BadFeed, match="expected strings"):
        runner.run({"X": np.array(["a", 2], object)})


PASSING = """
<ir_version: 8, opset_import: ["" : 17]>
passing (float[n, 3] X) => (float[n, 3] X, float[n, 3] Y) { Y = Neg(X) }
"""


@pytest.mark.parametrize("call", find_runtime("ort").call_names)
def test_an_input_that_is_an_output_is_not_the_array_of_the_caller(call: str) -> None:
    data = bytes(onnx.parser.parse_model(PASSING).SerializeToString())
    runner = Runner(session_of(data, "ort"), open_model(data), "ort", call)
    array = np.ones((2, 3), np.float32)
    first, second = (runner.run({"X": array})["X"] for _ in range(2))
    array.fill(5)
    for output in (first, second):
        np.testing.assert_array_equal(output, np.ones((2, 3), np.float32))


@pytest.mark.parametrize(("runtime", "call"), STYLES)
@pytest.mark.parametrize("rows", [(2, 2), (2, 3)], ids=["same shapes", "other shapes"])
def test_threads_may_share_a_runner(linear_bytes: bytes, runtime: str, call: str, rows: tuple[int, int]) -> None:
    runner = Runner(session_of(linear_bytes, runtime), open_model(linear_bytes), runtime, call)
    inputs = [np.random.default_rng(number).random((size, 10), np.float32) for number, size in enumerate(rows)]
    expected = [runner.run({"X": array})["Y"].copy() for array in inputs]
    wrong: list[int] = []

    def repeat(number: int) -> None:
        for _ in range(300):
            if not np.array_equal(runner.run({"X": inputs[number]})["Y"], expected[number]):
                wrong.append(number)

    in_threads(repeat, (0, 1, 0, 1))
    assert not wrong


# ---------------------------------------------------------------- what a session is asked for


class OneBuffer(Session):
    """A session of another package: it only binds, and its outputs are always the same array."""

    input_names, output_names, conditions = ("X",), ("Y",), {}

    def __init__(self) -> None:
        self.bound = 0
        self._output = np.zeros((2, 4), np.float32)

    def bind(self, call: str, feeds: Arrays, casts: Casts) -> Call:
        del call, casts
        self.bound += 1

        def compute() -> Sequence[Any]:
            self._output[...] = feeds["X"].sum()
            return [self._output]

        return compute

    def intermediates(self, feeds: Arrays) -> dict[str, Any]:
        return {**feeds, "Y": self._output}


class Counted(OneBuffer):
    """One that keeps something from call to call."""

    made = 0

    def caller(self, call: str, feeds: Arrays) -> Caller:
        self.made += 1
        return super().caller(call, feeds)


def test_a_runtime_that_only_binds_has_outputs_of_the_caller_too(linear_bytes: bytes) -> None:
    runner = Runner(OneBuffer(), open_model(linear_bytes), "other", "run")
    first = runner.run({"X": np.ones((2, 10), np.float32)})["Y"]
    second = runner.run({"X": np.zeros((2, 10), np.float32)})["Y"]
    assert (first[0, 0], second[0, 0]) == (20, 0)


def test_what_a_runtime_keeps_is_made_once_for_inputs_that_are_alike(linear_bytes: bytes) -> None:
    session = Counted()
    runner = Runner(session, open_model(linear_bytes), "other", "run")
    made = []
    two, three = np.ones((2, 10), np.float32), np.ones((3, 10), np.float32)
    fortran = np.asfortranarray(three)
    for array in (two, two.copy(), three, three.copy(), fortran, np.asfortranarray(three), two):
        runner.run({"X": array})
        made.append(session.made)
    assert made == [1, 1, 2, 2, 3, 3, 4]
    runner.run({"X": np.ones((2, 10)).tolist()})  # converted first, and then alike
    assert session.made == 4


# ---------------------------------------------------------------- the bound call


@pytest.mark.parametrize(("runtime", "call"), STYLES)
def test_a_bound_call_returns_outputs_in_order_and_reads_the_arrays_in_every_call(runtime: str, call: str) -> None:
    runner = Runner(session_of(ALL, runtime), open_model(ALL), runtime, call)
    feeds = {"K": np.array([1]), "A": np.ones((2, 3), np.float32)}
    bound = runner.bind(feeds)
    for value in (1, 4):
        feeds["A"].fill(value)
        outputs = bound()
        values = [outputs[place] for place in range(len(runner.output_names))]
        arrays = [each.numpy() if hasattr(each, "numpy") else each for each in values]
        for array, expected in zip(arrays, runner.run(feeds).values(), strict=True):
            np.testing.assert_array_equal(array, expected)


@pytest.mark.parametrize(
    ("feeds", "message"),
    [
        ({"A": np.ones((2, 3), np.float32)}, "missing input K"),
        ({"A": np.ones((2, 3)), "K": np.array([0])}, "expected float32, got float64"),
        ({"A": np.ones((3, 2), np.float32).T, "K": np.array([0])}, "input 'A' is not contiguous"),
    ],
)
def test_what_cannot_be_bound_is_refused_as_by_a_run(feeds: dict[str, Any], message: str) -> None:
    runner = Runner(session_of(ALL, "ort"), open_model(ALL), "ort", "io-binding")
    for refused in (runner.bind, runner.run):
        with pytest.raises(BadFeed, match=message):
            refused(feeds)
