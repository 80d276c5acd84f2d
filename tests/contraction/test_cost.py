"""The cost model puts ways in the right order."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.contraction import cost
from onnxperf.contraction.equation import Shape
from onnxperf.contraction.graph import Draft, to_model
from onnxperf.contraction.layout import Setting, Term, arrange
from tests.contraction.running import operators_after_optimisation, run

CUBE = (20, 20, 20, 20)


@pytest.mark.parametrize(
    ("shape", "perm", "short", "moves"),
    [
        ((2, 3, 4), (0, 1, 2), (24,), (0,)),
        ((2, 3, 4), (2, 0, 1), (6, 4), (1, 0)),
        ((2, 3, 4, 5), (2, 3, 0, 1), (6, 20), (1, 0)),
        ((2, 1, 4), (2, 1, 0), (2, 4), (1, 0)),
        ((2, 1, 4), (1, 0, 2), (8,), (0,)),
        ((2, 1, 4), (0, 2, 1), (8,), (0,)),
        ((1, 1), (1, 0), (), ()),
        ((2, 3, 4), (0, 2, 1), (2, 3, 4), (0, 2, 1)),
    ],
)
def test_axes_that_stay_together_are_one(
    shape: Shape, perm: tuple[int, ...], short: Shape, moves: tuple[int, ...]
) -> None:
    assert cost.folded(shape, perm) == (short, moves)


@given(
    st.lists(st.sampled_from([1, 2, 3]), max_size=5).flatmap(
        lambda s: st.tuples(st.just(tuple(s)), st.permutations(range(len(s))))
    )
)
def test_a_folded_transpose_moves_the_same_elements(case: tuple[Shape, list[int]]) -> None:
    shape, perm = case
    short, moves = cost.folded(shape, perm)
    elements = np.arange(int(np.prod(shape)))
    expected = elements.reshape(shape).transpose(perm).ravel()
    np.testing.assert_array_equal(elements.reshape(short).transpose(moves).ravel(), expected)


@pytest.mark.parametrize(
    ("cheaper", "dearer"),
    [
        ((1, 0, 2, 3), (0, 2, 1, 3)),
        ((1, 2, 0, 3), (0, 2, 1, 3)),
        ((0, 2, 1, 3), (0, 1, 3, 2)),
        ((3, 0, 1, 2), (0, 1, 3, 2)),
        ((2, 3, 0, 1), (3, 2, 1, 0)),
        ((0, 1, 3, 2), (0, 3, 2, 1)),
    ],
)
def test_transposes_are_ordered_as_measured(cheaper: tuple[int, ...], dearer: tuple[int, ...]) -> None:
    assert cost.transpose(CUBE, cheaper, 4) < cost.transpose(CUBE, dearer, 4)


def test_vectors_and_transposed_operands_differ() -> None:
    plain = cost.product(1, 200, 200, 200, "float32", (False, False))
    assert plain < cost.product(1, 200, 200, 200, "float32", (True, False))
    assert plain < cost.product(1, 200, 200, 200, "float64", (False, False))
    dot = cost.product(1, 1, 10_000, 1, "float32", (False, True))
    assert dot < cost.product(1, 1, 10_000, 1, "float32", (False, False))


@pytest.mark.parametrize("perm", list(permutations("abcd"))[1::4])
def test_a_transpose_in_two_strides_moves_the_same_elements(perm: tuple[str, ...]) -> None:
    shape = (20, 10, 30, 8)
    setting = Setting(dict(zip("abcd", shape, strict=True)), "float32", "float32")
    array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    for draft, term in arrange(Draft((shape,)), Term(0, tuple("abcd")), perm, setting):
        result = run(to_model(draft.finished(term.value), "float32"), [array])
        np.testing.assert_array_equal(result, np.einsum(f"abcd->{''.join(perm)}", array))


def test_two_strides_survive_onnxruntime_and_cost_less_than_moves_of_single_elements(tmp_path: Path) -> None:
    setting = Setting(dict.fromkeys("abcd", 20), "float32", "float32")
    plain, detour = arrange(Draft((CUBE,)), Term(0, tuple("abcd")), tuple("dcba"), setting)
    assert detour[0].microseconds < plain[0].microseconds / 2
    model = to_model(detour[0].finished(detour[1].value), "float32")
    assert operators_after_optimisation(model, tmp_path).count("Transpose") == 2
