"""Results as they were, until all features have moved to `Show`."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args

from msgspec import Struct

from onnxperf.analyze.judges.outcome import answers_of, status_of, topic_of
from onnxperf.errors import BadOption
from onnxperf.records.runs import RunStatus
from onnxperf.render.kit.documents import to_json
from onnxperf.render.kit.files import suffix_of, write
from onnxperf.render.kit.html import page_html
from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.web.old_base import Section, Story
from onnxperf.results.base import Result
from onnxperf.results.formats import Wanted
from onnxperf.results.old_formats import FORMATS, Format

if TYPE_CHECKING:
    from pandas import DataFrame

    from onnxperf.results.report import Report

R = TypeVar("R", bound=Struct)


class OldResult(Result[R]):
    """What a public function returns: a view on its record that makes tables, charts and files."""

    tables: ClassVar[Mapping[str, Callable[[Any], DataFrame]]] = {}
    """DataFrames by name; the first is the one of `to_df` and of files that hold one table."""
    charts: ClassVar[Mapping[str, Callable[..., Any]]] = {}
    """Functions of the record and of axes to draw on, by name; the first is `plot`."""
    sections: ClassVar[Sequence[Callable[[Any], Sequence[Section]]]] = ()
    """Functions that tell a part of the story of the record, in their order, on an HTML page."""
    own_formats: ClassVar[Mapping[str, Format]] = {}
    """Kinds of files beyond the common ones, or other meanings of their suffixes."""

    kind: ClassVar[str] = ""
    """The word for such runs in the store; the name of the module unless given."""

    def __init__(self, record: R) -> None:
        self.record = record
        self.run = ""
        """Id of the run in the store, if it is kept there."""
        self.tags: dict[str, str] = {}
        """Tags of that run."""
        self.unwritten = ""
        """A file that was requested and could not be written; a note says why."""

    def __init_subclass__(cls) -> None:
        """Name the kind of a class after its module."""
        cls.kind = cls.__dict__.get("kind") or cls.__module__.rpartition(".")[2]

    def columns(self, name: str | None = None) -> Any:
        """What files are made from."""
        return self.sheet(name)

    def named_in(self, path: str | Path, suffix: str, wanted: Wanted) -> Any:
        """The table that the name of a file chooses."""
        return wanted._replace(table=self.table_in(path, suffix) or wanted.table)

    @property
    def answer(self) -> str:
        """The result in plain sentences, one per case."""
        return "\n".join(answers_of(self.record))

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
        """Whether it has the decision and the files that were requested."""
        return True

    def to_df(self) -> DataFrame:
        """The first of the tables."""
        return self.table()

    def table_names(self) -> list[str]:
        """The tables that this result has."""
        return list(self.tables)

    def table(self, name: str | None = None) -> DataFrame:
        """One of the tables by its name, or the first."""
        name = next(iter(self.tables), "") if name is None else name
        if name not in self.tables:
            raise BadOption.unknown("table", name, self.tables, option="table")
        return self.tables[name](self)

    def sheet(self, name: str | None = None) -> DataFrame:
        """A table as files hold it: with a last row of totals, where its rows add up to something."""
        return self.table(name)

    def plot(self, ax: Any = None) -> Any:
        """The first of the charts; returns matplotlib's axes."""
        if not self.charts:
            raise BadOption(f"a {type(self).__name__} has no chart")
        return next(iter(self.charts.values()))(self.record, ax)

    def to_json(self) -> str:
        """The whole record."""
        return to_json(self.record).decode()

    def to_markdown(self) -> str:
        """The page with its tables, answer and notes."""
        return page_markdown(self.page())

    def story_sections(self) -> list[Section]:
        """What an HTML page shows above the page of the command line."""
        return [section for tell in self.sections for section in tell(self.record)]

    def story(self) -> Story:
        """The result as an HTML page tells it."""
        from onnxperf.analyze.answers.limits import limits_of
        from onnxperf.render.web.old_story import Claim, story_of

        answers, limits = self.answer.splitlines(), limits_of(self.record)
        claim = Claim(self.kind, topic_of(self.record), answers, limits, self.interrupted)
        return story_of(self.record, claim, self.story_sections(), self.page())

    def to_html(self) -> str:
        """A page that is one file: the answer, charts, tables, conditions; it needs no network."""
        from onnxperf.render.web.document import report_html  # Jinja takes its time to load

        return report_html([self.story()])

    def report(self) -> Report:
        """That page as something that a notebook shows."""
        from onnxperf.results.report import Report

        return Report([self])

    @classmethod
    def formats(cls) -> dict[str, Format]:
        """The suffixes of files that `save` writes, and what each file holds."""
        has = {"table": bool(cls.tables), "chart": bool(cls.charts)}
        common = {suffix: each for suffix, each in FORMATS.items() if has.get(each.of, True)}
        return {**common, **cls.own_formats}

    def encode(self, suffix: str, table: Any = None) -> bytes:
        """What a file of this kind holds; `table` chooses one where there are several."""
        return self.formats()[suffix].make(self, table.table if isinstance(table, Wanted) else table)

    def save(self, path: str | Path, table: str | None = None) -> None:
        """Write a file in the format of its extension; `table`, or a name such as all.flat.csv, chooses the table."""
        suffix = suffix_of(path, self.formats())
        self.write(Path(path), suffix, table or self.table_in(path, suffix))

    def write(self, path: Path, suffix: str, table: Any) -> None:
        """Write one file; a result whose file may need others next to it writes these, too."""
        write(path, self.encode(suffix, table))

    def needs_a_folder(self, _suffix: str) -> bool:
        """Whether such a file has others next to it, and cannot go to standard output."""
        return False

    @classmethod
    def table_in(cls, path: str | Path, suffix: str) -> str | None:
        """The table that the name of a file chooses, as all.flat.csv does: page and tables come from one run then."""
        name = Path(path).name[: -len(suffix)].rpartition(".")[2]
        return name if name in cls.tables and name != Path(path).name[: -len(suffix)] else None

    def __repr__(self) -> str:
        """The page as the command line prints it, without colours."""
        from onnxperf.render.kit.console import page_text  # rich takes its time to load

        return page_text(self.page())

    def _repr_html_(self) -> str:
        return page_html(self.page())


def with_total(frame: DataFrame, total: Mapping[str, object]) -> DataFrame:
    """The table with one more row: what it has in these columns, and nothing in the others."""
    from pandas import DataFrame, concat

    last = DataFrame([[total.get(name) for name in frame.columns]], columns=frame.columns, dtype="object")
    kinds = {name: kind for name, kind in frame.dtypes.items() if last[name].notna().all()}
    return concat([frame, last.astype(kinds)], ignore_index=True)


def frame_of(rows: Iterable[Sequence[object]], columns: Sequence[str]) -> DataFrame:
    """Rows of values as a table."""
    from pandas import DataFrame  # takes its time to load

    return DataFrame(list(rows), columns=list(columns))


def struct_frame(rows: Sequence[Struct], kind: type[Struct]) -> DataFrame:
    """One row per record and one column per field; sizes in bytes stay whole numbers where some are missing."""
    fields = kind.__struct_fields__
    frame = frame_of([[getattr(row, field) for field in fields] for row in rows], fields)
    return frame.astype({name: "Int64" for name in fields if name.endswith("_bytes")})


@cache
def old_classes() -> dict[type[Struct], type[OldResult[Any]]]:
    """The class of result for every class of record: a new one is found because it is in this package."""
    package = importlib.import_module("onnxperf.results")
    modules = [
        importlib.import_module(f"{package.__name__}.{each.name}") for each in pkgutil.iter_modules(package.__path__)
    ]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, type)]
    results = [each for each in found if issubclass(each, OldResult) and each is not OldResult]
    return {_record_class(each): each for each in results}


def _record_class(kind: type) -> type[Struct]:
    bases = getattr(kind, "__orig_bases__", ())
    found = (argument for base in bases for argument in get_args(base) if isinstance(argument, type))
    return next(found)
