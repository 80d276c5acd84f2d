"""Lowers an equation to drafts of graphs: diagonals and sums of single operands, then pairs along a path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import prod

import opt_einsum

from onnxperf.contraction import cost
from onnxperf.contraction.equation import Equation, Letters, Shape
from onnxperf.contraction.graph import ELEMENT_TYPES, Draft, DraftNode, working_type
from onnxperf.contraction.layout import Setting, Term, arrange, reshape, transpose
from onnxperf.contraction.pair import PLAIN, Form, Groups, Way, contractions, matrix_product, sum_over

Path = tuple[tuple[int, ...], ...]

_BEAM = 10
"""Number of states kept from one pair to the next."""
MAX_PICKED = 1 << 16
"""Maximum number of diagonal elements that are picked one by one: each position is a constant of the graph."""
_FEW_OPERANDS = 6
"""Up to this number of operands, all contraction orders are compared."""


@dataclass(frozen=True)
class Lowering:
    """A finished draft, and its letter order: the axes of its last product, then the summed letters."""

    draft: Draft
    letters: Letters


@dataclass(frozen=True)
class _State:
    draft: Draft
    terms: tuple[Term, ...]


def setting_of(equation: Equation, dtype: str, portable: bool) -> Setting:
    """The settings shared by all graphs of an equation."""
    only_moves = len(equation.operands) == 1 and set(equation.operands[0]) == set(equation.output)
    return Setting(dict(equation.sizes), dtype, dtype if only_moves else working_type(dtype), portable)


def lowerings(equation: Equation, setting: Setting, limit: int) -> list[Lowering]:
    """Graphs for an equation, lowest estimate first."""
    if not equation.products:
        return [zeros(equation, setting)]
    found: dict[Draft, Lowering] = {}
    starts = _prepared(equation, setting)
    for path in contraction_paths(equation, starts[0].terms, setting):
        states = starts
        for i, step in enumerate(path):
            is_last = i == len(path) - 1
            states = _best(_contracted(states, step, equation, setting), limit if is_last else _BEAM)
        for state in states:
            for way in finished(state.draft, state.terms[0], equation, setting):
                known = found.get(way.draft)
                if known is None or way.draft.microseconds < known.draft.microseconds:
                    found[way.draft] = way
    return sorted(found.values(), key=lambda way: way.draft.microseconds)[:limit]


def start(equation: Equation, setting: Setting) -> tuple[Draft, tuple[Term, ...]]:
    """Operands in the computation type, without axes of size 1 and with each letter once."""
    draft = Draft(equation.shapes)
    terms = []
    for number, (letters, shape) in enumerate(zip(equation.operands, equation.shapes, strict=True)):
        value = number
        if setting.dtype != setting.computes_in:
            draft, value = _cast(draft, value, setting.computes_in, cost.copy(setting.size(letters), setting.item))
        # axes of size 1 are treated as absent, whether they broadcast or not
        kept = tuple(letter for letter, size in zip(letters, shape, strict=True) if size != 1)
        draft, value = reshape(draft, value, setting.shape(kept))
        draft, term = _diagonal(draft, Term(value, kept), setting)
        terms.append(term)
    return draft, tuple(terms)


def finished(draft: Draft, term: Term, equation: Equation, setting: Setting) -> Iterator[Lowering]:
    """The last term as the output: axes in order, with those of size 1 restored, in the requested type."""
    wanted = tuple(letter for letter in equation.output if setting.sizes[letter] != 1)
    for after, moved in arrange(draft, term, wanted, setting):
        done, value = reshape(after, moved.value, equation.output_shape)
        if setting.dtype != setting.computes_in:
            done, value = _cast(done, value, setting.dtype, cost.copy(setting.size(wanted), setting.item))
        yield Lowering(done.finished(value), _completed(term.letters, equation))


def _completed(letters: Letters, equation: Equation) -> Letters:
    return (*letters, *(letter for letter in equation.letters if letter not in letters))


def zeros(equation: Equation, setting: Setting) -> Lowering:
    """The result of an equation over empty operands."""
    draft, value = Draft(equation.shapes).add(
        DraftNode("Filled", (), equation.output_shape, (("value", 0),)), cost.NODE
    )
    if setting.dtype != working_type(setting.dtype):
        draft, value = _cast(draft, value, setting.dtype, cost.NODE)
    return Lowering(draft.finished(value), equation.letters)


def _cast(draft: Draft, value: int, dtype: str, spent: float) -> tuple[Draft, int]:
    target = (("to", int(ELEMENT_TYPES[dtype])),)
    return draft.add(DraftNode("Cast", (value,), draft.shape(value), target), spent)


def lonely(terms: Sequence[Term], output: Letters) -> list[tuple[str, ...]]:
    """For each term, the letters that occur nowhere else and can be summed at once."""
    counts = Counter(letter for term in terms for letter in term.letters)
    return [tuple(lt for lt in term.letters if counts[lt] == 1 and lt not in output) for term in terms]


def _prepared(equation: Equation, setting: Setting) -> list[_State]:
    draft, terms = start(equation, setting)
    states = [_State(draft, terms)]
    for place, letters in enumerate(lonely(terms, equation.output)):
        if letters:
            states = [
                _State(after, (*state.terms[:place], term, *state.terms[place + 1 :]))
                for state in states
                for after, term in _sums(state.draft, state.terms[place], letters, setting)
            ]
    return _best(states, _BEAM)


def _sums(draft: Draft, term: Term, letters: Sequence[str], setting: Setting) -> Iterator[Way]:
    """All at once, or one run of neighboring axes after the other, from either end."""
    yield sum_over(draft, term, letters, setting)
    runs = [tuple(run) for is_summed, run in groupby(term.letters, key=lambda each: each in letters) if is_summed]
    for ordered in {tuple(runs), tuple(runs[::-1])}:
        way = draft, term
        for run in ordered:
            way = min(_run_sums(*way, run, setting), key=lambda each: each[0].microseconds)
        yield way


def _run_sums(draft: Draft, term: Term, run: Letters, setting: Setting) -> Iterator[Way]:
    """ReduceSum, or a product with ones, which often reads memory faster."""
    yield sum_over(draft, term, run, setting)
    first = term.letters.index(run[0])
    before, after = term.letters[:first], term.letters[first + len(run) :]
    if not setting.computes_in.startswith("float"):
        return
    outer, count, inner = map(setting.size, (before, run, after))
    # the ones are on the left: constants on the right are packed, which is slower for vectors
    draft, ones = draft.add(DraftNode("Filled", (), (1, count), (("value", 1),)), 0.0)
    if not after:
        groups = Groups((), (), before, run)
        if setting.fuses:
            ones_term = Term(ones, run)
            yield matrix_product(draft, (ones_term, term), groups, (PLAIN, Form(transposed=True)), setting)
        return
    draft, value = reshape(draft, term.value, (outer, count, inner) if before else (count, inner))
    shape = (outer, 1, inner) if before else (1, inner)
    spent = cost.product(outer, 1, count, inner, setting.computes_in, (False, False))
    draft, value = draft.add(DraftNode("MatMul", (ones, value), shape), spent)
    draft, value = reshape(draft, value, setting.shape(before + after))
    yield draft, Term(value, before + after)


def _diagonal(draft: Draft, term: Term, setting: Setting) -> Way:
    """Every repeated letter once."""
    counts = Counter(term.letters)
    if len(counts) == len(term.letters):
        return draft, term
    letters = tuple(counts)
    has_gaps = any("".join(term.letters).find(letter * times) < 0 for letter, times in counts.items())
    if has_gaps and setting.size(letters) <= MAX_PICKED:
        return _picked(draft, term, letters, setting)
    for letter, times in counts.items():
        if times > 1:
            draft, term = _every_nth(draft, term, letter, times, setting)
    return draft, term


def _picked(draft: Draft, term: Term, letters: Letters, setting: Setting) -> Way:
    """Pick single elements by position in memory: nothing else is read."""
    sizes = setting.shape(term.letters)
    strides = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    steps = tuple(
        sum(stride for stride, other in zip(strides, term.letters, strict=True) if other == letter)
        for letter in letters
    )
    draft, value = reshape(draft, term.value, (prod(sizes),))
    count = setting.size(letters)
    # GatherElements on a flat tensor is several times faster than Gather, which copies block by block
    attributes = (("steps", steps), ("sizes", setting.shape(letters)), ("axis", 0))
    draft, value = draft.add(DraftNode("GatherElements", (value,), (count,), attributes), cost.stride(count))
    draft, value = reshape(draft, value, setting.shape(letters))
    return draft, Term(value, letters)


def _every_nth(draft: Draft, term: Term, letter: str, times: int, setting: Setting) -> Way:
    """Adjacent axes of a letter are one axis, of which every (n + 1)th element is on the diagonal."""
    size = setting.sizes[letter]
    first = term.letters.index(letter)
    before, rest = term.letters[:first], tuple(other for other in term.letters[first:] if other != letter)
    draft, value = _gathered(draft, term, letter, setting)
    draft, value = reshape(draft, value, (*setting.shape(before), size**times, *setting.shape(rest)))
    step = sum(size**power for power in range(times))
    attributes = (("starts", (0,)), ("ends", (size**times,)), ("axes", (first,)), ("steps", (step,)))
    letters = (*before, letter, *rest)
    node = DraftNode("Slice", (value,), setting.shape(letters), attributes)
    draft, value = draft.add(node, cost.stride(setting.size(letters)))
    return draft, Term(value, letters)


def _gathered(draft: Draft, term: Term, letter: str, setting: Setting) -> tuple[Draft, int]:
    """The value with all axes of a letter moved to the first one."""
    places = [i for i, other in enumerate(term.letters) if other == letter]
    first = places[0]
    perm = (*range(first), *places, *(i for i in range(first, len(term.letters)) if i not in places))
    if perm == tuple(range(len(perm))):
        return draft, term.value
    shape = setting.shape(term.letters)
    draft, value = reshape(draft, term.value, shape)
    return transpose(draft, value, perm, cost.transpose(shape, perm, setting.item))


def contraction_paths(equation: Equation, terms: Sequence[Term], setting: Setting) -> list[Path]:
    """Contraction orders worth trying, the best known first."""
    if len(terms) == 1:
        return [()]
    if len(terms) == 2:
        return [((0, 1),)]
    text = ",".join("".join(term.letters) for term in terms) + "->"
    text += "".join(letter for letter in equation.output if setting.sizes[letter] != 1)
    return list(_found_paths(text, tuple(setting.shape(term.letters) for term in terms)))


@lru_cache(64)
def _found_paths(text: str, shapes: tuple[Shape, ...]) -> tuple[Path, ...]:
    kinds = ("optimal" if len(shapes) <= _FEW_OPERANDS else "auto", "greedy")
    found = [opt_einsum.contract_path(text, *shapes, shapes=True, optimize=kind)[0] for kind in kinds]
    return tuple(dict.fromkeys(tuple(_in_pairs(path)) for path in found))


def _in_pairs(path: Iterable[Sequence[int]]) -> Iterator[tuple[int, ...]]:
    """A path whose steps all take two operands: larger steps are split."""
    for step in path:
        places = sorted(step)
        while len(places) >= 2:
            *places, before, last = places
            yield before, last
            if places:
                # the result was appended at the end, after the remaining operands
                places = [*places, -1]


def _contracted(
    states: Sequence[_State], step: tuple[int, ...], equation: Equation, setting: Setting
) -> Iterator[_State]:
    for state in states:
        count = len(state.terms)
        places = sorted(place % count for place in step)
        others = tuple(term for i, term in enumerate(state.terms) if i not in places)
        keep = {*equation.output, *(letter for term in others for letter in term.letters)}
        target = equation.output if not others else ()
        pair = (state.terms[places[0]], state.terms[places[1]])
        for draft, term in contractions(state.draft, pair, keep, target, setting):
            yield _State(draft, (*others, term))


def _best(states: Iterable[_State], limit: int) -> list[_State]:
    return sorted(states, key=lambda state: state.draft.microseconds)[:limit]
