"""What every result has in common: its record, and from it a page, tables, charts and files."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

from msgspec import Struct

from onnxperf.analyze.answers.limits import limits_of
from onnxperf.analyze.judges.outcome import answers_of, status_of, topic_of
from onnxperf.errors import BadOption
from onnxperf.records.runs import RunStatus
from onnxperf.render.charts.base import Chart, Width
from onnxperf.render.kit.documents import to_json
from onnxperf.render.kit.files import suffix_of, write
from onnxperf.render.kit.frames import frame_of
from onnxperf.render.kit.html import page_html
from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.kit.page import Heading, Page
from onnxperf.render.kit.table import Table
from onnxperf.render.web.story import Story, spelled, story_of
from onnxperf.results.formats import COMMON, Format, Wanted

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from onnxperf.results.report import Report

R = TypeVar("R", bound=Struct)


class Show(NamedTuple, Generic[R]):
    """How a kind of record is shown and written, in one place; each function takes the record."""

    record: type[R]
    kind: str
    """The word for such runs in the store: the command."""
    page: Callable[[R], Page]
    """All that is shown, as tagged parts."""
    tables: Mapping[str, Callable[[R], Table[Any]]] = {}
    """By name; the first is the one of `to_df` and of files that hold one table."""
    charts: Mapping[str, Callable[[R], Sequence[Chart]]] = {}
    """By name; the first is `plot` and what .png and .svg hold. Several charts are panels of one picture."""
    own: Mapping[str, Format] = {}
    """Kinds of files besides the common ones, or other meanings of their suffixes."""

    def formats(self) -> dict[str, Format]:
        """The suffixes of files that `save` writes, and what each file holds."""
        has = {"table": bool(self.tables), "chart": bool(self.charts)}
        common = {suffix: each for suffix, each in COMMON.items() if has.get(each.of, True)}
        return {**common, **self.own}


class Result(Generic[R]):
    """What a public function returns: a view on its record that makes tables, charts and files."""

    show: ClassVar[Show[Any]]
    """How its record is shown; without one, it is found by the type of the record."""

    def __init__(self, record: R) -> None:
        self.record = record
        self.run = ""
        """Id of the run in the store, if it is kept there."""
        self.tags: dict[str, str] = {}
        """Tags of that run."""
        self.unwritten = ""
        """A requested file that could not be written; a note gives the reason."""

    @property
    def shown(self) -> Show[R]:
        """How its record is shown and written."""
        return self.show if hasattr(self, "show") else shows()[type(self.record)]

    @property
    def kind(self) -> str:
        """The word for such runs in the store."""
        return self.shown.kind

    def page(self) -> Page:
        """All that is shown: the console, Markdown, notebooks and HTML pages choose from its parts."""
        return self.shown.page(self.record)

    @property
    def answer(self) -> str:
        """The result in plain sentences, one per case."""
        return "\n".join(answers_of(self.record))

    @property
    def headline(self) -> str:
        """The answer as the title of a chart."""
        return self.answer

    @property
    def topic(self) -> str:
        """What it is about, for the title of a page."""
        return topic_of(self.record)

    @property
    def status(self) -> RunStatus:
        """How it ended: ok, interrupted, or the first fault."""
        return status_of(self.record)

    @property
    def ok(self) -> bool:
        """Whether all of it was measured without a fault."""
        return self.status == "ok"

    @property
    def interrupted(self) -> bool:
        """Whether the user stopped it before its end."""
        return self.status == "interrupted"

    @property
    def has_answer(self) -> bool:
        """Whether it has the decision and the requested files."""
        return True

    # ---------------------------------------------------------------- tables

    def to_df(self) -> DataFrame:
        """The first of the tables."""
        return self.table()

    def table_names(self) -> list[str]:
        """The tables that this result has."""
        return list(self.shown.tables)

    def table(self, name: str | None = None) -> DataFrame:
        """One of the tables by its name, or the first."""
        return frame_of(self.columns(name))

    def columns(self, name: str | None = None) -> Table[Any] | DataFrame:
        """The same as rows and columns, which files are made from; what is large may be a DataFrame at once."""
        name = next(iter(self.table_names()), "") if name is None else name
        if name not in self.shown.tables:
            raise BadOption.unknown("table", name, self.shown.tables, option="table")
        return self.shown.tables[name](self.record)

    # ---------------------------------------------------------------- charts

    def charts(self, name: str | None = None) -> Sequence[Chart]:
        """The panels of one of the charts by its name, or of the first that has something to draw."""
        if name is not None and name not in self.shown.charts:
            raise BadOption.unknown("chart", name, self.shown.charts, option="chart")
        if name is not None:
            return self.shown.charts[name](self.record)
        every = (make(self.record) for make in self.shown.charts.values())
        return next((found for found in every if found), ())

    def plot(self, ax: Any = None, chart: str | None = None, width: Width = "page") -> Any:
        """Draw a chart, the first unless another is named, on axes of yours or on a new figure; returns the axes."""
        if not self.shown.charts:
            raise BadOption(f"a result of {self.kind} has no chart")
        return self.drawn(self.charts(chart), ax, width)

    def drawn(self, panels: Sequence[Chart], ax: Any = None, width: Width = "page") -> Any:
        """These charts on axes of yours or on a new figure, with the answer as its title; returns the axes."""
        from onnxperf.render.paint.figure import draw_on, quiet  # matplotlib takes its time to load

        return draw_on(ax, panels, self.topic) if ax is not None else quiet(self.figure(panels, width).axes[0])

    def figure(self, panels: Sequence[Chart], width: Width = "page") -> Figure:
        """These charts as panels of a new figure: the answer is its title, the conditions stand below."""
        from onnxperf.render.paint.figure import figure_of

        heading = next((part for part in self.page() if isinstance(part, Heading)), Heading(""))
        conditions = " · ".join(filter(None, [self.topic, *heading.facts]))
        return figure_of(panels, spelled(self.record, self.headline), conditions, width)

    # ---------------------------------------------------------------- files

    def to_json(self) -> str:
        """The whole record."""
        return to_json(self.record).decode()

    def to_markdown(self) -> str:
        """The page with its tables, answer and notes."""
        return page_markdown(self.page(), partial(spelled, self.record))

    def story(self) -> Story:
        """The result as an HTML page shows it."""
        return story_of(self.record, self.kind, self.topic, limits_of(self.record), self.page())

    def to_html(self) -> str:
        """A page that is one file: the answer, charts, tables, conditions; it needs no network."""
        from onnxperf.render.web.document import report_html  # Jinja takes its time to load

        return report_html([self.story()])

    def report(self) -> Report:
        """That page as something that a notebook shows."""
        from onnxperf.results.report import Report

        return Report([self])

    def formats(self) -> dict[str, Format]:
        """The suffixes of files that `save` writes, and what each file holds."""
        return self.shown.formats()

    def encode(self, suffix: str, wanted: Wanted = Wanted()) -> bytes:  # noqa: B008
        """What a file of this kind holds."""
        return self.formats()[suffix].make(self, wanted)

    def save(
        self, path: str | Path, table: str | None = None, *, chart: str | None = None, width: Width = "page"
    ) -> None:
        """Write a file in the format of its extension.

        `table` and `chart` choose one of several, as a name such as all.blocks.csv or all.nodes.png does; `width` is
        that of a picture: a column or a page of a paper.
        """
        suffix = suffix_of(path, self.formats())
        self.write(Path(path), suffix, self.named_in(path, suffix, Wanted(table, chart, width)))

    def write(self, path: Path, suffix: str, wanted: Wanted) -> None:
        """Write one file; a result whose file may need others next to it writes these, too."""
        write(path, self.encode(suffix, wanted))

    def needs_a_folder(self, _suffix: str) -> bool:
        """Whether such a file has others next to it, and cannot go to standard output."""
        return False

    def named_in(self, path: str | Path, suffix: str, wanted: Wanted) -> Wanted:
        """The table or chart that the name of a file chooses, as all.blocks.csv does."""
        stem, dot, name = Path(path).name[: -len(suffix)].rpartition(".")
        if not dot or not stem:
            return wanted
        return wanted._replace(
            table=name if name in self.shown.tables else wanted.table,
            chart=name if name in self.shown.charts else wanted.chart,
        )

    # ---------------------------------------------------------------- in Python

    def __repr__(self) -> str:
        """The page as the command line prints it, without colors."""
        from onnxperf.render.kit.console import page_text  # rich takes its time to load

        return page_text(self.page())

    def _repr_html_(self) -> str:
        return page_html(self.page())


@cache
def shows() -> dict[type[Struct], Show[Any]]:
    """How each kind of record is shown: a new one is found because it is in this package."""
    found = (each for module in _modules() for each in vars(module).values() if isinstance(each, Show))
    return {each.record: each for each in found}


@cache
def result_classes() -> dict[type[Struct], type[Result[Any]]]:
    """The class of result for every kind of record: `Result`, or one with more methods."""
    found = [each for module in _modules() for each in vars(module).values() if isinstance(each, type)]
    own = {each.show.record: each for each in found if issubclass(each, Result) and hasattr(each, "show")}
    return {record: own.get(record, Result) for record in shows()}


def _modules() -> list[Any]:
    package = importlib.import_module("onnxperf.results")
    names = [each.name for each in pkgutil.iter_modules(package.__path__)]
    return [importlib.import_module(f"{package.__name__}.{name}") for name in names]
