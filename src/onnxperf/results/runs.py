"""The runs of the store: a view that makes tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, overload

from onnxperf.records.runs import KeptRun
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from pandas import DataFrame


class RunsResult(Sequence[KeptRun]):
    """What `onnxperf.runs` returns: the runs, the newest first."""

    def __init__(self, records: Sequence[KeptRun]) -> None:
        self.records = tuple(records)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.records)

    def __iter__(self) -> Iterator[KeptRun]:
        """One after the other."""
        return iter(self.records)

    @overload
    def __getitem__(self, index: int) -> KeptRun: ...
    @overload
    def __getitem__(self, index: slice) -> RunsResult: ...
    def __getitem__(self, index: int | slice) -> KeptRun | RunsResult:
        """The run at a place, or several of them."""
        return RunsResult(self.records[index]) if isinstance(index, slice) else self.records[index]

    def to_df(self) -> DataFrame:
        """One row per run; started and finished are times with their zone."""
        from pandas import DataFrame, to_datetime

        fields = list(KeptRun.__struct_fields__)
        table = DataFrame([[getattr(run, field) for field in fields] for run in self.records], columns=fields)
        for column in ("started", "finished"):
            table[column] = to_datetime(table[column], utc=True, format="ISO8601")
        return table

    def __repr__(self) -> str:
        """The table as the command line prints it, without colours."""
        from onnxperf.render.race.runs import print_runs

        return as_printed(print_runs, self.records)

    def _repr_html_(self) -> str:
        return str(self.to_df().to_html(index=False))
