"""A model made visible: a text or a picture that shows itself, with the record behind it."""

from __future__ import annotations

import base64
from html import escape
from pathlib import Path
from typing import Literal

from onnxperf.errors import BadOption
from onnxperf.records.view import GraphView, Metrics
from onnxperf.wording.names import name_of

Form = Literal["text", "json", "dot", "svg", "png", "code"]


class ViewResult:
    """What `onnxperf.view` returns: `str()` is the text, a notebook shows the picture, `save` writes the file."""

    def __init__(
        self,
        record: GraphView,
        form: Form,
        content: str | bytes,
        metrics: Metrics | None = None,
        interrupted: bool = False,
    ) -> None:
        self.record = record
        self.form = form
        self.content = content
        self.metrics = metrics
        self.interrupted = interrupted
        """Whether the profile was stopped before its end."""

    def __str__(self) -> str:
        """The text; of a PNG only its size."""
        if isinstance(self.content, str):
            return self.content
        return f"PNG of {name_of(self.record.model)}, {len(self.content):,} bytes"

    def __repr__(self) -> str:
        """The same as the text; of an SVG, which nobody reads, only its size."""
        if self.form == "svg":
            return f"SVG of {name_of(self.record.model)}, {len(self.content):,} characters"
        return str(self).rstrip("\n")

    def _repr_html_(self) -> str:
        if isinstance(self.content, bytes):
            encoded = base64.b64encode(self.content).decode()
            return _window(f'<img src="data:image/png;base64,{encoded}" alt="graph" style="max-width:none">')
        return _window(self.content) if self.form == "svg" else f"<pre>{escape(self.content)}</pre>"

    def save(self, path: str | Path) -> None:
        """Write it to a file."""
        from onnxperf.render.kit.old_export import write

        write(Path(path), self.content.encode() if isinstance(self.content, str) else self.content)

    def save_netron(self, path: str | Path) -> int:
        """Write what the nodes cost as a file to drop onto the model in Netron.

        Returns how many nodes have no name of their own: Netron cannot tell which they are.
        """
        from onnxperf.render.graph.netron import graph_netron, nameless
        from onnxperf.render.kit.old_export import write

        if self.metrics is None:
            raise BadOption("only a view with a profile has metrics for Netron; give profile=True, or --profile")
        check_netron_path(path)
        write(Path(path), graph_netron(self.record, self.metrics).encode())
        return nameless(self.record, self.metrics)


def check_netron_path(path: str | Path) -> None:
    """Refuse a file that Netron would not take."""
    if Path(path).suffix.lower() != ".json":
        raise BadOption(f"cannot write {str(path)!r}: Netron reads metrics only from a file that ends with .json")


def _window(picture: str) -> str:
    """A large picture takes a part of the page; where a notebook runs no scripts, it scrolls in there."""
    from onnxperf.render.graph.script import NOTEBOOK_HEIGHT

    return f'<div style="max-height:{NOTEBOOK_HEIGHT}px;overflow:auto">{picture}</div>'
