"""What was found for an einsum equation: a view on its record, with the graphs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from onnxperf.analyze.answers.race import notes_on_readings
from onnxperf.errors import BadInput
from onnxperf.records.einsum import EinsumPlan
from onnxperf.render.kit.page import Page
from onnxperf.render.race.einsum import limit_ratio, plan_page
from onnxperf.render.race.einsum_chart import orders_plot, race_plot
from onnxperf.render.web.sections.einsum import einsum_sections
from onnxperf.results.old_base import OldResult, frame_of
from onnxperf.results.old_formats import Format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from onnx import ModelProto
    from pandas import DataFrame


class EinsumResult(OldResult[EinsumPlan]):
    """What `onnxperf.optimize_einsum` returns: the graph that was chosen, and the race that decided."""

    tables = {"orders": lambda self: self.timings, "race": lambda self: _race(self.record)}
    charts = {"orders": orders_plot, "race": race_plot}
    sections = (einsum_sections,)
    own_formats = {".onnx": Format("the chosen graph", lambda result, _table: result.model, binary=True)}

    def __init__(
        self, record: EinsumPlan, model: bytes = b"", unoptimized: bytes = b"", decomposed: bytes = b""
    ) -> None:
        super().__init__(record)
        self._model = model
        self._unoptimized = unoptimized
        self._decomposed = decomposed

    def page(self) -> Page:
        """What was searched, the winner and the final race."""
        race = self.record.race
        return plan_page(self.record, notes_on_readings(race) if race is not None else ())

    @property
    def model(self) -> bytes:
        """The chosen graph as the content of a file."""
        return self._held(self._model)

    @property
    def unoptimized(self) -> bytes:
        """The decomposition of the equation as it was given, as the content of a file."""
        return self._held(self._unoptimized)

    @cached_property
    def onnx(self) -> ModelProto:
        """The chosen graph, with inputs X0, X1, ... and the output Y."""
        return _parsed(self.model)

    @cached_property
    def unoptimized_onnx(self) -> ModelProto:
        """The decomposition in the letter order of the equation as it was given."""
        return _parsed(self.unoptimized)

    @cached_property
    def decomposed(self) -> ModelProto:
        """The best graph without an Einsum node: the chosen one, or the next by speedup where that is an Einsum."""
        return _parsed(self._held(self._decomposed))

    @property
    def equation(self) -> str:
        """As it was given."""
        return self.record.equation

    @property
    def best_equation(self) -> str:
        """The equation in the letter order of the chosen graph."""
        return self.record.best_equation

    @cached_property
    def timings(self) -> DataFrame:
        """One row per letter order with its time in seconds, the fastest first, those without a time last."""
        rows = [(each.order, each.equation, each.graph, _seconds(each.time_ns)) for each in self.record.orders]
        frame = frame_of(rows, ["order", "equation", "graph", "time"])
        return frame.sort_values("time", kind="stable", ignore_index=True)

    def to_df(self) -> DataFrame:
        """The final race."""
        return self.table("race")

    def plot_race(self, ax: Axes | None = None) -> Axes:
        """The final race as bars."""
        return race_plot(self.record, ax)

    def _held(self, model: bytes) -> bytes:
        if not model:
            raise BadInput(
                f"the record of {self.equation} holds no graph; onnxperf.optimize_einsum finds it again or recalls it"
            )
        return model


def _parsed(model: bytes) -> ModelProto:
    import onnx

    return onnx.load_from_string(model)


def _seconds(ns: float | None) -> float:
    return float("nan") if ns is None else ns / 1e9


def _race(record: EinsumPlan) -> DataFrame:
    """One row per subject of the final race, its time in seconds, and how many times the limit that is."""
    rows = [
        (
            subject.name,
            subject.status,
            _seconds(subject.time_ns),
            subject.speedup,
            subject.speedup_low,
            subject.speedup_high,
            subject.verdict,
            limit_ratio(record, subject),
        )
        for subject in (record.race.subjects if record.race is not None else ())
    ]
    columns = ["name", "status", "time", "speedup", "speedup_low", "speedup_high", "verdict", "limit_ratio"]
    numbers = dict.fromkeys(("time", "speedup", "speedup_low", "speedup_high", "limit_ratio"), "float64")
    return frame_of(rows, columns).astype(numbers)
