"""`onnxperf view`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from onnxperf.cli.options import OUTPUT, CommonFlags, InputFlags, SessionFlags, Switch
from onnxperf.cli.output import INTERRUPTED, make_console, make_progress, write_text
from onnxperf.errors import BadOption

if TYPE_CHECKING:
    from onnxperf.results.view import ViewResult


@Parameter(name="*", group=Group("View", sort_key=0))
@dataclass(frozen=True)
class ViewFlags:
    """What is shown."""

    as_: Annotated[Literal["text", "json", "dot", "svg", "png", "code"], Parameter(name="--as")] = "text"
    """A listing, the documented JSON, Graphviz' dot, a drawing, or the Python code that the numpy runtime runs."""
    all: Switch = False
    """Show every node and every initialiser of a long model."""
    around: str | None = None
    """Only this node (by name, or by a tensor that it makes) and its neighbours."""
    op: str | None = None
    """Only nodes of this operator type, such as Conv."""
    depth: int | None = None
    """How many levels of bodies and functions are shown; all unless given."""
    values: Switch = False
    """Include the values of all tensors (in JSON)."""
    profile: Switch = False
    """Put the time of each node on it: profiles the model now, or reads the trace that is named after it."""
    by: Literal["time", "memory"] = "time"
    """What --profile shows: the time of each node, or the size of its results."""

    def listing(self) -> dict[str, Any]:
        """What of a model a listing shows."""
        return {"all": self.all, "around": self.around, "op": self.op, "depth": self.depth}


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class ViewOutput(CommonFlags):
    """Where it goes."""

    output: Annotated[str | None, Parameter(name=["--output", "-o"], allow_leading_hyphen=True)] = None
    """Write to this file; - is standard output."""
    netron: str | None = None
    """Write the profile as a metrics file (.json) to drop onto the model in Netron."""

    def check(self) -> None:
        """Refuse what could not be written, before anything is measured."""
        from onnxperf.results.view import check_netron_path

        if self.netron is not None:
            check_netron_path(self.netron)
        for path in (self.output, self.netron):
            if path not in (None, "-") and not Path(str(path)).absolute().parent.is_dir():
                raise BadOption(f"cannot write {path}: its folder does not exist")


def view(
    model: str,
    trace: str | None = None,
    /,
    *,
    options: ViewFlags = ViewFlags(),
    inputs: InputFlags = InputFlags(),
    session: SessionFlags = SessionFlags(),
    output: ViewOutput = ViewOutput(),
) -> int:
    """Show a model: inputs, initialisers, a line per node, outputs; or its drawing, with the time on its nodes.

    For example:

        onnxperf view model.onnx

        onnxperf view model.onnx --around Conv_12

        onnxperf view model.onnx --profile --as svg -o model.svg

        onnxperf view model.onnx --profile trace.json --netron metrics.json

    Parameters
    ----------
    model
        An ONNX file.
    trace
        A trace of this model that onnxruntime wrote (.json); without it, --profile runs the model.
    """
    if options.as_ == "png" and output.output is None:
        raise BadOption("a PNG is no text; name a file with -o model.png")
    if output.netron is not None and not options.profile and trace is None:
        raise BadOption("--netron writes what was profiled; add --profile")
    output.check()
    result = _read(model, trace, options, inputs, session, output.quiet)
    _show(result, options, output)
    if output.netron is not None:
        nameless = result.save_netron(output.netron)
        if nameless:
            make_console(stderr=True).print(
                f"{nameless} nodes have no name of their own: Netron cannot show their figures"
            )
    return INTERRUPTED if result.interrupted else 0


def _read(
    model: str, trace: str | None, options: ViewFlags, inputs: InputFlags, session: SessionFlags, quiet: bool
) -> ViewResult:
    from onnxperf.api.view import view as show

    with make_progress(quiet or not options.profile) as progress:
        return show(
            model,
            inputs.feeds(),
            as_=options.as_,
            values=options.values,
            **options.listing(),
            profile=trace if trace is not None else options.profile,
            by=options.by,
            progress=progress,
            **inputs.keywords(),
            **session.keywords(),
        )


def _show(result: ViewResult, options: ViewFlags, output: ViewOutput) -> None:
    if output.output is not None:
        write_text(output.output, result.content)
        return
    console = make_console()
    if options.as_ != "text" or not console.is_terminal:
        write_text("-", result.content)
        return
    from onnxperf.render.graph.text import graph_rich

    listing = graph_rich(result.record, width=console.width, metrics=result.metrics, **options.listing())
    console.print(listing, soft_wrap=True)
