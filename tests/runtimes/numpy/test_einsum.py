"""Einsum agrees with onnx's reference, whichever way it is contracted."""

from __future__ import annotations

from unittest.mock import Mock

import numpy as np
import pytest

from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.one_node import Array, check_against_reference, one_node


def random(*shape: int) -> Array:
    return np.random.default_rng(sum(shape)).standard_normal(shape)


EQUATIONS: dict[str, list[tuple[int, ...]]] = {
    "ij,jk->ik": [(2, 3), (3, 4)],
    "ij,kj->ik": [(2, 3), (4, 3)],
    "bij,bjk->bik": [(5, 2, 3), (5, 3, 4)],
    "bhqd,bhkd->bhqk": [(2, 3, 4, 5), (2, 3, 6, 5)],
    "bij, bjk -> bik": [(1, 2, 3), (5, 3, 4)],
    "ij,jk->ki": [(2, 3), (3, 4)],
    "ij,jk": [(2, 3), (3, 4)],
    "ij,jk,kl->il": [(2, 3), (3, 4), (4, 5)],
    "...ij,...jk->...ik": [(2, 2, 3), (2, 3, 4)],
    "i,i": [(4,), (4,)],
    "i,i->": [(4,), (4,)],
    "i,j->ij": [(4,), (3,)],
    "i,j->ji": [(4,), (3,)],
    "ij,j->i": [(2, 3), (3,)],
    "j,kj->k": [(3,), (2, 3)],
    "bi,bi->b": [(2, 3), (2, 3)],
    "bi,bi->bi": [(2, 3), (2, 3)],
    "bqhd,bkhd->bhqk": [(2, 3, 4, 5), (2, 6, 4, 5)],
    "bhqk,bkhd->bqhd": [(2, 4, 3, 6), (2, 6, 4, 5)],
    "abcd,cdef->aebf": [(2, 3, 4, 5), (4, 5, 3, 2)],
    "ij,jk->i": [(2, 3), (3, 4)],
    "iij,jk->ik": [(2, 2, 3), (3, 4)],
    "ab,bc->ac": [(0, 3), (3, 4)],
    "ab,cb->ac": [(2, 0), (4, 0)],
    "ii->i": [(3, 3)],
    "ij->ji": [(2, 3)],
    "ij->": [(2, 3)],
    "abc,cd,def->ebf": [(2, 3, 4), (4, 5), (5, 6, 7)],
}


@pytest.mark.parametrize("equation", EQUATIONS)
def test_an_equation_agrees_with_the_reference(equation: str) -> None:
    check_against_reference("Einsum", [random(*shape) for shape in EQUATIONS[equation]], equation=equation)


def test_whole_numbers_are_contracted_too() -> None:
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    check_against_reference("Einsum", [a, b], equation="ij,jk->ik")


def test_the_order_of_contractions_is_found_once_per_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    arrays = [random(*shape) for shape in EQUATIONS["ij,jk,kl->il"]]
    search = Mock(wraps=np.einsum_path)
    monkeypatch.setattr("onnxperf.runtimes.numpy.kernels.einsum.np.einsum_path", search)
    model, feeds = one_node("Einsum", arrays, equation="ij,jk,kl->il")
    call = NumpySession(model).bind("run", feeds, {})
    call()
    call()
    assert search.call_count == 1
