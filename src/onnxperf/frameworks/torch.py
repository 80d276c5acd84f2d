"""Torch modules: in eval and inference mode, on inputs already moved to their device."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar, TypeGuard, TypeVar, Union, Unpack, cast

import numpy as np

from onnxperf.errors import BadFeed, BadInput, BadOption, required
from onnxperf.frameworks.base import (
    Bind,
    ExportRequest,
    Framework,
    FrameworkModel,
    Libraries,
    Live,
    SubjectOptions,
    is_instance,
    threads_allowed,
)
from onnxperf.frameworks.opsets import lowered, written_for
from onnxperf.frameworks.outputs import Outputs
from onnxperf.frameworks.torch_program import LiveProgram, dim_names, example_of, is_program, module_of, read_program
from onnxperf.records.base import Scalar
from onnxperf.runtimes.base import Array

if TYPE_CHECKING:
    import onnx
    from torch import Tensor, device
    from torch.export import ExportedProgram
    from torch.nn import Module

T = TypeVar("T")


Source = Union["Module", "ExportedProgram", str, "os.PathLike[str]"]
"""A module, a program exported by torch.export, or its .pt2 file."""


class TorchFramework(Framework[Source]):
    """Modules and exported programs, converted by torch's own exporter."""

    name = "torch"
    converter = "torch.onnx.export"
    libraries: ClassVar[Libraries] = {"torch": ("torch",), "onnxscript": ("onnxscript",)}
    fixes_sizes = True
    suffix = ".pt2"
    options = (
        "artifacts_dir",
        "custom_translation_table",
        "dump_exported_program",
        "optimize",
        "profile",
        "report",
        "verify",
    )

    def detect(self, source: object) -> TypeGuard[Source]:
        """A module, an exported program, or its file."""
        return self.is_file(source) or is_instance(source, "torch", "nn.Module") or is_program(source)

    def read(self, path: str) -> ExportedProgram:
        """A program written by torch.export.save."""
        return read_program(path)

    def example(self, source: Source) -> dict[str, Array] | None:
        """A program contains the inputs that it was exported with."""
        return example_of(source) if is_program(source) else None

    def export(self, source: Source, request: ExportRequest) -> onnx.ModelProto:
        """Export a module under its own input and output names; its mode is restored."""
        torch = required("torch", self.name)
        arrays = request.sample_for(self.name)
        module = _module(source)
        device = _device(module)
        tensors = {name: torch.as_tensor(array).to(device) for name, array in arrays.items()}
        automatic = torch.export.Dim.AUTO
        axes = {name: {axis: automatic for value, axis in request.free if value == name} for name in arrays}
        args, kwargs = _arguments(module, tensors)
        # A program includes its inputs and their free axes.
        inputs = {"args": args, "kwargs": kwargs, "dynamic_shapes": _shapes(module, axes) if request.free else None}
        with _mode_kept(module):
            with torch.inference_mode():
                outputs = module.eval()(*args, **kwargs)
            program = torch.onnx.export(
                source,
                **({} if is_program(source) else inputs),
                dynamo=True,
                opset_version=written_for(request.opset),
                verbose=False,
                **request.options,
            )
        if program is None:
            raise BadInput("torch.onnx.export returned no model")
        from onnxperf.model.interface import rename_symbols  # imports onnx, which workers do not need

        proto: onnx.ModelProto = program.model_proto
        name_like_module(proto, list(arrays), outputs)
        if is_program(source):
            rename_symbols(proto, dim_names(source))
        return proto if request.opset is None else lowered(proto, request.opset)

    def input_names(self, source: Source, count: int) -> list[str]:
        """The first parameters of `forward`."""
        return _parameters(_module(source), count)

    def ordered(self, source: Source, given: dict[str, Array]) -> dict[str, Array]:
        """In the order of the parameters of `forward`."""
        order = [name for name in inspect.signature(_module(source).forward).parameters if name in given]
        return {name: given[name] for name in [*order, *(name for name in given if name not in order)]}

    def lazy(self, load: Callable[[], Source], **options: Unpack[SubjectOptions]) -> TorchModel:
        """A module that is loaded and moved to its device in a worker."""
        return TorchModel(load, **options)

    def subject(self, source: Source, **options: Unpack[SubjectOptions]) -> Callable[..., object]:
        """A module or a program in this process, or a file."""
        return self.lazy(LiveProgram(source), **options) if is_program(source) else super().subject(source, **options)

    def outputs(self, source: Source, arrays: Mapping[str, Array]) -> Outputs:
        """The outputs that a module computes on the device of its weights; its mode is restored."""
        module = _module(source)
        device = "cuda" if str(_device(module)).startswith("cuda") else "cpu"
        with _mode_kept(module):
            return TorchModel(Live(module), input_names=tuple(arrays), device=device)(*arrays.values())


def _module(source: Source) -> Module:
    """A callable on tensors; for a program, a module that calls it."""
    return module_of(source) if is_program(source) else cast("Module", source)


class TorchModel(FrameworkModel[Source]):
    """A torch module that takes its inputs by name if its parameters have the inputs' names, else by order."""

    framework = "torch"

    def _opened(self) -> Bind:
        torch = required("torch", "torch")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise BadOption("torch does not find this device; use `device=cpu`", option="device", value=self.device)
        threads = threads_allowed()
        if threads is not None:
            torch.set_num_threads(threads)
        module = _module(self.load()).eval().to(self.device)
        return partial(self._inference, torch, module, self._names(module))

    def _inference(
        self, torch: ModuleType, module: Module, names: tuple[str, ...], arrays: tuple[Array, ...]
    ) -> Callable[[], object]:
        tensors = [_tensor(torch, array).to(self.device) for array in arrays]
        positional, named = ([], dict(zip(names, tensors, strict=True))) if names else (tensors, {})

        def infer() -> object:
            with torch.inference_mode():
                return module(*positional, **named)

        def infer_and_wait() -> object:
            outputs = infer()
            torch.cuda.synchronize()  # kernels may still run after the call has returned
            return outputs

        if self.device == "cuda":
            torch.cuda.synchronize()
            return infer_and_wait
        return infer

    def _names(self, module: Module) -> tuple[str, ...]:
        """The parameters for the inputs; empty if only the order is known."""
        parameters = inspect.signature(module.forward).parameters
        can_be_named = [name for name, each in parameters.items() if each.kind not in _NAMELESS]
        return self.input_names if set(self.input_names) <= set(can_be_named) else ()

    def conditions(self) -> dict[str, Scalar]:
        """Version, threads and device."""
        torch = required("torch", "torch")
        known: dict[str, Scalar] = {"torch": str(torch.__version__), "threads": torch.get_num_threads()}
        name = torch.cuda.get_device_name() if self.device == "cuda" else "cpu"
        return {**known, "device": name}


_NAMELESS = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.VAR_POSITIONAL,
    inspect.Parameter.VAR_KEYWORD,
)


def _tensor(torch: ModuleType, array: Array) -> Tensor:
    """A tensor with the layout of the array, sharing its memory if torch supports it."""
    if array.dtype.name == "bfloat16":  # an ml_dtypes type, which torch does not recognize
        return _tensor(torch, array.view(np.uint16)).view(torch.bfloat16)
    usable = array.flags.writeable and array.dtype.isnative and min(array.strides, default=0) >= 0
    from_numpy: Callable[[Array], Tensor] = torch.from_numpy
    try:
        return from_numpy(array if usable else np.array(array, order="K", dtype=array.dtype.newbyteorder("=")))
    except TypeError as error:
        raise BadFeed(f"torch does not support tensors of type {array.dtype.name}") from error


def name_like_module(proto: onnx.ModelProto, names: Sequence[str], outputs: object) -> None:
    """Name inputs as in the module, even if the exporter used a name for an output, and outputs by their keys."""
    from onnxperf.model.interface import distinct_names, rename_inputs, rename_outputs

    if isinstance(outputs, Mapping) and len(outputs) == len(proto.graph.output):
        wanted = [str(name) for name in outputs]
    else:
        wanted = [value.name for value in proto.graph.output]
    rename_outputs(proto, distinct_names(wanted, names))
    if len(names) == len(proto.graph.input):
        rename_inputs(proto, names)


@contextmanager
def _mode_kept(module: Module) -> Iterator[None]:
    """Restore the mode of a module and its submodules."""
    modules = list(module.modules())
    training = [each.training for each in modules]
    try:
        yield
    finally:
        for each, was_training in zip(modules, training, strict=True):
            each.training = was_training


def _device(module: Module) -> device | str:
    """The device of a module's weights."""
    weights = next(module.parameters(), None)
    return "cpu" if weights is None else weights.device


def _parameters(module: Module, count: int) -> list[str]:
    """Names of a module's first parameters; those of a star argument are numbered."""
    names: list[str] = []
    for parameter in inspect.signature(module.forward).parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            names += [f"{parameter.name}_{index}" for index in range(count - len(names))]
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    if len(names) < count:
        raise BadFeed(f"the sample has {count} arrays, but the module takes {len(names)}: {', '.join(names) or 'none'}")
    return names[:count]


def _arguments(module: Module, values: Mapping[str, T]) -> tuple[tuple[T, ...], dict[str, T]]:
    """Positional and named arguments for a module: named ones if it has such parameters."""
    parameters = inspect.signature(module.forward).parameters.values()
    starred = any(each.kind in (each.VAR_POSITIONAL, each.POSITIONAL_ONLY) for each in parameters)
    return (tuple(values.values()), {}) if starred else ((), dict(values))


def _shapes(module: Module, axes: Mapping[str, object]) -> dict[str, object]:
    """Which axes are free, in the structure of the arguments."""
    starred = {
        each.name: f"{each.name}_"
        for each in inspect.signature(module.forward).parameters.values()
        if each.kind is each.VAR_POSITIONAL
    }
    shapes: dict[str, object] = {}
    behind_star: dict[str, tuple[object, ...]] = {}
    for name, free in axes.items():
        owner = next((star for star, prefix in starred.items() if name.startswith(prefix)), None)
        if owner is None:
            shapes[name] = free
        else:
            shapes[owner] = behind_star[owner] = (*behind_star.get(owner, ()), free)
    return shapes


FRAMEWORK = TorchFramework()
