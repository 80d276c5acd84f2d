"""`onnxperf einsum`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cyclopts import Group, Parameter

from onnxperf.cli import exit_codes
from onnxperf.cli.options import INPUTS, Flags, InputFlags, OptionalFile, Several, Switch, refuse_others, shape_in
from onnxperf.cli.present import KeptOutputFlags, present
from onnxperf.errors import BadOption
from onnxperf.wording.numbers import count

if TYPE_CHECKING:
    from onnxperf.render.kit.progress import Progress


@Parameter(name="*", group=INPUTS)
@dataclass(frozen=True)
class OperandFlags(InputFlags):
    """Shapes of operands, or the inputs of a model that is rewritten."""

    shape: Several = field(default_factory=list)
    """Shape of an operand, in their order: 20x20x20x20; with --rewrite, of an input: X=8x16. May be repeated."""

    def operand_shapes(self) -> list[tuple[int, ...]]:
        """The shapes in the order of the operands."""
        return [_sizes(text) for text in self.shape]


@Parameter(name="*", group=Group("Search", sort_key=0))
@dataclass(frozen=True)
class SearchFlags(Flags):
    """What is searched, and how."""

    only_here = ("no_search", "time")

    dtype: str = "float32"
    """Element type of the operands: float16, float32, float64, int32, int64."""
    opset: int = 18
    """ONNX version of the graphs."""
    portable: Switch = False
    """Only standard operators, for other runtimes too."""
    no_search: Switch = False
    """Trust the cost model; nothing is timed."""
    again: Switch = False
    """Search even if the fastest graph is already known."""
    runtime: str = "ort"
    """What executes the graphs: ort or numpy."""
    threads: int | None = None
    """Threads of every subject [default: all usable cores]."""
    time: float | None = None
    """Seconds for the whole command [default: 18]. With --rewrite [default: 18 for each equation, 9 for each race]."""


_REWRITING = frozenset(("portable", "no_search", "threads", "time"))
"""Options of a search that go with a model."""


def einsum(
    equation: str | None = None,
    /,
    *,
    rewrite: OptionalFile = None,
    search: SearchFlags = SearchFlags(),
    inputs: OperandFlags = OperandFlags(),
    output: KeptOutputFlags = KeptOutputFlags(),
) -> int:
    """Find the fastest ONNX graph for an einsum equation, or put such graphs into a model.

    For example:

        onnxperf einsum "bsnh,btnh->bnts" --shape 20x20x20x20 --shape 20x20x20x20 -o best.onnx

        onnxperf einsum "ij,jk,kl->il" --shape 10x20 --shape 20x30 --shape 30x5 --portable -o best.onnx -o orders.png

        onnxperf einsum --rewrite model.onnx -o faster.onnx --dim batch=8

    Parameters
    ----------
    equation
        As numpy.einsum takes it.
    rewrite
        A model whose Einsum nodes are replaced where that makes the whole model faster; nothing is written unless
        a race proves it.
    """
    if (equation is None) == (rewrite is None):
        raise BadOption("give an equation, or a model with `rewrite`")
    if equation is not None:
        return _plan(equation, search, inputs, output)
    return _rewrite(str(rewrite), search, inputs, output)


def _plan(equation: str, search: SearchFlags, inputs: OperandFlags, output: KeptOutputFlags) -> int:
    from onnxperf.api._shared.einsum_plans import DEFAULT_TIME_S
    from onnxperf.api.optimize_einsum import optimize_einsum
    from onnxperf.results.einsum import EinsumResult

    shapes = inputs.operand_shapes()
    _check_count(equation, inputs.shape)
    return present(
        EinsumResult,
        output,
        lambda progress: optimize_einsum(
            equation,
            shapes,
            search=not search.no_search,
            time=DEFAULT_TIME_S if search.time is None else search.time,
            progress=progress,
            **search.keywords(),
        ),
    )


def _check_count(equation: str, shapes: Sequence[str]) -> None:
    """Refuse an equation with fewer shapes than operands, with the options that would do."""
    terms = [term.replace("...", "").strip() for term in equation.partition("->")[0].split(",")]
    if len(shapes) >= len(terms) or not all(term.isalpha() for term in terms):
        return
    letters = dict.fromkeys("".join(terms))
    sizes = {letter: str(2 ** (3 + place % 5)) for place, letter in enumerate(letters)}
    for term, shape in zip(terms, shapes, strict=False):
        sizes |= dict(zip(term, shape.split("x"), strict=False))
    examples = [*shapes, *("x".join(sizes[letter] for letter in term) for term in terms[len(shapes) :])]
    options = " ".join(f"--shape {each}" for each in examples)
    raise BadOption(
        f'einsum "{equation}": {count(len(terms), "operand")} and {count(len(shapes), "shape")}; '
        f'add a shape for each, such as: onnxperf einsum "{equation}" {options}'
    )


def _rewrite(model: str, search: SearchFlags, inputs: OperandFlags, output: KeptOutputFlags) -> int:
    from onnxperf.api.rewrite_einsum import rewrite_einsum
    from onnxperf.results.rewrite import RewriteResult

    refuse_others(_REWRITING, "`rewrite`: a rewritten model keeps its types and opset", search)
    output.check(RewriteResult)
    path, reports = output.without_model()
    ended: list[RewriteResult] = []

    def measure(progress: "Progress") -> RewriteResult:
        ended.append(
            rewrite_einsum(
                model,
                path,
                feeds=inputs.feeds(),
                portable=search.portable,
                search=not search.no_search,
                progress=progress,
                time=search.time,
                threads=search.threads,
                **inputs.keywords(),
            )
        )
        return ended[0]

    code = present(RewriteResult, reports, measure)
    # A rewritten model that failed in its race is a requested file that was not written, not a partial result.
    return exit_codes.NO_ANSWER if code == exit_codes.PARTIAL and not ended[0].has_answer else code


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return shape_in(text)
    except ValueError as error:
        raise BadOption(str(error), option="shapes", value=text, expected="sizes such as 20x30") from error
