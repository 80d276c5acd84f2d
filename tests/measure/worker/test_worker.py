"""What a worker answers, without a process around it."""

from __future__ import annotations

import gc
import os
import sys
import threading
import weakref
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from onnxperf.errors import BadModel, SubjectError
from onnxperf.frameworks.base import FrameworkModel
from onnxperf.measure import messages as ms
from onnxperf.measure import packing
from onnxperf.measure.worker.host import Host
from onnxperf.measure.worker.serve import die_with
from onnxperf.records.options import SessionOptions


def raiser(error: BaseException) -> Any:
    def call(*_arguments: object) -> None:
        raise error

    return call


def host_of(*functions: Any, **feeds: Any) -> Host:
    subjects = tuple(ms.FunctionSubject(name="f", function=cloudpickle.dumps(function)) for function in functions)
    host = Host()
    reply = host.answer(ms.Load(ms.WorkerSpec(subjects=subjects, threads=2, feeds=packing.pack_feeds(feeds))))
    assert reply == ms.Loaded(None, {"threads": 2})
    return host


def model_spec(path: Path, *calls: str, casts: dict[str, str] | None = None, dtype: str = "float32") -> ms.WorkerSpec:
    return ms.WorkerSpec(
        subjects=tuple(ms.ModelSubject(name=call, call=call) for call in calls),
        threads=1,
        feeds=packing.pack_feeds({"X": np.ones((2, 10), dtype)}),
        runtime="ort",
        model_path=str(path),
        session=SessionOptions(threads=1),
        casts=casts or {},
    )


def model_host(path: Path, *calls: str, casts: dict[str, str] | None = None, dtype: str = "float32") -> Host:
    host = Host()
    reply = host.answer(ms.Load(model_spec(path, *calls, casts=casts, dtype=dtype)))
    assert isinstance(reply, ms.Loaded)
    assert reply.load_ns is not None
    assert reply.load_ns > 0
    assert reply.conditions["threads"] == 1
    return host


def test_a_prepared_function_can_be_warmed_up_and_timed() -> None:
    host = host_of(lambda x: x + 1, X=np.zeros(3))
    assert isinstance(host.answer(ms.Prepare(0)), ms.Prepared)
    assert isinstance(host.answer(ms.WarmUp(0, 10)), ms.WarmedUp)
    assert isinstance(host.answer(ms.TimeBlock(0, 3, 0)), ms.TimedBlock)
    each = host.answer(ms.TimeEach(0, 3, 0))
    assert isinstance(each, ms.TimedEach)
    assert len(each.call_ns) == 3


def test_call_styles_of_a_model_share_a_session(linear_path: Path) -> None:
    host = model_host(linear_path, "run", "io-binding")
    session = host.session
    for subject in (0, 1):
        assert isinstance(host.answer(ms.Prepare(subject)), ms.Prepared)
        assert isinstance(host.answer(ms.TimeBlock(subject, 2, 0)), ms.TimedBlock)
    assert host.session is session


def test_loading_again_opens_another_session_for_whatever_is_prepared_then(linear_path: Path) -> None:
    host = model_host(linear_path, "run")
    host.answer(ms.Prepare(0))
    session, call = host.session, host.calls[0]
    assert isinstance(host.answer(ms.Load(model_spec(linear_path, "run"))), ms.Loaded)
    assert isinstance(host.answer(ms.Prepare(0)), ms.Prepared)
    assert host.session is not session
    assert host.calls[0] is not call
    assert isinstance(host.answer(ms.TimeBlock(0, 2, 0)), ms.TimedBlock)


@pytest.mark.skipif(sys.platform != "linux", reason="threads are found in /proc")
def test_a_thread_that_cannot_be_moved_does_not_keep_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, tuple[int, ...]]] = []

    def refuse(thread: int, cpus: tuple[int, ...]) -> None:
        asked.append((thread, cpus))
        raise OSError("gone")

    monkeypatch.setattr("os.sched_setaffinity", refuse)
    stay = threading.Event()
    helper = threading.Thread(target=stay.wait)
    helper.start()
    try:
        assert Host().answer(ms.MoveTo((5,))) == ms.Done()  # even before anything is loaded
    finally:
        stay.set()
        helper.join()
    assert {(os.getpid(), (5,)), (helper.native_id, (5,))} <= set(asked)


def test_casts_happen_inside_the_call(linear_path: Path) -> None:
    host = model_host(linear_path, "run", casts={"X": "float32"}, dtype="float64")
    assert isinstance(host.answer(ms.Prepare(0)), ms.Prepared)


@pytest.mark.parametrize(
    ("error", "reply"),
    [
        (ValueError("a\n b"), ms.Failed("failed", "ValueError: a b")),
        (MemoryError(), ms.Failed("oom", "MemoryError")),
        (
            RuntimeError("Failed to allocate memory for X"),
            ms.Failed("oom", "RuntimeError: Failed to allocate memory for X"),
        ),
        (SubjectError("skipped", "why"), ms.Failed("skipped", "why")),
        (BadModel("no"), ms.Failed("failed", "no", bad_input=True)),
    ],
)
def test_errors_become_replies(error: Exception, reply: ms.Failed) -> None:
    host = host_of(len)
    host.functions[0] = raiser(error)  # some errors do not survive the way to another process
    assert host.answer(ms.Prepare(0)) == reply


def test_an_error_in_a_later_call_is_a_reply_too() -> None:
    def fail_the_second_time(calls: list[int] = []) -> None:  # noqa: B006 - its memory between calls
        calls.append(1)
        if len(calls) > 1:
            raise ValueError("enough")

    host = host_of(fail_the_second_time)
    assert isinstance(host.answer(ms.Prepare(0)), ms.Prepared)
    assert host.answer(ms.TimeBlock(0, 1, 0)) == ms.Failed("failed", "ValueError: enough")


def test_a_function_that_cannot_be_revived_is_a_reply() -> None:
    host = Host()
    subject = ms.FunctionSubject(name="f", function=b"no pickle")
    reply = host.answer(ms.Load(ms.WorkerSpec(subjects=(subject,), threads=1, feeds={})))
    assert isinstance(reply, ms.Failed)
    assert reply.status == "failed"
    assert "\n" not in reply.reason


@pytest.mark.parametrize(("check_finite", "assumed"), [(None, False), (False, True), (True, False)])
def test_sklearn_checks_its_inputs_unless_that_is_turned_off(check_finite: bool | None, assumed: bool) -> None:
    import sklearn

    def assume_finite() -> object:
        import sklearn

        return sklearn.get_config()["assume_finite"]

    host = Host()
    pickled = cloudpickle.dumps(assume_finite)
    subject = ms.FunctionSubject(name="f", function=pickled, check_finite=check_finite)
    with sklearn.config_context():
        host.answer(ms.Load(ms.WorkerSpec(subjects=(subject,), threads=1, feeds={})))
        reply = host.answer(ms.Prepare(0))
        assert host.calls[0]() is assumed
    assert isinstance(reply, ms.Prepared)
    assert reply.conditions == {"sklearn": sklearn.__version__, "assume_finite": assumed}


# ---------------------------------------------------------------- what a call is made of


@pytest.mark.parametrize("call", ["run", "io-binding", "io-binding-fixed"])
def test_the_parts_of_a_models_calls_are_timed(linear_path: Path, call: str) -> None:
    host = model_host(linear_path, call, casts={"X": "float32"}, dtype="float64")
    host.answer(ms.Prepare(0))
    timed = host.answer(ms.SplitEach(0, 3, 0))
    assert isinstance(timed, ms.TimedSplit)
    assert [len(part) for part in (timed.prepare_ns, timed.compute_ns, timed.fetch_ns)] == [3, 3, 3]
    assert all(each > 0 for each in (*timed.prepare_ns, *timed.compute_ns))


def test_a_plain_callable_has_no_parts() -> None:
    host = host_of(lambda x: x + 1, X=np.zeros(3))
    host.answer(ms.Prepare(0))
    assert host.answer(ms.SplitEach(0, 3, 0)) == ms.TimedSplit([], [], [])


class Framework(FrameworkModel[Any]):
    """A model that counts how often it is loaded and bound."""

    framework = "fake"
    loaded = 0
    bound = 0

    def _opened(self) -> Any:
        Framework.loaded += 1

        def bind(arrays: tuple[Any, ...]) -> Any:
            Framework.bound += 1
            return lambda: [arrays[0] * 2]

        return bind

    def conditions(self) -> dict[str, Any]:
        return {}


@pytest.fixture
def _uncounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Framework, "loaded", 0)
    monkeypatch.setattr(Framework, "bound", 0)


@pytest.mark.usefixtures("_uncounted")
def test_a_model_of_a_framework_is_loaded_once_for_its_calls_and_their_parts() -> None:
    host = host_of(len, X=np.ones(3))
    host.functions[0] = Framework(lambda: None)
    assert isinstance(host.answer(ms.Prepare(0)), ms.Prepared)
    assert (Framework.loaded, Framework.bound) == (1, 1)
    timed = host.answer(ms.SplitEach(0, 2, 0))
    assert isinstance(timed, ms.TimedSplit)
    assert len(timed.fetch_ns) == 2
    assert Framework.loaded == 1
    assert Framework.bound > 2  # its tensors are made in every divided call


@pytest.mark.usefixtures("_uncounted")
def test_a_model_of_a_framework_is_loaded_once_for_all_sizes() -> None:
    host = host_of(len, X=np.ones(3))
    host.functions[0] = Framework(lambda: None)
    host.feeds += [{"X": np.ones(5)}, {"X": np.ones(7)}]
    host.bind(0)
    assert [len(host.calls[0]()[0]) for _ in range(4)] == [3, 5, 7, 3]  # type: ignore[index]
    assert Framework.loaded == 1


def test_loading_again_forgets_the_parts_and_the_session_that_they_hold(linear_path: Path) -> None:
    host = model_host(linear_path, "run")
    host.answer(ms.Prepare(0))
    host.answer(ms.SplitEach(0, 1, 0))
    session = weakref.ref(host.session)
    host.answer(ms.Load(model_spec(linear_path, "run")))
    gc.collect()
    assert session() is None


def test_a_worker_whose_parent_is_gone_ends_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoKernel:
        def prctl(self, *_arguments: int) -> int:
            return 0

    monkeypatch.setattr("ctypes.CDLL", lambda _name: NoKernel())
    with pytest.raises(SystemExit, match="the parent is gone"):
        die_with(parent=-1)


def test_what_came_packed_is_not_held_a_second_time() -> None:
    host = host_of(len, X=np.ones(3))
    assert host.spec.feeds == {}
    assert [each.function for each in host.spec.subjects if isinstance(each, ms.FunctionSubject)] == [b""]
