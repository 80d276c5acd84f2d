"""A store with as many runs as wanted, made in seconds: copies of one race under other names, dates and machines."""

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Table, insert, select

from onnxperf.records.race import Bench
from onnxperf.store import Store, schema

CPUS = ("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz", "AMD EPYC 7B13", "Apple M2")
MODELS = ("resnet50.onnx", "bert-base.onnx", "tiny-linear.onnx", "yolo-v8n.onnx", "whisper-encoder.onnx")
STATUSES = ("ok",) * 17 + ("failed", "timeout", "interrupted")
_FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)
_BATCH = 2_000
_LETTERS = "bdfghjkl"


def fill(store: Store, number: int, race: Bench) -> None:
    """Keep a race, and copies of it until there are as many runs."""
    first = store.keep(race, "bench", answer="run-c is 1.2 times as fast as run.", topic=MODELS[0])
    dice = random.Random(0)
    with store.writing() as connection:
        run = connection.execute(select(schema.runs).where(schema.runs.c.name == first)).mappings().one()
        [case] = connection.execute(select(schema.cases).where(schema.cases.c.run == run["id"])).mappings()
        tried = connection.execute(select(schema.attempts).where(schema.attempts.c.case == case["id"]))
        [attempt] = tried.mappings()
        subjects = list(
            connection.execute(select(schema.subjects).where(schema.subjects.c.attempt == attempt["id"])).mappings()
        )
        last = {table: _last(connection, table) for table in (schema.cases, schema.attempts, schema.subjects)}
        made: dict[Table, list[dict[str, Any]]] = {}
        for n in range(1, number):
            ids = {"run": run["id"] + n, "case": last[schema.cases] + n, "attempt": last[schema.attempts] + n}
            model, pace = MODELS[n % len(MODELS)], dice.gauss(1, 0.02)
            made.setdefault(schema.runs, []).append(_run(run, n, model, dice))
            made.setdefault(schema.tags, []).extend(_tags(ids["run"], n))
            made.setdefault(schema.cases, []).append({**case, "id": ids["case"], "run": ids["run"]})
            made.setdefault(schema.attempts, []).append(
                {**attempt, "id": ids["attempt"], "case": ids["case"], "uid": f"made{n}"}
            )
            made.setdefault(schema.subjects, []).extend(
                _subject(each, last[schema.subjects] + n * len(subjects) + place, ids["attempt"], model, pace)
                for place, each in enumerate(subjects)
            )
            if n % _BATCH == 0 or n == number - 1:
                for table, rows in made.items():
                    connection.execute(insert(table), rows)
                made.clear()


def _last(connection: Any, table: Table) -> int:
    return int(connection.execute(select(table.c.id).order_by(table.c.id.desc())).scalars().first() or 0)


def _run(run: Any, n: int, model: str, dice: random.Random) -> dict[str, Any]:
    started = _FIRST_DAY + timedelta(minutes=40 * n)
    machine = {**json.loads(run["machine"]), "cpu": CPUS[n % len(CPUS)]}
    speedup = f"run-c is {dice.uniform(1, 2):.2f} times as fast as run."
    status = STATUSES[n % len(STATUSES)]
    return {
        **run,
        "id": run["id"] + n,
        "uid": f"made{n}",
        "name": f"run{n}{_LETTERS[n % 8]}a",
        "kind": "sweep" if n % 7 == 0 else "bench",
        "command": f"onnxperf bench {model} --call run,run-c --dim batch={1 + n % 8}",
        "started": started.isoformat(timespec="microseconds"),
        "finished": (started + timedelta(seconds=11)).isoformat(timespec="microseconds"),
        "status": status,
        "answer": speedup if status == "ok" else "",
        "machine": json.dumps(machine, separators=(",", ":")),
        "options": json.dumps({"topic": model}, separators=(",", ":")),
    }


def _tags(run: int, n: int) -> list[dict[str, Any]]:
    return [
        {"run": run, "name": "commit", "value": f"{n * 2654435761 % 2**32:08x}"},
        {"run": run, "name": "branch", "value": "main" if n % 5 else f"feature-{n % 11}"},
    ]


def _subject(row: Any, number: int, attempt: int, model: str, pace: float) -> dict[str, Any]:
    record = {**json.loads(row["record"]), "model": model}
    times = {name: row[name] * pace for name in ("time_ns", "mean_ns", "median_ns") if row[name] is not None}
    text = json.dumps({**record, **times}, separators=(",", ":"))
    origin = json.dumps({**json.loads(row["origin"]), "cpu": CPUS[attempt % len(CPUS)]}, separators=(",", ":"))
    return {**row, **times, "id": number, "attempt": attempt, "model": model, "record": text, "origin": origin}
