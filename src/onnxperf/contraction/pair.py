"""All ways to contract two tensors: matrix products in any layout, elementwise products, loops over a batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import permutations, product

from onnxperf.contraction import cost
from onnxperf.contraction.equation import Letters, Shape
from onnxperf.contraction.graph import Draft, DraftNode
from onnxperf.contraction.layout import Setting, Term, arrange, arrange_plainly, in_order, reshape, shielded, transpose

Way = tuple[Draft, Term]
"""An extended draft, and the term that is the result."""

_MAX_ITERATIONS = 64
_BODIES = 2
"""Maximum number of ways to compute one iteration that are tried."""
_MAX_GROWTH = 8
"""Maximum size of an elementwise product, relative to its inputs and output."""


@dataclass(frozen=True)
class Groups:
    """The letters of two operands by role; each group in the order of the axes."""

    batch: Letters
    left: Letters
    right: Letters
    inner: Letters


@dataclass(frozen=True)
class Form:
    """The memory layout of an operand: its two matrix axes exchanged, or its first one before the batch."""

    transposed: bool = False
    batch_inside: bool = False

    def letters(self, batch: Letters, rows: Letters, columns: Letters) -> Letters:
        """The order of the axes, from the order that a plain product would need."""
        first, last = (columns, rows) if self.transposed else (rows, columns)
        return first + batch + last if self.batch_inside else batch + first + last

    @property
    def is_plain(self) -> bool:
        """Is this what MatMul reads?"""
        return self == PLAIN


PLAIN = Form()
FORMS = tuple(Form(*flags) for flags in product((False, True), repeat=2))


def roles(left: Letters, right: Letters, keep: Set[str]) -> Groups:
    """The role of every letter when two operands are contracted and some letters must remain."""
    shared = [letter for letter in left if letter in right]
    return Groups(
        tuple(letter for letter in shared if letter in keep),
        tuple(letter for letter in left if letter not in right),
        tuple(letter for letter in right if letter not in left),
        tuple(letter for letter in shared if letter not in keep),
    )


def contractions(
    draft: Draft, pair: tuple[Term, Term], keep: Set[str], target: Letters, setting: Setting, loops: bool = True
) -> Iterator[Way]:
    """Every way to contract two terms; `target` is the preferred order of axes."""
    for left, right in (pair, pair[::-1]):
        groups = roles(left.letters, right.letters, keep)
        if groups.inner:
            yield from _products(draft, (left, right), groups, target, setting)
            yield from _spread_products(draft, (left, right), groups, setting)
        elif groups.left and groups.right:
            yield from _products(draft, (left, right), groups, target, setting, outer=True)
    yield from _elementwise(draft, pair, roles(pair[0].letters, pair[1].letters, keep), target, setting)
    if loops:
        yield from _loops(draft, pair, keep, target, setting)


def _products(
    draft: Draft, pair: tuple[Term, Term], groups: Groups, target: Letters, setting: Setting, outer: bool = False
) -> Iterator[Way]:
    left, right = pair
    guides = (left.letters, right.letters, target)
    forms = [form for form in FORMS if _is_useful(form, groups, setting)] if not outer else [PLAIN]
    for orders in product(*(_orders(each, guides) for each in (groups.batch, groups.left, groups.right, groups.inner))):
        own = Groups(*orders)
        for left_form, right_form in product(forms, repeat=2):
            if left_form.transposed and not own.left:
                continue
            yield from arranged_product(draft, pair, own, (left_form, right_form), setting)


def _is_useful(form: Form, groups: Groups, setting: Setting) -> bool:
    if form.batch_inside:
        return bool(groups.batch) and setting.fuses
    return form.is_plain or setting.fuses or (not groups.batch and setting.computes_in == "float64")


def _orders(group: Letters, guides: Sequence[Letters]) -> list[Letters]:
    """Orders of a group that are worth trying: all of two letters, else those that already occur somewhere."""
    if len(group) <= 2:
        return list(permutations(group))
    natural = (tuple(letter for letter in guide if letter in group) for guide in guides)
    return list(dict.fromkeys(order for order in natural if len(order) == len(group)))


def arranged_product(
    draft: Draft, pair: tuple[Term, Term], groups: Groups, forms: tuple[Form, Form], setting: Setting
) -> Iterator[Way]:
    """A matrix product in a given layout, with the transposes that bring its operands into it."""
    left_letters = forms[0].letters(groups.batch, groups.left, groups.inner)
    right_letters = forms[1].letters(groups.batch, groups.inner, groups.right)
    for after_left, left in arrange(draft, pair[0], left_letters, setting):
        for after_both, right in arrange(after_left, pair[1], right_letters, setting):
            yield matrix_product(after_both, (left, right), groups, forms, setting)


def matrix_product(
    draft: Draft, pair: tuple[Term, Term], groups: Groups, forms: tuple[Form, Form], setting: Setting
) -> Way:
    """The product of two operands that already have the required layout."""
    # batch axes stay separate if that saves the reshapes around the product
    is_direct = all(len(side) == 1 for side in (groups.left, groups.inner, groups.right))
    batch = setting.shape(groups.batch) if is_direct or not groups.batch else (setting.size(groups.batch),)
    return _reshaped_product(draft, pair, groups, forms, setting, (batch, batch))


def _reshaped_product(
    draft: Draft,
    pair: tuple[Term, Term],
    groups: Groups,
    forms: tuple[Form, Form],
    setting: Setting,
    batches: tuple[Shape, Shape],
) -> Way:
    """The product of operands as matrices; `batches` are the batch axes of each."""
    rows, inner, columns = map(setting.size, (groups.left, groups.inner, groups.right))
    draft, left = reshape(draft, pair[0].value, _form_shape(forms[0], batches[0], rows, inner))
    draft, right = reshape(draft, pair[1].value, _form_shape(forms[1], batches[1], inner, columns))
    flags = (forms[0].transposed, forms[1].transposed)
    spent = cost.product(setting.size(groups.batch), rows, inner, columns, setting.computes_in, flags)
    shape = (*max(batches, key=len), rows, columns)
    draft, value = _multiply_matrices(draft, (left, right), forms, shape, spent, setting)
    letters = groups.batch + groups.left + groups.right
    draft, value = reshape(draft, value, setting.shape(letters))
    return draft, Term(value, letters)


def _form_shape(form: Form, batch: Shape, rows: int, columns: int) -> Shape:
    first, last = (columns, rows) if form.transposed else (rows, columns)
    return (first, *batch, last) if form.batch_inside else (*batch, first, last)


def _multiply_matrices(
    draft: Draft, values: tuple[int, int], forms: tuple[Form, Form], shape: Shape, spent: float, setting: Setting
) -> tuple[Draft, int]:
    if forms[0].is_plain and forms[1].is_plain:
        return draft.add(DraftNode("MatMul", values, shape), spent)
    is_flat = all(len(draft.shape(value)) == 2 for value in values)
    flags = {"transA": forms[0].transposed, "transB": forms[1].transposed}
    if is_flat and (setting.portable or not setting.fuses):
        return draft.add(DraftNode("Gemm", values, shape, _set(flags)), spent)
    if not setting.portable:
        flags |= {"transBatchA": forms[0].batch_inside, "transBatchB": forms[1].batch_inside}
        return draft.add(DraftNode("FusedMatMul", values, shape, _set(flags)), spent)
    operands = []
    for value, form in zip(values, forms, strict=True):
        draft, operand = _plainly_transposed(draft, value, form)
        operands.append(operand)
    return draft.add(DraftNode("MatMul", tuple(operands), shape), spent)


def _set(flags: dict[str, bool]) -> tuple[tuple[str, int], ...]:
    return tuple((name, 1) for name, is_set in flags.items() if is_set)


def _plainly_transposed(draft: Draft, value: int, form: Form) -> tuple[Draft, int]:
    """The operand transposed by standard operators; at no cost, as onnxruntime fuses exactly these into its product."""
    if form.is_plain:
        return draft, value
    if draft.comes_from(value, "Transpose"):
        draft, value = shielded(draft, value)
    axes = list(range(len(draft.shape(value))))
    if form.batch_inside:
        axes = [*axes[1:-1], axes[0], axes[-1]]
    if form.transposed:
        axes[-2:] = axes[:-3:-1]
    return transpose(draft, value, tuple(axes), 0.0)


def _spread_products(draft: Draft, pair: tuple[Term, Term], groups: Groups, setting: Setting) -> Iterator[Way]:
    """Products in which the outer axes of one operand become a batch that shares the other operand."""
    if groups.batch:
        return
    for side in (0, 1):
        if side == 0 and not setting.fuses:
            continue
        letters = pair[side].letters
        places = [letters.index(letter) for letter in groups.inner]
        start, stop = min(places), max(places) + 1
        if stop - start != len(places):
            continue
        inner, rest = letters[start:stop], letters[stop:]
        if side == 0 and start and rest:
            yield from _spread(draft, pair, 0, (letters[:start], inner, rest), Form(transposed=True), setting)
        if side == 1:
            if start:
                yield from _spread(draft, pair, 1, (letters[:start], inner, rest), PLAIN, setting)
            if setting.fuses and not rest:
                for cut in range(1, start):
                    parts = (letters[:cut], inner, letters[cut:start])
                    yield from _spread(draft, pair, 1, parts, Form(transposed=True), setting)


def _spread(
    draft: Draft,
    pair: tuple[Term, Term],
    side: int,
    parts: tuple[Letters, Letters, Letters],
    form: Form,
    setting: Setting,
) -> Iterator[Way]:
    batch, inner, rest = parts
    free = tuple(letter for letter in pair[1 - side].letters if letter not in inner)
    left, right = (free, rest) if side else (rest, free)
    outer = (setting.size(batch),)
    for other_form in (PLAIN, Form(transposed=True)) if setting.fuses else (PLAIN,):
        wanted = other_form.letters((), *((free, inner) if side else (inner, free)))
        for after, other in arrange(draft, pair[1 - side], wanted, setting):
            forms = (other_form, form) if side else (form, other_form)
            terms = (other, pair[1]) if side else (pair[0], other)
            batches = ((), outer) if side else (outer, ())
            yield _reshaped_product(after, terms, Groups(batch, left, right, inner), forms, setting, batches)


def _elementwise(
    draft: Draft, pair: tuple[Term, Term], groups: Groups, target: Letters, setting: Setting
) -> Iterator[Way]:
    """Multiply with broadcasting, then sum."""
    left, right = (term.letters for term in pair)
    everything = dict.fromkeys(left + right)
    handled = setting.size(left) + setting.size(right) + setting.size(groups.batch + groups.left + groups.right)
    if groups.inner and setting.size(tuple(everything)) > _MAX_GROWTH * handled:
        return
    first = tuple(letter for letter in target if letter in everything)
    for guide in dict.fromkeys((left + right, right + left, first + left + right, first + right + left)):
        order = tuple(dict.fromkeys(guide))
        for after_left, a in arrange(draft, pair[0], in_order(left, order), setting):
            for after_both, b in arrange(after_left, pair[1], in_order(right, order), setting):
                yield _multiply(after_both, (a, b), order, groups.inner, setting)


def elementwise_in_order(
    draft: Draft, pair: tuple[Term, Term], order: Letters, inner: Letters, setting: Setting
) -> Way:
    """Multiply with broadcasting in a given order of axes, then sum."""
    draft, left = arrange_plainly(draft, pair[0], in_order(pair[0].letters, order), setting)
    draft, right = arrange_plainly(draft, pair[1], in_order(pair[1].letters, order), setting)
    return _multiply(draft, (left, right), order, inner, setting)


def _multiply(draft: Draft, pair: tuple[Term, Term], order: Letters, inner: Letters, setting: Setting) -> Way:
    values = []
    for term in pair:
        shape = tuple(setting.sizes[letter] if letter in term.letters else 1 for letter in order)
        # leading ones are implied
        start = next((i for i, letter in enumerate(order) if letter in term.letters), len(order))
        draft, value = reshape(draft, term.value, shape[start:])
        values.append((value, shape))
    shape = setting.shape(order)
    spent = cost.multiply(values[0][1], values[1][1])
    draft, value = draft.add(DraftNode("Mul", (values[0][0], values[1][0]), shape), spent)
    if not inner:
        return draft, Term(value, order)
    return sum_over(draft, Term(value, order), inner, setting)


def sum_over(draft: Draft, term: Term, letters: Sequence[str], setting: Setting) -> Way:
    """The term summed over some of its letters."""
    axes = tuple(term.letters.index(letter) for letter in sorted(letters, key=term.letters.index))
    kept = tuple(letter for letter in term.letters if letter not in letters)
    attributes = (("axes", axes), ("keepdims", 0))
    draft, value = reshape(draft, term.value, setting.shape(term.letters))
    spent = cost.reduce(setting.shape(term.letters), axes, setting.item)
    draft, value = draft.add(DraftNode("ReduceSum", (value,), setting.shape(kept), attributes), spent)
    return draft, Term(value, kept)


def _loops(draft: Draft, pair: tuple[Term, Term], keep: Set[str], target: Letters, setting: Setting) -> Iterator[Way]:
    """Scan over outer axes shared by both operands: it passes slices without copies, although a product could not read
    the whole in place, and writes each result to its final place."""
    left, right = pair
    for length in range(1, min(len(left.letters), len(right.letters))):
        outer = left.letters[:length]
        count = setting.size(outer)
        if right.letters[:length] != outer or not set(outer) <= keep or count > _MAX_ITERATIONS:
            return
        inside = (Term(0, left.letters[length:]), Term(1, right.letters[length:]))
        body = Draft(tuple(setting.shape(term.letters) for term in inside))
        rest = tuple(letter for letter in target if letter not in outer)
        ways = contractions(body, inside, keep, rest, setting, loops=False)
        for done, term in sorted(ways, key=lambda way: way[0].microseconds)[:_BODIES]:
            yield _scan(draft, pair, (outer, count), (done, term), setting)
            # the result is still in the cache: its axes may be reordered right there
            wanted = tuple(letter for letter in rest if letter in term.letters)
            if target and wanted != term.letters:
                ordered = arrange_plainly(done, term, wanted, setting)
                yield _scan(draft, pair, (outer, count), ordered, setting)


def _scan(draft: Draft, pair: tuple[Term, Term], outer: tuple[Letters, int], inside: Way, setting: Setting) -> Way:
    letters, count = outer
    body = inside[0].finished(inside[1].value)
    values = []
    for term, shape in zip(pair, body.inputs, strict=True):
        draft, value = reshape(draft, term.value, (count, *shape))
        values.append(value)
    spent = cost.SCAN + count * (cost.SCAN_ITERATION + body.microseconds)
    shape = (count, *body.nodes[-1].shape)
    draft, value = draft.add(DraftNode("Scan", tuple(values), shape, (("num_scan_inputs", 2),), body), spent)
    result = letters + inside[1].letters
    draft, value = reshape(draft, value, setting.shape(result))
    return draft, Term(value, result)
