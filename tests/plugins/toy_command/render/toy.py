"""The operators of a model as a page."""

from __future__ import annotations

from onnxperf.records.toy import Toy  # type: ignore[import-not-found]

from onnxperf.render.kit.old_table import plain_table
from onnxperf.render.kit.page import Heading, Part, closing
from onnxperf.wording.numbers import grouped


def toy_page(record: Toy) -> list[Part]:
    """A row per operator, and the answer."""
    rows = [[name, grouped(number)] for name, number in record.operators.items()]
    return [Heading(record.model), plain_table(["operator", "nodes"], rows), *closing(record.answer)]
