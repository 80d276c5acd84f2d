"""What a check found: a view on its record."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

from onnxperf.analyze.answers.check import check_answer
from onnxperf.errors import FileNotWritten
from onnxperf.records.check import Check
from onnxperf.render.race.check import check_page, differences_charts, differences_table
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format

NodeArrays = Mapping[str, Any]
"""Inputs of a node, and its outputs on both sides."""

SHOW = Show(
    Check,
    "check",
    lambda record: check_page(record, check_answer(record)),
    tables={"outputs": differences_table},
    charts={"differences": differences_charts},
    own={
        ".npz": Format(
            "inputs and outputs of the first node that differs", lambda result, _: result.node_bytes(), binary=True
        )
    },
)


class CheckResult(Result[Check]):
    """What `onnxperf.check` returns; true when both sides agree."""

    show = SHOW

    def __init__(self, record: Check, arrays: NodeArrays | None = None) -> None:
        super().__init__(record)
        self.arrays = dict(arrays or {})
        """Inputs of the first node that differs, and its outputs on both sides."""

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
