"""What a check found: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records import Check, Difference
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from pandas import DataFrame


class CheckResult:
    """What `onnxperf.check` returns; true when both sides agree."""

    def __init__(self, record: Check) -> None:
        self.record = record

    @property
    def equal(self) -> bool:
        """Whether all outputs agree."""
        return self.record.equal

    def __bool__(self) -> bool:
        """Whether all outputs agree."""
        return self.equal

    def to_df(self) -> DataFrame:
        """One row per output."""
        from pandas import DataFrame

        fields = Difference.__struct_fields__
        rows = [[getattr(output, field) for field in fields] for output in self.record.outputs]
        return DataFrame(rows, columns=list(fields))

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.kit.old_export import to_json

        return to_json(self.record).decode()

    def __repr__(self) -> str:
        """The table as the command line prints it, without colours."""
        from onnxperf.render.race.check import print_check

        return as_printed(print_check, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import check_html

        return check_html(self.record)
