"""The worker's end of the pipe, with multiprocessing at the other end."""

from __future__ import annotations

import os
import struct
import sys
import threading
from collections.abc import Iterator
from multiprocessing import Pipe
from multiprocessing.connection import Connection

import pytest

from onnxperf.measure.worker.pipe import PosixPipe, open_pipe

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has pipes of its own kind")

SIZES = [0, 1, 3, 4, 16_384, 1_000_003]


@pytest.fixture
def ends() -> Iterator[tuple[Connection, PosixPipe]]:
    """The parent's end and the worker's."""
    parent, child = Pipe()
    pipe = open_pipe(os.dup(child.fileno()))
    child.close()
    assert isinstance(pipe, PosixPipe)
    yield parent, pipe
    parent.close()
    pipe.close()


@pytest.mark.parametrize("size", SIZES)
def test_a_message_arrives_as_it_was_sent_in_both_directions(ends: tuple[Connection, PosixPipe], size: int) -> None:
    parent, pipe = ends
    message = bytes(number % 251 for number in range(size))
    sending = threading.Thread(target=parent.send_bytes, args=(message,))  # a pipe holds little of a large one
    sending.start()
    assert pipe.recv_bytes() == message
    sending.join()
    answering = threading.Thread(target=pipe.send_bytes, args=(message,))
    answering.start()
    assert parent.recv_bytes() == message
    answering.join()


def test_messages_do_not_run_into_each_other(ends: tuple[Connection, PosixPipe]) -> None:
    parent, pipe = ends
    for message in (b"first", b"", b"third"):
        parent.send_bytes(message)
    assert [bytes(pipe.recv_bytes()) for _ in range(3)] == [b"first", b"", b"third"]


def test_the_size_of_a_message_beyond_2_gb_is_in_eight_bytes() -> None:
    reading, writing = os.pipe()
    pipe = PosixPipe(os.dup(reading))
    os.write(writing, struct.pack("!i", -1) + struct.pack("!Q", 3) + b"abc")
    assert pipe.recv_bytes() == b"abc"
    pipe.close()
    os.close(reading)
    os.close(writing)


@pytest.mark.parametrize("part", [b"", struct.pack("!i", 10), struct.pack("!i", 10) + b"abc"])
def test_a_parent_that_is_gone_ends_the_file_even_within_a_message(part: bytes) -> None:
    reading, writing = os.pipe()
    pipe = PosixPipe(reading)
    os.write(writing, part)
    os.close(writing)
    with pytest.raises(EOFError):
        pipe.recv_bytes()
    pipe.close()


def test_sending_to_a_parent_that_is_gone_is_an_error(ends: tuple[Connection, PosixPipe]) -> None:
    parent, pipe = ends
    parent.close()
    with pytest.raises((BrokenPipeError, ConnectionResetError)):
        pipe.send_bytes(b"answer")
