"""Modules of torch: in eval and inference mode, on inputs that were moved to their device before."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from onnxperf.errors import BadFeed, BadOption
from onnxperf.records import Scalar
from onnxperf.runtimes.frameworks.base import FrameworkModel, required, threads_allowed


class TorchModel(FrameworkModel):
    """A torch module that takes its inputs by name where its parameters have the names of the inputs, else by order."""

    framework = "torch"

    def _bind(self, arrays: tuple[Any, ...]) -> Callable[[], Any]:
        torch = required("torch", "torch")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise BadOption("device cuda: torch finds no such device here; use --device cpu")
        threads = threads_allowed()
        if threads is not None:
            torch.set_num_threads(threads)
        module = self.load().eval().to(self.device)
        positional, named = self._arguments(module, [_tensor(array).to(self.device) for array in arrays])

        def infer() -> Any:
            with torch.inference_mode():
                return module(*positional, **named)

        def infer_and_wait() -> Any:
            outputs = infer()
            torch.cuda.synchronize()  # kernels run on after the call has returned
            return outputs

        if self.device == "cuda":
            torch.cuda.synchronize()
            return infer_and_wait
        return infer

    def _arguments(self, module: Any, tensors: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        parameters = inspect.signature(module.forward).parameters
        can_be_named = [name for name, each in parameters.items() if each.kind not in _NAMELESS]
        if self.input_names and set(self.input_names) <= set(can_be_named):
            return [], dict(zip(self.input_names, tensors, strict=True))
        return tensors, {}

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


def _tensor(array: Any) -> Any:
    """A tensor of its own memory, in the layout of the array."""
    torch = required("torch", "torch")
    if array.dtype.name == "bfloat16":  # a type of ml_dtypes, which torch does not know by that name
        return _tensor(array.view(np.uint16)).view(torch.bfloat16)
    try:
        return torch.from_numpy(np.array(array, order="K", dtype=array.dtype.newbyteorder("=")))
    except TypeError as error:
        raise BadFeed(f"torch has no tensors of type {array.dtype.name}") from error
