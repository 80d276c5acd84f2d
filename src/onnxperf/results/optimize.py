"""What an optimisation did to a model: a view on its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxperf.records import Optimization, SourceGroup
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from pandas import DataFrame


class OptimizeResult:
    """What `onnxperf.optimize` returns; the optimised model is in the file `path`."""

    def __init__(self, record: Optimization) -> None:
        self.record = record

    @property
    def path(self) -> str:
        """File of the optimised model."""
        return self.record.output

    @property
    def answer(self) -> str:
        """The result in one plain sentence."""
        before, after = sum(self.record.before.values()), sum(self.record.after.values())
        fused = sum(group.kind == "fused" for group in self.record.groups)
        return f"{before} nodes became {after}; {fused} group{'' if fused == 1 else 's'} fused; written to {self.path}."

    def counts(self) -> DataFrame:
        """Nodes per operator type, before and after."""
        from pandas import DataFrame

        names = list(dict.fromkeys([*self.record.before, *self.record.after]))
        rows = [(name, self.record.before.get(name, 0), self.record.after.get(name, 0)) for name in names]
        return DataFrame(rows, columns=["op_name", "before", "after"])

    def to_df(self) -> DataFrame:
        """One row per group: which nodes became which."""
        from pandas import DataFrame

        fields = SourceGroup.__struct_fields__
        rows = [[getattr(group, name) for name in fields] for group in self.record.groups]
        return DataFrame(rows, columns=list(fields))

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.kit.old_export import to_json

        return to_json(self.record).decode()

    def __repr__(self) -> str:
        """The tables as the command line prints them, without colours."""
        from onnxperf.render.profile.profile import print_optimization

        return as_printed(print_optimization, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import optimization_html

        return optimization_html(self.record)
