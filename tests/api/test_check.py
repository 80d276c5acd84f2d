"""`onnxperf.check`, with real runtimes in processes of their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper, parser

import onnxperf
from onnxperf.errors import BadInput, BadOption, FileNotWritten
from onnxperf.measure.memory import peak_bytes, read_resident, reset_peak, trim

TWO_STEPS = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n, 2] X) => (float[n, 2] Y) { A = Abs(X)  B = Sqrt(A)  Y = Exp(B) }"""


# sklearn is imported where it is needed: a worker that is sent the function below imports this file.


def wrong_sqrt(x: Any) -> Any:
    """What the model computes, but for an error on the way."""
    return np.exp(np.sqrt(np.abs(x)) * 1.5)


@pytest.mark.parametrize("runtimes", ["ort,numpy", "ort,reference", "numpy,reference"])
def test_runtimes_agree_on_a_small_model(runtimes: str) -> None:
    result = onnxperf.check(parser.parse_model(TWO_STEPS), runtime=runtimes, dims={"n": 5})
    assert result
    assert result.to_df()["elements"].tolist() == [10]
    assert "agree on 1 output" in repr(result)


def test_a_source_that_computes_something_else_differs() -> None:
    result = onnxperf.check(parser.parse_model(TWO_STEPS), runtime="ort", against=wrong_sqrt, dims={"n": 5})
    assert not result
    assert result.record.outputs[0].differing > 0
    assert "ort and source differ in Y" in repr(result)
    assert "differ in Y" in result._repr_html_()


def test_the_first_node_that_differs_is_named_and_its_inputs_are_saved(tmp_path: Path) -> None:
    model = parser.parse_model(TWO_STEPS)
    result = onnxperf.check(model, runtime="ort,numpy", dims={"n": 200}, nodes=True, rtol=0, atol=0)
    node = result.record.node
    assert node is not None
    assert node.operator in ("Sqrt", "Exp")
    result.save(tmp_path / "node.npz")
    with np.load(tmp_path / "node.npz", allow_pickle=False) as saved:
        assert set(saved) == {"input_0", "first_output_0", "second_output_0"}
        assert saved["input_0"].shape == (200, 2)
        assert (saved["first_output_0"] != saved["second_output_0"]).any()


@pytest.mark.parametrize(
    ("keywords", "said"), [({"nodes": True}, "no node differs"), ({}, "nodes were not compared")], ids=str
)
def test_equal_runtimes_have_no_first_node_and_no_arrays(tmp_path: Path, keywords: dict[str, Any], said: str) -> None:
    result = onnxperf.check(parser.parse_model(TWO_STEPS), **keywords)
    assert result.record.node is None
    with pytest.raises(FileNotWritten, match=said):
        result.save(tmp_path / "node.npz")
    assert not list(tmp_path.iterdir())


def test_a_classifier_with_zipmap_is_compared_with_its_source() -> None:
    from skl2onnx import to_onnx
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression

    X, y = make_classification(60, 5, random_state=0)
    X = X.astype(np.float32)
    model = LogisticRegression().fit(X, y)
    assert onnxperf.check(to_onnx(model, X), runtime="ort", against=model, feeds={"X": X})
    other = LogisticRegression(C=1e-3).fit(X, y)
    result = onnxperf.check(to_onnx(model, X), runtime="ort", against=other, feeds={"X": X})
    assert [output.equal for output in result.record.outputs][1] is False


def test_a_regressor_is_compared_although_its_output_is_a_column() -> None:
    from skl2onnx import to_onnx
    from sklearn.linear_model import LinearRegression

    X = np.random.default_rng(0).standard_normal((50, 3)).astype(np.float32)
    model = LinearRegression().fit(X, X.sum(axis=1))
    assert onnxperf.check(to_onnx(model, X), runtime="numpy", against=model, feeds={"X": X})


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"runtime": "ort"}, "compares two models, two runtimes, two variants, or one model"),
        ({"runtime": "ort,jvm"}, "unknown runtime"),
        ({"runtime": "ort,numpy", "against": wrong_sqrt}, "or one model in one runtime with `against`"),
        ({"against": ["torch"]}, "expected FILE.py:function"),
        ({"against": ["torch", "tensorflow"]}, "takes one source"),
        ({"device": "cuda"}, "`device`: it does nothing with two models or runtimes"),
        ({"against": 3, "runtime": "ort"}, "expected an estimator"),
        ({"against": wrong_sqrt, "nodes": True}, "no nodes"),
        ({"rtoll": 1}, "unknown option"),
    ],
)
def test_what_cannot_be_checked_is_refused(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(BadOption, match=message):
        onnxperf.check(parser.parse_model(TWO_STEPS), **keywords)


@pytest.mark.parametrize(
    ("second", "keywords", "error", "message"),
    [
        (TWO_STEPS, {"runtime": "ort,numpy"}, BadOption, "compares two models"),
        (TWO_STEPS, {"against": wrong_sqrt}, BadOption, "compares two models"),
        (TWO_STEPS.replace("X", "Z"), {}, BadInput, "one and two take different inputs: inputs X against Z"),
        (TWO_STEPS.replace("n, 2", "n, 3"), {}, BadInput, r"input X float32\[1, 2\] against float32\[1, 3\]"),
    ],
)
def test_two_models_that_cannot_be_compared_are_refused(
    second: str, keywords: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        onnxperf.check({"one": parser.parse_model(TWO_STEPS), "two": parser.parse_model(second)}, **keywords)


def test_a_runtime_that_cannot_run_the_model_is_named() -> None:
    model = parser.parse_model(TWO_STEPS.replace("Sqrt", "Root"))
    assert isinstance(model, onnx.ModelProto)
    with pytest.raises(BadInput, match="Root"):
        onnxperf.check(model)


# ---------------------------------------------------------------- two models


def changed(text: str = TWO_STEPS, old: str = "", new: str = "") -> onnx.ModelProto:
    return parser.parse_model(text.replace(old, new))


def test_two_models_that_compute_the_same_agree() -> None:
    result = onnxperf.check([changed(), changed()], dims={"n": 5})
    assert result
    assert (result.record.first, result.record.second) == ("g", "g #2")
    assert result.record.node is None


@pytest.mark.parametrize(
    ("old", "new", "operator", "output"),
    [
        ("Sqrt(A)", "Neg(A)", "Sqrt", "B"),
        ("Exp(B)", "Neg(B)", "Exp", "Y"),
        ("Abs(X)  B = Sqrt(A)", "Neg(X)  C = Neg(A)  B = Neg(C)", "Abs", "A"),
    ],
)
def test_the_first_node_that_differs_between_two_models_is_named(
    old: str, new: str, operator: str, output: str
) -> None:
    result = onnxperf.check({"old": changed(), "new": changed(TWO_STEPS, old, new)}, dims={"n": 5})
    node = result.record.node
    assert node is not None
    assert (node.operator, node.difference.name) == (operator, output)
    assert result.status == "differs"
    assert result.answer.startswith("old and new differ in Y. Node ")


def test_an_output_that_only_one_model_has_is_a_difference() -> None:
    more = changed(TWO_STEPS, "(float[n, 2] Y)", "(float[n, 2] Y, float[n, 2] B)")
    result = onnxperf.check({"old": changed(), "new": more})
    assert [(each.name, each.reason) for each in result.record.outputs] == [("Y", ""), ("B", "only in the second")]
    assert result.answer == "old and new differ in B."


def test_models_that_share_no_names_are_compared_without_a_claim_about_nodes() -> None:
    renamed = changed(TWO_STEPS.replace("A", "D").replace("Dbs(", "Abs(").replace("Y", "Z"), "B", "E")
    assert onnxperf.check({"old": changed(), "new": renamed})
    wrong = changed(
        TWO_STEPS.replace("Y", "Z").replace("B", "E").replace("A = Abs(X)", "D = Neg(X)"), "Sqrt(A)", "Neg(D)"
    )
    result = onnxperf.check({"old": changed(), "new": wrong})
    assert result.answer == "old and new differ in Y."
    assert "the node is not known" in result.record.notes[-1]
    assert (result.record.walked, result.record.level) == (False, None)


def test_two_models_are_fed_the_same_even_where_their_tables_differ() -> None:
    models = []
    for rows in (2, 4):
        proto = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
        g (int64[n] ids) => (float[n] Y) { Y = Gather(table, ids) }""")
        proto.graph.initializer.append(numpy_helper.from_array(np.arange(rows, dtype=np.float32), "table"))
        models.append(proto)
    assert onnxperf.check(models, dims={"n": 50})


# ---------------------------------------------------------------- why outputs differ

FUSED = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n] X, float[n] Z) => (float[n] Y) { one = Constant<value_float=1.0>()  R = Div(one, X)  Y = Mul(R, Z) }"""


def test_an_optimisation_that_changes_the_result_is_found_by_its_level() -> None:
    """1 / X is infinite; onnxruntime computes Z / X in one step, unless R is an output."""
    feeds = {"X": np.full(3, 1e-39, np.float32), "Z": np.full(3, 1e-10, np.float32)}
    result = onnxperf.check(parser.parse_model(FUSED), feeds=feeds, nodes=True)
    record = result.record
    assert (record.equal, record.node, record.walked, record.level) == (False, None, True, "basic")
    assert "an optimization of onnxruntime changes the result, first at level basic" in result.answer
    assert onnxperf.check(parser.parse_model(FUSED), feeds=feeds, opt_level="disable")


RANDOM = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n] X) => (float[n] Y) { R = RandomNormalLike(X)  Y = Add(X, R) }"""


def noise(x: Any) -> Any:
    return x + np.random.default_rng().standard_normal(x.shape).astype(np.float32)


def coin(x: Any) -> Any:
    """What agrees with anything now and then."""
    return np.full(x.shape, next(_TOSSES) % 2 == 0)


_TOSSES = iter(range(100))
POSITIVE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[n] X) => (bool[n] Y) { A = Abs(X)  zero = Constant<value_float=0.0>()  Y = GreaterOrEqual(A, zero) }"""


@pytest.mark.parametrize(
    ("text", "source"), [(RANDOM.replace("Add(X, R)", "Abs(X)"), noise), (POSITIVE, coin)], ids=["differs", "may agree"]
)
def test_a_source_that_differs_from_itself_leaves_the_check_undecided(text: str, source: Any) -> None:
    result = onnxperf.check(parser.parse_model(text), dims={"n": 5}, against=source)
    assert result.answer == (
        "Undecided: source is not deterministic: two calls on the same inputs give different outputs."
    )
    assert (bool(result), result.status) == (False, "failed")


DRAWN = "draws random numbers (RandomNormalLike), so its outputs differ from call to call"


@pytest.mark.parametrize(
    ("models", "keywords", "said"),
    [
        (1, {"runtime": "ort,reference"}, f"g {DRAWN}"),
        (1, {"against": noise}, f"g {DRAWN}"),
        (1, {"nodes": True}, f"g {DRAWN}"),
        (2, {}, f"g {DRAWN}; g #2 {DRAWN}"),
    ],
)
def test_a_model_that_draws_random_numbers_is_recognised_before_it_runs(
    models: int, keywords: dict[str, Any], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("subprocess.Popen", None)  # nothing starts
    result = onnxperf.check([parser.parse_model(RANDOM) for _ in range(models)], dims={"n": 5}, **keywords)
    assert result.answer == f"Undecided: {said}."
    assert (bool(result), result.status, result.record.outputs) == (False, "failed", ())


def test_a_dropout_whose_training_mode_is_an_input_is_recognised_by_its_calls() -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["" : 17]>
    g (float[n] X, bool T) => (float[n] Y) { r = Constant<value_float=0.5>()  Y = Dropout(X, r, T) }""")
    feeds = {"X": np.ones(200, np.float32), "T": np.array(True)}
    assert "numpy is not deterministic" in onnxperf.check(model, runtime="numpy,reference", feeds=feeds).answer
    assert onnxperf.check(model, runtime="ort,numpy", feeds={**feeds, "T": np.array(False)})


MAKERS = """
import numpy as np

def unseeded():
    scale = np.random.default_rng().uniform(2, 3)
    return lambda x: (x * scale).astype(np.float32)

def wrong():
    return lambda x: x * np.float32(2)
"""


@pytest.mark.parametrize(
    ("function", "said"), [("unseeded", "returns a different one at every call; set a seed"), ("wrong", "differ in Y")]
)
def test_a_function_that_makes_another_source_at_every_call_is_recognised(
    tmp_path: Path, function: str, said: str
) -> None:
    (tmp_path / "makers_of_sources.py").write_text(MAKERS, encoding="utf-8")
    model = parser.parse_model(RANDOM.replace("Add(X, R)", "Abs(X)"))
    result = onnxperf.check(model, against=f"{tmp_path}/makers_of_sources.py:{function}", dims={"n": 5})
    assert said in result.answer


def test_the_source_of_a_zoo_model_is_named_by_its_framework(built: Callable[[str, str], list[str]]) -> None:
    built("tiny-linear", "sklearn")
    result = onnxperf.check("zoo:tiny-linear", against="sklearn", dims={"batch": 3})
    assert result.answer == "ort and sklearn agree on 1 output exactly."


# ---------------------------------------------------------------- what is exact

IDS = """<ir_version: 8, opset_import: ["" : 17]>
g (int64[n] X) => (int64[n] Y) {{ c = Constant<value_int={constant}>()  Y = Add(X, c) }}"""


def ids(constant: int) -> onnx.ModelProto:
    return parser.parse_model(IDS.format(constant=constant))


def floats_of_ids(x: Any) -> Any:
    return (x + 30522).astype(np.float32)


def column_of_ids(x: Any) -> Any:
    return (x + 30522).reshape(-1, 1)


def next_ids(x: Any) -> Any:
    return (x + 30523).astype(np.float64)


def none(_x: Any) -> None:
    """Nothing to compare."""


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        (ids(30523), ""),
        (floats_of_ids, "types int64 and float32"),
        (column_of_ids, "shapes (3,) and (3, 1)"),
        (next_ids, ""),
        (none, "only in the first"),
    ],
    ids=["another id", "floats", "a column", "another id as a float", "nothing"],
)
def test_what_only_nearly_is_the_same_differs(second: Any, reason: str) -> None:
    feeds = {"X": np.array([0, 1, 2**53])}
    keywords = {"against": second} if callable(second) else {}
    model: Any = ids(30522) if keywords else [ids(30522), second]
    result = onnxperf.check(model, feeds=feeds, rtol=0.5, atol=5.0, **keywords)
    assert result.status == "differs"
    assert [output.reason for output in result.record.outputs] == [reason]


def test_quantised_outputs_may_differ_by_one_where_that_is_asked_for() -> None:
    models = [
        parser.parse_model(f"""<ir_version: 8, opset_import: ["" : 17]>
        g (float[n] X) => (uint8[n] Y) {{ c = Constant<value_float={added}>() A = Add(X, c) Y = Cast<to=2>(A) }}""")
        for added in (0.0, 1.0)
    ]
    feeds = {"X": np.arange(5, dtype=np.float32)}
    assert not onnxperf.check(models, feeds=feeds)
    assert onnxperf.check(models, feeds=feeds, atol=1.0)


# ---------------------------------------------------------------- limits

LARGE = """<ir_version: 8, opset_import: ["" : 17]>
g (float[1] X) => (float[m, 1000] Y) {{ s = Constant<value_ints=[{rows}, 1000]>()  Y = Expand(X, s) }}"""


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"timeout": 0.001}, r"no answer within 0.001 s \(increase `timeout`\)"),
        ({"memory_limit": "5MB"}, "more than the 5.00 MB of `memory_limit`"),
        ({"timeout": 0}, "more than 0 seconds"),
        ({"memory_limit": "much"}, "an amount of memory"),
    ],
)
def test_a_side_that_takes_too_long_or_too_much_ends_the_check(keywords: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        onnxperf.check([changed(), changed()], **keywords)


@pytest.mark.skipif(sys.platform != "linux", reason="reads the kernel's mark")
def test_the_parent_holds_no_more_than_three_times_an_output() -> None:
    small, large = (parser.parse_model(LARGE.format(rows=rows)) for rows in (10, 8_000))
    onnxperf.check([small, small])  # what is imported with the first check is no output
    trim()
    assert reset_peak()
    before = read_resident().total_bytes
    assert onnxperf.check([large, large])
    assert ((peak_bytes() or 0) - before) / 32e6 < 3.5
