"""The one way from plain values, which may come from strangers, to a record."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from onnxperf.records.diff import DIFF_VERSION, Diff, DiffRow
from onnxperf.records.profile import PROFILE_VERSION, NodeTime, Profile, sum_of, usual
from onnxperf.records.profiles import Profiles
from onnxperf.records.rules import check_record

T = TypeVar("T")


class DamagedRecord(ValueError):
    """What was read is no record of that kind."""


def decoded(value: object, kind: type[T]) -> T:
    """A record of a kind, one of an older version in today's form; whatever is wrong with it is a DamagedRecord."""
    try:
        if kind is Diff and isinstance(value, dict) and value.get("version") == 1:
            value = _diff_with_before_and_after(value)
        record = msgspec.convert(value, kind)
        check_record(record)
        return cast("T", _timed_anew(record))
    except (ValueError, TypeError, ArithmeticError, AttributeError, RecursionError) as error:
        raise DamagedRecord(" ".join(str(error).split())) from error


def newest_version(kind: type) -> int:
    """The version of a kind of record that is written today."""
    return next(int(each.default) for each in msgspec.structs.fields(kind) if each.name == "version")


def _diff_with_before_and_after(document: dict[str, Any]) -> dict[str, Any]:
    """Version 1 called the sides base and opti."""
    sides = {"base": "before", "opti": "after"}
    rows = [
        {_renamed(name, sides): value for name, value in row.items()} if isinstance(row, dict) else row
        for row in document.get("rows", ())
    ]
    return {**{sides.get(name, name): value for name, value in document.items()}, "rows": rows, "version": 2}


def _renamed(field: str, sides: dict[str, str]) -> str:
    side, mark, rest = field.partition("_")
    return f"{sides.get(side, side)}{mark}{rest}"


# ---------------------------------------------------------------- times that add up


def _timed_anew(record: Any) -> Any:
    """Older profiles had times that do not add up; those of today follow from the times of the iterations."""
    if isinstance(record, Profile):
        return record if record.version >= PROFILE_VERSION else _profile_that_adds_up(record)
    if isinstance(record, Profiles):
        return replace(record, variants=tuple(map(_timed_anew, record.variants)))
    if isinstance(record, Diff) and record.version < DIFF_VERSION:
        before, after = _timed_anew(record.before), _timed_anew(record.after)
        rows = tuple(_row_timed_anew(row, before, after) for row in record.rows)
        return replace(record, before=before, after=after, rows=rows, version=DIFF_VERSION)
    return record


def _row_timed_anew(row: DiffRow, before: Profile, after: Profile) -> DiffRow:
    return replace(
        row,
        before_usual_us=usual(row.before_us, before.alike),
        after_usual_us=usual(row.after_us, after.alike),
    )


def _profile_that_adds_up(profile: Profile) -> Profile:
    own = [replace(node, usual_us=usual(node.self_us, profile.alike)) for node in profile.nodes]
    nodes = tuple(replace(node, usual_total_us=sum_of(each for each in own if _is_in(each, node))) for node in own)
    by_place: dict[tuple[tuple[str, ...], str], list[NodeTime]] = defaultdict(list)
    for node in nodes:
        by_place[node.path, node.name].append(node)
    sources = []
    for source in profile.sources:
        named = [by_place[source.group.path, name] for name in source.group.executed]
        sources.append(replace(source, usual_us=sum_of([found.pop(0) for found in named if found])))
    return replace(
        profile,
        nodes=nodes,
        operators=tuple(
            replace(each, usual_us=sum_of(node for node in nodes if node.op_name == each.op_name))
            for each in profile.operators
        ),
        sources=tuple(sources),
        modules=tuple(
            replace(
                each,
                usual_us=sum_of(node for node in nodes if node.module == each.module),
                usual_total_us=sum_of(node for node in nodes if _is_of(node.module, each.module)),
            )
            for each in profile.modules
        ),
        nodes_us=sum_of(nodes),
        inference_us=profile.usual_run_us,
        version=PROFILE_VERSION,
    )


def _is_in(node: NodeTime, outer: NodeTime) -> bool:
    """Whether a node is the other one, or in one of its bodies."""
    place = (*outer.path, outer.name)
    return node is outer or node.path[: len(place)] == place


def _is_of(module: str | None, outer: str) -> bool:
    return module is not None and (not outer or module == outer or module.startswith(f"{outer}."))
