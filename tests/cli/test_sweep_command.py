"""Sweeps as a user meets them: killed, resumed, out of memory, hanging, and always complete in the end."""

from __future__ import annotations

import os
import pty
import random
import signal
import sqlite3
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psutil
import pytest

from onnxperf.api._keeping.kept_runs import keep
from onnxperf.api._shared.cells import Cell
from onnxperf.api._shared.requests import parse
from onnxperf.api._shared.sweeps import Keeping, run_sweep
from onnxperf.caller import Caller, called_by
from onnxperf.cli.command import Typed
from onnxperf.cli.commands.sweep import present_cases, resuming
from onnxperf.cli.main import run
from onnxperf.cli.present import Output
from onnxperf.measure.messages import READER
from onnxperf.measure.pool import Launches
from onnxperf.measure.race import Progress
from onnxperf.options.functions import CASE
from onnxperf.records.race import Bench, Case, Subject
from onnxperf.results.bench import BenchResult
from onnxperf.store import open_store
from tests.depth import all_or, often
from tests.measure.nursery import Nursery
from tests.measure.processes import left_behind
from tests.render import examples

KILLS = often(12)
SIZES = (1, 2, 3, 4)
TINY = ("--blocks", "2", "--calls-per-block", "1", "--threads", "1")

SOURCES = """
import os
import signal
import threading
from pathlib import Path


def killed(X):
    if len(X) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return X[:, :4]


def greedy(X):
    if len(X) == 2 and not Path("enough").exists():
        held = b"x" * (700 * 2**20)
        threading.Event().wait()
        del held
    return X[:, :4]


def hanging(X):
    if len(X) == 2:
        threading.Event().wait()
    return X[:, :4]


def make_killed():
    return killed


def make_greedy():
    return greedy


def make_hanging():
    return hanging
"""


@pytest.fixture(autouse=True)
def folder(linear_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model and sources, in which commands run."""
    (tmp_path / "misfits.py").write_text(SOURCES, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ONNXPERF_STORE", str(tmp_path / "runs.sqlite"))
    monkeypatch.delitem(sys.modules, "misfits", raising=False)
    return linear_path.parent


def statuses_in(store: Path) -> list[dict[str, str]]:
    """The cases of every run, the newest first."""
    with open_store(store) as opened:
        return [dict(opened.cases_of(each.id)) for each in opened.runs()]


def loaded(store: Path) -> Bench:
    with open_store(store) as opened:
        return opened.load(opened.find("last").id)


def attempts_in(store: Path) -> dict[str, int]:
    connection = sqlite3.connect(store)
    try:
        rows = connection.execute(
            'SELECT cases.key, COUNT(*) FROM attempts JOIN cases ON cases.id = attempts."case" GROUP BY cases.id'
        )
        return dict(rows.fetchall())
    finally:
        connection.close()


# ---------------------------------------------------------------- the sweep is killed


def command(store: Path, *, resume: bool) -> list[str]:
    sizes = ",".join(map(str, SIZES))
    again = ["--resume", "last"] if resume else []
    return ["bench", "linear.onnx", "--dim", f"batch={sizes}", *TINY, "--store", str(store), *again]


def unfinished_in(store: Path) -> int:
    """How many cases are not done."""
    cases = statuses_in(store) if store.exists() else []
    return sum(status != "ok" for status in cases[0].values()) if cases else len(SIZES)


def run_for(nursery: Nursery, store: Path, moment_s: float | None, tag: str) -> bool:
    """Run or resume the sweep, and kill it at a moment; returns whether it came to its end."""
    resume = store.exists() and bool(statuses_in(store))
    nursery.start([command(store, resume=resume)], {"ONNXPERF_TEST_TAG": tag})
    nursery.ends_within(moment_s)
    nursery.kill()
    code = nursery.end()
    assert code in (0, -signal.SIGKILL), nursery.printed  # it may have ended just before it was killed
    return code == 0


@pytest.fixture
def nursery(folder: Path) -> Iterator[Nursery]:
    commands = Nursery("onnxperf.cli.main:run", "onnxperf.cli.commands.bench", "onnxperf.store", "onnxperf.api.bench")
    yield commands
    commands.close()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="PR_SET_PDEATHSIG and /proc are Linux's")
def test_a_sweep_killed_at_random_moments_has_every_case_exactly_once(folder: Path, nursery: Nursery) -> None:
    chance = random.Random(6)
    expected = {f"linear.onnx batch={size}": "ok" for size in SIZES}
    tag = uuid.uuid4().hex
    begin = time.monotonic()
    assert run_for(nursery, folder / "whole.sqlite", None, tag)
    whole_s = time.monotonic() - begin
    stores: list[Path] = []
    kills = 0
    while kills < KILLS:
        stores.append(folder / f"{len(stores)}.sqlite")
        while kills < KILLS:
            # A little later than what is left may take, so that a sweep is killed several times and then ends.
            latest_s = whole_s * (unfinished_in(stores[-1]) + 1) / (len(SIZES) + 1)
            if run_for(nursery, stores[-1], chance.uniform(0, latest_s), tag):
                break
            kills += 1
            assert left_behind(tag) == []
    assert run_for(nursery, stores[-1], None, tag)
    for store in stores:
        assert statuses_in(store) == [expected]
        cases = loaded(store).cases
        assert [case.dims for case in cases] == [{"batch": size} for size in SIZES]
        assert all(len(case.subjects[0].blocks) == 2 for case in cases)
    assert left_behind(tag) == []


# ---------------------------------------------------------------- one of its cases goes wrong


MISFITS = {
    "killed": ((), "crashed", "killed by SIGKILL"),
    "greedy": (("--memory-limit", "500MB"), "oom", "more than the 500 MB of `memory_limit`"),
    "hanging": (("--timeout", "10"), "timeout", "no answer within 10 s"),  # the others start within that
}


def misfit(name: str, *extra: str) -> int:
    source = ("--against", f"{name}=misfits.py:make_{name}")
    return run(["bench", "linear.onnx", *source, "--dim", "batch=1,2,3", *TINY, "--warmup", "0", *extra])


@pytest.mark.slow
@pytest.mark.fresh_workers  # and so with names of their own
@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
@pytest.mark.parametrize("name", all_or(["killed"], MISFITS))
def test_a_case_that_goes_wrong_leaves_the_others_complete(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    extra, status, reason = MISFITS[name]
    before = psutil.Process().children(recursive=True)
    assert misfit(name, *extra) == 1
    assert statuses_in(folder / "runs.sqlite") == [
        {"linear.onnx batch=1": "ok", "linear.onnx batch=2": status, "linear.onnx batch=3": "ok"}
    ]
    first, wrong, last = loaded(folder / "runs.sqlite").cases
    for case in (first, last):
        assert [(subject.name, subject.status) for subject in case.subjects] == [("ort", "ok"), (name, "ok")]
        assert all(len(subject.blocks) == 2 for subject in case.subjects)
    assert [(subject.name, subject.status) for subject in wrong.subjects] == [("ort", "ok"), (name, status)]
    assert len(wrong.subjects[0].blocks) == 2
    assert reason in wrong.subjects[1].reason
    left = set(psutil.Process().children(recursive=True)) - set(before)
    assert {each.cmdline()[-1] for each in left} <= {READER}
    assert status in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX's")
def test_only_retry_runs_a_case_again_that_was_out_of_memory(folder: Path) -> None:
    store = folder / "runs.sqlite"
    limit = MISFITS["greedy"][0]
    assert misfit("greedy", *limit) == 1
    (folder / "enough").touch()
    assert misfit("greedy", *limit, "--resume", "last", "--retry", "timeout,failed") == 1
    assert set(attempts_in(store).values()) == {1}
    assert misfit("greedy", *limit, "--resume", "last", "--retry", "oom") == 0
    assert list(attempts_in(store).values()) == [1, 2, 1]
    assert statuses_in(store) == [{f"linear.onnx batch={size}": "ok" for size in (1, 2, 3)}]
    with open_store(store) as opened:
        assert opened.runs()[0].status == "ok"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_ctrl_c_ends_with_130_and_the_sweep_can_be_resumed(folder: Path) -> None:
    tag = uuid.uuid4().hex
    terminal, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "120", "ONNXPERF_TEST_TAG": tag}
    arguments = ["linear.onnx", "--call", "run,run-c", "--dim", "batch=1,2", "--time", "60", "--min-effect", "0.0001"]
    with subprocess.Popen(
        [sys.executable, "-m", "onnxperf", "bench", *arguments],
        stdout=subprocess.PIPE,
        stderr=theirs,
        env=environment,
        text=True,
    ) as process:
        os.close(theirs)
        seen = b""
        while b"round" not in seen:
            seen += os.read(terminal, 1024)
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    os.close(terminal)
    assert process.returncode == 130, printed
    assert left_behind(tag) == []
    assert statuses_in(folder / "runs.sqlite") == [{"linear.onnx batch=1": "pending", "linear.onnx batch=2": "pending"}]
    assert run(["bench", "linear.onnx", "--dim", "batch=1,2", *TINY, "--resume", "last"]) == 0
    assert statuses_in(folder / "runs.sqlite") == [{"linear.onnx batch=1": "ok", "linear.onnx batch=2": "ok"}]


def test_cases_that_cannot_be_run_at_all_are_no_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "nowhere.onnx", "--dim", "batch=1,2", *TINY]) in (1, 2)
    printed = capsys.readouterr()
    assert "no such file" in printed.out + printed.err


# ---------------------------------------------------------------- plans


def plan_file(text: str) -> str:
    Path("plan.toml").write_text(text, encoding="utf-8")
    return "plan.toml"


def test_a_dry_run_shows_every_case_and_runs_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_file('models = ["linear.onnx"]\ndims = { batch = [1, 2, 16] }')
    assert run(["sweep", plan, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert all(f"linear.onnx batch={size}" in printed for size in (1, 2, 16))
    assert not (folder / "runs.sqlite").exists()


def test_a_plan_is_run_kept_and_resumed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = "[options]\nblocks = 1\ncalls_per_block = 1\nwarmup = 0\nthreads = 1"
    plan = plan_file(f'models = ["linear.onnx"]\ndims = {{ batch = [1, 2] }}\n{options}')
    assert run(["sweep", plan, "-o", "all.csv"]) == 0
    assert len(Path("all.csv").read_text().splitlines()) == 3
    assert run(["sweep", plan, "--resume", "last", "--quiet"]) == 0
    assert statuses_in(folder / "runs.sqlite") == [{"linear.onnx batch=1": "ok", "linear.onnx batch=2": "ok"}]
    assert set(attempts_in(folder / "runs.sqlite").values()) == {1}
    assert capsys.readouterr().err == ""


def test_no_store_keeps_nothing(folder: Path) -> None:
    assert run(["bench", "linear.onnx", "--dim", "batch=1,2", *TINY, "--no-store"]) == 0
    assert not (folder / "runs.sqlite").exists()


# ---------------------------------------------------------------- interrupted


@pytest.mark.parametrize(
    ("typed", "resumed"),
    [
        ("sweep plan.toml", "onnxperf sweep plan.toml --resume lonuki"),
        ("sweep plan.toml --resume last --retry oom", "onnxperf sweep plan.toml --retry oom --resume lonuki"),
        ("sweep plan.toml --resume=last -o a.csv", "onnxperf sweep plan.toml -o a.csv --resume lonuki"),
        (
            "sweep 'my plan.toml' --store 'a b.sqlite'",
            "onnxperf sweep 'my plan.toml' --store 'a b.sqlite' --resume lonuki",
        ),
        ("bench a.onnx --dim batch=1,2", "onnxperf bench a.onnx --dim batch=1,2 --resume lonuki"),
    ],
)
def test_the_command_that_resumes_is_what_was_typed(typed: str, resumed: str) -> None:
    with called_by(Caller(f"onnxperf {typed}")):
        assert resuming("lonuki") == resumed


def test_an_interrupted_sweep_names_its_run_and_the_command_that_resumes_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def measured(size: int, _progress: Progress, _launches: Launches) -> Case:
        subject = Subject(name="ort", status="ok", time_ns=1000.0)
        return Case(model="m", dims={"batch": size}, subjects=(subject,), interrupted=size == 2)

    cells = [
        Cell(f"m batch={size}", "m", {"batch": size}, parse({}, CASE), partial(measured, size)) for size in (1, 2, 3)
    ]
    typed = Typed({}, {}, Output())
    with called_by(Caller("onnxperf sweep plan.toml")):
        assert present_cases(typed, lambda progress: run_sweep(cells, progress, Keeping(store=True))) == 130
    printed = capsys.readouterr()
    with open_store(folder / "runs.sqlite") as opened:
        name = opened.find("last").id
        assert list(opened.cases_of(name).values()) == ["ok", "pending", "pending"]
    assert printed.err == (
        f"onnxperf: run {name} has 1 of 3 cases; resume it with: onnxperf sweep plan.toml --resume {name}\n"
    )
    assert "1.00 µs pending" in printed.out


# ---------------------------------------------------------------- bad input


def of_plan(text: str) -> Callable[[], list[str]]:
    return lambda: ["sweep", plan_file(text)]


def of_bench(*arguments: str) -> Callable[[], list[str]]:
    return lambda: ["bench", "linear.onnx", "--dim", "batch=1,2", *TINY, *arguments]


def resumed_bench() -> list[str]:
    keep(BenchResult(examples.bench()))
    return of_bench("--resume", "last")()


BAD_INPUT: dict[str, tuple[Callable[[], list[str]], str]] = {
    "unknown status to retry": (of_bench("--resume", "last", "--retry", "oom,ok"), "unknown status to retry 'ok'"),
    "unknown status without resume": (of_bench("--retry", "never"), "unknown status to retry 'never'"),
    "resume of nothing": (of_bench("--resume", "last"), "no run 'last'"),
    "resume of an unknown run": (of_bench("--resume", "zzz"), "no run 'zzz'"),
    "resume of what is no sweep": (resumed_bench, "is not a sweep"),
    "resume without a store": (of_bench("--resume", "last", "--no-store"), "needs the store"),
    "resume from a store that is nowhere": (of_bench("--resume", "last", "--store", "no/a.sqlite"), "does not exist"),
    "no memory": (of_bench("--memory-limit", "0"), "more than 0 bytes"),
    "memory that is no amount": (of_bench("--memory-limit", "much"), "512MB or 2GB"),
    "a size that is no number": (of_bench("--dim", "seq=1,x"), "not a whole number"),
    "a size that is missing": (of_bench("--dim", "seq=1,"), "not a whole number"),
    "no plan": (lambda: ["sweep"], "PLAN"),
    "a plan that is not there": (lambda: ["sweep", "nowhere.toml"], "cannot be read"),
    "a plan that is a folder": (lambda: ["sweep", "."], "cannot be read"),
    "a plan that is no TOML": (of_plan("models = ["), "is not valid TOML"),
    "a plan with an unknown key": (
        of_plan('model = ["linear.onnx"]'),
        "'model' in the plan; did you mean 'models'?",
    ),
    "a plan without models": (of_plan("models = []"), "names no models"),
    "a plan with a case twice": (of_plan('models = ["linear.onnx", "linear.onnx"]'), "twice"),
    "a plan with an unknown option": (of_plan('models = ["linear.onnx"]\noptions = { tme = 1 }'), "'tme'"),
    "a plan with a wrong option": (of_plan('models = ["linear.onnx"]\noptions = { time = "long" }'), "time"),
    "a plan with an unknown zoo framework": (
        of_plan('models = [{ path = "zoo:tiny-linear", against = ["jax"] }]'),
        "choose from: sklearn",
    ),
    "a plan and no store": (
        lambda: ["sweep", plan_file('models = ["linear.onnx"]'), "--resume", "last", "--no-store"],
        "needs the store",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_and_exit_code_2(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments, expected = BAD_INPUT[case]
    code = run(arguments())
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert printed.err.startswith("onnxperf: ")
    assert printed.err.count("\n") == 1
    assert expected in printed.err
