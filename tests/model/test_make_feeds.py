"""Inputs: sizes that agree with everything that was said, values that a model can take, and clear refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

from onnxperf.api._quantization.samples import samples_of
from onnxperf.errors import BadFeed, BadInput, BadOption
from onnxperf.limits import FreeMemory
from onnxperf.model import generate
from onnxperf.model.inputs import Feeds, make_feeds
from onnxperf.model.load import LoadedModel, open_model
from onnxperf.records.options import InputOptions
from tests import bombs

Dims = tuple[int | str | None, ...] | None
LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))


def model_of(**inputs: tuple[int, Dims]) -> LoadedModel:
    values = [helper.make_tensor_value_info(name, *declared) for name, declared in inputs.items()]
    node = helper.make_node("Identity", [values[0].name], ["out"])
    graph = helper.make_graph([node], "g", values, [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)])
    return open_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10))


def embedding() -> LoadedModel:
    values = [helper.make_tensor_value_info(n, TensorProto.INT64, ["batch", "seq"]) for n in ("ids", "attention_mask")]
    table = numpy_helper.from_array(np.zeros((300, 4), np.float32), "E")
    nodes = [
        helper.make_node("Gather", ["E", "ids"], ["a"]),
        helper.make_node("Gather", ["E", "attention_mask"], ["b"]),
    ]
    outputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["batch", "seq", 4]) for n in "ab"]
    graph = helper.make_graph(nodes, "g", values, outputs, [table])
    return open_model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8))


F, I64 = TensorProto.FLOAT, TensorProto.INT64
TWO = {"X": (F, ("batch", 10)), "Z": (F, ("batch", None))}


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


# ---------------------------------------------------------------- sizes

SIZES: dict[str, tuple[InputOptions, dict[str, Any], dict[str, int]]] = {
    "nothing": (InputOptions(), {}, {"batch": 1, "Z.1": 1}),
    "by name": (InputOptions(dims={"batch": 8}), {}, {"batch": 8, "Z.1": 1}),
    "by axis": (InputOptions(dims={"Z.1": 3}), {}, {"batch": 1, "Z.1": 3}),
    "by axis of a name": (InputOptions(dims={"X.0": 8}), {}, {"batch": 8, "Z.1": 1}),
    "by shape": (InputOptions(shapes={"Z": (4, 5)}), {}, {"batch": 4, "Z.1": 5}),
    "by array": (InputOptions(), {"X": ones(6, 10)}, {"batch": 6, "Z.1": 1}),
    "all at once": (
        InputOptions(dims={"batch": 6, "X.1": 10}, shapes={"Z": (6, 2)}),
        {"X": ones(6, 10)},
        {"batch": 6, "Z.1": 2},
    ),
    "zero": (InputOptions(dims={"batch": 0}), {}, {"batch": 0, "Z.1": 1}),
}


@pytest.mark.parametrize(("options", "given_arrays", "dims"), SIZES.values(), ids=SIZES)
def test_sizes_come_from_arrays_and_options(
    options: InputOptions, given_arrays: dict[str, Any], dims: dict[str, int]
) -> None:
    feeds = make_feeds(model_of(**TWO), options, given_arrays)
    assert feeds.dims == dims
    assert {n: a.shape for n, a in feeds.arrays.items()} == {
        "X": (dims["batch"], 10),
        "Z": (dims["batch"], dims["Z.1"]),
    }


def test_an_unset_dimension_is_said_to_be_one() -> None:
    model = model_of(**TWO)
    assert make_feeds(model, InputOptions()).notes == (
        "unset dimensions default to 1: batch, Z.1 (set them with `dims`)",
    )
    assert make_feeds(model, InputOptions(dims={"batch": 1, "Z.1": 1})).notes == ()


def test_an_input_of_unknown_rank_takes_the_shape_that_is_given() -> None:
    model = model_of(X=(F, None))
    assert make_feeds(model, InputOptions(shapes={"X": (2, 3)})).dims == {"X.0": 2, "X.1": 3}
    assert make_feeds(model, InputOptions(), {"X": ones(4)}).dims == {"X.0": 4}


# ---------------------------------------------------------------- refusals

REFUSALS: dict[str, tuple[InputOptions, dict[str, Any], type[BadInput], list[str]]] = {
    "unknown dimension": (InputOptions(dims={"bach": 2}), {}, BadOption, ["'bach'", "batch, Z.1, X.0"]),
    "fixed dimension": (InputOptions(dims={"X.1": 2}), {}, BadOption, ["fixed", "10"]),
    "negative dimension": (InputOptions(dims={"batch": -1}), {}, BadOption, ["batch=-1", "negative"]),
    "negative shape": (InputOptions(shapes={"X": (-1, 10)}), {}, BadOption, ["X=-1x10", "negative"]),
    "unknown input": (InputOptions(shapes={"Y": (1, 10)}), {}, BadOption, ["'Y'", "X, Z"]),
    "shape of wrong rank": (InputOptions(shapes={"X": (1, 10, 1)}), {}, BadOption, ["X=1x10x1", "3", "2 (batch x 10)"]),
    "shape against fixed": (InputOptions(shapes={"X": (1, 9)}), {}, BadOption, ["X=1x9", "9", "10"]),
    "two options": (InputOptions(dims={"batch": 2}, shapes={"X": (3, 10)}), {}, BadOption, ["'batch'", "2", "3"]),
    "option and array": (InputOptions(dims={"batch": 8}), {"X": ones(4, 10)}, BadFeed, ["'batch'", "'X'", "8", "4"]),
    "two arrays": (InputOptions(), {"X": ones(4, 10), "Z": ones(5, 1)}, BadFeed, ["'batch'", "4", "5"]),
    "unknown name": (InputOptions(), {"Y": ones(1)}, BadFeed, ["'Y'", "X, Z"]),
    "wrong rank": (InputOptions(), {"X": ones(10)}, BadFeed, ["'X'", "1 axes", "2 (batch x 10)"]),
    "wrong size": (InputOptions(), {"X": ones(2, 9)}, BadFeed, ["'X'", "9", "axis 1", "10"]),
    "wrong type": (
        InputOptions(),
        {"X": np.ones((1, 10))},
        BadFeed,
        ["'X'", "expected float32, got float64", "`cast`"],
    ),
    "byte order": (InputOptions(), {"X": np.ones((1, 10), ">f4")}, BadFeed, ["expected float32", "foreign byte order"]),
    "text": (InputOptions(cast=True), {"X": np.array([["a"]])}, BadFeed, ["'X'", "expected float32, got str"]),
    "complex": (
        InputOptions(cast=True),
        {"X": np.ones((1, 10), complex)},
        BadFeed,
        ["expected float32, got complex128"],
    ),
    "ragged": (InputOptions(), {"X": [[1.0], [1.0, 2.0]]}, BadFeed, ["'X'", "not an array"]),
    "negative seed": (InputOptions(seed=-1), {}, BadOption, ["-1", "negative"]),
    "too large": (InputOptions(dims={"batch": 10**15}), {}, BadFeed, ["'X'", "TB", "`dims`"]),
    "beyond any array": (InputOptions(dims={"batch": 0, "Z.1": 10**30}), {}, BadFeed, ["'Z'", "`dims`"]),
    "range of unknown input": (InputOptions(ranges={"Y": (0, 1)}), {}, BadOption, ["'Y'", "X, Z"]),
    "range upside down": (InputOptions(ranges={"X": (3, 1)}), {}, BadOption, ["X=3:1", "X=1:3"]),
    "range too wide": (InputOptions(ranges={"X": (0, 1e39)}), {}, BadOption, ["1e+39", "float32"]),
    "range not a number": (InputOptions(ranges={"X": (0, float("nan"))}), {}, BadOption, ["finite"]),
    "range and array": (InputOptions(ranges={"X": (0, 1)}), {"X": ones(1, 10)}, BadOption, ["X", "given"]),
}


@pytest.mark.parametrize(("options", "arrays", "error", "said"), REFUSALS.values(), ids=REFUSALS)
def test_contradictions_and_mistakes_get_one_line(
    options: InputOptions, arrays: dict[str, Any], error: type[BadInput], said: list[str]
) -> None:
    with pytest.raises(error) as caught:
        make_feeds(model_of(**TWO), options, arrays)
    text = str(caught.value)
    assert "\n" not in text
    assert [part for part in said if part not in text] == []


RANGES = {
    "fraction": (TensorProto.INT64, (0.5, 2), "use integers"),
    "too small": (TensorProto.UINT8, (-1, 2), "uint8"),
    "too large": (TensorProto.INT4, (0, 8), "int4"),
    "of booleans": (TensorProto.BOOL, (0, 1), "bool"),
    "of strings": (TensorProto.STRING, (0, 1), "string"),
}


@pytest.mark.parametrize(("elem_type", "bounds", "said"), RANGES.values(), ids=RANGES)
def test_a_range_must_suit_the_type(elem_type: int, bounds: tuple[float, float], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        make_feeds(model_of(X=(elem_type, (2,))), InputOptions(ranges={"X": bounds}))


def test_an_unknown_rank_asks_for_a_shape() -> None:
    with pytest.raises(BadFeed, match="`shapes=X=2x3`"):
        make_feeds(model_of(X=(F, None)), InputOptions())


def test_only_tensors_can_be_fed() -> None:
    proto = model_of(X=(F, (2,))).proto
    tensor = helper.make_tensor_type_proto(F, [2])
    proto.graph.input.append(helper.make_value_info("S", helper.make_sequence_type_proto(tensor)))
    with pytest.raises(BadFeed, match="'S' is not a tensor but of kind sequence"):
        make_feeds(open_model(proto), InputOptions())


# ---------------------------------------------------------------- given arrays


def test_a_cast_is_left_to_the_timed_call_and_said() -> None:
    given_array = np.ones((1, 10))
    feeds = make_feeds(model_of(X=(F, (1, 10))), InputOptions(cast=True), {"X": given_array})
    assert feeds.arrays["X"] is given_array
    assert feeds.notes == ("X is cast from float64 to float32 inside the timed call",)


@pytest.mark.parametrize(
    ("elem_type", "value", "expected"),
    [
        (F, [1.5, 2.5], np.array([1.5, 2.5], np.float32)),
        (F, [1, 2], np.array([1, 2], np.float32)),
        (I64, (1, 2), np.array([1, 2])),
        (TensorProto.UINT8, [1, 255], np.array([1, 255], np.uint8)),
        (TensorProto.BFLOAT16, [1.0, 2.0], np.array([1, 2], ml_dtypes.bfloat16)),
        (TensorProto.STRING, ["a", "bc"], np.array(["a", "bc"], object)),
        (TensorProto.STRING, np.array(["a", "bc"]), np.array(["a", "bc"], object)),
        (TensorProto.BFLOAT16, np.array([1, 2], ml_dtypes.bfloat16).view("V2"), np.array([1, 2], ml_dtypes.bfloat16)),
    ],
)
def test_lists_and_texts_take_the_type_of_the_model(elem_type: int, value: Any, expected: Any) -> None:
    found = make_feeds(model_of(X=(elem_type, (2,))), InputOptions(), {"X": value}).arrays["X"]
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("elem_type", "value"),
    [(I64, [1.5, 2.0]), (TensorProto.INT8, [1, 300]), (TensorProto.STRING, [1, 2]), (TensorProto.STRING, [b"a", b"b"])],
)
def test_a_list_that_would_lose_its_values_is_refused(elem_type: int, value: Any) -> None:
    with pytest.raises(BadFeed, match="expected"):
        make_feeds(model_of(X=(elem_type, (2,))), InputOptions(), {"X": value})


def test_scalars_are_accepted_and_made() -> None:
    model = model_of(X=(F, ()), Z=(F, ()))
    arrays = make_feeds(model, InputOptions(), {"X": 2.0}).arrays
    assert arrays["X"] == np.float32(2)
    assert isinstance(arrays["Z"], np.ndarray)
    assert arrays["Z"].shape == ()


def test_overridden_initialisers_come_last() -> None:
    proto = model_of(X=(F, ("n",)), W=(F, (3,))).proto
    proto.graph.initializer.append(numpy_helper.from_array(ones(3), "W"))
    model = open_model(proto)
    assert list(make_feeds(model, InputOptions()).arrays) == ["X"]
    assert list(make_feeds(model, InputOptions(), {"W": ones(3)}).arrays) == ["X", "W"]
    with pytest.raises(BadFeed, match="'W'"):
        make_feeds(model, InputOptions(), {"W": ones(4)})


def test_the_size_of_all_arrays_is_known() -> None:
    assert make_feeds(model_of(X=(F, (2, 3)), Z=(I64, (5,))), InputOptions()).nbytes == 24 + 40


# ---------------------------------------------------------------- generated values


def test_indices_stay_inside_their_table_and_masks_are_ones() -> None:
    feeds = make_feeds(embedding(), InputOptions(dims={"batch": 20, "seq": 50}))
    ids = feeds.arrays["ids"]
    assert (ids.min() >= 0, ids.max() <= 299, ids.max() > 200) == (True, True, True)
    assert (feeds.arrays["attention_mask"] == 1).all()
    assert feeds.notes == ("ids limited to 0–299 (embedding size)",)


def test_a_range_replaces_the_bound_of_the_table() -> None:
    feeds = make_feeds(embedding(), InputOptions(dims={"batch": 20, "seq": 50}, ranges={"ids": (5, 7)}))
    assert set(feeds.arrays["ids"].flat) == {5, 6, 7}
    assert feeds.notes == ()


def test_adding_an_input_leaves_the_others_as_they_were() -> None:
    alone = make_feeds(model_of(X=(F, (5,))), InputOptions(seed=3)).arrays["X"]
    beside = make_feeds(model_of(A=(F, (5,)), X=(F, (5,))), InputOptions(seed=3)).arrays
    np.testing.assert_array_equal(alone, beside["X"])
    assert (beside["A"] != beside["X"]).all()


EXPECTED_VALUES = {
    TensorProto.INT32: set(range(10)),
    TensorProto.UINT64: set(range(10)),
    TensorProto.UINT4: set(range(16)),
    TensorProto.INT4: set(range(-8, 8)),
    TensorProto.INT8: set(range(-128, 128)),
    TensorProto.UINT8: set(range(256)),
    TensorProto.BOOL: {False, True},
}


@pytest.mark.parametrize(("elem_type", "values"), EXPECTED_VALUES.items())
def test_integers_cover_what_their_type_suggests(elem_type: int, values: set[int]) -> None:
    array = make_feeds(model_of(X=(elem_type, (9999,))), InputOptions()).arrays["X"]
    assert set(array.tolist()) == values


ELEMENT_TYPES = [t for t in TensorProto.DataType.values() if t != TensorProto.UNDEFINED]
NAMES = ["X", "a_mask", "input:0"]
DIMENSIONS = st.one_of(st.integers(0, 4), st.sampled_from(["n", "m"]), st.none())
INPUTS = st.dictionaries(
    st.sampled_from(NAMES),
    st.tuples(st.sampled_from(ELEMENT_TYPES), st.lists(DIMENSIONS, max_size=4).map(tuple)),
    min_size=1,
)


@given(inputs=INPUTS, n=st.integers(0, 5), seed=st.integers(0, 2**64))
def test_generated_inputs_agree_with_the_model_and_repeat(inputs: dict[str, Any], n: int, seed: int) -> None:
    model = model_of(**inputs)
    has_n = any("n" in shape for _, shape in inputs.values())
    options = InputOptions(seed=seed, dims={"n": n} if has_n else {})
    first, second = make_feeds(model, options), make_feeds(model, options)
    sizes = {"n": n, "m": 1, None: 1}
    assert list(first.arrays) == list(inputs)
    for name, (elem_type, shape) in inputs.items():
        array = first.arrays[name]
        assert array.dtype == helper.tensor_dtype_to_np_dtype(elem_type)
        assert array.shape == tuple(sizes.get(d, d) for d in shape)
        assert array.tobytes() == second.arrays[name].tobytes() or array.dtype == object
        assert array.tolist() == second.arrays[name].tolist()


@settings(deadline=None)
@given(
    elem_type=st.sampled_from([TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16]),
    ends=st.tuples(*[st.floats(-60000, 60000)] * 2).map(sorted),
)
def test_floats_stay_in_their_range(elem_type: int, ends: list[float]) -> None:
    array = make_feeds(model_of(X=(elem_type, (99,))), InputOptions(ranges={"X": (ends[0], ends[1])})).arrays["X"]
    low, high = np.array(ends).astype(array.dtype).astype(float)
    assert ((array.astype(float) >= low) & (array.astype(float) <= high)).all()


@settings(deadline=None)
@given(elem_type=st.sampled_from([TensorProto.INT16, TensorProto.INT64, TensorProto.UINT32]), data=st.data())
def test_integers_stay_in_their_range(elem_type: int, data: st.DataObject) -> None:
    limits = np.iinfo(helper.tensor_dtype_to_np_dtype(elem_type))
    whole = st.integers(max(limits.min, -(2**53)), min(limits.max, 2**53))
    low, high = sorted([data.draw(whole), data.draw(whole)])
    array = make_feeds(model_of(X=(elem_type, (99,))), InputOptions(ranges={"X": (low, high)})).arrays["X"]
    assert low <= array.min() <= array.max() <= high


def test_the_widest_range_does_not_overflow() -> None:
    widest = np.finfo(np.float64).max
    options = InputOptions(ranges={"X": (-widest, widest)})
    assert np.isfinite(make_feeds(model_of(X=(TensorProto.DOUBLE, (99,))), options).arrays["X"]).all()


# ---------------------------------------------------------------- on real models


def run(model: LoadedModel, feeds: Feeds) -> list[Any]:
    session = onnxruntime.InferenceSession(str(model.path), providers=["CPUExecutionProvider"])
    return list(session.run(None, feeds.arrays))


@pytest.mark.parametrize("path", LIGHT, ids=lambda p: p.stem)
def test_generated_inputs_run_the_models_of_the_onnx_wheel(path: Path) -> None:
    model = open_model(path)
    assert len(model.inputs) == 1
    assert len(model.overridable) == len(model.proto.graph.input) - 1
    outputs = run(model, make_feeds(model, InputOptions()))
    assert [o.shape for o in outputs] == [s.shape for s in model.outputs]


def test_generated_indices_run_an_embedding() -> None:
    model = embedding()
    assert run(model, make_feeds(model, InputOptions(dims={"batch": 3, "seq": 7})))[0].shape == (3, 7, 4)


def test_an_input_with_more_axes_than_an_array_can_have_is_refused() -> None:
    model = open_model(bombs.BOMBS["many axes"]())
    with pytest.raises(BadFeed, match="input 'x' has 65 axes, but numpy arrays have at most 64"):
        make_feeds(model, InputOptions())


# ---------------------------------------------------------------- very many inputs


def test_what_is_free_is_asked_once_however_many_inputs_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def free() -> FreeMemory:
        asked.append(1)
        return FreeMemory(40 * 3 * 500)

    monkeypatch.setattr(generate, "free_memory", free)
    model = model_of(**{f"x{n}": (F, ("n", 10)) for n in range(500)})
    assert len(make_feeds(model, InputOptions()).arrays) == 500
    assert len(asked) == 1
    expected = r"^input 'x0' of shape 2x10 needs 80 B in each of 3 copies; .*; all 500 inputs need 40.0 kB; set "
    with pytest.raises(BadFeed, match=expected):
        make_feeds(model, InputOptions(dims={"n": 2}))


def test_a_message_does_not_list_very_many_inputs() -> None:
    model = model_of(**{f"x{n}": (F, (f"n{n}", 10)) for n in range(500)})
    assert make_feeds(model, InputOptions()).notes[0].endswith("n19 and 480 more (set them with `dims`)")
    wrong: list[tuple[InputOptions, dict[str, Any]]] = [
        (InputOptions(), {"y": ones(1)}),
        (InputOptions(dims={"y": 1}), {}),
        (InputOptions(shapes={"y": (1,)}), {}),
        (InputOptions(ranges={"y": (0, 1)}), {}),
    ]
    for options, arrays in wrong:
        with pytest.raises(BadInput, match=r" and [\d,]+ more$") as error:
            make_feeds(model, options, arrays)
        assert len(str(error.value)) < 1_000


def test_fewer_random_calls_are_made_of_very_many_inputs() -> None:
    numbers = []
    for inputs in (2, 2_000):
        model = model_of(**{f"x{n}": (F, (10,)) for n in range(inputs)})
        feeds = make_feeds(model, InputOptions())
        numbers.append(len(samples_of(model, feeds, [], InputOptions(), {}).arrays["x0"]))
    assert numbers == [48, 16]


@pytest.mark.parametrize(
    ("calls", "calibration", "choosing", "held_out"),
    [
        (1, (0, 1), (0, 1), (0, 1)),
        (2, (0, 1), (0, 1), (1, 2)),
        (3, (0, 1), (1, 2), (2, 3)),
        (10, (0, 3), (3, 6), (6, 10)),
        (120, (0, 40), (40, 72), (72, 120)),
        (2_000, (0, 128), (128, 160), (160, 672)),
    ],
)
def test_errors_are_measured_on_inputs_that_chose_nothing_as_far_as_there_are_enough(
    calls: int, calibration: tuple[int, int], choosing: tuple[int, int], held_out: tuple[int, int]
) -> None:
    model = model_of(x=(F, (1,)))
    given = [{"x": ones(1)} for _ in range(calls)]
    found = samples_of(model, make_feeds(model, InputOptions()), given, InputOptions(), {})
    parts = found.calibration, found.choosing, found.held_out
    assert [(each.first, each.last) for each in parts] == [calibration, choosing, held_out]
    assert (found.overlap, found.chooses_apart) == (calls == 1, calls > 2)
    assert len(found.arrays["x"]) == held_out[1]
