"""What tests have the reader do with a model: functions that it imports."""

from __future__ import annotations

import json
import os
import resource
import signal

import onnx


def wait_for_ever(_proto: onnx.ModelProto, _question: bytes) -> bytes:
    signal.pause()
    return b""


def interrupt_the_parent(_proto: onnx.ModelProto, _question: bytes) -> bytes:
    os.kill(os.getppid(), signal.SIGINT)
    signal.pause()
    return b""


def take_memory(_proto: onnx.ModelProto, question: bytes) -> bytes:
    return bytes(int(question))[:0]


def answer_at_length(_proto: onnx.ModelProto, question: bytes) -> bytes:
    return bytes(int(question))


def end_for_lack_of_memory(_proto: onnx.ModelProto, question: bytes) -> bytes:
    os.write(2, question)
    os._exit(127)


def crash(_proto: onnx.ModelProto, _question: bytes) -> bytes:
    os.kill(os.getpid(), signal.SIGSEGV)
    return b""


def process_id(_proto: onnx.ModelProto, _question: bytes) -> bytes:
    return str(os.getpid()).encode()


def limits(_proto: onnx.ModelProto, _question: bytes) -> bytes:
    kinds = ("RLIMIT_AS", "RLIMIT_FSIZE", "RLIMIT_NPROC", "RLIMIT_CORE")
    return json.dumps({kind: resource.getrlimit(getattr(resource, kind))[0] for kind in kinds}).encode()
