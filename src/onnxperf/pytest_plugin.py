"""The pytest plugin: the fixture `onnxperf_race`, its options, and the table of all races of a session."""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import shlex
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # pytest loads this module wherever onnxperf is installed: slow imports wait for a race
    from onnxperf.records.comparison import Comparison
    from onnxperf.records.race import Bench, Case, Subject
    from onnxperf.results.bench import BenchResult

DEFAULT_S = "5"
_PAUSE_S = 0.05
"""Seconds between two attempts to become the one racing test."""
_ATTRIBUTE = "onnxperf_races"
"""The section of a report, which also travels from the processes of pytest-xdist: records as JSON."""
_ENDINGS = {"differs": "has outputs that differ", "oom": "ran out of memory", "timeout": "timed out"}
"""Phrases for statuses that do not fit into a sentence."""
_KEPT = {"passed": "kept", "failed": "exceeded", "undecided": "undecided"}
"""Whether a subject stays within the limit, by outcome."""
_NEW = pytest.StashKey[list[str]]()
"""Races of a test that are not in a report yet."""
_ALL = pytest.StashKey[list[str]]()
"""All races of the session."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options; each name begins with the name of the package."""
    group = parser.getgroup("onnxperf", "onnxperf races")
    group.addoption(
        "--onnxperf-max-slowdown",
        type=partial(_checked, "max_slowdown"),
        metavar="LIMIT",
        help="fail a test if its race shows a subject slower than its baseline by more than this, such as 5%%, "
        "beyond the noise",
    )
    group.addoption(
        "--onnxperf-time",
        type=partial(_checked, "time"),
        default=DEFAULT_S,
        metavar="SECONDS",
        help="time per race, unless the test sets it [default: 5]",
    )
    group.addoption("--onnxperf-skip", action="store_true", help="skip every test that races")
    group.addoption("--onnxperf-json", metavar="FILE", help="write all races to one file, for `onnxperf report FILE`")


def _checked(option: str, text: str) -> str:
    """The text, if it is a valid value of an option of `onnxperf.bench`."""
    from onnxperf.errors import BadOption
    from onnxperf.options.functions import BENCH

    try:
        BENCH.find(option).typed(text)
    except BadOption as error:
        raise argparse.ArgumentTypeError(str(error).replace("`", "")) from error
    return text


def _part(text: str) -> float:
    from onnxperf.options.texts import part

    return part(text)


def pytest_configure(config: pytest.Config) -> None:
    """Collect the races in reports; reject an unwritable file before any test runs."""
    config.stash[_ALL] = []
    config.pluginmanager.register(_Collector(config.stash[_ALL]), "onnxperf-races")
    path = config.getoption("onnxperf_json")
    if path is not None:
        from onnxperf.errors import BadOption
        from onnxperf.render.kit.files import check_folder
        from onnxperf.wording.names import visible

        try:
            check_folder(path)
        except BadOption as error:
            raise pytest.UsageError(visible(f"--onnxperf-json: {error}")) from error


# ---------------------------------------------------------------- one race


@pytest.fixture
def onnxperf_race(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., BenchResult]:
    """Race a baseline against something new: `onnxperf_race(baseline, new)` returns the result of `onnxperf.bench`.

    Each is a model (a path, bytes, a ModelProto, the name of a zoo model), a function without arguments, or a dict of
    several by name; a single subject is only timed. Keywords are those of `onnxperf.bench`. The test fails if a subject
    fails, if its outputs differ, or if it exceeds the limit of --onnxperf-max-slowdown.
    """
    if request.config.getoption("onnxperf_skip"):
        pytest.skip("races are skipped: --onnxperf-skip")
    folder = tmp_path_factory.getbasetemp()
    shared = folder.parent if hasattr(request.config, "workerinput") else folder  # with pytest-xdist
    return partial(_race, request.node, shared / "onnxperf-race.lock")


def _race(item: pytest.Item, lock: Path, baseline: Any, new: Any = None, **keywords: Any) -> BenchResult:
    __tracebackhide__ = True
    from onnxperf.api.bench import bench
    from onnxperf.wording.names import visible

    subjects = baseline if new is None else {**_named(baseline, "baseline"), **_named(new, "new")}
    with _alone(lock), _pickled_by_value(item):
        result = bench(subjects, **{"time": item.config.getoption("onnxperf_time"), **keywords})
    if result.interrupted:
        raise KeyboardInterrupt
    item.stash.setdefault(_NEW, []).append(_record_of(item, result))
    faults = list(_faults(result, item.config.getoption("onnxperf_max_slowdown")))
    if faults:
        pytest.fail("\n".join(map(visible, faults)), pytrace=False)
    return result


def _named(subject: Any, name: str) -> dict[str, Any]:
    return dict(subject) if isinstance(subject, Mapping) else {name: subject}


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Wait until no other process of this session races: races would disturb each other."""
    from onnxperf.environments.kept import lock

    with path.open("a+b") as file:
        while not lock(file.fileno(), wait=False):
            time.sleep(_PAUSE_S)
        yield


@contextlib.contextmanager
def _pickled_by_value(item: pytest.Item) -> Iterator[None]:
    """Functions of a test file that only pytest can import are pickled by value; the worker imports all others."""
    module = getattr(item, "module", None)
    if module is None or item.config.getoption("importmode") != "importlib":
        yield
        return
    import cloudpickle

    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _record_of(item: pytest.Item, result: BenchResult) -> str:
    """The record as JSON, with its cases named after the test; it is never read back into a result here."""
    from msgspec.structs import replace

    from onnxperf.render.kit.documents import compact_json
    from onnxperf.wording.names import storable

    name = storable(item.nodeid)
    cases = tuple(replace(case, model=name) for case in result.cases)
    return compact_json(replace(result.record, cases=cases)).decode()


def _faults(result: BenchResult, limit: str | None) -> Iterator[str]:
    """The faults of a race, one line each."""
    from onnxperf.analyze.judges.gate import standings_in
    from onnxperf.analyze.judges.outcome import fault_of

    for case in result.cases:
        for subject in case.subjects:
            if fault_of(subject):
                yield f"{subject.name} {_ended(subject)}"
        if not case.subjects and fault_of(case):
            yield f"the race {_ENDINGS.get(case.status, case.status)}: {case.answer}"
    for of_case in [] if limit is None else standings_in(result.cases, _part(limit)):
        for name, each in of_case.items():
            if each.outcome == "failed":
                yield f"{name} is slower than the baseline by more than {limit}, beyond the noise: {_times(each.found)}"


def _ended(subject: Subject) -> str:
    words = _ENDINGS.get(subject.status, subject.status)
    return f"{words}: {subject.reason}" if subject.reason else words


def _times(found: Comparison) -> str:
    """The time of a subject relative to the baseline, as a ratio with its interval."""
    from onnxperf.wording.numbers import factor, interval

    return f"{factor(found.ratio)} times its time (95 % CI {interval(found.low, found.high)})"


# ---------------------------------------------------------------- all races


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the races of a test to its report."""
    report = yield
    races = item.stash.get(_NEW, [])
    if races:
        setattr(report, _ATTRIBUTE, list(races))
        races.clear()
    return report


class _Collector:
    """Collects the races from reports."""

    def __init__(self, races: list[str]) -> None:
        self._races = races

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take the races of a report."""
        self._races += getattr(report, _ATTRIBUTE, ())


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the table of all races, and write the file."""
    path = config.getoption("onnxperf_json")
    if not config.stash[_ALL]:
        if path is not None:
            from onnxperf.wording.names import visible

            terminalreporter.write_line(f"onnxperf: {visible(path)} was not written: no test raced")
        return
    record = _whole(config)
    terminalreporter.section("onnxperf races")
    _print(record, config, terminalreporter)
    if path is not None:
        _write(record, path, terminalreporter)


def _whole(config: pytest.Config) -> Bench:
    """One record of all races; several races of one test are numbered."""
    from msgspec.structs import replace

    from onnxperf.errors import masked
    from onnxperf.records.race import Bench
    from onnxperf.render.kit.documents import from_json

    races = [from_json(text.encode(), Bench) for text in config.stash[_ALL]]
    cases: list[Case] = []
    seen: dict[str, int] = {}
    for race in races:
        name = race.cases[0].model
        seen[name] = seen.get(name, 0) + 1
        label = name if seen[name] == 1 else f"{name} #{seen[name]}"
        cases += (replace(case, model=label) for case in race.cases)
    command = shlex.join(["pytest", *map(masked, map(str, config.invocation_params.args))])
    return replace(races[0], command=command, cases=tuple(cases))


def _print(record: Bench, config: pytest.Config, terminalreporter: Any) -> None:
    from onnxperf.render.kit.console import PageConsole, print_page
    from onnxperf.render.race.tested import races_page, undecided_in
    from onnxperf.wording.numbers import count

    limit = config.getoption("onnxperf_max_slowdown")
    races = list(zip(record.cases, _kept(record.cases, limit), strict=True))
    text = io.StringIO()
    console = PageConsole(file=text, force_terminal=terminalreporter.hasmarkup)
    print_page(races_page(races, limit or ""), console)
    terminalreporter.write("".join(f"{line.rstrip()}\n" for line in text.getvalue().splitlines()))
    if undecided := undecided_in(races):
        unsure = count(undecided, "comparison")
        terminalreporter.write_line(f"{unsure} undecided: increase --onnxperf-time to narrow the interval", yellow=True)


def _kept(cases: Sequence[Case], limit: str | None) -> Iterator[dict[str, str]]:
    """Whether each case's subjects stay within the limit; the cases of a race stand together, as they were judged."""
    from onnxperf.analyze.judges.gate import standings_in

    for _, group in itertools.groupby(cases, key=lambda case: case.model):
        of_race = list(group)
        if limit is None:
            yield from ({} for _ in of_race)
        else:
            for found in standings_in(of_race, _part(limit)):
                yield {name: _KEPT[each.outcome] for name, each in found.items()}


def _write(record: Bench, path: str, terminalreporter: Any) -> None:
    from onnxperf.errors import OnnxperfError
    from onnxperf.render.kit.documents import to_json
    from onnxperf.render.kit.files import write
    from onnxperf.wording.names import one_line, visible

    try:
        write(Path(path), to_json(record))
    except OnnxperfError as error:
        terminalreporter.write_line(f"onnxperf: {visible(one_line(error))}", red=True)
