"""Equations are read as numpy reads them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.contraction.equation import Shape, parse
from onnxperf.errors import BadOption


@pytest.mark.parametrize(
    ("text", "shapes", "canonical", "output_shape"),
    [
        ("ij,jk->ik", [(2, 3), (3, 4)], "ij,jk->ik", (2, 4)),
        ("ij,jk", [(2, 3), (3, 4)], "ij,jk->ik", (2, 4)),
        ("ba", [(2, 3)], "ba->ab", (3, 2)),
        ("bA", [(2, 3)], "bA->Ab", (3, 2)),
        (" i j , j k -> i k ", [(2, 3), (3, 4)], "ij,jk->ik", (2, 4)),
        ("...ij,...jk", [(5, 2, 3), (3, 4)], "Zij,jk->Zik", (5, 2, 4)),
        ("i...->...", [(2, 3, 4)], "iYZ->YZ", (3, 4)),
        ("...,...", [(1, 3), (2, 1)], "YZ,YZ->YZ", (2, 3)),
        ("ii", [(3, 3)], "ii->", ()),
        ("", [()], "->", ()),
        (",->", [(), ()], ",->", ()),
        ("i,i->i", [(1,), (4,)], "i,i->i", (4,)),
        ("ij->ij...", [(2, 3)], "ij->ij", (2, 3)),
        ("ab,b->a", [(2, 0), (1,)], "ab,b->a", (2,)),
    ],
)
def test_equations_are_written_out(text: str, shapes: list[Shape], canonical: str, output_shape: Shape) -> None:
    equation = parse(text, shapes)
    assert (equation.canonical, equation.output_shape) == (canonical, output_shape)
    assert np.einsum(text, *map(np.ones, shapes)).shape == output_shape


@pytest.mark.parametrize(
    ("text", "shapes", "problem"),
    [
        ("ij,jk->iz", [(2, 3), (3, 4)], "output letter 'z' (position 9) is not in any operand"),
        ("ij,jk->ik", [(2, 3), (4, 4)], "letter 'j' is 3 in operand 1 and 4 in operand 2"),
        ("i,i,i->i", [(1,), (3,), (4,)], "letter 'i' is 3 in operand 2 and 4 in operand 3"),
        ("ii->i", [(2, 3)], "letter 'i' is both 2 and 3 in operand 1"),
        ("ii->i", [(1, 3)], "letter 'i' is both 1 and 3 in operand 1"),
        ("ij->ii", [(2, 3)], "output letter 'i' (position 6) is repeated"),
        ("ij", [(2, 3, 4)], "operand 1 has 3 dimensions, but its term 'ij' has 2"),
        ("i...j", [(2,)], "operand 1 has 1 dimension, but its term 'ij' has 2"),
        ("ij", [(2, 3), (2, 3)], "1 term for 2 operands; separate the operands' terms with commas"),
        ("ij,,jk", [(2, 3), (3, 4)], "3 terms for 2 operands; separate the operands' terms with commas"),
        ("i1->i", [(2, 3)], '"1" (position 2) is not a letter, a comma, ... or ->'),
        ("i.->i", [(2, 3)], '"." (position 2) is not a letter, a comma, ... or ->'),
        ("i->j->k", [(2,)], '"-" (position 5) is not a letter, a comma, ... or ->'),
        ("i->i,i", [(2,)], '"," (position 5) is not a letter, a comma, ... or ->'),
        ("i\n", [(2,)], '"\\x0a" (position 2) is not a letter, a comma, ... or ->'),
        ("...i...", [(2, 3)], "second ellipsis in one term (position 5)"),
        ("...i->i", [(2, 3)], "the output omits the 1 dimension under ...; add ... to it"),
        ("...,...", [(2,), (3,)], "a dimension under ... is 2 in operand 1 and 3 in operand 2"),
        ("...", [(1,) * 53], "0 letters and 53 dimensions under ... exceed the limit of 52 in all"),
        ("i", [(-1,)], "operand 1 has a negative size: (-1,)"),
    ],
)
def test_errors_point_at_the_place(text: str, shapes: list[Shape], problem: str) -> None:
    with pytest.raises(BadOption) as caught:
        parse(text, shapes)
    assert str(caught.value).endswith(f": {problem}")
    assert "\n" not in str(caught.value)


def test_a_long_equation_is_cut_in_its_message() -> None:
    with pytest.raises(BadOption) as caught:
        parse("i" * 10_000, [(2,)])
    assert len(str(caught.value).split(": ")[0]) < 250


terms = st.tuples(st.text("ijK", max_size=3), st.booleans(), st.integers(0, 3)).map(
    lambda parts: parts[0][: parts[2]] + "..." * parts[1] + parts[0][parts[2] :]
)


@st.composite
def equations(draw: st.DrawFn) -> tuple[str, list[Shape]]:
    """Mostly right, sometimes wrong in one place."""
    inputs = draw(st.lists(terms, min_size=1, max_size=3))
    output = draw(st.one_of(st.none(), terms))
    text = ",".join(inputs) + ("" if output is None else f"->{output}")
    junk = draw(st.sampled_from(["", "", "", " ", ".", ",", "-", ">", "Z", "i", "?"]))
    place = draw(st.integers(0, len(text)))
    size = st.sampled_from([2, 2, 2, 2, 1, 3])
    shapes = []
    for term in inputs:
        rank = len(term.replace(".", "")) + (draw(st.integers(0, 2)) if "." in term else 0)
        shapes.append(tuple(draw(st.lists(size, min_size=rank, max_size=rank))))
    return text[:place] + junk + text[place:], shapes


@given(equations())
def test_what_numpy_accepts_is_accepted_and_nothing_else(case: tuple[str, list[Shape]]) -> None:
    text, shapes = case
    try:
        expected: Shape | None = np.einsum(text, *map(np.ones, shapes)).shape
    except ValueError:
        expected = None
    try:
        found: Shape | None = parse(text, shapes).output_shape
    except BadOption:
        found = None
    assert found == expected


def test_a_letter_order_renames_an_equation_so_that_sorted_names_follow_it() -> None:
    equation = parse("bsnh,btnh->bnts", [(2, 3, 4, 5), (2, 6, 4, 5)])
    assert equation.letters == ("b", "s", "n", "h", "t")
    assert equation.renamed(("b", "h", "n", "s", "t")) == equation.canonical
    assert equation.renamed(("t", "n", "s", "b", "h")) == "snht,sbht->shbn"
