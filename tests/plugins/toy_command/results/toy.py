"""What counting found."""

from __future__ import annotations

from onnxperf.records.toy import Toy  # type: ignore[import-not-found]
from onnxperf.render.race.toy import toy_page  # type: ignore[import-not-found]
from pandas import Series

from onnxperf.render.kit.page import Page
from onnxperf.results.old_base import OldResult


class ToyResult(OldResult[Toy]):
    """What `onnxperf.toy` returns."""

    tables = {"operators": lambda self: Series(self.record.operators, name="nodes").rename_axis("operator").to_frame()}

    def page(self) -> Page:
        """The operators."""
        page: Page = toy_page(self.record)
        return page
