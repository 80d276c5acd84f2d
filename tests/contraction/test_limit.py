"""The bare product that a contraction is measured against."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from onnxperf.contraction.candidates import candidates
from onnxperf.contraction.equation import Shape, parse
from onnxperf.contraction.graph import Draft, to_model
from onnxperf.contraction.limit import bare_product
from tests.contraction.running import arrays_for, run


def sizes(draft: Draft) -> tuple[Shape, ...]:
    """Shapes of the two matrices and of their product."""
    product = draft.nodes[-1]
    assert product.op == "MatMul"
    assert {node.op for node in draft.nodes[:-1]} <= {"Reshape"}
    return (*(draft.shape(value) for value in product.inputs), product.shape)


@pytest.mark.parametrize(
    ("text", "shapes", "expected"),
    [
        ("bsnh,btnh->bnts", [(2, 3, 4, 5), (2, 6, 4, 5)], ((8, 3, 5), (8, 5, 6), (8, 3, 6))),
        ("bhqk,bkhd->bqhd", [(2, 3, 4, 5), (2, 5, 3, 6)], ((6, 4, 5), (6, 5, 6), (6, 4, 6))),
        ("ij,jk->ik", [(3, 4), (4, 5)], ((3, 4), (4, 5), (3, 5))),
        ("ij,kj->ki", [(3, 4), (5, 4)], ((3, 4), (4, 5), (3, 5))),
        ("...ij,...jk", [(7, 2, 3), (7, 3, 4)], ((7, 2, 3), (7, 3, 4), (7, 2, 4))),
        ("abcd,cdef->feba", [(2, 3, 4, 5), (4, 5, 6, 7)], ((6, 20), (20, 42), (6, 42))),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_product_has_the_sizes_of_the_contraction(
    text: str, shapes: list[Shape], expected: tuple[Shape, Shape, Shape], dtype: str
) -> None:
    draft = bare_product(parse(text, shapes))
    assert draft is not None
    assert sizes(draft) == expected
    model = to_model(draft, dtype, 18)
    onnx.checker.check_model(model, full_check=True)
    result = run(model, arrays_for(shapes, dtype))
    assert (result.shape, result.dtype.name) == (expected[2], dtype)


def test_it_reads_the_operands_as_they_lie() -> None:
    shapes = [(2, 3, 4), (2, 4, 5)]
    equation = parse("bij,bjk->bik", shapes)
    draft = bare_product(equation)
    assert draft is not None
    left, right = arrays_for(shapes, "float32")
    np.testing.assert_array_equal(run(to_model(draft, "float32", 17), [left, right]), left @ right)


@pytest.mark.parametrize("text", ["bij,bjk->bik", "ij,jk->ik"])
def test_where_nothing_has_to_be_moved_it_is_one_of_the_candidates(text: str) -> None:
    shapes: list[Shape] = [(2, 3, 4), (2, 4, 5)] if text.startswith("b") else [(3, 4), (4, 5)]
    equation = parse(text, shapes)
    assert bare_product(equation) in [each.draft for each in candidates(equation)]


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("iij,jk->ik", [(3, 3, 4), (4, 5)]),
        ("ij,jkk->ik", [(3, 4), (4, 5, 5)]),
        ("ij,jk->i", [(3, 4), (4, 5)]),
        ("ij,jk->k", [(3, 4), (4, 5)]),
        ("ij,jk->", [(3, 4), (4, 5)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ij,ij->ij", [(3, 4), (3, 4)]),
        ("bi,bj->bij", [(2, 3), (2, 4)]),
        (",->", [(), ()]),
        ("i,->i", [(3,), ()]),
        ("ij->ji", [(3, 4)]),
        ("ij->", [(3, 4)]),
        ("ij,jk,kl->il", [(3, 4), (4, 5), (5, 6)]),
        ("ij,jk->ik", [(3, 1), (4, 5)]),
        ("...ij,...jk", [(2, 3, 4), (1, 4, 5)]),
    ],
)
def test_what_is_not_one_product_has_no_limit(text: str, shapes: list[Shape]) -> None:
    assert bare_product(parse(text, shapes)) is None


@pytest.mark.parametrize(
    ("text", "shapes"),
    [
        ("i,i->", [(7,), (7,)]),
        ("bi,bi->b", [(2, 7), (2, 7)]),
        ("abc,abc->ab", [(2, 3, 7), (2, 3, 7)]),
        ("ij,j->i", [(3, 4), (4,)]),
        ("j,jk->k", [(4,), (4, 5)]),
        ("ij,jk->ik", [(3, 1), (1, 5)]),
        ("ij,jk->ik", [(1, 4), (4, 5)]),
    ],
)
def test_a_product_with_a_vector_is_no_limit_as_other_operators_are_faster(text: str, shapes: list[Shape]) -> None:
    assert bare_product(parse(text, shapes)) is None
