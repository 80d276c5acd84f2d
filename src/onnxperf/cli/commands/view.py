"""`onnxperf view`."""

# No `from __future__ import annotations`: cyclopts reads the types of inherited options in the module that inherits.
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Group, Parameter

from onnxperf.cli.options import OUTPUT, File, Flags, InputFlags, OptionalFile, SessionFlags, Switch, keywords_of
from onnxperf.cli.present import OutputFlags, complain, present
from onnxperf.cli.printing import print_text
from onnxperf.errors import BadOption
from onnxperf.wording.numbers import count

if TYPE_CHECKING:
    from onnxperf.render.kit.progress import Progress
    from onnxperf.results.base import Result
    from onnxperf.results.view import Form, ViewResult


@Parameter(name="*", group=Group("View", sort_key=0))
@dataclass(frozen=True)
class ViewFlags(Flags):
    """What is shown."""

    only_here = ("profile",)

    all: Switch = False
    """Show every node and every initialiser of a long model."""
    around: str | None = None
    """Only this node (by its name in the listing, or by a tensor that it makes) and its neighbours."""
    op: str | None = None
    """Only nodes of this operator type, such as Conv."""
    depth: int | None = None
    """How many levels of bodies and functions are shown; all unless given."""
    values: Switch = False
    """Include the values of all tensors (in JSON)."""
    profile: Switch = False
    """Show the time of each node: profiles the model now, or reads the trace that is named after it."""
    by: Literal["time", "memory", "headroom"] = "time"
    """What --profile shows: the time of each node, the size of its results, or what it could win at best on this
    machine."""


@Parameter(name="*", group=OUTPUT)
@dataclass(frozen=True)
class ViewOutput(OutputFlags):
    """Where it goes: files of several kinds, or one form on standard output."""

    as_: Annotated[Literal["text", "json", "dot", "svg", "png", "code"] | None, Parameter(name="--as")] = None
    """A listing, the documented JSON, Graphviz's dot, a drawing, or the Python code that the numpy runtime runs; the
    ending of a file name chooses the same."""
    open: Switch = False
    """Write the page of the linked graph (.html) to a temporary file that stays, and show it in the browser."""
    netron: OptionalFile = None
    """Write the profile as a metrics file (.json) to drop onto the model in Netron."""

    @property
    def form(self) -> "Form":
        """The form that options of a listing, or of JSON, are about."""
        from onnxperf.results.view import SUFFIXES, ViewResult

        if self.as_ is not None:
            return self.as_
        written = {suffix for _, suffix in self.files(ViewResult)}
        return next((form for form, suffix in SUFFIXES.items() if suffix in written), "text")

    @property
    def prints(self) -> bool:
        """Whether the listing is printed: nothing else was requested."""
        return self.as_ in (None, "text") and not any((self.output, self.json))

    @property
    def to_stdout(self) -> bool:
        """Whether standard output belongs to another program."""
        return super().to_stdout or not self.prints

    def files(self, kind: "type[Result[Any]]") -> Iterator[tuple[str, str]]:
        """Paths, and the suffixes that say what each file holds."""
        from onnxperf.results.view import NETRON

        if self.as_ is None:
            yield from super().files(kind)
        elif not self.prints:
            yield from ((path, self._suffix(path, kind)) for path in self.output or ["-"])
        if self.netron is not None:
            yield self.netron, NETRON

    def _suffix(self, path: str, kind: "type[Result[Any]]") -> str:
        """The suffix of the form that was requested; a name may not say otherwise."""
        from onnxperf.results.view import SUFFIXES

        suffix = SUFFIXES[self.as_ or "text"]
        if not path.lower().endswith(suffix) and path.lower().endswith(tuple(kind.formats())):
            raise BadOption(f"--as {self.as_} contradicts the ending of {path}; leave out one of them")
        return suffix


def view(
    model: File,
    trace: OptionalFile = None,
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

        onnxperf view model.onnx --profile --open

        onnxperf view model.onnx --profile -o model.svg

        onnxperf view model.onnx --profile --by headroom -o headroom.svg

        onnxperf view model.onnx --profile trace.json --netron metrics.json

    Parameters
    ----------
    model
        An ONNX file.
    trace
        A trace of this model that onnxruntime wrote (.json); without it, --profile runs the model.
    """
    from onnxperf.results.view import ViewResult, check_netron_path

    if output.as_ == "png" and not output.output:
        raise BadOption("a PNG is not text; name a file with -o model.png")
    if output.netron is not None:
        if not options.profile and trace is None:
            raise BadOption("`netron` writes what was profiled; add `profile`")
        check_netron_path(output.netron)

    page = ""
    if output.open:
        if output.as_ is not None:
            raise BadOption(f"--open shows a page; leave out --as {output.as_}")
        from onnxperf.cli.scratch import lasting_file

        page = str(lasting_file(".html"))
        output = replace(output, output=[*output.output, page])

    def show(progress: "Progress") -> "ViewResult":
        from onnxperf.api.view import view as drawn

        result = drawn(
            model,
            inputs.feeds(),
            as_=output.form,
            profile=trace if trace is not None else options.profile,
            progress=progress,
            **keywords_of(options, inputs, session),
        )
        if output.netron is not None and result.nameless:
            nodes = count(result.nameless, "node has", "nodes have")
            complain(f"{nodes} no name of their own: Netron cannot show their figures")
        return result

    try:
        code = present(ViewResult, output, show, page=lambda result: result.page() if output.prints else [])
    finally:
        if page and not Path(page).stat().st_size:
            Path(page).unlink()
            page = ""
    if page:
        print_text(page)
        _open(page)
    return code


def _open(page: str) -> None:
    """Show a page in the browser, where there is a screen; a browser for terminals would take over this one."""
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")):
        return
    import webbrowser

    webbrowser.open(Path(page).as_uri())
