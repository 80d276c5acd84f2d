"""Runs whose records are damaged: listed, answered with what is wrong, and no fault of the server."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from onnxperf.cli.main import run
from onnxperf.serve.application import application
from onnxperf.serve.pages import PER_PAGE
from onnxperf.store import Store, open_store
from onnxperf.store.documents import to_document
from tests.depth import often
from tests.records.damage import bench, damaged, records

DAMAGED = often(120)
"""Runs in the store, of all kinds."""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(tmp_path / "runs.sqlite")


def keep_damaged(store: Store) -> list[str]:
    """Runs that a bundle of an older version could have brought: of every kind, some of which can be shown."""
    dice = random.Random(0)
    kinds = [each for each in records() if type(each).__name__ != "Bench"]
    names = []
    for number in range(DAMAGED):
        record = kinds[number % len(kinds)]
        names.append(store.keep(record, "profile"))
        _, document = dice.choice(list(damaged(record)))
        with store.writing() as connection:
            change = text("UPDATE runs SET record = :record WHERE name = :name")
            connection.execute(change, {"record": document, "name": names[-1]})
    return names


def test_every_damaged_run_is_listed_and_shown_or_refused(store: Store) -> None:
    names = keep_damaged(store)
    client = TestClient(application(store))
    listed = "".join(client.get(f"/runs?page={page + 1}").text for page in range(-(-len(names) // PER_PAGE)))
    assert all(f"/runs/{name}" in listed for name in names)
    statuses = {name: client.get(f"/runs/{name}").status_code for name in names}
    assert set(statuses.values()) == {200, 422}
    assert {client.get(f"/api/runs/{name}").status_code for name in names} == {200, 422}


def test_the_page_of_a_damaged_run_says_what_is_wrong(store: Store) -> None:
    good, bad = store.keep(bench(), "bench"), store.keep(bench(), "bench")
    broken = json.loads(to_document(bench().cases[0].subjects[0])) | {"load_ns": -1, "blocks": [], "call_ns": []}
    with store.writing() as connection:
        ours = "SELECT max(id) FROM subjects WHERE name = 'run'"
        connection.execute(text(f"UPDATE subjects SET record = :r WHERE id = ({ours})"), {"r": json.dumps(broken)})
    client = TestClient(application(store))
    for address in (f"/runs/{bad}", f"/compare?first={good}&second={bad}", f"/api/runs/{bad}"):
        answer = client.get(address)
        assert answer.status_code == 422, address
        assert f"Run {bad} cannot be read: damaged: not the record of a Subject" in answer.text
    assert client.get(f"/runs/{good}").status_code == 200
    assert {bad, good} == {each["run"]["id"] for each in client.get("/api/runs").json()["runs"]}
    assert client.get("/history?model=bert.onnx").status_code == 200
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("command", ["gate zoo:tiny-linear --baseline {}", "report {} -o page.html"])
def test_a_damaged_file_is_bad_input_and_no_verdict(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    fields = json.loads(to_document(bench()))
    fields["cases"][0]["subjects"][0]["blocks"][0]["calls"] = 0
    Path("base.json").write_text(json.dumps(fields))
    assert run(command.format("base.json").split()) == 2
    said = capsys.readouterr().err
    assert "Expected int >= 1" in said
    assert said.count("\n") == 1
