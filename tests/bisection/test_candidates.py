"""What the candidates of a bisection are: releases, and settings one by one."""

from __future__ import annotations

import pytest

from onnxperf.bisection.releases import releases_in
from onnxperf.bisection.settings import settings_between, with_settings
from onnxperf.environments import releases as listing
from onnxperf.errors import BadOption
from onnxperf.records.options import SessionOptions

VERSIONS = ["1.9.0", "1.20.0", "1.20.1", "1.21.0rc1", "1.21.0", "1.21.1", "1.22.0", "2.0"]


def versions(package: str) -> list[str]:
    assert package == "onnxruntime"
    return VERSIONS[::-1]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("onnxruntime==1.20..1.21", ["1.20.0", "1.20.1", "1.21.0", "1.21.1"]),
        ("onnxruntime==1.20.1..1.21.0", ["1.20.1", "1.21.0"]),
        ("onnxruntime==1..2", ["1.9.0", "1.20.0", "1.20.1", "1.21.0", "1.21.1", "1.22.0", "2.0"]),
        ("onnxruntime==1.20.1, onnxruntime==1.99.0", ["1.20.1", "1.99.0"]),
    ],
)
def test_a_text_stands_for_releases_in_their_order(text: str, found: list[str]) -> None:
    assert [each.requirement for each in releases_in(text, versions)] == [f"onnxruntime=={each}" for each in found]


def test_other_packages_go_with_every_release() -> None:
    found = releases_in("onnxruntime==1.20..1.20+numpy==1.26.4", versions)
    assert [each.requirement for each in found] == [f"onnxruntime==1.20.{n}+numpy==1.26.4" for n in (0, 1)]
    assert found[0].name == "onnxruntime 1.20.0"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("onnxruntime", "expected a range"),
        ("onnxruntime>=1.20", "expected a range"),
        ("onnxruntime==1.20.1", "at least two releases"),
        ("onnxruntime==3..4", "there is no final release of onnxruntime in this range"),
        ("onnxruntime==1.20.1,onnxruntime==1.20.1", "named twice"),
    ],
)
def test_a_text_that_stands_for_no_releases_is_refused(text: str, problem: str) -> None:
    with pytest.raises(BadOption, match=problem):
        releases_in(text, versions)


def test_versions_are_read_from_what_pip_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    output = "WARNING: experimental\nonnxruntime (1.21.0)\nAvailable versions: 1.21.0, 1.20.1\n  LATEST: 1.21.0\n"
    monkeypatch.setattr(listing, "run", lambda _command, _folder: output)
    assert listing.versions_of("onnxruntime") == ["1.21.0", "1.20.1"]


def test_settings_between_two_sessions_lead_from_one_to_the_other() -> None:
    first = SessionOptions(threads=1, options={"a.b": "1", "c.d": "0"})
    second = SessionOptions(threads=2, arena="off", options={"a.b": "2"}, disabled_optimizers=("X", "Y"))
    changed = settings_between(first, second)
    assert [each.name for each in changed] == [
        "threads=2",
        "a.b=2",
        "options without c.d",
        "arena=off",
        "disabled_optimizers=X+Y",
    ]
    assert with_settings(first, changed) == second
    assert settings_between(first, first) == []
