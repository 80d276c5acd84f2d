"""`onnxperf view`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.cli.command import WRITTEN, File, OptionalFile, Typed, command
from onnxperf.cli.present import present, print_notice
from onnxperf.errors import BadOption
from onnxperf.options.functions import VIEW
from onnxperf.wording.numbers import count

if TYPE_CHECKING:
    from onnxperf.render.kit.progress import Progress
    from onnxperf.results.view import Form, ViewResult


@command(VIEW, *WRITTEN, common=("profile", "by", "around", "op", "output"))
def view(model: File, trace: OptionalFile = None, /, *, typed: Typed) -> int:
    """Show a model: inputs, initializers, nodes and outputs, with times on request.

    -o writes .txt (the listing), .json, .dot (Graphviz), .svg, .png, .md and .html (the page with its graph). A .py
    file contains the code that the numpy runtime runs. Drop a .netron.json file onto the model in Netron to see the
    times.

    Examples
    --------
    # List the nodes
    onnxperf view model.onnx
    # Draw the graph with the time of each node
    onnxperf view model.onnx --profile -o model.svg
    # Show one node and its neighbors
    onnxperf view model.onnx --around Conv_12
    # Draw with Graphviz
    onnxperf view model.onnx -o -.dot | dot -Tpdf -o model.pdf

    Parameters
    ----------
    model
        An ONNX file.
    trace
        A trace of this model from onnxruntime (.json). Without it, --profile runs the model.
    """
    import onnxperf
    from onnxperf.results.view import NETRON, SHOW

    output, keywords = typed.output, typed.keywords
    if trace is not None:
        keywords["profile"] = trace
    files = {suffix: path for path, suffix in output.files(SHOW)}
    if NETRON in files and "profile" not in keywords:
        raise BadOption("a Netron file holds times; add `profile`", option="output", value=files[NETRON])

    def show(progress: Progress) -> ViewResult:
        result = onnxperf.view(model, as_=_form(typed, set(files)), progress=progress, **keywords)
        if NETRON in files and result.nameless:
            nodes = count(result.nameless, "node has", "nodes have")
            print_notice(f"{nodes} no name: Netron cannot show their times")
        return result

    prints = not files and not output.open
    return present(SHOW, output, show, page=lambda result: result.page() if prints else [])


def _form(typed: Typed, suffixes: set[str]) -> Form:
    """The form that the options apply to, JSON or the listing; the listing if nothing is written."""
    from onnxperf.results.view import SUFFIXES

    forms = [form for form, suffix in SUFFIXES.items() if suffix in suffixes]
    return "json" if "json" in forms and typed.keywords.get("values") else next(iter(forms), "text")
