"""Sources of models, as something that can be called; real frameworks on their way to real workers."""

from __future__ import annotations

import re
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import parser

import onnxperf
from onnxperf.api._shared.cells import groups
from onnxperf.api._shared.sources import (
    as_callable,
    call_styles,
    load_source,
    load_with_sample,
    notes_on_calls,
    source_callables,
    sources_of,
)
from onnxperf.errors import BadModel, BadOption, required
from onnxperf.frameworks.base import FrameworkModel, find_framework

DOUBLED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 3] value) => (float[n, 3] doubled) { doubled = Add(value, value) }"""


def quiet(module: str, extra: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return required(module, extra)


def test_an_estimator_predicts_labels_and_scores() -> None:
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [0, 0, 1, 1]
    labels, scores = as_callable(LogisticRegression().fit(X, y))(X)
    assert labels.tolist() == y
    assert scores.shape == (4, 2)
    assert as_callable(StandardScaler().fit(X))(X).shape == (4, 1)


def test_a_function_is_what_it_is() -> None:
    assert as_callable(len) is len
    assert call_styles(len) == ("call",)


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        (3, {}, "`against`: expected an estimator, a model or a function, not int"),
        (
            "no/such/folder",
            {},
            "`against`: 'no/such/folder': expected FILE.py:function, module:function, a .keras or .pt2 file",
        ),
        (len, {"call": "predict"}, "`call=predict`: only models of Keras have a choice"),
    ],
)
def test_what_is_no_source_is_refused(source: Any, options: dict[str, str], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        as_callable(source, **options)


def test_a_function_in_a_file_may_return_a_path(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    file = tmp_path / "naming_a_saved_model.py"
    file.write_text(f"def make():\n    return {str(tmp_path / 'saved')!r}\n")
    source = as_callable(load_source(f"{file}:make"), input_names=["a"])
    assert isinstance(source, FrameworkModel)
    assert source.framework == "tensorflow"
    assert source.input_names == ("a",)
    assert call_styles(source) == ("call",)
    renamed = as_callable(source, input_names=["b"])
    assert isinstance(renamed, FrameworkModel)
    assert renamed.input_names == ("b",)
    on_gpu = as_callable(renamed, device="cuda")
    assert isinstance(on_gpu, FrameworkModel)
    assert (on_gpu.device, on_gpu.input_names) == ("cuda", ("b",))


def test_a_torch_module_is_checked_in_a_worker() -> None:
    torch: Any = quiet("torch", "torch")

    class Doubled(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.factor = torch.nn.Parameter(torch.tensor(2.0))

        def forward(self, value: Any) -> Any:
            return value * self.factor

    model = parser.parse_model(DOUBLED)
    assert onnxperf.check(model, runtime="ort", against=Doubled(), dims={"n": 4})
    race = onnxperf.bench(model, against={"torch": Doubled()}, dims={"n": 4}, time=0.2, warmup=0.01)
    subject = race.record.cases[0].subjects[1]
    assert subject.status == "ok"
    assert subject.conditions["torch"] == torch.__version__
    assert subject.conditions["threads"] == race.record.cases[0].subjects[0].conditions["threads"]


@pytest.mark.slow
def test_a_keras_model_with_a_layer_of_ones_own_is_checked_in_a_worker() -> None:
    quiet("tensorflow", "tensorflow")
    keras: Any = quiet("keras", "tensorflow")

    class Factor(keras.layers.Layer):  # type: ignore[misc]
        def build(self, _shape: Any) -> None:
            self.factor = self.add_weight(initializer=keras.initializers.Constant(2.0))

        def call(self, value: Any) -> Any:
            return value * self.factor

    source = keras.Sequential([keras.Input((3,)), Factor()])
    source.compile("sgd", "mse")
    assert call_styles(source) == ("call", "predict", "predict_on_batch")
    against = as_callable(source, call="predict_on_batch", input_names=["value"])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras' way of writing is not yet that of numpy 2
        assert onnxperf.check(parser.parse_model(DOUBLED), runtime="ort", against=against, dims={"n": 4})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("here", "'here': expected FILE.py:function"),
        ("nowhere.py:make", "no such file: 'nowhere.py'"),
        ("unusable_source.py:make", "unusable_source.py' cannot be loaded: ZeroDivisionError"),
        ("usable_source.py:take", "usable_source.py' has no function 'take'; choose from: make"),
        ("usable_source.py:number", "usable_source.py' has no function 'number'; choose from: make"),
        ("nowhere.pt2", "no such file: 'nowhere.pt2'"),
        ("model.pt", "'model.pt' is a pickle, which may run arbitrary code when loaded: write a function that builds"),
        ("model.PTH", "pass FILE.py:function"),
        ("model.joblib", "is a pickle"),
        ("model.pkl", "is a pickle"),
        ("model.h5", "is in the old format before .keras, which may contain code: write a function"),
    ],
)
def test_a_source_that_cannot_be_loaded_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "unusable_source.py").write_text("1 / 0\n")
    (tmp_path / "usable_source.py").write_text("number = 3\ndef make():\n    return len\n")
    (tmp_path / "model.pt").write_bytes(b"never read")
    with pytest.raises(BadOption, match=re.escape(message)):
        load_source(text)


INSTANCES = """
import numpy as np
from sklearn.linear_model import LinearRegression

X = np.arange(12, dtype=np.float32).reshape(4, 3)
fitted = LinearRegression().fit(X, X[:, 0])
pair = fitted, X

def make():
    return pair
"""


@pytest.mark.parametrize(("name", "has_sample"), [("make", True), ("pair", True), ("fitted", False)])
def test_a_name_in_python_is_a_model_a_pair_or_a_function_that_returns_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, has_sample: bool
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "instances_by_name.py").write_text(INSTANCES, encoding="utf-8")
    text = f"{tmp_path / 'instances_by_name.py'}:{name}"
    model, sample = load_with_sample(text)
    assert type(model).__name__ == "LinearRegression"
    assert (sample is not None) is has_sample
    assert type(load_source(text)) is type(model)


def test_a_file_with_the_name_of_a_module_in_use_reaches_a_worker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "json.py").write_text("def twice(x):\n    return x + x\ndef make():\n    return twice\n", "utf-8")
    against = load_source(f"{tmp_path / 'json.py'}:make")
    assert onnxperf.check(parser.parse_model(DOUBLED), runtime="ort", against=against, dims={"n": 2})
    import json

    assert json.loads("[1]") == [1]


# ---------------------------------------------------------------- exported programs


@pytest.fixture(scope="module")
def pt2(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program with a positional and a named input, and a free first axis."""
    torch: Any = quiet("torch", "torch")

    class Sum(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.linear = torch.nn.Linear(3, 2)

        def forward(self, left: Any, right: Any) -> dict[str, Any]:
            return {"total": self.linear(left) + right, "left": left}

    batch = torch.export.Dim("batch")
    program = torch.export.export(
        Sum(),
        (torch.ones(2, 3),),
        {"right": torch.ones(2, 1)},
        dynamic_shapes={"left": {0: batch}, "right": {0: batch}},
    )
    path = tmp_path_factory.mktemp("programs") / "sum.pt2"
    torch.export.save(program, path)
    return path


@pytest.mark.thorough
@pytest.mark.slow
def test_an_exported_program_is_converted_with_its_own_sample_and_raced(pt2: Path, tmp_path: Path) -> None:
    torch: Any = quiet("torch", "torch")
    result = onnxperf.convert(pt2)
    assert result
    assert result.record.model == "sum.pt2"
    assert [(each.name, each.shape) for each in result.record.inputs] == [
        ("left", ("batch", 3)),
        ("right", ("batch", 1)),
    ]
    result.save(tmp_path / "sum.onnx")
    sources = {"file": pt2, "loaded": torch.export.load(pt2)}
    race = onnxperf.bench(
        tmp_path / "sum.onnx", against=sources, dims={"batch": 3}, time=0.1, blocks=2, calls_per_block=1
    )
    assert {each.name: each.status for each in race.subjects} == {"ort": "ok", "file": "ok", "loaded": "ok"}
    assert race["file"].conditions["framework"] == "torch"


def test_a_program_with_a_pickle_in_it_is_refused_and_nothing_of_it_runs(pt2: Path, tmp_path: Path) -> None:
    import pickle
    import zipfile

    torch: Any = quiet("torch", "torch")

    class Trap:
        def __reduce__(self) -> tuple[Any, tuple[str]]:
            return Path.touch, (Path(tmp_path / "sprung"),)  # type: ignore[return-value]

    def with_record(ending: str, data: bytes) -> Path:
        changed = tmp_path / "changed.pt2"
        with zipfile.ZipFile(pt2) as old, zipfile.ZipFile(changed, "w") as new:
            found = [name for name in old.namelist() if name.endswith(ending)]
            for name in old.namelist():
                new.writestr(name, data if name in found else old.read(name))
            if not found:
                new.writestr(f"sum/data/constants/{ending}", data)
        return changed

    buffer = tmp_path / "trap.pt"
    torch.save(Trap(), buffer)
    pickle.loads(pickle.dumps(Trap()))  # the trap works
    (tmp_path / "sprung").unlink()
    for path in (with_record("sample_inputs/model.pt", buffer.read_bytes()), with_record("opaque_obj_0", b"")):
        with pytest.raises(BadModel, match="cannot be loaded without unpickling") as refused:
            find_framework("torch").read(str(path))
        assert "\n" not in str(refused.value)
    assert not (tmp_path / "sprung").exists()


# ---------------------------------------------------------------- Keras and TensorFlow: one test, for they start slowly


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_keras_files_and_saved_models_are_sources_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keras: Any = quiet("keras", "tensorflow")
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
    model.save(tmp_path / "dense.keras")
    model.export(tmp_path / "saved", verbose=False)
    monkeypatch.chdir(tmp_path)
    result = onnxperf.convert("dense.keras")
    assert result
    result.save(tmp_path / "dense.onnx")
    sources = sources_of(["dense.keras", "folder=saved"])
    race = onnxperf.bench("dense.onnx", against=sources, dims={"batch": 2}, time=0.1, blocks=2, calls_per_block=1)
    ways = ("dense call", "dense predict", "dense predict_on_batch", "folder")
    assert {each.name: each.status for each in race.subjects} == {"ort": "ok", **dict.fromkeys(ways, "ok")}

    unsafe = keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda x: x + 1)])
    unsafe.save(tmp_path / "unsafe.keras")
    with pytest.raises(BadModel, match="cannot be loaded in Keras' safe mode") as refused:
        onnxperf.convert("unsafe.keras")
    assert "\n" not in str(refused.value)


def test_sources_are_told_from_frameworks_by_their_spelling(tmp_path: Path) -> None:
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "saved_model.pb").touch()
    assert sources_of(["saved"], tmp_path) == {"saved": str(tmp_path / "saved")}
    assert sources_of(["mine=saved"], tmp_path) == {"mine": str(tmp_path / "saved")}
    assert sources_of(["torch,tensorflow"], tmp_path) == ["torch", "tensorflow"]
    assert sources_of(["troch"], tmp_path) == ["troch"]  # refused later, with the names of frameworks
    for texts, message in (
        (["saved", "torch"], "either sources or frameworks"),
        (["saved", "saved"], "two sources are named 'saved'"),
        (["weights.pt"], "is a pickle"),
    ):
        with pytest.raises(BadOption, match=message):
            sources_of(texts, tmp_path)


def test_a_source_of_a_race_may_be_named_by_a_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "doubling.py").write_text("def make():\n    return lambda x: x + x\n")
    monkeypatch.chdir(tmp_path)
    for against, name in (({"mine": "doubling.py:make"}, "mine"), ("doubling.py:make", "make")):
        (group,) = groups("model.onnx", against)
        assert list(group.sources) == [name]
        assert group.sources[name](2) == 4
    with pytest.raises(BadOption, match=r"no such file: 'missing\.py'"):
        list(groups("model.onnx", {"mine": "missing.py:make"}))


def test_an_estimator_that_refuses_float32_is_called_with_float64_and_a_note_says_so() -> None:
    from sklearn.cluster import KMeans

    features = np.random.default_rng(0).random((40, 3))
    kmeans = KMeans(3, n_init=1, random_state=0).fit(features)
    note = "KMeans rejects float32, so it is called with float64, the type it was fitted on"
    converted = onnxperf.convert(kmeans, features[:5])
    assert converted.ok
    assert note in converted.record.notes
    arrays = {"X": features.astype(np.float32)}
    for source in (kmeans, kmeans.predict):
        calls = source_callables({"skl": source}, arrays)
        assert notes_on_calls(calls) == [f"skl: {note}"]
        assert calls["skl"](*arrays.values()).tolist() == kmeans.predict(features).tolist()
    checked = onnxperf.check(converted.proto, runtime="ort", against=kmeans, feeds=arrays)
    assert checked
    assert f"source: {note}" in checked.record.notes
    assert notes_on_calls(source_callables({"skl": kmeans}, {"X": features})) == []


def test_columns_of_text_and_numbers_become_the_table_that_a_pipeline_was_fitted_on() -> None:
    from pandas import DataFrame
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    random = np.random.default_rng(0)
    columns = {"city": random.choice(["Bern", "Oslo"], 60), "age": random.random(60), "income": random.random(60)}
    frame = DataFrame(columns)
    parts = [("text", OneHotEncoder(), ["city"]), ("numbers", StandardScaler(), ["income", "age"])]
    pipeline = make_pipeline(ColumnTransformer(parts), LogisticRegression()).fit(frame, frame.age > frame.income)
    converted = onnxperf.convert(pipeline, frame[:9], converter_options={"zipmap": False})
    assert converted.ok
    feeds = {
        name: frame[[name]].to_numpy(object if name == "city" else np.float32) for name in ("age", "city", "income")
    }
    assert onnxperf.check(converted.proto, runtime="ort", against=pipeline, feeds=feeds)
    race = onnxperf.bench(
        converted.proto, against={"skl": pipeline, "labels": pipeline.predict}, feeds=feeds, blocks=2, calls_per_block=1
    )
    assert [each.status for each in race.subjects] == ["ok"] * 3
    need = onnxperf.memory(converted.proto, against={"skl": pipeline}, feeds=feeds, calls=10, skip_arena=True)
    assert [each.status for each in need.record.cases[0].subjects] == ["ok"] * 2
    renamed = dict(zip("abc", (feeds["city"], feeds["age"], feeds["income"]), strict=True))
    by_order = source_callables({"skl": pipeline.predict}, renamed)["skl"]
    assert by_order(*renamed.values()).tolist() == pipeline.predict(frame).tolist()
