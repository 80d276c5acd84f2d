"""A race on a page, for its own result and for those of other features that race."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnxperf.records.race import Case
from onnxperf.render.kit.page import Section
from onnxperf.render.kit.table import On
from onnxperf.render.web.sections import race


def race_sections(case: Case, title: str = "Race", on: On = "page") -> list[Section]:
    """What a page shows of one race."""
    return cases_sections({"": case}, title, on)


def race_parts(case: Case) -> list[Any]:
    """The same under a title that a section has already."""
    return [part for section in race_sections(case) for part in section.parts]


def cases_sections(cases: Mapping[str, Case], title: str = "Race", on: On = "page") -> list[Section]:
    """What a page shows of a few races; select boxes choose one."""
    return [Section(each.title, each.parts, on) for each in race.cases_sections(cases, title)]


labels_of = race.labels_of
