"""The bare product that a contraction is measured against."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

from onnxperf.contraction.equation import Shape, parse
from onnxperf.contraction.limit import bare_product
from tests.contraction.running import arrays_for, run


def sizes(model: onnx.ModelProto) -> tuple[Shape, Shape, Shape]:
    """Shapes of the two matrices and of their product."""
    left, right = (tuple(onnx.numpy_helper.to_array(each).tolist()) for each in model.graph.initializer)
    result = tuple(dim.dim_value for dim in model.graph.output[0].type.tensor_type.shape.dim)
    return left, right, result


@pytest.mark.parametrize(
    ("text", "shapes", "expected"),
    [
        ("bsnh,btnh->bnts", [(2, 3, 4, 5), (2, 6, 4, 5)], ((8, 3, 5), (8, 5, 6), (8, 3, 6))),
        ("bhqk,bkhd->bqhd", [(2, 3, 4, 5), (2, 5, 3, 6)], ((6, 4, 5), (6, 5, 6), (6, 4, 6))),
        ("ij,jk->ik", [(3, 4), (4, 5)], ((1, 3, 4), (1, 4, 5), (1, 3, 5))),
        ("ij,kj->ki", [(3, 4), (5, 4)], ((1, 3, 4), (1, 4, 5), (1, 3, 5))),
        ("...ij,...jk", [(7, 2, 3), (7, 3, 4)], ((7, 2, 3), (7, 3, 4), (7, 2, 4))),
        ("abcd,cdef->feba", [(2, 3, 4, 5), (4, 5, 6, 7)], ((1, 6, 20), (1, 20, 42), (1, 6, 42))),
        ("i,i->", [(7,), (7,)], ((1, 1, 7), (1, 7, 1), (1, 1, 1))),
        ("bi,bi->b", [(2, 7), (2, 7)], ((2, 1, 7), (2, 7, 1), (2, 1, 1))),
        ("ij,j->i", [(3, 4), (4,)], ((1, 3, 4), (1, 4, 1), (1, 3, 1))),
        ("ij,jk->ik", [(3, 1), (1, 5)], ((1, 3, 1), (1, 1, 5), (1, 3, 5))),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_product_has_the_sizes_of_the_contraction(
    text: str, shapes: list[Shape], expected: tuple[Shape, Shape, Shape], dtype: str
) -> None:
    model = bare_product(parse(text, shapes), dtype, 18)
    assert model is not None
    onnx.checker.check_model(model, full_check=True)
    assert sizes(model) == expected
    assert [node.op_type for node in model.graph.node] == ["Reshape", "Reshape", "MatMul"]
    result = run(model, arrays_for(shapes, dtype))
    assert (result.shape, result.dtype.name) == (expected[2], dtype)


def test_it_reads_the_operands_as_they_lie() -> None:
    shapes = [(2, 3, 4), (2, 4, 5)]
    model = bare_product(parse("bij,bjk->bik", shapes), "float32", 17)
    assert model is not None
    assert model.opset_import[0].version == 17
    left, right = arrays_for(shapes, "float32")
    np.testing.assert_array_equal(run(model, [left, right]), left @ right)


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
    assert bare_product(parse(text, shapes), "float32", 18) is None
