"""Environments are built once, are complete or not there, and can be removed."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from onnxperf.environments import kept
from onnxperf.environments.build import Tell, python_in
from onnxperf.environments.find import all_environments, environment, planned, remove
from onnxperf.environments.probe import Inventory
from onnxperf.errors import BadInput, BadOption

NAME = "onnxruntime==1.20.1"


class FakeBuilder:
    """On the interface of `build`: makes a folder with something that can be executed."""

    def __init__(self) -> None:
        self.built: list[tuple[str, ...]] = []
        self.drafts: list[Path] = []

    def __call__(self, requirements: Sequence[str], folder: Path, tell: Tell) -> Inventory:
        tell("installing")
        self.built.append(tuple(requirements))
        self.drafts.append(folder)
        assert not folder.exists()
        python = python_in(folder)
        python.parent.mkdir(parents=True)
        python.write_text("#!/bin/sh\n")
        python.chmod(0o755)
        return Inventory((3, 11, 7), {"OnnxRuntime": "1.20.1", "numpy": "2.4.6", "msgspec": "0.22.0", "sympy": "1.13"})


@pytest.fixture
def builder() -> FakeBuilder:
    return FakeBuilder()


def left() -> list[str]:
    """What lies among the environments besides the lock."""
    return sorted(each.name for each in kept.folder_of_all().iterdir() if each.name != ".lock")


def test_an_environment_is_built_once_and_remembers_what_was_resolved(builder: FakeBuilder) -> None:
    told: list[str] = []
    first = environment("OnnxRuntime == 1.20.1", told.append, builder)
    second = environment(NAME, told.append, builder)
    assert builder.built == [(NAME,)]
    assert told == [f"environment {NAME}: installing"]
    assert (first.name, first.python_version) == (NAME, "3.11.7")
    assert first.packages == {"onnxruntime": "1.20.1", "numpy": "2.4.6", "msgspec": "0.22.0"}
    assert first.python == second.python == str(python_in(kept.folder_of([NAME])))
    assert Path(first.python).is_file()
    assert second.created == first.created is not None


def test_a_plan_builds_nothing_and_refuses_what_a_build_would(builder: FakeBuilder) -> None:
    assert planned(NAME) is None
    assert not kept.folder_of_all().exists()
    with pytest.raises(BadOption):
        planned("--index-url")
    made = environment(NAME, build=builder)
    found = planned(NAME)
    assert found is not None
    assert found.python == made.python


def test_requirements_that_differ_have_environments_that_differ(builder: FakeBuilder) -> None:
    names = ["onnxruntime==1.20.1", "onnxruntime==1.20.10", "onnxruntime==1.20.1+numpy==1.26.4", "onnxruntime>=1.20.1"]
    assert len({environment(name, build=builder).python for name in names}) == len(names)
    assert [each.name for each in all_environments()] == sorted(names)


def test_another_python_gets_an_environment_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    before = kept.folder_of([NAME])
    monkeypatch.setattr("platform.python_version", lambda: "3.99.0")
    assert kept.folder_of([NAME]) != before


@pytest.mark.parametrize("error", [BadInput("no wheel"), OSError(28, "No space left"), KeyboardInterrupt()])
def test_a_build_that_fails_or_is_interrupted_leaves_nothing(builder: FakeBuilder, error: BaseException) -> None:
    def fail(requirements: Sequence[str], folder: Path, tell: Tell) -> Inventory:
        builder(requirements, folder, tell)
        raise error

    with pytest.raises(type(error)):
        environment(NAME, build=fail)
    assert left() == []
    assert all_environments() == []
    assert environment(NAME, build=builder).name == NAME


def test_what_a_killed_build_left_is_no_environment_and_goes_with_the_next_build(builder: FakeBuilder) -> None:
    abandoned = kept.new_draft()
    builder([NAME], abandoned, print)
    (abandoned / "environment.json").write_text("{}")
    assert planned(NAME) is None
    assert all_environments() == []
    environment(NAME, build=builder)
    assert left() == [kept.folder_of([NAME]).name]
    assert len(set(builder.drafts)) == 2


@pytest.mark.parametrize("damage", ["cut", "empty", "gone", "no interpreter"])
def test_a_damaged_environment_is_built_again(builder: FakeBuilder, damage: str) -> None:
    made = environment(NAME, build=builder)
    description = kept.folder_of([NAME]) / "environment.json"
    match damage:
        case "cut":
            description.write_bytes(description.read_bytes()[:50])
        case "empty":
            description.write_bytes(b"")
        case "gone":
            description.unlink()
        case _:
            Path(made.python).unlink()
    assert planned(NAME) is None
    assert environment(NAME, build=builder).python == made.python
    assert len(builder.built) == 2
    assert left() == [kept.folder_of([NAME]).name]


def test_a_second_command_waits_for_the_first_and_takes_what_it_built(builder: FakeBuilder) -> None:
    building, waiting = threading.Event(), threading.Event()
    told: list[str] = []

    def slow(requirements: Sequence[str], folder: Path, tell: Tell) -> Inventory:
        building.set()
        assert waiting.wait(60)
        return builder(requirements, folder, tell)

    def note(text: str) -> None:
        told.append(text)
        waiting.set()

    first = threading.Thread(target=environment, args=(NAME,), kwargs={"build": slow})
    first.start()
    assert building.wait(60)
    found = environment(NAME, note, builder)
    first.join(60)
    assert builder.built == [(NAME,)]
    assert told == [f"environment {NAME}: waiting for another command that is building an environment"]
    assert found.name == NAME


def test_the_list_has_sizes_and_the_last_use(builder: FakeBuilder) -> None:
    import os

    environment(NAME, build=builder)
    description = kept.folder_of([NAME]) / "environment.json"
    os.utime(description, (0, 0))
    (listed,) = all_environments()
    assert listed.used == "1970-01-01T00:00:00+00:00"
    assert listed.size_bytes == description.stat().st_size + len("#!/bin/sh\n")
    environment(NAME, build=builder)
    (listed,) = all_environments()
    assert listed.used is not None
    assert listed.used > "2026"


def test_environments_are_removed_by_name_or_all_at_once(builder: FakeBuilder) -> None:
    names = ["a==1", "b==1", "c==1", "d==1"]
    for name in names:
        environment(name, build=builder)
    assert [each.name for each in remove(["B == 1", "a==1"])] == ["a==1", "b==1"]
    assert [each.name for each in all_environments()] == ["c==1", "d==1"]
    (kept.folder_of(["d==1"]) / "environment.json").unlink()
    assert [each.name for each in remove(None)] == ["c==1"]
    assert left() == []
    assert remove(None) == []


def test_an_unknown_name_removes_nothing(builder: FakeBuilder) -> None:
    environment(NAME, build=builder)
    with pytest.raises(BadOption, match=r"unknown environment 'x==1'; choose from: onnxruntime==1\.20\.1"):
        remove([NAME, "x==1"])
    assert planned(NAME) is not None


@pytest.mark.skipif(sys.platform == "win32", reason="the cache is elsewhere")
def test_a_cache_that_cannot_be_written_is_one_line(
    builder: FakeBuilder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(BadInput, match=r"environments cannot be stored in .*: Not a directory; make it writable"):
        environment(NAME, build=builder)
