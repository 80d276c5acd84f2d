"""A store with runs of hostile names, and a client of the application over it."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from msgspec.structs import replace
from starlette.testclient import TestClient

from onnxperf.api._keeping.kept_runs import keep
from onnxperf.records.race import Block
from onnxperf.results.bench import BenchResult
from onnxperf.serve.application import application
from onnxperf.serve.server import names_of
from onnxperf.store import Store, open_store
from tests.api.kept import check, result_of
from tests.render import examples

HOSTILE = '<img src=x onerror="window.broken=1">\'</script><script>window.broken=1</script>'
TOKEN = "correct horse battery staple"

Client = Callable[..., TestClient]


class Kept(NamedTuple):
    """A store, and the names of its runs, the oldest first."""

    where: str
    store: Store
    before: str
    after: str
    hostile: str
    check: str


def race(label: str, pace: float = 1.0) -> BenchResult:
    """A race of two call styles, with enough blocks for a verdict."""
    subjects = [
        examples.subject(name, time * pace, verdict, model=label, blocks=_launched(time * pace))
        for name, time, verdict in examples.CALL_STYLES[:3]
    ]
    command = f"onnxperf bench {label} --call run,run-c"
    case = examples.case(*subjects, model=label, fingerprint={label: "8dd3a47e"})
    return BenchResult(examples.bench(case, command=command))


def _launched(time_ns: float) -> tuple[Block, ...]:
    """Three rounds in each of eight launches."""
    rounds = examples.blocks(time_ns, 24)
    return tuple(replace(each, launch=place // 3, set_up=place // 3) for place, each in enumerate(rounds))


def fill_with_examples(where: str) -> list[str]:
    """Two races of one model, one of hostile names, and a check; their ids."""
    results: list[Any] = [
        race("resnet.onnx"),
        race("resnet.onnx", 1.1),
        race(f"{HOSTILE}.onnx"),
        result_of(check(True)),
    ]
    names = [str(keep(each, store=where)) for each in results]
    with open_store(where) as store:
        store.tag_run(names[0], {"commit": "abc123", "branch": "main"})
        store.tag_run(names[2], {"note": HOSTILE})
    return names


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A store that nobody opens, and the names of its runs."""
    path = tmp_path_factory.mktemp("filled") / "runs.sqlite"
    return path, fill_with_examples(str(path))


@pytest.fixture
def kept(filled: tuple[Path, list[str]], tmp_path: Path) -> Iterator[Kept]:
    path, names = filled
    where = str(shutil.copy(path, tmp_path))
    with open_store(where, reading=True) as store:
        yield Kept(where, store, *names)


@pytest.fixture
def client(kept: Kept) -> Client:
    """Makes a client; `host` is what the server was told, and `called` how the client calls it."""

    def make(host: str = "127.0.0.1", called: str = "127.0.0.1", token: str = "", **options: Any) -> TestClient:
        app = application(kept.store, names_of(host), token)
        return TestClient(app, base_url=f"http://{called}:8642", raise_server_exceptions=False, **options)

    return make
