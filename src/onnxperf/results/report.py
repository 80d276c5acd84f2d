"""Several results as one page, for a browser, a pull request or a notebook."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from pathlib import Path
from typing import Any

from onnxperf.render.kit.files import suffix_of, write
from onnxperf.render.web.story import Story
from onnxperf.results.base import Result

_HEIGHT = 900
"""Pixels of a page in a notebook, in which it scrolls."""


class Report:
    """What `onnxperf.report` returns: the results, and the page that tells their stories."""

    def __init__(self, results: Sequence[Result[Any]]) -> None:
        self.results = tuple(results)

    @property
    def answer(self) -> str:
        """All answers, one per line."""
        return "\n".join(each.answer for each in self.results if each.answer)

    def stories(self) -> list[Story]:
        """The results as pages tell them."""
        return [each.story() for each in self.results]

    def to_html(self) -> str:
        """A page that is one file and needs no network."""
        from onnxperf.render.web.document import report_html

        return report_html(self.stories())

    def to_markdown(self) -> str:
        """The same for a pull request."""
        from onnxperf.render.web.markdown import report_markdown

        return report_markdown(self.stories())

    def save(self, path: str | Path) -> None:
        """Write a page (.html) or Markdown (.md)."""
        write(Path(path), FORMATS[suffix_of(path, FORMATS)](self).encode())

    def __repr__(self) -> str:
        """What it is about, and the answers."""
        kinds = ", ".join(each.kind for each in self.results)
        return f"report of {kinds}:\n{self.answer}"

    def _repr_html_(self) -> str:
        page = escape(self.to_html())
        style = f"width:100%;height:{_HEIGHT}px;border:1px solid rgba(128,128,128,.35)"
        return f'<iframe sandbox="allow-scripts" title="report" style="{style}" srcdoc="{page}"></iframe>'


FORMATS: dict[str, Callable[[Report], str]] = {".html": Report.to_html, ".md": Report.to_markdown}
"""What a report can be written as."""
