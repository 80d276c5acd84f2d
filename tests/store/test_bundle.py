"""Runs move between stores in bundles, which are never trusted."""

from __future__ import annotations

import base64
import io
import itertools
import json
import shutil
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy.event import listen

from onnxperf.api._keeping.bundles import export_bundle, import_bundle
from onnxperf.errors import BadInput, BadOption
from onnxperf.limits import FreeMemory
from onnxperf.records.race import Bench
from onnxperf.store import CaseRow, RunRow, Store, blobs, bundle, open_bundle, open_store, whole_run, write_bundle
from tests.api.kept import check
from tests.render import examples
from tests.store.examples import BENCHES, sql
from tests.store.writing import keep_case, mark_running, start_run

Rows = list[tuple[RunRow, list[CaseRow]]]


def all_rows(store: Store) -> Rows:
    """Everything in a store that travels, the oldest run first."""
    names = [run.id for run in reversed(store.runs())]
    return [(run, list(cases)) for run, cases in store.portable(names)]


def a_store_with_everything(where: str | Path) -> Store:
    """A bench, a check, and a sweep that was retried, resumed and interrupted, with tags."""
    store = open_store(where)
    nasty = tuple(examples.subject(name, reason="\0", load_ns=10**18) for name in examples.NASTY_NAMES)
    store.keep(examples.bench(examples.case(*nasty), examples.case()), "bench", answer="fast", topic="m.onnx")
    store.keep(check(False), "check", "differs")
    run = start_run(store, "onnxperf sweep", "sweep", examples.machine(), keys=["a", "b", "c"])
    keep_case(store, run, "a", examples.case(status="failed"), examples.machine())
    keep_case(store, run, "a", examples.case(), examples.machine())
    mark_running(store, run, "b")
    sql(store, "INSERT INTO tags (run, name, value) SELECT id, 'commit', 'f00' FROM runs")
    return store


# ---------------------------------------------------------------- there and back


def test_everything_arrives_in_another_store_and_comes_back(where: str, tmp_path: Path) -> None:
    here = tmp_path / "here.sqlite"
    with a_store_with_everything(here) as store:
        rows = all_rows(store)
    assert export_bundle([], tmp_path / "all.zip", store=here) == (3, {})
    assert len(import_bundle(tmp_path / "all.zip", store=where).names) == 3
    with open_store(where) as other:
        arrived = all_rows(other)
        assert [cases for _, cases in arrived] == [cases for _, cases in rows]
        assert other.cases_of(other.find("last").id) == {"a": "ok", "b": "pending", "c": "pending"}
        assert other.runs()[0].status == "interrupted"  # its process is not there
    export_bundle([], tmp_path / "back.zip", store=where)
    import_bundle(tmp_path / "back.zip", store=tmp_path / "again.sqlite")
    with open_store(tmp_path / "again.sqlite") as again:
        assert all_rows(again) == arrived
        for (run, cases), (expected, _) in zip(arrived, rows, strict=True):
            assert cases is not None
            assert {**_fields(run), "owner": None} == {**_fields(expected), "owner": None}


def _fields(run: RunRow) -> dict[str, Any]:
    return {name: getattr(run, name) for name in run.__struct_fields__}


@settings(max_examples=25)
@given(st.lists(BENCHES, min_size=1, max_size=2))
def test_any_bench_comes_back_exactly_as_it_was(tmp_path_factory: pytest.TempPathFactory, benches: list[Bench]) -> None:
    folder = tmp_path_factory.mktemp("bundle")
    with open_store(folder / "one.sqlite") as one:
        names = [one.keep(bench, "bench") for bench in benches]
    export_bundle(names, folder / "runs.zip", store=folder / "one.sqlite")
    assert import_bundle(folder / "runs.zip", store=folder / "two.sqlite").names == names
    with open_store(folder / "two.sqlite") as two:
        assert [two.load(name) for name in names] == benches
    shutil.rmtree(folder)


def test_what_is_there_is_not_imported_again(tmp_path: Path) -> None:
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    a_store_with_everything(here).close()
    export_bundle([], tmp_path / "all.zip", store=here)
    assert import_bundle(tmp_path / "all.zip", store=here)[1:] == ({}, 3)
    import_bundle(tmp_path / "all.zip", store=there)
    with open_store(there) as store:
        rows = all_rows(store)
        assert import_bundle(tmp_path / "all.zip", store=there) == ([], {}, 3)
        assert all_rows(store) == rows


def test_a_name_that_is_taken_becomes_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    letters = itertools.cycle("lonuki")
    monkeypatch.setattr("secrets.choice", lambda _: next(letters))
    for name in ("one", "two"):
        with open_store(tmp_path / f"{name}.sqlite") as store:
            assert store.keep(examples.bench(), "bench") == "lonuki"
    export_bundle(["last"], tmp_path / "one.zip", store=tmp_path / "one.sqlite")
    imported = import_bundle(tmp_path / "one.zip", store=tmp_path / "two.sqlite")
    assert imported.renamed == {"lonuki": "lonukilo"}
    assert imported.names == ["lonukilo"]


def test_a_run_that_was_measured_earlier_does_not_become_the_last_one(tmp_path: Path) -> None:
    with open_store(tmp_path / "one.sqlite") as one, open_store(tmp_path / "two.sqlite") as two:
        old = one.keep(examples.bench(), "bench")
        new = two.keep(examples.bench(), "bench")
        export_bundle([old], tmp_path / "one.zip", store=tmp_path / "one.sqlite")
        import_bundle(tmp_path / "one.zip", store=tmp_path / "two.sqlite")
        assert [run.id for run in two.runs()] == [new, old]
        assert two.find("last").id == new


def test_a_store_that_does_not_exist_and_a_file_that_does_not_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(BadOption, match="does not exist yet"):
        export_bundle([], tmp_path / "all.zip", store=tmp_path / "runs.sqlite")
    with pytest.raises(BadInput, match="does not exist"):
        import_bundle(tmp_path / "all.zip", store=tmp_path / "runs.sqlite")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- damaged runs

DAMAGES = {
    "no time of day": "UPDATE runs SET started = 'yesterday' WHERE name = :it",
    "no JSON": 'UPDATE runs SET record = \'{"command": "a=b\' WHERE name = :it',
    "another record": "UPDATE runs SET record_type = 'Novelty' WHERE name = :it",
    "no uid": "UPDATE runs SET uid = 'x' WHERE name = :it",
    "bytes for a text": "UPDATE runs SET command = x'ff00', record = x'ff' WHERE name = :it",
    "no UTF-8": "UPDATE runs SET answer = CAST(x'ff' AS TEXT) WHERE name = :it",
    "raw times": "UPDATE subjects SET blocks = x'00' WHERE attempt IN (SELECT a.id FROM attempts a JOIN cases c "
    'ON a."case" = c.id JOIN runs r ON c.run = r.id WHERE r.name = :it)',
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_run_is_named_and_left_out_and_the_others_can_be_imported(tmp_path: Path, damage: str) -> None:
    here, path = tmp_path / "here.sqlite", tmp_path / "all.zip"
    with open_store(here) as store:
        first, bad, last = (store.keep(examples.bench(), "bench") for _ in range(3))
        sql(store, DAMAGES[damage], it=bad)
    exported = export_bundle([], path, store=here)
    assert (exported.written, list(exported.damaged)) == (2, [bad])
    assert len(exported.damaged[bad]) > 5
    assert import_bundle(path, store=tmp_path / "there.sqlite").names == [first, last]
    assert not list(tmp_path.glob(".onnxperf-*"))


def test_a_damaged_run_alone_is_one_line_and_no_file(tmp_path: Path) -> None:
    here, path = tmp_path / "here.sqlite", tmp_path / "one.zip"
    with open_store(here) as store:
        bad = store.keep(examples.bench(), "bench")
        sql(store, DAMAGES["raw times"], it=bad)
    path.write_bytes(b"what was there")
    with pytest.raises(BadInput, match=f"^nothing to export: run {bad} is damaged \\(.*\\)$"):
        export_bundle([bad], path, store=here)
    assert path.read_bytes() == b"what was there"


def test_the_free_memory_is_asked_for_once_however_many_lines_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[FreeMemory]()

    def ask() -> FreeMemory:
        asked.append(FreeMemory(2**40))
        return asked[-1]

    monkeypatch.setattr(bundle, "free_memory", ask)
    bench = examples.bench(*(examples.case() for _ in range(50)))
    with (tmp_path / "runs.zip").open("wb") as file:
        write_bundle(file, [whole_run(bench, "bench") for _ in range(2)])
    import_bundle(tmp_path / "runs.zip", store=tmp_path / "runs.sqlite")
    assert len(asked) == 1


def test_a_run_is_written_by_statements_for_many_cases_at_once(tmp_path: Path) -> None:
    rows = [whole_run(examples.bench(*(examples.case() for _ in range(count))), "bench") for count in (2, 150)]
    with open_store(tmp_path / "runs.sqlite") as store:
        taken = list[int]()
        for run, cases in rows:
            statements = list[str]()
            listen(store._engine, "before_execute", lambda _c, what, *_: statements.append(str(what)))  # noqa: B023
            store.merge(run, cases)
            taken.append(len(statements))
        assert taken[1] < taken[0] + 20


# ---------------------------------------------------------------- hostile files


def packed(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file.getvalue()


def good() -> dict[str, bytes]:
    file = io.BytesIO()
    write_bundle(file, [whole_run(examples.bench(), "bench"), whole_run(check(True), "check")])
    with zipfile.ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def changed(change: Callable[[list[dict[str, Any]]], object], member: str = "runs/000001.jsonl") -> bytes:
    """A bundle whose documents were changed in some way."""
    members = good()
    lines = [json.loads(line) for line in members[member].splitlines()]
    change(lines)
    members[member] = b"\n".join(json.dumps(line).encode() for line in lines) + b"\n"
    return packed(members)


def manifest(**values: object) -> bytes:
    return json.dumps({"format": bundle.FORMAT, "version": 1, "runs": 2, **values}).encode()


def attempt(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return lines[1]["attempts"][0]  # type: ignore[no-any-return]


def subject(lines: list[dict[str, Any]]) -> dict[str, Any]:
    return attempt(lines)["subjects"][0]  # type: ignore[no-any-return]


def blocks_of(rows: int) -> str:
    """Raw times that are a kilobyte for each megabyte that they become."""
    raw = bytes(80 * rows)
    return base64.b64encode(blobs._HEADER.pack(b"OXPB", 3, 10, rows, zlib.crc32(raw)) + zlib.compress(raw)).decode()


HOSTILE: dict[str, Callable[[], bytes]] = {
    "no zip": lambda: b"dear diary" * 100,
    "empty": lambda: b"",
    "no manifest": lambda: packed({name: data for name, data in good().items() if name != "manifest.json"}),
    "other format": lambda: packed({**good(), "manifest.json": manifest(format="npz")}),
    "newer format": lambda: packed({**good(), "manifest.json": manifest(version=2)}),
    "no version": lambda: packed({**good(), "manifest.json": b"{}"}),
    "huge manifest": lambda: packed({**good(), "manifest.json": manifest() + b" " * 20_000}),
    "too few runs": lambda: packed({**good(), "manifest.json": manifest(runs=3)}),
    "a path": lambda: packed({**good(), "../../etc/passwd": b"x"}),
    "another file": lambda: packed({**good(), "runs/000003.exe": b"x"}),
    "a bomb": lambda: packed({**good(), "runs/000003.jsonl": bytes(80 * 2**20)}),
    "an empty run": lambda: packed({**good(), "runs/000002.jsonl": b""}),
    "no JSON": lambda: packed({**good(), "runs/000002.jsonl": b"{" * 100}),
    "deep JSON": lambda: packed({**good(), "runs/000002.jsonl": b'{"uid":' * 10_000}),
    "not UTF-8": lambda: packed({**good(), "runs/000002.jsonl": b'{"uid": "\xff"}'}),
    "uid": lambda: changed(lambda lines: lines[0].update(uid="' OR 1")),
    "time": lambda: changed(lambda lines: lines[0].update(started="yesterday")),
    "a year that no table knows": lambda: changed(lambda lines: lines[0].update(finished="9999-01-01T00:00:00+00:00")),
    "status": lambda: changed(lambda lines: lines[0].update(status="excellent")),
    "extra field": lambda: changed(lambda lines: lines[0].update(id=1)),
    "machine": lambda: changed(lambda lines: lines[0].update(machine="{}")),
    "no machine": lambda: changed(lambda lines: lines[0].update(machine=None)),
    "options": lambda: changed(lambda lines: lines[0].update(options="[]")),
    "deep record": lambda: changed(lambda lines: lines[0].update(record="[" * 100_000)),
    "unknown record": lambda: changed(lambda lines: lines[0].update(record_type="Novelty")),
    "another record": lambda: changed(lambda lines: lines[0].update(record_type="Profile", record="{}")),
    "tags": lambda: changed(lambda lines: lines[0].update(tags={"a": 1})),
    "case": lambda: changed(lambda lines: attempt(lines).update(record="{}")),
    "number": lambda: changed(lambda lines: attempt(lines).update(number=2**40)),
    "signal": lambda: changed(lambda lines: attempt(lines).update(signal=2**40)),
    "subject": lambda: changed(lambda lines: subject(lines).update(record="{}")),
    "blocks": lambda: changed(lambda lines: subject(lines).update(blocks=subject(lines)["blocks"][:-8])),
    "no base64": lambda: changed(lambda lines: subject(lines).update(blocks="!")),
    "times": lambda: changed(lambda lines: subject(lines).update(call_times="T1hQQg==")),
    "too many planned cases": lambda: changed(lambda lines: lines[0].update(keys=list(map(str, range(100_001))))),
    "a planned case twice": lambda: changed(lambda lines: lines[0].update(keys=["\0", "\\x00"])),
    "a case twice": lambda: changed(lambda lines: lines.append(lines[1])),
    "a case without attempts": lambda: changed(lambda lines: lines.extend([{"key": "a", "status": "ok"}] * 1000)),
    "a number twice": lambda: changed(lambda lines: lines[1]["attempts"].append({**attempt(lines), "uid": None})),
    "an attempt in two cases": lambda: changed(lambda lines: lines.append({**lines[1], "key": "another"})),
    "a subject twice": lambda: changed(lambda lines: attempt(lines)["subjects"].append(subject(lines))),
    "a bomb in raw times": lambda: changed(lambda lines: subject(lines).update(blocks=blocks_of(2**20))),
    "infinite number": lambda: changed(lambda lines: subject(lines)["numbers"].update(mean_ns=float("inf"))),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_bundle_is_one_line_and_nothing_is_imported(tmp_path: Path, name: str) -> None:
    path, where = tmp_path / "runs.zip", tmp_path / "runs.sqlite"
    path.write_bytes(HOSTILE[name]())
    with pytest.raises(BadInput, match="is not a bundle of runs, or is damaged: ") as caught:
        import_bundle(path, store=where)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500
    assert not where.exists()


def test_a_member_that_is_there_twice_is_refused(tmp_path: Path) -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in good().items():
            archive.writestr(name, content)
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("runs/000001.jsonl", b"")
    (tmp_path / "runs.zip").write_bytes(file.getvalue())
    with pytest.raises(BadInput, match="twice"), open_bundle(tmp_path / "runs.zip"):
        pass


@pytest.mark.parametrize("name", ["last", "", "../etc", "\x1b[31mred", "LONUKI", "lonuki" * 50, "1' OR '1"])
def test_a_name_that_cannot_be_typed_becomes_another_one(tmp_path: Path, name: str) -> None:
    (tmp_path / "runs.zip").write_bytes(changed(lambda lines: lines[0].update(name=name)))
    first, _ = import_bundle(tmp_path / "runs.zip", store=tmp_path / "runs.sqlite").names
    assert len(first) == 6


def test_texts_that_a_database_refuses_are_escaped(where: str, tmp_path: Path) -> None:
    hostile = {"kind": "a\0b", "command": "a\0", "answer": "\0", "tags": {"\0": "\0"}}
    (tmp_path / "runs.zip").write_bytes(changed(lambda lines: (lines[0].update(hostile), lines[1].update(key="\0"))))
    assert len(import_bundle(tmp_path / "runs.zip", store=where).names) == 2
    with open_store(where) as store:
        assert sql(store, "SELECT name, value FROM tags") == [("\\x00", "\\x00")]


def test_an_owner_is_not_believed(tmp_path: Path) -> None:
    owned = {"status": "running", "finished": None, "owner": '{"host":"h","pid":1,"started":1.0}'}
    (tmp_path / "runs.zip").write_bytes(changed(lambda lines: lines[0].update(owned)))
    import_bundle(tmp_path / "runs.zip", store=tmp_path / "runs.sqlite")
    with open_store(tmp_path / "runs.sqlite") as store:
        assert "interrupted" in {run.status for run in store.runs()}
        assert sql(store, "SELECT count(*) FROM runs WHERE owner IS NOT NULL") == [(0,)]


def test_a_run_cannot_be_changed_by_a_bundle_that_has_its_unique_name(tmp_path: Path) -> None:
    where = tmp_path / "runs.sqlite"
    (tmp_path / "good.zip").write_bytes(packed(good()))
    import_bundle(tmp_path / "good.zip", store=where)
    with open_store(where) as store:
        rows = all_rows(store)
        uids = iter(run.uid for run, _ in rows)
        (tmp_path / "bad.zip").write_bytes(
            changed(lambda lines: (lines[0].update(uid=next(uids), answer="forged"), attempt(lines).update(number=9)))
        )
        assert import_bundle(tmp_path / "bad.zip", store=where).there == 1
        assert all_rows(store)[0] == rows[0]


PACKED = packed(good())


@given(st.integers(0, len(PACKED) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_harmless(
    tmp_path_factory: pytest.TempPathFactory, place: int, change: int
) -> None:
    damaged = bytearray(PACKED)
    damaged[place] ^= change
    path, intact = (tmp_path_factory.getbasetemp() / name for name in ("damaged.zip", "intact.zip"))
    path.write_bytes(damaged)
    intact.write_bytes(PACKED)
    with open_bundle(intact) as runs:
        expected = [(run.row(), list(run)) for run in runs]
    try:
        with open_bundle(path) as runs:
            assert [(run.row(), list(run)) for run in runs] == expected  # dates and the like have no meaning
    except BadInput:
        pass
