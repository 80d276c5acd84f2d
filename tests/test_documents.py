"""The steps of the five documents work, in Python and on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from examples.documents.__main__ import STEPS
from examples.documents.prepare import prepare
from examples.documents.step import SMALL, WAYS, done

QUICK = {"machine", "model", "optimize", "CUDA", "convert", "view and JSON", "three einsums"}
"""Steps that measure nothing, in their order: what later ones read, earlier ones write."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("documents")
    prepare(made, SMALL)
    return made


@pytest.fixture(autouse=True)
def _store(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ONNXPERF_STORE", str(folder / "runs.sqlite"))


def test_the_small_steps_of_all_documents_can_be_done(folder: Path) -> None:
    outcomes = [done(step, how, folder, SMALL) for step in STEPS if step.name in QUICK for how in WAYS]
    assert [(each.step.name, each.how, each.seen) for each in outcomes if not each.ok] == []
    assert len(outcomes) == len(QUICK) * len(WAYS)


@pytest.mark.thorough
def test_all_steps_of_all_documents_can_be_done(folder: Path) -> None:
    outcomes = [done(step, how, folder, SMALL) for step in STEPS for how in WAYS]
    assert [(each.step.name, each.how, each.seen) for each in outcomes if not each.ok] == []


def test_every_document_has_steps_with_a_command_and_a_question() -> None:
    assert {step.document for step in STEPS} == {"000", "001", "002", "003", "004"}
    assert all(step.asked.endswith((".", "?")) and step.line(SMALL).startswith("onnxperf ") for step in STEPS)


def test_the_page_of_the_documents_shows_every_command() -> None:
    page = (Path(__file__).parents[1] / "docs" / "documents.md").read_text(encoding="utf-8")
    missing = [step.line(SMALL) for step in STEPS if " ".join(step.line(SMALL).split()) not in page]
    assert missing == []
