"""Modules of torch: in eval and inference mode, on inputs that were moved to their device before."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from onnxperf.errors import BadFeed, BadOption
from onnxperf.frameworks.base import FrameworkModel, required, threads_allowed
from onnxperf.records import Scalar


class TorchModel(FrameworkModel):
    """A torch module that takes its inputs by name where its parameters have the names of the inputs, else by order."""

    framework = "torch"

    def _opened(self) -> Callable[[tuple[Any, ...]], Callable[[], Any]]:
        torch = required("torch", "torch")
        if self.device == "cuda" and not torch.cuda.is_available():
            raise BadOption("device cuda: torch finds no such device here; use --device cpu")
        threads = threads_allowed()
        if threads is not None:
            torch.set_num_threads(threads)
        module = self.load().eval().to(self.device)
        return partial(self._inference, torch, module, self._names(module))

    def _inference(self, torch: Any, module: Any, names: tuple[str, ...], arrays: tuple[Any, ...]) -> Callable[[], Any]:
        tensors = [_tensor(torch, array).to(self.device) for array in arrays]
        positional, named = ([], dict(zip(names, tensors, strict=True))) if names else (tensors, {})

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

    def _names(self, module: Any) -> tuple[str, ...]:
        """The parameters that take the inputs; empty where only the order tells."""
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


def _tensor(torch: Any, array: Any) -> Any:
    """A tensor in the layout of the array, and on its memory where torch can use that."""
    if array.dtype.name == "bfloat16":  # a type of ml_dtypes, which torch does not know by that name
        return _tensor(torch, array.view(np.uint16)).view(torch.bfloat16)
    usable = array.flags.writeable and array.dtype.isnative and min(array.strides, default=0) >= 0
    try:
        return torch.from_numpy(array if usable else np.array(array, order="K", dtype=array.dtype.newbyteorder("=")))
    except TypeError as error:
        raise BadFeed(f"torch has no tensors of type {array.dtype.name}") from error
