"""Programs exported by torch.export, and their .pt2 files."""

from __future__ import annotations

import inspect
import io
import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeGuard

from onnxperf.errors import BadModel, required
from onnxperf.frameworks.base import Live, Packed, is_instance
from onnxperf.frameworks.outputs import as_array
from onnxperf.runtimes.base import Array

if TYPE_CHECKING:
    from torch.export import ExportedProgram
    from torch.nn import Module

_PICKLED = ("opaque_obj", "custom_obj")
"""Prefix of the names of objects that torch would unpickle on request."""
_ONLY_TENSORS = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"


def is_program(source: object) -> TypeGuard[ExportedProgram]:
    """Whether this was exported by torch.export."""
    return is_instance(source, "torch.export", "ExportedProgram")


def read_program(path: str) -> ExportedProgram:
    """Load a program; programs with pickled objects are rejected, and tensors are unpickled as tensors only."""
    torch = required("torch", "torch")
    try:
        names = torch._C.PyTorchFileReader(path).get_all_records()
        pickled = [name for name in names if name.rpartition("/")[2].startswith(_PICKLED)]
        if pickled:
            raise BadModel(f"it contains the pickled object {pickled[0]}")
        with _only_tensors(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            program: ExportedProgram = torch.export.load(path)
    except Exception as error:
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        hint = "write a function that builds the model, and pass FILE.py:function"
        raise BadModel(f"{path!r} cannot be loaded without unpickling its contents; {hint} ({why})") from error
    return program


@contextmanager
def _only_tensors() -> Iterator[None]:
    """Keep torch from unpickling arbitrary objects if reading only tensors fails."""
    before = os.environ.get(_ONLY_TENSORS)
    os.environ[_ONLY_TENSORS] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_ONLY_TENSORS]
        else:
            os.environ[_ONLY_TENSORS] = before


class LiveProgram(Live["ExportedProgram"]):
    """A program of this process; torch itself serializes it, as cloudpickle loses parts of it."""

    def __reduce__(self) -> tuple[Callable[..., object], tuple[bytes, ...]]:
        """For a worker of this very run; never stored."""
        buffer = io.BytesIO()
        required("torch", "torch").export.save(self.model, buffer)
        return _PackedProgram, (buffer.getvalue(),)


class _PackedProgram(Packed):
    def __call__(self) -> object:
        return required("torch", "torch").export.load(io.BytesIO(self._data))


def module_of(program: ExportedProgram) -> Module:
    """A module that calls a program; it takes the program's inputs in order, or by name."""
    torch = required("torch", "torch")
    compute, names, positional = program.module(), _names(program), len(_example(program)[0])

    def forward(*given: object, **named: object) -> object:
        values = (*given, *(named[name] for name in names[len(given) :]))
        return compute(*values[:positional], **dict(zip(names[positional:], values[positional:], strict=True)))

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature([inspect.Parameter(name, kind) for name in names])
    forward.__signature__ = signature  # type: ignore[attr-defined]  # inspect reads it
    module: Module = torch.nn.Module()
    module.forward = forward
    return module


def example_of(program: ExportedProgram) -> dict[str, Array]:
    """The inputs that a program was exported with, by name."""
    args, kwargs = _example(program)
    return {name: as_array(value) for name, value in zip(_names(program), (*args, *kwargs.values()), strict=True)}


def dim_names(program: ExportedProgram) -> dict[str, str]:
    """Names of free sizes chosen when a program was exported, by torch symbol; files do not keep them."""
    for node in program.graph.nodes:
        for size in getattr(node.meta.get("val"), "shape", ()):
            known = getattr(getattr(size, "node", None), "shape_env", None)
            if known is not None:
                names = getattr(known, "source_name_to_debug_name", {})
                found = {str(symbol): names.get(place, "") for place, symbol in known.source_to_var.items()}
                return {symbol: name for symbol, name in found.items() if name.isidentifier()}
    return {}


def _example(program: ExportedProgram) -> tuple[tuple[Any, ...], dict[str, Any]]:
    args, kwargs = program.example_inputs or ((), {})
    return args, kwargs


def _names(program: ExportedProgram) -> list[str]:
    args, kwargs = _example(program)
    names = list(map(str, program.graph_signature.user_inputs))
    if len(names) != len(args) + len(kwargs):
        raise BadModel(
            "the exported program takes lists or dictionaries of tensors; export it with one tensor per input"
        )
    return names
