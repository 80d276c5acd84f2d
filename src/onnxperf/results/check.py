"""What a check found: a view on its record."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from onnxperf.analyze.answers.check import check_answer
from onnxperf.errors import FileNotWritten
from onnxperf.records.check import Check, Difference
from onnxperf.render.kit.page import Page
from onnxperf.render.race.check import check_page
from onnxperf.render.web.sections.check import check_sections
from onnxperf.results.old_base import OldResult, struct_frame
from onnxperf.results.old_formats import Format

NodeArrays = Mapping[str, Any]
"""Inputs of a node, and its outputs on both sides."""


class CheckResult(OldResult[Check]):
    """What `onnxperf.check` returns; true when both sides agree."""

    tables = {"outputs": lambda self: struct_frame(self.record.outputs, Difference)}
    """One row per output."""
    sections = (check_sections,)
    own_formats = {
        ".npz": Format(
            "inputs and outputs of the first node that differs", lambda result, _table: result.node_bytes(), binary=True
        )
    }

    def __init__(self, record: Check, arrays: NodeArrays | None = None) -> None:
        super().__init__(record)
        self.arrays = dict(arrays or {})
        """Inputs of the first node that differs, and its outputs on both sides."""

    def page(self) -> Page:
        """Every output with its differences, and where they begin."""
        return check_page(self.record, self.answer)

    @property
    def answer(self) -> str:
        """Whether both sides agree, and where they do not, in plain sentences."""
        return check_answer(self.record)

    @property
    def equal(self) -> bool:
        """Whether all outputs agree."""
        return self.record.equal

    def __bool__(self) -> bool:
        """Whether all outputs agree."""
        return self.equal

    def node_bytes(self) -> bytes:
        """The arrays of the first node that differs as a .npz file, without pickles."""
        import numpy as np

        if not self.arrays:
            raise FileNotWritten(f"no .npz file is written: {self._without_arrays()}")
        plain = {name: each.astype(str) if each.dtype.kind == "O" else each for name, each in self.arrays.items()}
        data = io.BytesIO()
        np.savez(data, allow_pickle=False, **plain)
        return data.getvalue()

    def _without_arrays(self) -> str:
        """Why there is nothing to write."""
        if self.record.node is not None:
            return "this record holds no arrays; check again"
        return "no node differs" if self.record.walked else "nodes were not compared"
