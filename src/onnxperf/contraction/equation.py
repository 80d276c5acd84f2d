"""An einsum equation with its shapes, parsed as numpy.einsum does."""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import NoReturn

from onnxperf.errors import BadOption
from onnxperf.wording.numbers import count

Letters = tuple[str, ...]
Shape = tuple[int, ...]

_ALPHABET = string.ascii_lowercase + string.ascii_uppercase
_ELLIPSIS = "..."
_SHOWN = 200
"""Maximum number of characters of an equation in a message."""


@dataclass(frozen=True)
class Equation:
    """What is summed: a letter for every axis, including those of an ellipsis."""

    text: str
    """As the user wrote it."""
    operands: tuple[Letters, ...]
    output: Letters
    shapes: tuple[Shape, ...]
    sizes: tuple[tuple[str, int], ...]
    """Every letter with its size, in order of first appearance; 1 if it is 1 in all operands."""

    @property
    def canonical(self) -> str:
        """The equation without spaces and ellipses, with an explicit output."""
        return f"{','.join(map(''.join, self.operands))}->{''.join(self.output)}"

    @property
    def letters(self) -> Letters:
        """Every letter once, in order of first appearance."""
        return tuple(letter for letter, _ in self.sizes)

    @property
    def output_shape(self) -> Shape:
        """Shape of the result."""
        sizes = dict(self.sizes)
        return tuple(sizes[letter] for letter in self.output)

    @property
    def products(self) -> int:
        """Terms of the plain sum: the product of all sizes."""
        return prod(size for _, size in self.sizes)

    def renamed(self, order: Sequence[str]) -> str:
        """The same equation with other names: the letter at a position of `order` gets the name at that position of the
        alphabet, so that sorting the new names sorts the axes as `order` does."""
        names = dict(zip(order, sorted(self.letters), strict=True))
        terms = ("".join(names[letter] for letter in term) for term in self.operands)
        return f"{','.join(terms)}->{''.join(names[letter] for letter in self.output)}"


@dataclass(frozen=True)
class _Term:
    """One term as written: its letters with their positions, and the place of its ellipsis among them."""

    letters: tuple[tuple[str, int], ...]
    ellipsis: int | None


def parse(equation: str, shapes: Sequence[Shape]) -> Equation:
    """Parse an equation for operands of these shapes; every error is one line that gives the position."""
    shown = equation if len(equation) <= _SHOWN else f"{equation[:_SHOWN]}..."
    return _Reader(equation, f"einsum {_quoted(shown)}").read([tuple(int(size) for size in shape) for shape in shapes])


def _quoted(text: str) -> str:
    return '"' + "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in text) + '"'


class _Reader:
    """Parses one equation; its errors give the position."""

    def __init__(self, text: str, prefix: str) -> None:
        self.text, self.prefix = text, prefix

    def fail(self, problem: str) -> NoReturn:
        raise BadOption(f"{self.prefix}: {problem}")

    def read(self, shapes: list[Shape]) -> Equation:
        inputs, output = self._terms()
        if len(inputs) != len(shapes):
            terms, given = count(len(inputs), "term"), count(len(shapes), "operand")
            self.fail(f"{terms} for {given}; separate the operands' terms with commas")
        pairs = enumerate(zip(inputs, shapes, strict=True), 1)
        hidden = [self._hidden(number, term, shape) for number, (term, shape) in pairs]
        depth = max(hidden)
        extra = self._fresh_letters(inputs, depth)
        operands = [_expand(term, extra[depth - own :]) for term, own in zip(inputs, hidden, strict=True)]
        sizes = self._sizes(operands, shapes, set(extra))
        result = self._implicit(inputs, extra) if output is None else self._explicit(output, set(sizes), extra)
        return Equation(self.text, tuple(operands), result, tuple(shapes), tuple(sizes.items()))

    def _terms(self) -> tuple[list[_Term], _Term | None]:
        arrow = self.text.find("->")
        end = len(self.text) if arrow < 0 else arrow
        starts = [0, *(i + 1 for i in range(end) if self.text[i] == ",")]
        ends = [*(start - 1 for start in starts[1:]), end]
        inputs = [self._term(start, stop) for start, stop in zip(starts, ends, strict=True)]
        return inputs, self._term(arrow + 2, len(self.text)) if arrow >= 0 else None

    def _term(self, start: int, stop: int) -> _Term:
        letters: list[tuple[str, int]] = []
        ellipsis: int | None = None
        position = start
        while position < stop:
            character = self.text[position]
            if self.text.startswith(_ELLIPSIS, position, stop):
                if ellipsis is not None:
                    self.fail(f"second ellipsis in one term (position {position + 1})")
                ellipsis = len(letters)
                position += len(_ELLIPSIS)
                continue
            if character in _ALPHABET:
                letters.append((character, position + 1))
            elif character != " ":
                self.fail(f"{_quoted(character)} (position {position + 1}) is not a letter, a comma, ... or ->")
            position += 1
        return _Term(tuple(letters), ellipsis)

    def _hidden(self, number: int, term: _Term, shape: Shape) -> int:
        """The number of an operand's axes that its ellipsis represents."""
        if any(size < 0 for size in shape):
            self.fail(f"operand {number} has a negative size: {shape}")
        hidden = len(shape) - len(term.letters)
        if hidden < 0 or (hidden and term.ellipsis is None):
            name = "".join(letter for letter, _ in term.letters)
            dimensions = count(len(shape), "dimension")
            self.fail(f"operand {number} has {dimensions}, but its term {name!r} has {len(term.letters)}")
        return hidden

    def _fresh_letters(self, inputs: list[_Term], depth: int) -> Letters:
        used = {letter for term in inputs for letter, _ in term.letters}
        free = [letter for letter in reversed(_ALPHABET) if letter not in used]
        if depth > len(free):
            letters, dimensions = count(len(used), "letter"), count(depth, "dimension")
            self.fail(f"{letters} and {dimensions} under ... exceed the limit of {len(_ALPHABET)} in all")
        return tuple(reversed(free[:depth]))

    def _sizes(self, operands: Sequence[Letters], shapes: Sequence[Shape], extra: set[str]) -> dict[str, int]:
        sizes: dict[str, int] = {}
        decided: dict[str, int] = {}
        for number, (letters, shape) in enumerate(zip(operands, shapes, strict=True), 1):
            own: dict[str, int] = {}
            for letter, size in zip(letters, shape, strict=True):
                name = "a dimension under ..." if letter in extra else f"letter {letter!r}"
                if own.setdefault(letter, size) != size:
                    self.fail(f"{name} is both {own[letter]} and {size} in operand {number}")
                if sizes.setdefault(letter, size) == 1:
                    sizes[letter] = size
                if size not in (1, sizes[letter]):
                    self.fail(f"{name} is {sizes[letter]} in operand {decided[letter]} and {size} in operand {number}")
                if size != 1:
                    decided.setdefault(letter, number)
        return sizes

    def _explicit(self, output: _Term, known: set[str], extra: Letters) -> Letters:
        seen: set[str] = set()
        for letter, position in output.letters:
            if letter not in known or letter in extra:
                self.fail(f"output letter {letter!r} (position {position}) is not in any operand")
            if letter in seen:
                self.fail(f"output letter {letter!r} (position {position}) is repeated")
            seen.add(letter)
        if extra and output.ellipsis is None:
            self.fail(f"the output omits the {count(len(extra), 'dimension')} under ...; add ... to it")
        return _expand(output, extra)

    @staticmethod
    def _implicit(inputs: list[_Term], extra: Letters) -> Letters:
        """Dimensions under an ellipsis first, then the letters that occur once, sorted as numpy does."""
        counts = Counter(letter for term in inputs for letter, _ in term.letters)
        return (*extra, *sorted(letter for letter, times in counts.items() if times == 1))


def _expand(term: _Term, extra: Letters) -> Letters:
    letters = tuple(letter for letter, _ in term.letters)
    cut = len(letters) if term.ellipsis is None else term.ellipsis
    return letters[:cut] + extra + letters[cut:]
