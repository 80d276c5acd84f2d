"""What was found for an einsum equation: a view on its record, with the graphs."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from onnxperf.analyze.answers.race import notes_on_readings
from onnxperf.errors import BadInput, BadOption
from onnxperf.records.einsum import EinsumPlan
from onnxperf.render.kit.page import Page
from onnxperf.render.race.einsum import orders_charts, orders_table, plan_page, race_charts, race_table
from onnxperf.render.race.sections import charts_of_races
from onnxperf.results.base import Result, Show
from onnxperf.results.formats import Format

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from onnx import ModelProto
    from pandas import DataFrame


def _page(plan: EinsumPlan) -> Page:
    return plan_page(plan, notes_on_readings(plan.race) if plan.race is not None else ())


SHOW = Show(
    EinsumPlan,
    "einsum",
    _page,
    tables={"orders": orders_table, "race": race_table},
    charts={"orders": orders_charts, **charts_of_races(lambda plan: [plan.race]), "race": race_charts},
    own={".onnx": Format("the chosen graph", lambda result, _: result.model, binary=True)},
)


class EinsumResult(Result[EinsumPlan]):
    """What `onnxperf.optimize_einsum` returns: the chosen graph, and the race that decided."""

    show = SHOW

    def __init__(
        self, record: EinsumPlan, model: bytes = b"", unoptimized: bytes = b"", decomposed: bytes = b""
    ) -> None:
        super().__init__(record)
        self._model = model
        self._unoptimized = unoptimized
        self._decomposed = decomposed

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
        return self.table("orders")

    def to_df(self) -> DataFrame:
        """The final race."""
        return self.table("race")

    def plot_race(self, ax: Axes | None = None) -> Axes:
        """The speedups of the final race."""
        if self.record.race is None:
            raise BadOption("nothing was raced for this equation: only a search races")
        axes: Axes = self.drawn(self.charts("race"), ax)
        return axes

    def _held(self, model: bytes) -> bytes:
        if not model:
            raise BadInput(
                f"the record of {self.equation} holds no graph; onnxperf.optimize_einsum finds it again or recalls it"
            )
        return model


def _parsed(model: bytes) -> ModelProto:
    import onnx

    return onnx.load_from_string(model)
