"""What was found for an einsum equation, and what a rewrite did to a model: views on their records."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxperf.errors import BadOption
from onnxperf.records import EinsumPlan, Rewrite, RewrittenSite
from onnxperf.results.showing import as_printed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from onnx import ModelProto
    from pandas import DataFrame

_RACE_COLUMNS = ("name", "status", "median", "speedup", "speedup_low", "speedup_high", "verdict", "limit_ratio")


class EinsumResult:
    """What `onnxperf.optimize_einsum` returns: the fastest graph, and the times that say so."""

    def __init__(self, record: EinsumPlan, model: bytes, unoptimized: bytes) -> None:
        self.record = record
        self.model = model
        self.unoptimized = unoptimized

    @cached_property
    def onnx(self) -> ModelProto:
        """The winner, with inputs X0, X1, ... and the output Y."""
        return _parsed(self.model)

    @cached_property
    def unoptimized_onnx(self) -> ModelProto:
        """The decomposition in the letter order of the equation as it was given."""
        return _parsed(self.unoptimized)

    @property
    def equation(self) -> str:
        """As it was given."""
        return self.record.equation

    @property
    def best_equation(self) -> str:
        """The equation in the letter order of the winner."""
        return self.record.best_equation

    @property
    def answer(self) -> str:
        """The result in one plain sentence."""
        return self.record.answer

    @cached_property
    def timings(self) -> DataFrame:
        """One row per letter order with its time in seconds, the fastest first, those without a time last."""
        from pandas import DataFrame

        rows = [(each.order, each.equation, each.graph, _seconds(each.time_ns)) for each in self.record.orders]
        frame = DataFrame(rows, columns=["order", "equation", "graph", "time"])
        return frame.sort_values("time", kind="stable", ignore_index=True)

    def to_df(self) -> DataFrame:
        """The final race: one row per subject, its median in seconds, and how many times the limit that is."""
        from pandas import DataFrame

        from onnxperf.render.race.einsum import limit_ratio

        race = self.record.race
        rows = [
            (
                subject.name,
                subject.status,
                _seconds(subject.median_ns),
                subject.speedup,
                subject.speedup_low,
                subject.speedup_high,
                subject.verdict,
                limit_ratio(self.record, subject),
            )
            for subject in (race.subjects if race is not None else ())
        ]
        numbers = dict.fromkeys(("median", "speedup", "speedup_low", "speedup_high", "limit_ratio"), "float64")
        return DataFrame(rows, columns=list(_RACE_COLUMNS)).astype(numbers)

    def plot(self, ax: Axes | None = None) -> Axes:
        """A bar per letter order."""
        from onnxperf.render.race.einsum_chart import orders_plot

        return orders_plot(self.record, ax)

    def plot_race(self, ax: Axes | None = None) -> Axes:
        """The final race as bars."""
        from onnxperf.render.race.einsum_chart import plan_plot

        return plan_plot(self.record, ax)

    def save(self, path: str | Path) -> None:
        """Write the winner as .onnx, the record as .json, the letter orders as .csv or as a .png or .svg chart."""
        from onnxperf.render.kit.chart import figure_of, save_figure
        from onnxperf.render.kit.frames import write_table
        from onnxperf.render.kit.old_export import write

        path = Path(path)
        match path.suffix.lower():
            case ".onnx":
                write(path, self.model)
            case ".json":
                write(path, self.to_json().encode())
            case ".csv":
                write_table(self.timings, path)
            case ".png" | ".svg":
                save_figure(figure_of(self.plot()), path)
            case suffix:
                raise BadOption.unknown("kind of file", suffix or path.name, (".onnx", ".json", ".csv", ".png", ".svg"))

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        return _json(self.record)

    def __repr__(self) -> str:
        """The table as the command line prints it, without colours."""
        from onnxperf.render.race.einsum import print_plan

        return as_printed(print_plan, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import einsum_html

        return einsum_html(self.record)


class RewriteResult:
    """What became of the Einsum nodes of a model; the rewritten model is in the file `path`."""

    def __init__(self, record: Rewrite) -> None:
        self.record = record

    @property
    def path(self) -> str:
        """File of the rewritten model; empty when nothing was gained and nothing written."""
        return self.record.output

    @property
    def answer(self) -> str:
        """The result in one plain sentence."""
        return self.record.answer

    def to_df(self) -> DataFrame:
        """One row per group of equal Einsum nodes."""
        from pandas import DataFrame

        fields = RewrittenSite.__struct_fields__
        rows = [[getattr(site, name) for name in fields] for site in self.record.sites]
        return DataFrame(rows, columns=list(fields))

    def to_json(self) -> str:
        """The whole record, as --json writes it."""
        return _json(self.record)

    def __repr__(self) -> str:
        """The table as the command line prints it, without colours."""
        from onnxperf.render.race.einsum import print_rewrite

        return as_printed(print_rewrite, self.record)

    def _repr_html_(self) -> str:
        from onnxperf.render.kit.old_html import rewrite_html

        return rewrite_html(self.record)


def _parsed(model: bytes) -> ModelProto:
    import onnx

    return onnx.load_from_string(model)


def _seconds(ns: float | None) -> float:
    return float("nan") if ns is None else ns / 1e9


def _json(record: Any) -> str:
    from onnxperf.render.kit.old_export import to_json

    return to_json(record).decode()
