"""The list of candidates: each graph once, bounded, with what must never be missing."""

from __future__ import annotations

from math import prod
from pathlib import Path

import pytest

from onnxperf.contraction.candidates import MAX_CANDIDATES, candidates, decompositions, einsum_as_written
from onnxperf.contraction.equation import Shape, parse
from onnxperf.contraction.graph import all_nodes
from onnxperf.contraction.orders import MAX_ORDERS, as_written, letter_orders
from onnxperf.errors import BadOption
from tests.contraction.running import operators_after_optimisation

ATTENTION = "bsnh,btnh->bnts"
SHAPES: list[Shape] = [(20, 20, 20, 20)] * 2
EQUATIONS: list[tuple[str, list[Shape]]] = [
    (ATTENTION, SHAPES),
    ("ij,jk->ik", [(20, 20)] * 2),
    ("ijk->kji", [(30, 30, 30)]),
    ("ii->", [(5, 5)]),
    ("abcde,ecfga->dbgf", [(3, 3, 4, 5, 2), (2, 4, 3, 2, 3)]),
    ("ea,fb,abcd,gc,hd->efgh", [(4, 4), (4, 4), (4, 4, 4, 4), (4, 4), (4, 4)]),
    ("ij,jk->ik", [(0, 3), (3, 2)]),
]


@pytest.mark.parametrize("portable", [False, True])
@pytest.mark.parametrize(("text", "shapes"), EQUATIONS)
def test_candidates_are_distinct_named_sorted_and_bounded(text: str, shapes: list[Shape], portable: bool) -> None:
    equation = parse(text, shapes)
    found = candidates(equation, portable=portable)
    assert 2 <= len(found) <= MAX_CANDIDATES
    assert len({c.name for c in found}) == len({c.draft for c in found}) == len(found)
    assert [c.cost_us for c in found] == sorted(c.cost_us for c in found)
    assert f"Einsum {equation.canonical}" in {c.name for c in found}
    assert all(sorted(c.order) == sorted(equation.letters) for c in found)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_portable_candidates_use_standard_operators_only(dtype: str) -> None:
    for candidate in candidates(parse(ATTENTION, SHAPES), dtype, portable=True):
        assert [each.domain for each in candidate.model.opset_import] == [""]
        assert "FusedMatMul" not in {node.op for node in all_nodes(candidate.draft)}


def test_a_product_that_reads_its_operands_in_place_comes_first() -> None:
    names = [candidate.name for candidate in candidates(parse(ATTENTION, SHAPES))]
    assert "FusedMatMul(transB, transBatchA, transBatchB)" in names[0]
    long = [candidate.name for candidate in candidates(parse(ATTENTION, [(2, 128, 12, 64)] * 2))]
    assert long[0] == "Scan 2x (FusedMatMul(transB, transBatchA, transBatchB))"


def test_standard_operators_become_the_same_product_in_onnxruntime(tmp_path: Path) -> None:
    fused, portable = (candidates(parse(ATTENTION, SHAPES), portable=flag)[0] for flag in (False, True))
    assert fused.cost_us == pytest.approx(portable.cost_us, abs=3)
    ran = [operators_after_optimisation(each.model, tmp_path) for each in (fused, portable)]
    assert [each.count("FusedMatMul") for each in ran] == [1, 1]
    assert [each.count("Transpose") for each in ran] == [2, 2]


def test_a_loop_is_not_tried_over_many_iterations() -> None:
    found = candidates(parse("bij,bkj->bik", [(1000, 4, 4)] * 2))
    assert not any(node.op == "Scan" for candidate in found for node in candidate.draft.nodes)


def test_five_letters_have_120_orders_that_share_few_graphs() -> None:
    equation = parse(ATTENTION, SHAPES)
    rows = decompositions(equation)
    assert rows[0][0] == tuple(sorted(equation.letters))
    assert equation.renamed(rows[0][0]) == equation.canonical
    assert len(rows) == len({order for order, _ in rows}) == 120
    assert 10 < len({id(candidate) for _, candidate in rows}) < 60
    known = {candidate.draft for candidate in candidates(equation)}
    assert {candidate.draft for _, candidate in rows} <= known


@pytest.mark.parametrize(
    ("text", "count"),
    [("i->", 1), ("ij->ji", 2), ("abc,abc->ab", 6), ("abcdef->fedcba", 720), ("abcdefg->gfedcba", 720)],
)
def test_every_order_comes_once_and_the_equation_as_written_first(text: str, count: int) -> None:
    terms = text.split("->", maxsplit=1)[0].split(",")
    equation = parse(text, [(2,) * len(term) for term in terms])
    orders = list(letter_orders(equation))
    assert len(orders) == len(set(orders)) == count
    assert orders[0] == as_written(equation)


def test_too_many_orders_are_sampled_and_always_the_same() -> None:
    equation = parse("abcdefgh->hgfedcba", [(2,) * 8])
    orders = list(letter_orders(equation))
    assert len(orders) == MAX_ORDERS
    assert orders == list(letter_orders(equation))


def test_einsum_as_written_is_a_single_node() -> None:
    model = einsum_as_written(parse("...ij,jk", [(2, 3, 4), (4, 5)]))
    assert [(node.op_type, node.attribute[0].s) for node in model.graph.node] == [("Einsum", b"Zij,jk->Zik")]


@pytest.mark.parametrize(
    ("dtype", "opset", "message"),
    [
        ("complex64", 18, "unknown einsum element type 'complex64'; choose from: float16, float32"),
        ("float32", 12, "einsum graphs need an opset from 13 to"),
        ("float32", 10_000, "einsum graphs need an opset from 13 to"),
    ],
)
def test_types_and_opsets_without_graphs_are_refused(dtype: str, opset: int, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        candidates(parse("i->i", [(2,)]), dtype, opset)


def test_models_have_static_shapes_and_numbered_inputs() -> None:
    model = candidates(parse("ij,jk->ik", [(2, 3), (3, 4)]))[0].model
    assert [each.name for each in model.graph.input] == ["X0", "X1"]
    dims = [
        [d.dim_value for d in each.type.tensor_type.shape.dim] for each in (*model.graph.input, *model.graph.output)
    ]
    assert dims == [[2, 3], [3, 4], [2, 4]]
    assert [each.name for each in model.graph.output] == ["Y"]
    assert all(prod(each) for each in dims)
