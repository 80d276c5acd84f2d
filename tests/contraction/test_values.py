"""Every graph computes what numpy computes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.contraction.candidates import candidates, decomposition, decompositions
from onnxperf.contraction.equation import Shape, parse
from tests.contraction.equations import CASES, DTYPES, NUMPYS, calls_of, opt_einsums
from tests.contraction.running import arrays_for, assert_equal_values, check, run
from tests.depth import some


@pytest.mark.parametrize(("text", "shapes"), CASES)
def test_every_candidate_computes_what_numpy_does(text: str, shapes: list[Shape]) -> None:
    found = candidates(parse(text, shapes))
    assert_equal_values(found[:25] + found[25::8], text, arrays_for(shapes, "float32"))


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(("text", "shapes"), some(CASES[::4] + CASES[-14:-8], every=2))
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
def test_random_equations_do_too(case: tuple[str, list[Shape]], dtype: str, portable: bool) -> None:
    check(*case, "float64" if dtype == "float16" else dtype, portable, most=6)


@pytest.mark.parametrize("name", some(NUMPYS, every=3))
def test_the_equations_of_numpys_own_tests_do_too(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = calls_of(name, monkeypatch)
    assert calls
    for text, shapes in calls:
        if sum(np.prod(shape) for shape in shapes) <= 50_000:
            check(text, list(shapes), most=2)


@pytest.mark.parametrize("text", some(opt_einsums(), every=4))
def test_the_equations_of_opt_einsums_tests_do_too(text: str) -> None:
    sizes = dict(zip("abcdefghij", [2, 3, 4, 3, 2, 3, 2, 2, 3, 2], strict=True))
    shapes = [tuple(sizes[letter] for letter in term) for term in text.split("->", maxsplit=1)[0].split(",")]
    equation = parse(text, shapes)
    found = [c for c in candidates(equation) if not c.name.startswith("Einsum")]
    assert_equal_values(found[:2], text, arrays_for(shapes, "float32"))
