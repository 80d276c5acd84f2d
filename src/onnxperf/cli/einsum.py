"""`onnxperf einsum`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group, Parameter

from onnxperf.cli.options import INPUTS, OUTPUT, InputFlags, KeepFlags, Several, Switch, whole
from onnxperf.cli.output import command_line, make_console, make_progress, write_text
from onnxperf.errors import BadOption


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
class SearchFlags:
    """What is searched, and how."""

    dtype: str = "float32"
    """Element type of the operands: float16, float32, float64, int32, int64."""
    opset: int = 18
    """ONNX version of the graphs."""
    portable: Switch = False
    """Only standard operators, for other runtimes too."""
    no_search: Switch = False
    """Trust the cost model; nothing is timed."""
    again: Switch = False
    """Search even if the fastest graph is known from before."""
    runtime: str = "ort"
    """What executes the graphs: ort, numpy."""
    threads: int | None = None
    """Threads of every subject; all usable cores unless given."""
    time: float | None = None
    """Seconds of the final race; 5 unless given (6 for the race of whole models)."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class EinsumOutput(KeepFlags):
    """Files to write."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"])] = None
    """File for the fastest graph, or for the rewritten model (.onnx)."""
    json: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None
    """Write the record as JSON; - is standard output, and then nothing else is printed there."""
    csv: str | None = None
    """Write the time of every letter order as CSV."""
    plot: str | None = None
    """Write the chart of all letter orders: out.png or out.svg."""

    def check(self) -> None:
        """Refuse what could not be written, before anything is measured."""
        suffixes = {"output": (".onnx",), "csv": (".csv",), "plot": (".png", ".svg")}
        for option, known in suffixes.items():
            path = getattr(self, option)
            if path is not None and Path(path).suffix.lower() not in known:
                raise BadOption(f"--{option} {path}: expected a name that ends with {' or '.join(known)}")
        for path in (self.output, self.json, self.csv, self.plot):
            if path not in (None, "-") and not Path(str(path)).absolute().parent.is_dir():
                raise BadOption(f"cannot write {path}: its folder does not exist")


def einsum(
    equation: str | None = None,
    /,
    *,
    rewrite: str | None = None,
    search: SearchFlags = SearchFlags(),
    inputs: OperandFlags = OperandFlags(),
    output: EinsumOutput = EinsumOutput(),
) -> int:
    """Find the fastest ONNX graph for an einsum equation, or put such graphs into a model.

    For example:

        onnxperf einsum "bsnh,btnh->bnts" --shape 20x20x20x20 --shape 20x20x20x20 -o best.onnx

        onnxperf einsum "ij,jk,kl->il" --shape 10x20 --shape 20x30 --shape 30x5 --portable --plot orders.png

        onnxperf einsum --rewrite model.onnx -o faster.onnx --dim batch=8

    Parameters
    ----------
    equation
        As numpy.einsum takes it.
    rewrite
        A model whose Einsum nodes are replaced where that makes the whole model faster.
    """
    output.check()
    if (equation is None) == (rewrite is None):
        raise BadOption("give an equation, or a model with --rewrite")
    if equation is not None:
        return _plan(equation, search, inputs, output)
    return _rewrite(str(rewrite), search, inputs, output)


def _plan(equation: str, search: SearchFlags, inputs: OperandFlags, output: EinsumOutput) -> int:
    from msgspec.structs import replace

    from onnxperf.api.optimize_einsum import RACE_S, optimize_einsum
    from onnxperf.render.race.einsum import print_plan

    with make_progress(output.quiet) as progress:
        result = optimize_einsum(
            equation,
            inputs.operand_shapes(),
            dtype=search.dtype,
            search=not search.no_search,
            progress=progress,
            opset=search.opset,
            portable=search.portable,
            runtime=search.runtime,
            threads=search.threads,
            time=RACE_S if search.time is None else search.time,
            again=search.again,
        )
    result.record = replace(result.record, command=command_line())
    _show(result, print_plan, output)
    for path in (output.output, output.csv, output.plot):
        if path is not None:
            result.save(path)
    return 0


def _rewrite(model: str, search: SearchFlags, inputs: OperandFlags, output: EinsumOutput) -> int:
    from msgspec.structs import replace

    from onnxperf.api.rewrite_einsum import rewrite_einsum
    from onnxperf.render.race.einsum import print_rewrite

    if output.output is None:
        raise BadOption("--rewrite needs --output, the file for the rewritten model")
    default = SearchFlags()
    own = {"dtype": search.dtype != default.dtype, "opset": search.opset != default.opset}
    own |= {"runtime": search.runtime != default.runtime, "again": search.again}
    own |= {"csv": output.csv is not None, "plot": output.plot is not None}
    for option in (name for name, given in own.items() if given):
        raise BadOption(f"--{option} goes with an equation; a rewritten model keeps its types and opset")
    with make_progress(output.quiet) as progress:
        result = rewrite_einsum(
            model,
            output.output,
            feeds=inputs.feeds(),
            portable=search.portable,
            search=not search.no_search,
            progress=progress,
            time=search.time,
            threads=search.threads,
            **inputs.keywords(),
        )
    result.record = replace(result.record, command=command_line())
    _show(result, print_rewrite, output)
    return 0


def _show(result: Any, show: Any, output: EinsumOutput) -> None:
    console = make_console(stderr=output.json == "-")
    if output.quiet:
        console.print(result.answer, markup=False, soft_wrap=True)
    else:
        show(result.record, console)
    output.keep(result.record, "einsum")
    if output.json is not None:
        write_text(output.json, result.to_json())


def _sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(whole(size) for size in text.split("x") if size)
    except ValueError as error:
        raise BadOption(f"--shape {text}: {error}; expected sizes such as 20x30") from error
