"""Turns any error of a node into one that gives the node, its operator and the cause."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import onnx

from onnxperf.errors import BadModel, OnnxperfError, SubjectError
from onnxperf.wording.names import one_line, shortened, visible

_NAME_WIDTH = 80
_CAUSE_WIDTH = 400


def label(proto: onnx.NodeProto) -> str:
    """A node as shown in errors: by its name, or by its first output if it has none."""
    output = next(filter(None, proto.output), "")
    which = f"node {quoted(proto.name)}" if proto.name else f"the node of {quoted(output)}"
    return f"{which} ({shortened(visible(proto.op_type), _NAME_WIDTH)})"


def quoted(name: str) -> str:
    """A name from the model in quotes, on one line and not too long."""
    return f"'{shortened(visible(name), _NAME_WIDTH)}'"


def cause(error: BaseException) -> str:
    """The type of the error, and its text."""
    text = shortened(visible(one_line(error)), _CAUSE_WIDTH)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


@contextmanager
def compiling(what: Callable[[], str]) -> Iterator[None]:
    """Wrap errors while a part of a model is compiled; `what` is called only then."""
    try:
        yield
    except OnnxperfError:
        raise
    except MemoryError as error:
        raise SubjectError("oom", f"{what()} does not fit into memory: {cause(error)}") from error
    except Exception as error:
        raise BadModel(f"the numpy runtime cannot compile {what()}: {cause(error)}") from error


def failed_run(proto: onnx.NodeProto | None, error: Exception) -> OnnxperfError:
    """The error of a run that stops at a node; an error already wrapped by a body stays as it is."""
    if isinstance(error, OnnxperfError):
        return error
    what = "the results" if proto is None else label(proto)
    if isinstance(error, MemoryError):
        return SubjectError("oom", f"{what} ran out of memory in the numpy runtime: {cause(error)}")
    return SubjectError("failed", f"{what} failed in the numpy runtime: {cause(error)}")
