"""`onnxperf einsum`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from onnxperf.cli import exit_codes
from onnxperf.cli.command import KEPT, Typed, command
from onnxperf.cli.present import present
from onnxperf.errors import BadOption
from onnxperf.options.base import Takes, refuse_useless
from onnxperf.options.functions import OPTIMIZE_EINSUM, REWRITE_EINSUM, Operands, Rewriting
from onnxperf.wording.numbers import count

if TYPE_CHECKING:
    from onnxperf.render.kit.progress import Progress

_TIME_S = OPTIMIZE_EINSUM.options["time"].default
_BOTH = Takes(*dict.fromkeys([*OPTIMIZE_EINSUM.groups, *REWRITE_EINSUM.groups]), Operands, time=_TIME_S)


@command(_BOTH, Rewriting, *KEPT, common=("shapes", "rewrite", "time", "portable", "output"))
def einsum(equation: str | None = None, /, *, typed: Typed) -> int:
    """Find the fastest ONNX graph for an einsum equation, or use such graphs in a model.

    Give an equation with one --shape per operand, or --rewrite MODEL. By default, --rewrite spends 18 seconds on each
    equation and 9 on each race.

    Examples
    --------
    # Find the fastest graph, and write it
    onnxperf einsum "bsnh,btnh->bnts" --shape 20x20x20x20 --shape 20x20x20x20 -o best.onnx
    # Use only standard operators
    onnxperf einsum "ij,jk,kl->il" --shape 10x20 --shape 20x30 --shape 30x5 --portable -o best.onnx
    # Make the Einsum nodes of a model faster
    onnxperf einsum --rewrite model.onnx -o faster.onnx --dim batch=8

    Parameters
    ----------
    equation
        The equation, in the syntax of numpy.einsum.
    """
    model: str | None = typed.own["rewrite"]
    if (equation is None) == (model is None):
        raise BadOption("give either an equation or a model with `rewrite`")
    return _plan(equation, typed) if equation is not None else _rewrite(str(model), typed)


def _plan(equation: str, typed: Typed) -> int:
    import onnxperf
    from onnxperf.results.einsum import SHOW

    refuse_useless(typed.keywords, [*OPTIMIZE_EINSUM.options, "shapes"], "an equation")
    keywords = dict(typed.keywords)
    shapes = keywords.pop("shapes", ())
    if isinstance(shapes, Mapping):
        name, shape = next(iter(shapes.items()))
        value = f"{name}={_text(shape)}"
        raise BadOption(option="shapes", value=value, expected="shapes in the order of the operands, such as 20x30")
    _check_count(equation, shapes)
    return present(
        SHOW,
        typed.output,
        lambda progress: onnxperf.optimize_einsum(equation, shapes, progress=progress, **keywords),
    )


def _check_count(equation: str, shapes: Sequence[Sequence[int]]) -> None:
    """Refuse an equation with fewer shapes than operands, and suggest options."""
    terms = [term.replace("...", "").strip() for term in equation.partition("->")[0].split(",")]
    if len(shapes) >= len(terms) or not all(term.isalpha() for term in terms):
        return
    letters = dict.fromkeys("".join(terms))
    sizes = {letter: 2 ** (3 + place % 5) for place, letter in enumerate(letters)}
    for term, shape in zip(terms, shapes, strict=False):
        sizes |= dict(zip(term, shape, strict=False))
    examples = [*shapes, *([sizes[letter] for letter in term] for term in terms[len(shapes) :])]
    options = " ".join(f"--shape {_text(each)}" for each in examples)
    raise BadOption(
        f'einsum "{equation}": {count(len(terms), "operand")} and {count(len(shapes), "shape")}; '
        f'add a shape for each, such as: onnxperf einsum "{equation}" {options}'
    )


def _text(shape: Sequence[int]) -> str:
    return "x".join(map(str, shape))


def _rewrite(model: str, typed: Typed) -> int:
    import onnxperf
    from onnxperf.results.rewrite import SHOW, RewriteResult

    reason = "`rewrite`: a rewritten model keeps its types and opset"
    refuse_useless(typed.keywords, list(REWRITE_EINSUM.options), reason)
    shapes = typed.keywords.get("shapes", {})
    if not isinstance(shapes, Mapping):
        raise BadOption(option="shapes", value=_text(shapes[0]), expected="the shape of an input, such as X=8x16")
    typed.output.check(SHOW)
    path, reports = typed.output.without_model()
    ended: list[RewriteResult] = []

    def measure(progress: Progress) -> RewriteResult:
        ended.append(onnxperf.rewrite_einsum(model, path, progress=progress, **typed.keywords))
        return ended[0]

    code = present(SHOW, reports, measure)
    # If the rewritten model fails in its race, a requested file is missing: no answer, rather than a partial result.
    return exit_codes.NO_ANSWER if code == exit_codes.PARTIAL and not ended[0].has_answer else code
