"""Files and stored records that are used as instructions, with a program in them that leaves a mark if it runs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pytest
from msgspec.structs import replace

import onnxperf
from onnxperf.api._keeping.bundles import export_bundle, import_bundle
from onnxperf.api._keeping.kept_runs import keep, load_result
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.subjects import open_entries
from onnxperf.api._tuning import on_node
from onnxperf.api._tuning.request import Aim
from onnxperf.api._tuning.saved import resumed_rows
from onnxperf.cli.main import run
from onnxperf.errors import BadInput
from onnxperf.options.functions import TUNE
from onnxperf.records.tune import TuneChoice, TuneRow, Tuning
from onnxperf.results.tune import TuneResult
from onnxperf.tuning import knobs
from onnxperf.tuning.base import joined

SHORT: dict[str, Any] = {"time": 0.5, "warmup": 0.01, "threads": 1}


class Trap(NamedTuple):
    """A model of ours, and a program of a stranger."""

    model: Path
    program: Path
    mark: Path
    """Exists once the program has run."""
    folder: Path

    @property
    def settings(self) -> list[dict[str, str]]:
        return [{"env": str(self.program)}, {"custom_ops": str(self.program)}]

    def tuning(self) -> Tuning:
        """An interrupted tuning of the model whose candidates look harmless, and much faster than the defaults."""
        entry = open_entries(self.model, parse({}, TUNE).inputs, None)[0]
        named = ("threads=1", "arena=off", "mem_pattern=off")
        settings = [*self.settings, {"mem_pattern": "off", "env": str(self.program)}]
        rows = [
            TuneRow(
                choice=TuneChoice(name=name, knobs=(name.partition("=")[0],), settings=each),
                status="ok",
                launch_speedups=(9.0, 9.0, 9.0),
                speedup=9.0,
            )
            for name, each in zip(named, settings, strict=True)
        ]
        return Tuning(
            model=entry.model.label,
            fingerprint=entry.model.fingerprint,
            dims=entry.feeds.dims,
            shapes={name: array.shape for name, array in entry.feeds.arrays.items()},
            rows=tuple(rows),
            interrupted=True,
            call="run",
        )


@pytest.fixture
def trap(linear_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trap:
    program, mark = tmp_path / "python", tmp_path / "mark"
    program.write_text(f"#!/bin/sh\ntouch '{mark}'\n")
    program.chmod(0o755)
    monkeypatch.setattr(knobs, "KNOBS", [each for each in knobs.KNOBS if each.name == "arena"])
    return Trap(linear_path, program, mark, tmp_path)


def a_tuning_of_a_bundle_goes_on(trap: Trap) -> None:
    sent, ours, bundle = (trap.folder / name for name in ("sent.sqlite", "ours.sqlite", "runs.zip"))
    keep(TuneResult(trap.tuning()), store=sent)
    export_bundle([], bundle, store=sent)
    import_bundle(bundle, store=ours)
    words = ["tune", str(trap.model), "--call", "run", "--time", "0.5", "--store", str(ours), "--quiet"]
    assert run([*words, "--resume", "last"]) in (0, 3)  # in so little time there need not be an answer
    record = load_result("last", store=ours).record
    assert isinstance(record, Tuning)
    assert not any("env" in row.choice.settings for row in record.rows)
    assert any(note.startswith("dropped from the resumed run") and "threads=1" in note for note in record.notes)


def a_tuning_goes_on_at_a_node(trap: Trap) -> None:
    parcel = on_node.TuneParcel(
        label="linear",
        model=trap.model.name,
        feeds="",
        calibration="",
        settings=parse({}, TUNE),
        aim=Aim(call="run"),
        time_s=0.5,
        before=trap.tuning(),
    )
    data = on_node.run_tuning(msgspec.msgpack.encode(parcel), trap.model.parent, lambda _done, _text: None)
    answer = msgspec.msgpack.decode(data, type=on_node.TuneAnswer)
    assert answer.record is not None
    assert any("threads=1" in note for note in answer.record.notes)


def a_file_of_settings_is_a_variant(trap: Trap) -> None:
    file = trap.folder / "tuned.settings.json"
    for settings in trap.settings:
        file.write_text(json.dumps({"settings": settings}))
        with pytest.raises(BadInput, match="not a setting that a file may have"):
            onnxperf.bench(trap.model, variants=[f"@{file}"], **SHORT)
        with pytest.raises(BadInput, match="not a setting that a file may have"):
            onnxperf.load(trap.model, variants=file)


def trapped_bench(trap: Trap) -> Path:
    """A record whose subjects say that they ran by the program."""
    file = trap.folder / "base.json"
    onnxperf.bench(trap.model, call="run", **SHORT).save(file)
    fields = json.loads(file.read_text())
    for each in fields["cases"][0]["subjects"]:
        each["conditions"] |= {"env": str(trap.program), "custom_ops": str(trap.program)}
        each["model"] = str(trap.program)
    file.write_text(json.dumps(fields))
    return file


def a_record_is_the_baseline_of_a_gate(trap: Trap) -> None:
    assert onnxperf.gate(trap.model, trapped_bench(trap), **SHORT).record.recorded


def a_record_is_reported(trap: Trap) -> None:
    file = trap.folder / "tuning.json"
    TuneResult(trap.tuning()).save(file)
    onnxperf.report(trapped_bench(trap), file, output=trap.folder / "page.html")


def a_sweep_goes_on(trap: Trap) -> None:
    store = trap.folder / "sweep.sqlite"
    plan: dict[str, Any] = {
        "models": [str(trap.model)],
        "dims": {"batch": [1, 2]},
        "call": "run",
        "options": {**SHORT, "yardstick": False},
    }
    onnxperf.sweep(plan, store=store)
    with sqlite3.connect(store) as connection:
        for number, text in connection.execute("select id, record from subjects").fetchall():
            record = json.loads(text)
            record["conditions"] |= {"env": str(trap.program), "custom_ops": str(trap.program)}
            connection.execute("update subjects set record = ? where id = ?", (json.dumps(record), number))
        connection.execute("update cases set status = 'pending' where id = (select max(id) from cases)")
    assert len(onnxperf.sweep(plan, store=store, resume="last").record.cases) == 2


@pytest.mark.parametrize(
    "use",
    [
        a_tuning_of_a_bundle_goes_on,
        a_tuning_goes_on_at_a_node,
        a_file_of_settings_is_a_variant,
        a_record_is_the_baseline_of_a_gate,
        a_record_is_reported,
        a_sweep_goes_on,
    ],
)
def test_no_record_makes_a_program_run(trap: Trap, use: Callable[[Trap], None]) -> None:
    use(trap)
    assert not trap.mark.exists()


def test_the_trap_would_leave_its_mark(trap: Trap) -> None:
    with pytest.raises(BadInput):
        onnxperf.bench(trap.model, env=str(trap.program), **SHORT)
    assert trap.mark.exists()


ONE, TWO, DIMS = (
    TuneChoice(name="threads=1", knobs=("threads",), settings={"threads": "1"}),
    TuneChoice(name="arena=off", knobs=("arena",), settings={"arena": "off"}),
    TuneChoice(name="dim.a, b=1", knobs=("dimensions",), settings={"dim.a, b": "1"}),
)


@pytest.mark.parametrize(
    ("choice", "kept"),
    [
        (ONE, True),
        (joined([ONE, TWO]), True),
        (joined([ONE, TWO, DIMS]), True),
        (joined([TWO, ONE]), False),
        (joined([ONE, ONE]), False),
        (replace(ONE, settings={"threads": "2"}), False),
        (replace(ONE, settings={}), False),
        (replace(ONE, call="run-c"), False),
        (replace(ONE, runtime="plugin"), False),
        (replace(ONE, rewrite="einsum"), False),
        (replace(joined([ONE, TWO]), knobs=()), False),
        (replace(ONE, name="threads=1, "), False),
        (replace(ONE, name="threads=4"), False),
        (replace(ONE, name=""), False),
    ],
)
def test_resumed_candidates_are_rebuilt_by_name_and_others_are_dropped_and_named(
    choice: TuneChoice, kept: bool
) -> None:
    before = Tuning(model="m", rows=(TuneRow(choice=choice, status="ok", speedup=2.0),))
    rows, notes = resumed_rows(before, [ONE, TWO, DIMS])
    assert [row.choice for row in rows.values()] == [choice] * kept
    assert [choice.name in note for note in notes] == [True] * (not kept)
    waiting = Tuning(model="m", rows=(TuneRow(choice=choice, status="skipped"),))
    assert resumed_rows(waiting, [ONE, TWO, DIMS])[1] == []  # nothing is lost by it
