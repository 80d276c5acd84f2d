"""Requests and the functions that answer them: a new request is its message and its handler, and nothing else."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from typing import Any, get_args

import numpy as np
import pytest

from onnxperf.measure import messages as ms
from onnxperf.measure import quantizing, reading
from onnxperf.measure.messages import Reply, Request, decoder_of, encode
from onnxperf.measure.worker.host import Host, handler_of
from tests.measure.processes import Workers

MODULES = (ms.__name__, reading.__name__, quantizing.__name__)
REQUESTS = [kind for kind in Request.__subclasses__() if kind.__module__ in MODULES]


def reply_of(kind: type[Request[Any]]) -> type[Reply]:
    """The reply that a request declares in its base."""
    reply: type[Reply] = get_args(vars(kind)["__orig_bases__"][0])[0]
    return reply


@pytest.mark.parametrize("kind", REQUESTS, ids=lambda kind: kind.__name__)
def test_the_handler_of_a_request_takes_it_and_returns_its_reply(kind: type[Request[Any]]) -> None:
    signature = inspect.signature(handler_of(kind))
    names = [each.annotation for each in signature.parameters.values()] + [signature.return_annotation]
    assert [name.removeprefix("messages.") for name in names] == ["Host", kind.__name__, reply_of(kind).__name__]


class Doubled(Reply, frozen=True):
    """What a toy request is answered with."""

    value: int


class Double(Request[Doubled], frozen=True):
    """A toy request, which no file of the package names."""

    answered_by = f"{__name__}:double"
    value: int


def double(_host: Host, request: Double) -> Doubled:
    return Doubled(2 * request.value)


def test_a_new_request_needs_only_its_message_and_its_handler() -> None:
    number, request = decoder_of(Request)(encode((3, Double(21))))
    answered = encode((number, Host().answer(request)))
    assert decoder_of(Reply)(answered) == (3, Doubled(42))


@pytest.fixture
def start() -> Iterator[Workers]:
    workers = Workers()
    yield workers
    workers.close()


def test_a_worker_that_only_times_imports_no_profiler(start: Workers) -> None:
    def loaded() -> list[bool]:
        import sys

        return [name in sys.modules for name in ("pyinstrument", "memray", "onnxperf.measure.worker.python_stack")]

    worker = start(loaded)
    worker.ask(ms.Prepare(0))
    worker.ask(ms.TimeBlock(0, 2, 0))
    _, value = ms.outputs_in(worker.ask(ms.Compute(0)))
    assert not np.any(value)


@pytest.mark.skipif(sys.platform == "win32", reason="memray is not available there")
def test_a_profiler_is_imported_with_its_first_request(start: Workers) -> None:
    worker = start(lambda: sum(range(1000)))
    worker.ask(ms.Prepare(0))
    assert worker.ask(ms.SampleStack(0, 10, 0.001)).session.startswith(b"{")
    assert worker.ask(ms.CallFor(0, 0)).calls == 0
