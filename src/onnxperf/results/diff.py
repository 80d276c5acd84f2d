"""What a diff found: a view on its record that makes tables, charts and files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadOption
from onnxperf.records import Diff, DiffRow
from onnxperf.results.profile import ProfileResult
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from pandas import DataFrame

MIN_SHARE = 0.01
TABLES = ("merged", "labels")


class DiffResult:
    """What `onnxperf.diff` returns; `base` and `opti` are the profiles of its sides."""

    def __init__(self, record: Diff, base: ProfileResult, opti: ProfileResult) -> None:
        self.record = record
        self.base = base
        self.opti = opti

    @property
    def answer(self) -> str:
        """The result in one plain sentence."""
        return self.record.answer

    def merged(self, per_iteration: bool = True) -> DataFrame:
        """One row per node of both sides, an outer join; time in the usual iteration, or sums."""
        from pandas import DataFrame

        rows = [
            {
                "args_op_name": row.op_name,
                "args_output_type_shape": row.outputs,
                "args_input_type_shape": row.inputs,
                "args_provider": row.provider,
                "idx": row.idx,
                "durbase": _time(row, "base", per_iteration),
                "duropti": _time(row, "opti", per_iteration),
                "side": row.side,
                "noise": row.noise,
                "base_name": row.base_name,
                "opti_name": row.opti_name,
                "path": "/".join(row.path),
                "label": row.label,
            }
            for row in self.record.rows
        ]
        return DataFrame(rows)

    def by_label(self, per_iteration: bool = True, min_share: float = 0.0) -> DataFrame:
        """Times by label, the most costly first; labels under `min_share` of all time are left out."""

        merged = self.merged(per_iteration)
        sums = merged.groupby("label").agg(
            durbase=("durbase", "sum"),
            duropti=("duropti", "sum"),
            idx=("idx", "max"),
            side=("side", "first"),
            noise=("noise", "all"),
        )
        both = sums["durbase"] + sums["duropti"]
        kept = sums[both >= min_share * both.sum()]
        ordered: DataFrame = kept.loc[both[kept.index].sort_values(ascending=False, kind="stable").index]
        return ordered

    def plot(self, min_share: float = MIN_SHARE, ax: Any = None) -> Any:
        """Duration and count, side by side, per label."""
        from onnxperf.render.profile.profile_chart import diff_plot

        return diff_plot(self.record, min_share, ax)

    def plot_operators(self) -> Any:
        """Duration and occurrences per operator, of the baseline and below of the optimised side."""
        from onnxperf.render.profile.profile_chart import operators_plot

        return operators_plot(self.record)

    def table(self, name: str) -> DataFrame:
        """One of the tables by its name: merged, labels."""
        if name not in TABLES:
            raise BadOption.unknown("table", name, TABLES)
        return self.merged() if name == "merged" else self.by_label().reset_index()

    def save(self, path: str | Path, table: str = "merged") -> None:
        """Write .json, .xlsx (all tables), .csv or .parquet (one of them), or a .png or .svg chart."""
        from onnxperf.render.kit import frames as tables
        from onnxperf.render.kit.old_export import write
        from onnxperf.render.profile import profile_chart as profile_plots

        path = Path(path)
        match path.suffix.lower():
            case ".json":
                write(path, self.to_json().encode())
            case ".xlsx":
                sides = {"base nodes": self.base.by_node(), "opti nodes": self.opti.by_node()}
                tables.write_workbook({name: self.table(name) for name in TABLES} | sides, path)
            case ".csv" | ".parquet":
                tables.write_table(self.table(table), path)
            case ".png" | ".svg":
                profile_plots.save_figure(profile_plots.figure_of(self.plot()), path)
            case suffix:
                known = (".json", ".xlsx", ".csv", ".parquet", ".png", ".svg")
                raise BadOption.unknown("kind of file", suffix or path.name, known)

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        from onnxperf.render.kit.old_export import to_json

        return to_json(self.record).decode()

    def __repr__(self) -> str:
        """The tables as the command line prints them, without colours."""
        from onnxperf.render.profile.profile import print_diff

        return as_printed(print_diff, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import diff_html

        return diff_html(self.record)


def _time(row: DiffRow, side: str, per_iteration: bool) -> float:
    times = getattr(row, f"{side}_us")
    if not times:
        return float("nan")
    return float(getattr(row, f"{side}_usual_us") if per_iteration else sum(times))
