"""Damaged records and bundles of runs, as a stranger might send them, through every command that reads them."""

from __future__ import annotations

import base64
import contextlib
import copy
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import cache, partial
from http import HTTPStatus
from pathlib import Path
from random import Random
from typing import Any

import msgspec
from starlette.testclient import TestClient

from benchmarks.attempts import ERROR, HANG, LOST, Attempt, Execute, Outcome, Tally, called, drive, judged
from benchmarks.hardening_commands import CORES, FOUND, LIMIT_S, MODEL, STEP_S, command
from benchmarks.processes import run_process
from onnxperf.errors import StoreError
from onnxperf.records.race import Block
from onnxperf.serve.application import application
from onnxperf.store import open_store
from onnxperf.store.blobs import pack_blocks, pack_times, unpack_blocks, unpack_times
from tests.fuzz import recorded, seeds
from tests.fuzz.mutations import mutated_bytes, mutated_json, mutated_record

RECORD, OTHER, BUNDLE, BACK, STORE, AGAIN = "a.json", "b.json", "b.zip", "back.onnxperf.zip", "s.sqlite", "t.sqlite"
REAL_EVERY, GATED_EVERY, VARIED_EVERY, RESUMED_EVERY = 50, 25, 10, 10
"""One attempt in so many is a process of its own, a gate, a file of settings, or a tuning that goes on."""
DOCUMENTS = ("record", "machine", "versions", "options", "origin")
"""Fields of a line in a bundle that are JSON themselves."""
PACKED: dict[str, tuple[Any, Any, Any]] = {
    "blocks": (unpack_blocks, pack_blocks, list[Block]),
    "call_times": (unpack_times, pack_times, list[int]),
}
"""Fields of a subject that are raw times: how they are read and written, and what they are."""
LIBRARY = """#include <stdio.h>
__attribute__((constructor)) static void run(void) { FILE *mark = fopen("ran", "w"); if (mark) fclose(mark); }
"""


def _damaged(content: bytes, random: Random) -> bytes:
    """JSON with other values, most of the right type; else with other bytes."""
    if random.random() < 0.1:
        return mutated_bytes(content, random)
    return json.dumps(mutated_record(json.loads(content), random)).encode("utf-8", "replace")


@cache
def _trap() -> dict[str, bytes]:
    """Programs that leave a mark when they run: an interpreter, and a library where there is a compiler."""
    files = {recorded.TRAP: recorded.SCRIPT}
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "trap.c"), Path(folder, "trap.so")
        source.write_text(LIBRARY, encoding="ascii")
        try:
            subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source], check=True, capture_output=True)
            files[f"{recorded.TRAP}.so"] = library.read_bytes()
        except (OSError, subprocess.CalledProcessError):
            print("no C compiler: custom_ops are tried without a library that leaves a mark", file=sys.stderr)
    return files


def _with_trap(**files: bytes) -> dict[str, bytes]:
    return {MODEL: seeds.models()[recorded.MODEL], **_trap(), **files}


# ---------------------------------------------------------------- records


@cache
def _measured() -> list[bytes]:
    """Records that fit the model, so that a gate against them is measured: of a gate and of a bench."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, MODEL).write_bytes(seeds.models()[recorded.MODEL])
        for name in ("gate", "bench"):
            line = [sys.executable, "-m", "onnxperf", *command(name), "-o", RECORD]
            subprocess.run(line, cwd=folder, check=False, capture_output=True)
            found.append(Path(folder, RECORD).read_bytes())
    return found


def _hostile_settings(random: Random) -> bytes:
    """A file as `tune -o NAME.settings.json` writes it, with settings that name a program."""
    saved = json.loads(random.choice(seeds.SETTINGS))
    trap = random.choice([f"./{recorded.TRAP}", str(Path(recorded.TRAP).resolve())])
    saved["settings"] |= random.choice([{"env": trap}, {"custom_ops": f"{trap}.so"}, {}])
    return json.dumps(saved if random.random() < 0.5 else mutated_record(saved, random)).encode("utf-8", "replace")


def _record_attempt(number: int) -> Attempt:
    random = Random(f"record {number}")
    if number % VARIED_EVERY == VARIED_EVERY - 1:
        name = random.choice(["bench", "tune"])
        files = _with_trap(**{RECORD: _hostile_settings(random)})
        return Attempt(files, [*command(name), "--variant", f"@{RECORD}"], forbidden=recorded.MARK)
    if number % GATED_EVERY == GATED_EVERY - 2:
        files = _with_trap(**{RECORD: _damaged(random.choice(_measured()), random)})
        gate = [RECORD if before == "--baseline" else each for before, each in _pairs(command("gate"))]
        return Attempt(files, gate, forbidden=recorded.MARK)
    whole = recorded.files()[random.choice(list(recorded.files()))]
    files = {name: _damaged(whole, random) for name in (RECORD, OTHER)[: random.choice([1, 1, 2])]}
    arguments = ["report", *files, "-o", random.choice(["out.html", "out.md"])]
    if number % REAL_EVERY == REAL_EVERY - 3:
        return Attempt(files, steps=lambda _execute: [_real(arguments, files)])
    return Attempt(files, arguments)


def _pairs(arguments: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    return zip(("", *arguments), arguments, strict=False)


def _real(arguments: list[str], files: dict[str, bytes]) -> Outcome:
    ended = run_process(arguments, files, LIMIT_S)
    return Outcome(HANG, " ".join(arguments)) if ended.code is None else judged(ended.code, ended.out, ended.err)


def records(count: int = 600) -> list[Tally]:
    """Damaged records of every kind, in reports, as baselines of gates and as settings; none may run a program."""
    _trap(), recorded.files()  # once, before children are made
    if count >= GATED_EVERY:
        _measured()
    return [drive("records", _record_attempt, range(count), LIMIT_S, FOUND, CORES)]


# ---------------------------------------------------------------- bundles


def _damaged_line(line: Any, random: Random) -> Any:
    """A line of a bundle with a damaged document, damaged times, or other values of its own."""
    found = list(_documents(line))
    if not found or random.random() < 0.1:
        return (mutated_record if random.random() < 0.8 else mutated_json)(line, random)
    kinds = sorted({name for _, name in found})
    name = random.choice([each for each in kinds if each not in ("versions", "options")] or kinds)  # nearly empty ones
    owner = random.choice([each for each, its in found if its == name])
    if name in PACKED:
        owner[name] = _damaged_times(name, owner[name], random)
    else:
        with contextlib.suppress(ValueError):  # damaged before
            owner[name] = json.dumps(mutated_record(json.loads(owner[name]), random))
    return line


def _damaged_times(name: str, text: str, random: Random) -> str:
    """Times with a valid checksum that nobody can have measured; else other bytes."""
    unpack, pack, kind = PACKED[name]
    try:
        data = base64.b64decode(text)
        values = {"": msgspec.to_builtins(list(unpack(data)))}
        damaged = pack(msgspec.convert(mutated_record(values, random)[""], kind))
    except (KeyError, TypeError, ValueError, StoreError):
        damaged = mutated_bytes(text.encode("ascii", "replace"), random)
    return base64.b64encode(damaged).decode()


def _documents(value: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """Where documents and packed times are, however deep."""
    if isinstance(value, dict):
        yield from ((value, name) for name in (*DOCUMENTS, *PACKED) if isinstance(value.get(name), str))
    for each in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _documents(each)


def _bundle(random: Random, resumed: bool) -> bytes:
    races = [lines for lines in recorded.rows() if len(lines) > 1]  # they have cases, and most of what is judged
    chosen = [random.choice(races), *random.sample(recorded.rows(), random.randint(0, 2))]
    runs: list[list[Any]] = copy.deepcopy(chosen)
    if resumed:
        runs.append(recorded.lines_of(random.choice([recorded.tuning(), *recorded.trapped()])))
    lines = runs[0] if random.random() < 0.6 else random.choice(runs)
    place = random.randrange(len(lines))
    dice = random.random()
    if dice < 0.1 and place:
        lines.insert(random.randrange(1, len(lines) + 1), copy.deepcopy(lines[place]))  # a case twice
    elif dice < 0.9 and not (resumed and dice < 0.5):
        for _ in range(random.choice((1, 2, 4))):
            lines[place] = _damaged_line(lines[place], random)
    whole = recorded.zipped(runs, **({"runs": random.choice([0, -1, 2**62])} if dice > 0.97 else {}))
    return mutated_bytes(whole, random) if 0.9 < dice < 0.97 else whole


def _bundle_attempt(number: int) -> Attempt:
    random = Random(f"bundle {number}")
    resumed = number % RESUMED_EVERY == RESUMED_EVERY - 1
    files = _with_trap(**{BUNDLE: _bundle(random, resumed)})
    form = random.choice(["out.html", "out.md"])
    return Attempt(files, steps=partial(looked_at, form=form, resumed=resumed), forbidden=recorded.MARK)


def looked_at(execute: Execute, form: str, resumed: bool) -> Iterator[Outcome]:
    """Import a bundle, then everything that reads what came with it."""
    imported = execute(["runs", "import", BUNDLE, "--store", STORE])
    yield imported
    if imported.kind == ERROR or not Path(STORE).exists():
        return
    with open_store(STORE, reading=True) as store:
        names = [run.id for run in store.runs()]
    for name in names:
        yield execute(["runs", "show", name, "--store", STORE])
        yield execute(["report", name, "-o", form, "--store", STORE])
    yield execute(["runs", "--store", STORE])
    yield execute(["runs", "compare", *(names * 2)[:2], "--store", STORE])
    yield execute(["history", MODEL, "--store", STORE])
    yield execute(["runs", "export", "all", "-o", BACK, "--store", STORE])
    if Path(BACK).exists():
        back = execute(["runs", "import", BACK, "--store", AGAIN])
        yield Outcome(LOST, "what was exported cannot be imported") if back.kind == ERROR else back
    yield called(partial(_pages, names))
    if resumed:
        yield execute(["tune", MODEL, "--resume", "last", "--time", "3", "--timeout", str(STEP_S), "--store", STORE])


def _pages(names: list[str]) -> None:
    """Every page of `serve` on these runs; what it raises would be an answer with the code 500."""
    with open_store(STORE, reading=True) as store:
        client = TestClient(application(store), base_url="http://127.0.0.1:8642")
        runs = [f"{place}/runs/{name}" for name in names for place in ("", "/api")]
        pair = "first={}&second={}".format(*(names * 2)[:2]) if names else ""
        history = [f"{place}/history?model={MODEL}" for place in ("", "/api")]
        lists = ["/", "/history", "/api/runs", "/api/models", f"/compare?{pair}", f"/api/compare?{pair}"]
        for path in (*lists, *history, *runs):
            if client.get(path).status_code == HTTPStatus.INTERNAL_SERVER_ERROR:
                raise RuntimeError(f"{path} answers 500")


def bundles(count: int = 500) -> list[Tally]:
    """Damaged bundles of runs: imported, shown, compared, exported, served and resumed; none may run a program."""
    _trap(), recorded.rows()
    return [drive("bundles", _bundle_attempt, range(count), LIMIT_S, FOUND, CORES)]
