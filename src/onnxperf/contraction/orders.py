"""Letter orders: a permutation of an equation's letters determines the axis layout of all intermediate values."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import permutations
from math import factorial

from onnxperf.contraction import cost
from onnxperf.contraction.equation import Equation, Letters
from onnxperf.contraction.graph import Draft, DraftNode, working_type
from onnxperf.contraction.layout import Setting, Term, arrange_plainly, in_order, reshape
from onnxperf.contraction.lower import Lowering, contraction_paths, finished, lonely, start, zeros
from onnxperf.contraction.pair import (
    FORMS,
    PLAIN,
    Form,
    Groups,
    Way,
    elementwise_in_order,
    matrix_product,
    roles,
    sum_over,
)

MAX_ORDERS = 720
"""All permutations of up to six letters."""


def letter_orders(equation: Equation, limit: int = MAX_ORDERS) -> Iterator[Letters]:
    """All permutations of an equation's letters, or a fixed random selection, without duplicates; as written first."""
    letters = as_written(equation)
    if factorial(len(letters)) <= limit:
        yield from permutations(letters)  # the first of them is the sorted one
        return
    drawn = random.Random(0)  # noqa: S311 - a choice of permutations, not a secret
    seen = {letters}
    yield letters
    while len(seen) < limit:
        order = tuple(drawn.sample(letters, len(letters)))
        if order not in seen:
            seen.add(order)
            yield order


def as_written(equation: Equation) -> Letters:
    """The letter order implied by an equation: the alphabetical one."""
    return tuple(sorted(equation.letters))


def decompose(equation: Equation, order: Letters, setting: Setting) -> Lowering:
    """The graph for a letter order: operands in that order, and the product that can read them as they are."""
    if not equation.products:
        return Lowering(zeros(equation, setting).draft, order)
    draft, terms = start(equation, setting)
    for place, letters in enumerate(lonely(terms, equation.output)):
        if letters:
            draft, term = sum_over(draft, terms[place], letters, setting)
            terms = (*terms[:place], term, *terms[place + 1 :])
    for step in contraction_paths(equation, terms, setting)[0]:
        places = [place % len(terms) for place in step]
        others = tuple(term for i, term in enumerate(terms) if i not in places)
        keep = {*equation.output, *(letter for term in others for letter in term.letters)}
        draft, term = _contract(draft, (terms[places[0]], terms[places[1]]), keep, order, setting)
        terms = (*others, term)
    return Lowering(next(finished(draft, terms[0], equation, setting)).draft, order)


def _contract(draft: Draft, pair: tuple[Term, Term], keep: set[str], order: Letters, setting: Setting) -> Way:
    def rank(term: Term, other: Term) -> int:
        """The operand whose own letters come first is on the left."""
        own = (order.index(letter) for letter in term.letters if letter not in other.letters)
        return min(own, default=len(order))

    left, right = pair if rank(*pair) <= rank(*pair[::-1]) else pair[::-1]
    groups = roles(left.letters, right.letters, keep)
    if not groups.inner:
        return elementwise_in_order(draft, (left, right), in_order(left.letters + right.letters, order), (), setting)
    groups = Groups(*(in_order(group, order) for group in (groups.batch, groups.left, groups.right, groups.inner)))
    left_form = _form_of(in_order(left.letters, order), (groups.batch, groups.left, groups.inner), setting)
    right_form = _form_of(in_order(right.letters, order), (groups.batch, groups.inner, groups.right), setting)
    draft, left = arrange_plainly(draft, left, left_form.letters(groups.batch, groups.left, groups.inner), setting)
    draft, right = arrange_plainly(draft, right, right_form.letters(groups.batch, groups.inner, groups.right), setting)
    return matrix_product(draft, (left, right), groups, (left_form, right_form), setting)


def _form_of(letters: Letters, groups: tuple[Letters, Letters, Letters], setting: Setting) -> Form:
    """The form in which a product reads an operand as it is; the plain one if there is none."""
    forms = FORMS if setting.fuses else (PLAIN,)
    return next((form for form in forms if form.letters(*groups) == letters), PLAIN)


def plain_einsum(equation: Equation, setting: Setting) -> Lowering:
    """onnxruntime's own Einsum alone."""
    return Lowering(own_einsum(equation, equation.output, setting).draft, as_written(equation))


def own_einsum(equation: Equation, order: Letters, setting: Setting) -> Lowering:
    """onnxruntime's own Einsum, with its result in a letter order, followed by a transpose to that of the output."""
    draft = Draft(equation.shapes)
    result = in_order(equation.output, order)
    terms = ",".join(map("".join, equation.operands))
    values = tuple(range(len(equation.shapes)))
    node = DraftNode("Einsum", values, setting.shape(result), (("equation", f"{terms}->{''.join(result)}"),))
    draft, value = draft.add(
        node, cost.einsum(equation.shapes, equation.output_shape, equation.products, working_type(setting.dtype))
    )
    draft, term = arrange_plainly(draft, Term(value, result), equation.output, setting)
    draft, value = reshape(draft, term.value, equation.output_shape)
    return Lowering(draft.finished(value), order)
