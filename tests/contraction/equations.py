"""Equations to try: our own, and those of the tests of numpy and opt_einsum."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import pytest

from onnxperf.contraction.equation import Shape

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


def opt_einsums() -> list[str]:
    """The equations of opt_einsum's tests, if its wheel has them."""
    try:
        return sorted(set(import_module("opt_einsum.tests.test_contract").tests))
    except ImportError:
        return []
