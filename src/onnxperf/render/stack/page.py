"""Where the time of many calls goes, as a page."""

from __future__ import annotations

from onnxperf.records.stack import CodeShares, FunctionShare, Stack
from onnxperf.render.kit.old_table import Column, Row, Table
from onnxperf.render.kit.page import Heading, Part, Verbatim, closing
from onnxperf.render.stack.allocations import allocation_parts
from onnxperf.wording.numbers import count, duration, percent, whole_percent


def stack_page(record: Stack, tree: Verbatim | None = None, top: int = 15) -> list[Part]:
    """The tree, which a record from a store lacks; the busiest functions, the memory taken, the answer, the notes."""
    heading = Heading(
        record.name,
        [record.runtime, record.call or "", count(record.calls, "call"), f"{duration(record.call_ns)} per call"],
    )
    return [
        tree if tree is not None else heading,
        *([functions_table(record, top)] if record.functions else []),  # runs of earlier versions have none
        *(native_tables(record, top) if record.native else []),
        *(allocation_parts(record.allocations, top) if record.allocations is not None else []),
        *closing(record.answer, record.notes),
    ]


def native_tables(record: Stack, top: int) -> list[Table]:
    """The libraries by their share, and the busiest functions, compiled ones among them."""
    return [*([_libraries(record.shares)] if record.shares is not None else []), _native_functions(record, top)]


def _libraries(shares: CodeShares) -> Table:
    parts = {"Python": shares.python, **shares.libraries, "unknown": shares.unknown}
    order = sorted((name for name, share in parts.items() if share > 0), key=lambda name: -parts[name])
    rows = [Row([percent(parts[name]), name]) for name in order]
    return Table([Column("share"), Column("library", left=True, room=20)], rows, "Time in each library itself")


def _native_functions(record: Stack, top: int) -> Table:
    columns = [
        Column("self"),
        Column("total"),
        Column("kind", left=True, rank=1),
        Column("function", left=True, room=20),
        Column("where", left=True, rank=1, room=16),
    ]
    rows = [
        Row([percent(each.self_share), percent(each.total_share), each.kind, each.function, each.place])
        for each in record.native[:top]
        if each.self_share > 0
    ]
    return Table(columns, rows, "Busiest functions, compiled ones too")


def functions_table(record: Stack, top: int) -> Table:
    """The functions of Python that take the most time themselves, by the samples on which the answer rests."""
    named = (("Python", "python"), ("kernels", "kernels"), ("numpy calls", "dispatch"), ("unknown", "unknown"))
    kinds = [(heading, kind) for heading, kind in named if any(getattr(each, kind) for each in record.functions)]
    columns = [
        Column("per call"),
        Column("share"),
        *(Column(heading, rank=2) for heading, _ in kinds),
        Column("function", left=True, room=20),
        Column("where", left=True, room=16, rank=1),
    ]
    rows = [
        Row(
            [
                duration(each.share * record.call_ns),
                percent(each.share),
                *(whole_percent(getattr(each, kind) or 0.0) for _, kind in kinds),
                each.function,
                each.file,
            ]
        )
        for each in busiest(record)[:top]
    ]
    how = f" ({record.shares.how})" if record.shares is not None else ""
    return Table(columns, rows, f"Time in each function itself, of {duration(record.call_ns)} per call{how}")


def busiest(record: Stack) -> list[FunctionShare]:
    """The functions with time of their own, the busiest first."""
    return [each for each in record.functions if each.share > 0]
