"""Every graph computes what numpy computes."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxperf.contraction.candidates import candidates, decomposition, decompositions
from onnxperf.contraction.equation import Shape, parse
from tests.contraction.running import arrays_for, assert_equal_values, check, run

CASES: list[tuple[str, list[Shape]]] = [
    ("bsnh,btnh->bnts", [(2, 3, 4, 5), (2, 6, 4, 5)]),
    ("bhqk,bkhd->bqhd", [(2, 3, 4, 5), (2, 5, 3, 6)]),
    ("ij,jk->ik", [(3, 4), (4, 5)]),
    ("ij,jk->ki", [(3, 4), (4, 5)]),
    ("ij,kj->ik", [(3, 4), (5, 4)]),
    ("acb,cd->abd", [(3, 4, 5), (4, 6)]),
    ("cd,acb->abd", [(4, 6), (3, 4, 5)]),
    ("ca,bdc->bad", [(4, 3), (2, 5, 4)]),
    ("abcd,cdef->feba", [(2, 3, 4, 5), (4, 5, 3, 2)]),
    ("abcde,ecfga->dbgf", [(2, 3, 4, 5, 2), (2, 4, 3, 2, 2)]),
    ("i,j->ij", [(3,), (4,)]),
    ("bi,bj->bji", [(3, 4), (3, 5)]),
    ("i,i->", [(7,), (7,)]),
    ("ij,ji->", [(3, 4), (4, 3)]),
    ("abc,abc->ab", [(3, 4, 5), (3, 4, 5)]),
    ("abc,bac->cb", [(3, 4, 5), (4, 3, 5)]),
    ("abc,b->ca", [(3, 4, 5), (4,)]),
    ("ab,ab->ab", [(3, 4), (3, 4)]),
    ("ijk->kji", [(3, 4, 5)]),
    ("abcd->dcba", [(20, 20, 20, 20)]),
    ("ijk->j", [(3, 4, 5)]),
    ("ijkl->jl", [(3, 4, 5, 6)]),
    ("ijk->", [(3, 4, 5)]),
    ("ii->i", [(4, 4)]),
    ("ii->", [(4, 4)]),
    ("iji->ij", [(4, 5, 4)]),
    ("jii,ik->jk", [(5, 4, 4), (4, 3)]),
    ("iiijj->ji", [(3, 3, 3, 2, 2)]),
    ("ijij->ji", [(3, 2, 3, 2)]),
    ("...ij,...jk", [(2, 3, 4), (1, 4, 5)]),
    ("...ij,...jk->...ki", [(2, 1, 3, 4), (6, 4, 5)]),
    ("ij,jk->ik", [(3, 1), (4, 5)]),
    ("ij,ij->j", [(1, 4), (3, 1)]),
    ("ij->ji", [(1, 4)]),
    ("ij,jk->ik", [(3, 0), (0, 5)]),
    ("ij->j", [(0, 3)]),
    ("ij->ji", [(0, 3)]),
    (",->", [(), ()]),
    ("i,->i", [(3,), ()]),
    ("->", [()]),
    ("i->i", [(3,)]),
    ("i,i,i->i", [(3,), (3,), (3,)]),
    ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 6)]),
    ("ab,bc,cd,de->ea", [(2, 3), (3, 4), (4, 5), (5, 6)]),
    ("ea,fb,abcd,gc,hd->efgh", [(2, 3), (3, 4), (3, 4, 2, 3), (2, 2), (4, 3)]),
    ("a,ab,abc->abc", [(2,), (2, 3), (2, 3, 4)]),
]
DTYPES = ["float16", "float32", "float64", "int32", "int64"]


@pytest.mark.parametrize(("text", "shapes"), CASES)
def test_every_candidate_computes_what_numpy_does(text: str, shapes: list[Shape]) -> None:
    found = candidates(parse(text, shapes))
    assert_equal_values(found[:25] + found[25::8], text, arrays_for(shapes, "float32"))


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("text", "shapes"), CASES[::4] + CASES[-14:-8])
def test_other_types_and_standard_operators_do_too(text: str, shapes: list[Shape], dtype: str, portable: bool) -> None:
    check(text, shapes, dtype, portable)


@pytest.mark.parametrize(
    ("text", "shape"),
    [("iji->ij", (2, 33_000, 2)), ("ijkij->kji", (2, 3, 11_000, 2, 3)), ("jiii->ij", (22_000, 3, 3, 3))],
)
def test_diagonals_too_large_to_be_picked_are_brought_side_by_side(text: str, shape: Shape) -> None:
    found = candidates(parse(text, [shape]))
    operators = {operator for candidate in found for operator in candidate.name.split()}
    assert "Slice" in operators
    assert "GatherElements" not in operators
    assert_equal_values(found, text, arrays_for([shape], "float32"))


def test_half_precision_is_cast_to_compute_but_not_to_move() -> None:
    def has_casts(text: str, shape: Shape) -> bool:
        return any(node.op == "Cast" for node in candidates(parse(text, [shape]), "float16")[0].draft.nodes)

    assert not has_casts("abc->cba", (2, 3, 4))
    assert not has_casts("aba->ab", (2, 3, 2))
    assert has_casts("abc->cb", (2, 3, 4))


@pytest.mark.parametrize("opset", [13, 16, 21, 23])
def test_other_opsets_do_too(opset: int) -> None:
    shapes = [(4, 3, 4), (3, 5)]
    found = candidates(parse("iji,jk->k", shapes), opset=opset)
    assert {c.model.opset_import[0].version for c in found} == {opset}
    assert_equal_values(found[:5], "iji,jk->k", arrays_for(shapes, "float32"))


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize(("text", "shapes"), [*CASES[:4], CASES[8], CASES[16], CASES[-4]])
def test_every_letter_order_leads_to_the_same_values(text: str, shapes: list[Shape], portable: bool) -> None:
    found = {id(c): c for _, c in decompositions(parse(text, shapes), portable=portable)}
    assert_equal_values(list(found.values())[:40], text, arrays_for(shapes, "float32"))


def test_one_letter_order_is_a_model_of_its_own() -> None:
    shapes = [(2, 3, 4, 5), (2, 6, 4, 5)]
    arrays = arrays_for(shapes, "float32")
    model = decomposition(parse("bsnh,btnh->bnts", shapes), ("t", "h", "s", "n", "b"))
    np.testing.assert_array_equal(run(model, arrays), np.einsum("bsnh,btnh->bnts", *arrays))


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[Shape]]:
    """Equations that hold: random letters and sizes, ones that broadcast, ellipses, diagonals."""
    sizes = {letter: draw(st.sampled_from([2, 3, 1, 4])) for letter in "abcdXY"}
    hidden = [draw(st.sampled_from([2, 3])) for _ in range(draw(st.integers(0, 2)))]
    inputs, shapes = [], []
    for _ in range(draw(st.integers(1, 4))):
        letters = draw(st.text("abcdXY", max_size=4))
        shrunk = draw(st.sets(st.sampled_from("abcdXY"), max_size=1))
        shape = [1 if letter in shrunk else sizes[letter] for letter in letters]
        if draw(st.booleans()):
            place = draw(st.integers(0, len(letters)))
            own = hidden[draw(st.integers(0, len(hidden))) :]
            own = [draw(st.sampled_from([size, size, 1])) for size in own]
            letters = f"{letters[:place]}...{letters[place:]}"
            shape[place:place] = own
        inputs.append(letters)
        shapes.append(tuple(shape))
    text = ",".join(inputs)
    if draw(st.booleans()):
        known = sorted(set(text) - set(".,"))
        output = "".join(draw(st.permutations(known))[: draw(st.integers(0, len(known)))])
        place = draw(st.integers(0, len(output)))
        text = f"{text}->{output[:place]}...{output[place:]}"
    return text, shapes


@given(equations(), st.sampled_from(DTYPES), st.booleans())
@settings(max_examples=120)
def test_random_equations_do_too(case: tuple[str, list[Shape]], dtype: str, portable: bool) -> None:
    check(*case, "float64" if dtype == "float16" else dtype, portable, most=6)


NUMPYS = [
    "test_einsum_views",
    "test_einsum_sums_float32",
    "test_einsum_misc",
    "test_einsum_broadcast",
    "test_einsum_fixedstridebug",
    "test_einsum_fixed_collapsingbug",
    "test_einsum_failed_on_p9_and_s390x",
    "test_hadamard_like_products",
    "test_index_transformations",
    "test_complex",
    "test_collapse",
    "test_expand",
    "test_edge_cases",
    "test_inner_product",
    "test_random_cases",
    "test_combined_views_mapping",
    "test_broadcasting_dot_cases",
    "test_output_order",
    "test_singleton_broadcasting",
]


def calls_of(name: str, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, tuple[Shape, ...]]]:
    """The equations, with the shapes of their operands, that one of numpy's own tests computes."""
    suite = pytest.importorskip("numpy._core.tests.test_einsum")
    calls: dict[tuple[str, tuple[Shape, ...]], None] = {}
    original = np.einsum

    def recording(*operands: Any, **options: Any) -> Any:
        if isinstance(operands[0], str):
            calls[operands[0], tuple(np.shape(each) for each in operands[1:])] = None
        return original(*operands, **options)

    with monkeypatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        patch.setattr(np, "einsum", recording)
        getattr(suite.TestEinsum(), name)()
    return list(calls)


@pytest.mark.parametrize("name", NUMPYS)
def test_the_equations_of_numpys_own_tests_do_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = calls_of(name, monkeypatch)
    assert calls
    for text, shapes in calls:
        if sum(np.prod(shape) for shape in shapes) <= 50_000:
            check(text, list(shapes), most=2)


def opt_einsums() -> list[str]:
    """The equations of opt_einsum's tests, if its wheel has them."""
    try:
        return sorted(set(import_module("opt_einsum.tests.test_contract").tests))
    except ImportError:
        return []


@pytest.mark.parametrize("text", opt_einsums())
def test_the_equations_of_opt_einsums_tests_do_too(text: str) -> None:
    sizes = dict(zip("abcdefghij", [2, 3, 4, 3, 2, 3, 2, 2, 3, 2], strict=True))
    shapes = [tuple(sizes[letter] for letter in term) for term in text.split("->", maxsplit=1)[0].split(",")]
    equation = parse(text, shapes)
    found = [c for c in candidates(equation) if not c.name.startswith("Einsum")]
    assert_equal_values(found[:2], text, arrays_for(shapes, "float32"))
