"""`onnxperf.convert` and `onnxperf.to_onnx`, with real frameworks on tiny models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from onnxperf.api._shared.examine import ConversionCheck
from onnxperf.api._shared.samples import resized
from onnxperf.api.convert import convert
from onnxperf.api.to_onnx import to_onnx
from onnxperf.errors import BadFeed, BadInput, BadOption
from onnxperf.records.options import Signature, Tolerances, WorkerLimits

X = np.random.default_rng(0).standard_normal((20, 4)).astype(np.float32)
LABELS = (X[:, 0] > 0).astype(np.int64)

Shapes = dict[str, tuple[int | str | None, ...] | None]


def shapes(signatures: tuple[Signature, ...]) -> Shapes:
    return {each.name: each.shape for each in signatures}


@pytest.fixture(scope="module")
def pipeline() -> Pipeline:
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, LABELS)


# ---------------------------------------------------------------- scikit-learn


def test_the_rows_of_an_estimator_are_a_batch(pipeline: Pipeline) -> None:
    result = convert(pipeline, X, converter_options={"zipmap": False})
    assert result
    assert shapes(result.record.inputs) == {"X": ("batch", 4)}
    assert shapes(result.record.outputs) == {"label": ("batch",), "probabilities": ("batch", 2)}
    assert [check.model for check in result.record.checks] == ["Pipeline (batch=20)", "Pipeline (batch=1000)"]
    assert "agrees with its source on 2 outputs at 2 sizes" in repr(result)
    assert result.to_df()["equal"].all()


def test_a_model_says_what_it_was_made_from(pipeline: Pipeline) -> None:
    proto = to_onnx(LogisticRegression().fit(X, LABELS), X, output_names=["label", "probability"])
    assert isinstance(proto, onnx.ModelProto)
    assert [output.name for output in proto.graph.output] == ["label", "probability"]
    found = {each.key: each.value for each in proto.metadata_props}
    assert found["onnxperf.framework"] == "sklearn"
    assert found["onnxperf.source"] == "sklearn.linear_model._logistic.LogisticRegression"
    assert "skl2onnx" in found["onnxperf.versions"]


def test_names_of_inputs_and_dimensions_are_the_users(pipeline: Pipeline) -> None:
    result = convert(pipeline, X, input_names=["features"], dynamic={"features.0": "rows"}, opset=15)
    assert shapes(result.record.inputs) == {"features": ("rows", 4)}
    assert result.record.opset <= 15
    assert result


def test_all_sizes_can_be_fixed(pipeline: Pipeline) -> None:
    result = convert(pipeline, X[:3], dynamic={}, converter_options={"zipmap": False})
    assert shapes(result.record.inputs) == {"X": (3, 4)}
    assert len(result.record.checks) == 1


def test_an_operator_can_be_forbidden() -> None:
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(X, X[:, 0])
    proto = to_onnx(model, X, black_op={"Scaler", "LinearRegressor"})
    assert {node.op_type for node in proto.graph.node}.isdisjoint({"Scaler", "LinearRegressor"})


def test_columns_of_a_frame_become_inputs() -> None:
    frame = pd.DataFrame({"age": [20.0, 30.0, 40.0], "city": ["Rome", "Oslo", "Rome"]}).astype({"age": np.float32})
    steps = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(sparse_output=False), ["city"]))
    result = convert(steps.fit(frame), frame)
    assert result
    assert shapes(result.record.inputs) == {"age": ("batch", 1), "city": ("batch", 1)}
    assert shapes(result.record.outputs)["transformed_column"] == ("batch", 3)


def test_an_estimator_that_knows_its_columns_needs_no_sample() -> None:
    result = convert(LinearRegression().fit(X, X[:, 0]))
    assert shapes(result.record.inputs) == {"X": ("batch", 4)}


class Doubled(LinearRegression):  # type: ignore[misc]
    """Predicts something else than what skl2onnx believes."""

    def predict(self, X: Any) -> Any:
        return 2 * super().predict(X)


@pytest.fixture
def doubled() -> Iterator[Doubled]:
    from skl2onnx import update_registered_converter
    from skl2onnx._supported_operators import sklearn_operator_name_map
    from skl2onnx.operator_converters.linear_regressor import convert_sklearn_linear_regressor
    from skl2onnx.shape_calculators.linear_regressor import calculate_linear_regressor_output_shapes

    update_registered_converter(
        Doubled, "Doubled", calculate_linear_regressor_output_shapes, convert_sklearn_linear_regressor
    )
    yield Doubled().fit(X, X[:, 0] + 1)
    sklearn_operator_name_map.pop(Doubled, None)


def test_a_model_that_differs_from_its_source_is_not_handed_out(doubled: Doubled, tmp_path: Path) -> None:
    result = convert(doubled, X)
    assert not result
    assert "differs from its source in variable" in result.answer
    assert "20 of 20" in repr(result)
    with pytest.raises(BadInput, match="force=True"):
        result.save(tmp_path / "model.onnx")
    assert list(tmp_path.iterdir()) == []
    result.save(tmp_path / "model.onnx", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]
    with pytest.raises(BadInput, match="check=False"):
        to_onnx(doubled, X)
    assert isinstance(to_onnx(doubled, X, check=False), onnx.ModelProto)


def test_weights_of_a_large_model_go_beside_it(
    pipeline: Pipeline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnxperf.render.kit.model_files.INLINE_BYTES", 10)
    (tmp_path / "model.onnx.data").write_bytes(b"of another model")
    result = convert(
        LinearRegression().fit(np.ones((3, 400)), np.ones(3)),
        np.ones((3, 400), np.float32),
        black_op={"LinearRegressor"},
    )
    result.save(tmp_path / "model.onnx")
    assert {path.name for path in tmp_path.iterdir()} == {"model.onnx", "model.onnx.data"}
    onnx.checker.check_model(tmp_path / "model.onnx", full_check=True)
    assert "must stay next to it" in result.record.notes[-1]
    assert not any(tensor.external_data for tensor in result.proto.graph.initializer)


@pytest.mark.parametrize(
    ("keywords", "error", "said"),
    [
        ({"dynamic": {"Y.0": "batch"}}, BadOption, "unknown input in `dynamic` 'Y'; choose from: X"),
        ({"dynamic": {"X.2": "batch"}}, BadOption, "X has the axes 0 to 1"),
        ({"dynamic": {"X.1": "columns"}}, BadInput, "the source fixes the size"),
        ({"dynamic": {"X.0": "a b"}}, BadOption, "`dynamic=X.0=a b`: expected a name for a dimension"),
        ({"output_names": ["a", "b", "c"]}, BadOption, "3 names for 2"),
        ({"rtol": -1}, BadOption, "`rtol=-1`: expected at least 0"),
        ({"no_such_option": 1}, BadOption, "unknown option 'no_such_option'; choose from: atol, batch, black_op"),
        ({"options": {"zipmap": False}}, BadOption, "unknown option 'options'"),
        ({"feeds": {"X": X}}, BadOption, "`feeds`: the sample holds the inputs already"),
        (
            {"black_op": {"Scaler", "LinearClasifier"}},
            BadOption,
            "unknown operator in `black_op` 'LinearClasifier'; choose from: .*LinearClassifier.*Scaler",
        ),
        ({"converter_options": {"white_op": "Scalar"}}, BadOption, "unknown operator in `white_op` 'Scalar'"),
        ({"converter_options": {"zipmapp": False}}, BadInput, "Option 'zipmapp' not in .*'zipmap'"),
        (
            {"converter_options": {LinearRegression: {"zipmap": False}}},
            BadOption,
            "unknown estimator in `.*options` 'LinearRegression'; choose from: Pipeline, StandardScaler, Log",
        ),
        ({"opset": 0}, BadOption, "at least 1"),
    ],
)
def test_bad_requests_are_refused_in_one_line(
    pipeline: Pipeline, keywords: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        convert(pipeline, X, **keywords)


def test_a_sample_that_is_no_array_is_refused(pipeline: Pipeline) -> None:
    with pytest.raises(BadFeed, match="not an array of numbers"):
        convert(pipeline, np.array([[None]]))


def test_a_model_that_runs_with_one_size_only_differs_from_its_source(monkeypatch: pytest.MonkeyPatch) -> None:
    run, calls = ConversionCheck.run, []

    def run_once(job: Any, feeds: Any) -> Any:
        calls.append(feeds)
        if len(calls) > 1:
            raise BadInput("ort: shapes do not fit")
        return run(job, feeds)

    monkeypatch.setattr(ConversionCheck, "run", run_once)
    result = convert(LinearRegression().fit(X, X[:, 0]), X)
    assert not result
    assert [check.equal for check in result.record.checks] == [True, False]
    assert "shapes do not fit" in repr(result)


def test_a_source_that_runs_with_one_size_only_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Choosy(LinearRegression):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            if len(X) != 20:
                raise ValueError("twenty rows, please")
            return super().predict(X)

    Choosy.__name__ = "LinearRegression"
    from skl2onnx._supported_operators import sklearn_operator_name_map

    monkeypatch.setitem(sklearn_operator_name_map, Choosy, "SklearnLinearRegressor")
    result = convert(Choosy().fit(X, X[:, 0]), X)
    assert result
    assert shapes(result.record.inputs) == {"X": ("batch", 4)}
    assert result.record.notes[-1].startswith("checked with the sizes of the sample only; with batch=21:")
    assert "twenty rows, please" in result.record.notes[-1]


class LastOfTied(ExtraTreesClassifier):  # type: ignore[misc]
    """Of classes that are tied it takes the last; onnxruntime takes the first, or what its threads' sums make of it."""

    def predict(self, X: Any) -> Any:
        scores = self.predict_proba(X).round(6)[:, ::-1]
        return self.classes_[::-1][scores.argmax(axis=1)]


def tied_forest(labels: Any) -> tuple[Any, Any]:
    """Trees whose votes, 0.05 each, are tied in many places."""
    random = np.random.default_rng(0)
    table = random.standard_normal((80, 4)).astype(np.float32)
    chosen = np.asarray(labels)[random.integers(0, 3, 80)]
    return LastOfTied(20, random_state=0).fit(table, chosen), table


@pytest.mark.parametrize("labels", [[0, 1, 2], ["a", "b", "c"]])
def test_labels_that_differ_at_ties_are_found_though_the_sample_agrees(
    labels: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from skl2onnx._supported_operators import sklearn_operator_name_map

    monkeypatch.setitem(sklearn_operator_name_map, LastOfTied, "SklearnExtraTreesClassifier")
    forest, table = tied_forest(labels)
    result = convert(forest, table[:5], converter_options={"zipmap": False})
    first, second = result.record.checks
    assert first.equal
    label, scores = second.outputs
    assert not label.equal
    assert label.elements == 1000
    assert scores.equal
    assert not result
    assert (result.record.rows, result.record.made_rows) == (5, 1000)
    assert f"differs from its source in label ({label.differing} of 1,005)" in result.answer
    assert "on 5 rows of the sample and 1,000 generated from it" in result.answer
    assert "The labels differ where classes are nearly tied: probabilities agrees." in result.answer


def test_an_estimator_that_was_fitted_on_float64_takes_float32_and_is_compared_after_the_cast() -> None:
    wide = X.astype(np.float64) + 1e-12
    result = convert(LogisticRegression().fit(wide, LABELS), wide)
    assert result
    assert [each.dtype for each in result.record.inputs] == ["float32"]
    assert result.record.casts == {"X": ("float64", "float32")}
    assert "after the cast of X from float64 to float32" in result.answer
    assert not convert(LogisticRegression().fit(wide, LABELS), X).record.casts


def test_columns_of_a_frame_in_float64_become_float32() -> None:
    frame = pd.DataFrame({"a": [0.1, 0.2, 0.3], "b": [1, 2, 3]})
    steps = make_column_transformer((StandardScaler(), ["a"]), ("passthrough", ["b"]))
    result = convert(steps.fit(frame), frame)
    assert result
    assert {each.name: each.dtype for each in result.record.inputs} == {"a": "float32", "b": "int64"}


def test_types_of_inputs_may_be_given_to_skl2onnx() -> None:
    from skl2onnx.common.data_types import DoubleTensorType

    wide = X.astype(np.float64)
    model = LinearRegression().fit(wide, wide[:, 0])
    result = convert(model, wide, converter_options={"initial_types": [("X", DoubleTensorType([None, 4]))]})
    assert [each.dtype for each in result.record.inputs] == ["float64"]
    assert not result.record.casts


def test_rows_at_edges_that_the_source_refuses_are_left_out_with_a_note() -> None:
    table = np.array([[1.0], [2.0], [4.0]], np.float32)
    result = convert(OneHotEncoder(sparse_output=False).fit(table), table)
    assert result
    assert (result.record.rows, result.record.made_rows) == (3, 1000)
    assert result.record.notes[-1].startswith("no rows at edges were checked; with batch=1000: the source fails")


class Noisy(LinearRegression):  # type: ignore[misc]
    """Draws random numbers at every call."""

    random = np.random.default_rng(0)

    def predict(self, X: Any) -> Any:
        return super().predict(X) + self.random.random(len(X))


def test_a_source_that_differs_at_every_call_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    from skl2onnx._supported_operators import sklearn_operator_name_map

    monkeypatch.setitem(sklearn_operator_name_map, Noisy, "SklearnLinearRegressor")
    noisy = Noisy().fit(X, X[:, 0])
    message = (
        r"the source returns different values at every call on the same inputs \(output variable: 20 of 20 elements"
    )
    with pytest.raises(BadInput, match=message):
        convert(noisy, X)
    assert convert(noisy, X, check=False)


# ---------------------------------------------------------------- torch


@pytest.fixture(scope="module")
def torch() -> Any:
    return pytest.importorskip("torch")


def two_inputs(torch: Any) -> Any:
    class TwoInputs(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(4, 3)
            self.dropout = torch.nn.Dropout(0.5)

        def forward(self, ids: Any, mask: Any) -> dict[str, Any]:
            return {"scores": self.dropout(self.linear(ids)), "twice": torch.cat([mask, mask], 1), "ids": ids}

    return TwoInputs()


@pytest.mark.slow
def test_a_torch_module_keeps_its_names_and_its_mode(torch: Any) -> None:
    module = two_inputs(torch).train()
    sample = {"mask": np.ones((1, 5), np.float32), "ids": torch.randn(1, 4)}
    result = convert(module, sample, dynamic={"ids.0": "batch", "mask.0": "batch", "mask.1": "seq"})
    assert result
    assert shapes(result.record.inputs) == {"ids": ("batch", 4), "mask": ("batch", "seq")}
    assert shapes(result.record.outputs) == {
        "scores": ("batch", 3),
        "twice": ("batch", "2*seq"),
        "ids_output": ("batch", 4),
    }
    assert module.training
    assert module.dropout.training
    assert str(Path(__file__).parent).encode() not in result.proto.SerializeToString()


@pytest.mark.slow
def test_an_axis_that_only_the_export_fixed_is_named(torch: Any) -> None:
    class Positions(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return {"logits": x + torch.tensor(list(range(x.shape[1])), dtype=torch.float32)}

    with pytest.raises(BadOption, match=r"^`dynamic=x\.1=seq`: the export fixed this axis at 6, the size"):
        convert(Positions(), torch.ones(2, 6), dynamic={"x.0": "batch", "x.1": "seq"})
    assert convert(Positions(), torch.ones(2, 6), dynamic={"x.0": "batch"})


@pytest.mark.slow
def test_dimensions_that_a_program_names_keep_their_names(torch: Any) -> None:
    rows, words = torch.export.Dim("rows"), torch.export.Dim("words")
    module = torch.nn.Sequential(torch.nn.ReLU())
    program = torch.export.export(module, (torch.ones(3, 5),), dynamic_shapes={"input": {0: rows, 1: words}})
    assert shapes(convert(program).record.inputs) == {"input": ("rows", "words")}
    given = convert(program, dynamic={"input.1": "seq"})
    assert shapes(given.record.inputs) == {"input": ("rows", "seq")}
    assert list(shapes(given.record.outputs).values()) == [("rows", "seq")]


@pytest.mark.slow
def test_a_module_that_knows_only_one_size_is_fixed_to_it(torch: Any) -> None:
    class Fixed(torch.nn.Module):  # type: ignore[misc]
        def forward(self, x: Any) -> Any:
            return x.reshape(3, 4) + 1

    result = convert(Fixed(), X[:3], opset=18)
    assert shapes(result.record.inputs) == {"x": (3, 4)}
    assert "all sizes are fixed to those of the sample" in result.record.notes[-1]
    assert result.record.opset == 18


def test_a_module_needs_a_sample_of_its_inputs(torch: Any) -> None:
    with pytest.raises(BadFeed, match="needs a sample"):
        convert(two_inputs(torch))
    with pytest.raises(BadFeed, match="the sample has 3 arrays, but the module takes 2: ids, mask"):
        convert(two_inputs(torch), (X, X, X))


@pytest.mark.parametrize(
    ("keywords", "said"),
    [
        ({"black_op": ["Add"]}, "`black_op` is an option of skl2onnx"),
        ({"converter_options": {"zipmap": False}}, "unknown option of .* 'zipmap'"),
    ],
    ids=str,
)
def test_options_of_another_converter_are_refused(torch: Any, keywords: dict[str, Any], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        convert(torch.nn.ReLU(), X, **keywords)


# ---------------------------------------------------------------- Keras and TensorFlow


@pytest.fixture(scope="module")
def keras_model() -> Any:
    keras = pytest.importorskip("keras")
    left, right = keras.Input((4,), name="left"), keras.Input((None, 3), name="right")
    mean = keras.layers.GlobalAveragePooling1D()(right)
    total = keras.layers.Add(name="total")([keras.layers.Dense(3)(left), mean])
    return keras.Model([left, right], [total, keras.layers.Dense(2, name="each")(right)])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_keras_model_has_names_for_what_it_leaves_free(keras_model: Any) -> None:
    result = convert(keras_model, dynamic={"right.1": "seq"}, dims={"batch": 2, "seq": 3}, opset=17)
    assert result
    assert shapes(result.record.inputs) == {"left": ("batch", 4), "right": ("batch", "seq", 3)}
    assert shapes(result.record.outputs) == {"total": ("batch", 3), "each": ("batch", "seq", 2)}
    assert result.record.opset == 17
    sample = [np.ones((2, 4), np.float32), np.ones((2, 5, 3), np.float32)]
    plain = convert(keras_model, sample, input_names=["a", "b"])
    assert shapes(plain.record.inputs) == {"a": ("batch", 4), "b": ("batch", "b.1", 3)}


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_saved_model_is_converted_and_compared(keras_model: Any, tmp_path: Path) -> None:
    keras_model.export(tmp_path / "saved", verbose=False)
    result = convert(tmp_path / "saved", dynamic={"right.1": "seq"}, dims={"batch": 2, "seq": 3})
    assert result
    assert shapes(result.record.inputs) == {"left": ("batch", 4), "right": ("batch", "seq", 3)}
    assert set(shapes(result.record.outputs).values()) == {("batch", 3), ("batch", "seq", 2)}
    assert {each.key: each.value for each in result.proto.metadata_props}["onnxperf.source"] == "saved"
    assert str(tmp_path).encode() not in result.proto.SerializeToString()


def test_other_sizes_differ_from_each_other() -> None:
    job = ConversionCheck(
        proto=onnx.ModelProto(),
        label="",
        feeds={"a": np.ones((3, 3))},
        axes={("a", 0): "batch", ("a", 1): "seq"},
        tolerances=Tolerances(),
        limits=WorkerLimits(),
        call=None,
        may_fix=False,
    )
    assert job.sizes == {"batch": 3, "seq": 3}
    assert job.other_sizes == {"batch": 4, "seq": 5}


def test_values_stay_what_they_were_when_sizes_change() -> None:
    arrays = {"a": np.arange(6).reshape(2, 3), "b": np.arange(3)}
    axes = {("a", 0): "batch", ("a", 1): "seq", ("b", 0): "seq"}
    made = resized(arrays, axes, {"batch": 3, "seq": 2})
    assert made["a"].tolist() == [[0, 1], [3, 4], [0, 1]]
    assert made["b"].tolist() == [0, 1]
    assert arrays["b"].tolist() == [0, 1, 2]
