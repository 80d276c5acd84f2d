"""The plugin of pytest, in sessions of its own: races, the limit, the table, the file, and several processes."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import onnxperf
from onnxperf.records.race import Case, Subject
from onnxperf.render.kit.console import page_text
from onnxperf.render.race.tested import races_page, undecided_in

# By its module, and not by the entry point, which an older installation does not have.
PLUGIN = ("-p", "no:onnxperf", "-p", "onnxperf.pytest_plugin", "-p", "no:cacheprovider")
# So many rounds, and not so many seconds, as a busy machine does little in a second; one thread, as it decides nothing
# about several.
RACES = """
    from pathlib import Path

    import pytest

    NUMBERS = list(range(300))
    PLAN = {"blocks": 12, "threads": 1}

    def quick():
        return sum(NUMBERS)

    def slow():
        return sum(NUMBERS * 50)

    def test_of_functions_of_this_file(onnxperf_race):
        assert onnxperf_race(slow, quick, **PLAN)["new"].verdict == "faster"

    def test_of_closures(onnxperf_race):
        many = 50
        result = onnxperf_race({"once": lambda: sum(NUMBERS)}, {"often": lambda: sum(NUMBERS * many)}, **PLAN)
        assert result["often"].verdict == "slower"
        assert result.cases[0].baseline == "once"

    def test_of_models(onnxperf_race):
        result = onnxperf_race("MODEL", {"bytes": Path("MODEL").read_bytes()}, dims={"batch": 2})
        assert [each.name for each in result.subjects] == ["baseline", "bytes"]

    def test_of_one_alone(onnxperf_race):
        assert onnxperf_race(quick).subjects[0].time_ns > 0
        assert onnxperf_race("MODEL", blocks=6).ok

    def test_of_something_broken(onnxperf_race):
        onnxperf_race(quick, {"broken": lambda: 1 / 0})

    def test_without_a_race():
        pass
"""


def session(folder: Path, *options: str, source: str = RACES) -> subprocess.CompletedProcess[str]:
    """A session of pytest in a process of its own, on a file with this source."""
    file = folder / "test_speed.py"
    file.write_text("\n".join(line.removeprefix("    ") for line in source.splitlines()), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", *PLUGIN, "--strict-markers", "-W", "error", *options, file.name]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, linear_bytes: bytes) -> Path:
    path = tmp_path_factory.mktemp("races")
    (path / "MODEL").write_bytes(linear_bytes)
    return path


@pytest.fixture(scope="module")
def raced(folder: Path) -> str:
    """What a session without a limit prints; all its races are in races.json."""
    ended = session(folder, "-v", "--onnxperf-time=0.5", "--onnxperf-json=races.json")
    assert ended.returncode == 1, ended.stdout + ended.stderr
    return ended.stdout


def table(printed: str) -> str:
    return printed.partition("= onnxperf races =")[2].partition("= short test summary")[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "outcome"),
    [
        ("of_functions_of_this_file", "PASSED"),
        ("of_closures", "PASSED"),
        ("of_models", "PASSED"),
        ("of_one_alone", "PASSED"),
        ("of_something_broken", "FAILED"),
        ("without_a_race", "PASSED"),
    ],
)
def test_a_race_is_a_test_like_any_other(test: str, outcome: str, raced: str) -> None:
    assert re.search(rf"test_{test} {outcome}", raced)


@pytest.mark.slow
def test_a_subject_that_fails_is_named_with_its_reason_and_without_a_traceback(raced: str) -> None:
    assert "\nbroken failed: ZeroDivisionError: division by zero\n" in raced
    assert "Traceback" not in raced


@pytest.mark.slow
def test_the_summary_has_a_row_per_subject_of_every_race(raced: str) -> None:
    rows = table(raced)
    for subject, word in [("new", "faster"), ("often", "slower"), ("broken", "failed")]:
        assert re.search(rf"\b{subject} .*\b{word}\b", rows), rows
    assert "limit" not in rows
    assert "#2" in rows, "the second race of a test has a number"


@pytest.mark.slow
def test_all_races_are_one_record_that_can_be_read_back(raced: str, folder: Path) -> None:
    result = onnxperf.load_run(folder / "races.json")
    names = [case.model.rpartition("::test_")[2] for case in result.cases]
    tests = ["of_functions_of_this_file", "of_closures", "of_models", "of_one_alone", "of_one_alone #2"]
    assert names == [*tests, "of_something_broken"]
    assert result["often"].verdict == "slower"
    assert result.record.command.startswith("pytest ")
    assert result.record.command.endswith("test_speed.py")
    assert "test_of_closures" in onnxperf.report(folder / "races.json").to_markdown().replace("\\", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [("-n2",), pytest.param(("--import-mode=importlib",), marks=pytest.mark.thorough)], ids=str
)
def test_a_subject_beyond_the_limit_fails_its_test(
    options: tuple[str, ...], tmp_path: Path, linear_bytes: bytes
) -> None:
    (tmp_path / "MODEL").write_bytes(linear_bytes)
    chosen = ("-k", "closures or functions", "--onnxperf-time=0.5", "--onnxperf-max-slowdown=5%")
    ended = session(tmp_path, *options, *chosen)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert "1 failed, 1 passed" in ended.stdout
    assert re.search(
        r"often is slower than the baseline by more than 5%, beyond the noise: [\d.]+ times its time", ended.stdout
    )
    assert re.search(r"\boften .*slower +exceeded", table(ended.stdout))
    assert re.search(r"\bnew .*faster +kept", table(ended.stdout))


LOCKED = """
    import fcntl
    import pytest

    @pytest.mark.parametrize("number", range(4))
    def test_no_other_process_races(onnxperf_race, number, tmp_path_factory, monkeypatch):
        from onnxperf.api import bench

        own = tmp_path_factory.getbasetemp().parent / "racing"

        def race(*args, **keywords):
            with own.open("a") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises, if another one holds it
                return measured(*args, **keywords)

        measured = bench.bench
        monkeypatch.setattr(bench, "bench", race)
        assert onnxperf_race(lambda: None, blocks=6).ok
"""


@pytest.mark.slow
def test_one_race_runs_at_a_time_however_many_processes_there_are(tmp_path: Path) -> None:
    ended = session(tmp_path, "-n2", "--onnxperf-time=0.3", source=LOCKED)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert len(re.findall("test_no_other_process", table(ended.stdout))) == 4


def test_races_can_be_skipped_and_other_tests_run(folder: Path) -> None:
    ended = session(folder, "--onnxperf-skip", "--onnxperf-json=none.json", "-rs")
    assert ended.returncode == 0
    assert "1 passed, 5 skipped" in ended.stdout
    assert "races are skipped: --onnxperf-skip" in ended.stdout
    assert "none.json was not written: no test raced" in ended.stdout
    assert not (folder / "none.json").exists()


def test_a_session_without_races_says_nothing_of_them(folder: Path) -> None:
    ended = session(folder, "-k", "without_a_race")
    assert ended.returncode == 0
    assert "onnxperf" not in ended.stdout.partition("collected")[2]


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--onnxperf-max-slowdown=much", "max_slowdown=much: expected a number such as 0.01 or 1%"),
        ("--onnxperf-max-slowdown=-5%", "expected between 0 and 100"),
        ("--onnxperf-max-slowdown=nan", "expected between 0 and 100"),
        ("--onnxperf-time=0", "expected more than 0 seconds"),
        ("--onnxperf-time=inf", "expected more than 0 seconds"),
        ("--onnxperf-json=no/such/folder/races.json", "its folder does not exist"),
    ],
)
def test_a_wrong_option_is_refused_before_any_test_runs(option: str, text: str, tmp_path: Path) -> None:
    ended = session(tmp_path, option)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert text in ended.stderr


def case_of(*subjects: Subject, model: str = "a.py::test_one", **fields: object) -> Case:
    return Case(model=model, subjects=subjects, baseline="old", **fields)  # type: ignore[arg-type]


def test_the_table_shows_the_limit_where_there_is_one_and_counts_what_is_undecided() -> None:
    old = Subject(name="old", status="ok", verdict="baseline", time_ns=1e6, speedup=1.0)
    new = Subject(name="new", status="ok", verdict="undecided", speedup=0.98, speedup_low=0.94, speedup_high=1.02)
    alone = Subject(name="alone", status="ok", verdict="baseline", time_ns=2e6)
    races = [(case_of(old, new), {"new": "kept"}), (case_of(alone, model="a.py::test_two"), {})]
    shown = page_text(races_page(races, "10%"))
    assert re.search(r"limit 10%", shown)
    assert re.search(r"new .*0.98. +0.94–1.02 +[?] undecided +(✓ )?kept", shown)
    assert re.search(r"test_two +alone +2.00 ms", shown, flags=re.MULTILINE)
    assert undecided_in(races) == 0, "the limit is what was asked for"
    assert undecided_in([(case_of(old, new), {})]) == 1


def test_a_race_of_several_sizes_has_a_row_for_each() -> None:
    old = Subject(name="old", status="ok", verdict="baseline", time_ns=1e6)
    races: list[tuple[Case, dict[str, str]]] = [(case_of(old, dims={"batch": size}), {}) for size in (1, 8)]
    shown = page_text(races_page(races, ""))
    assert "test_one batch=1" in shown
    assert "test_one batch=8" in shown
