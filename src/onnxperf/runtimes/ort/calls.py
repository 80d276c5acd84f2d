"""The ways to call onnxruntime from Python: what each does in a call, how it is split into parts, and its traits."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from onnxperf.errors import SubjectError
from onnxperf.runtimes.base import Array, Arrays, Call, Caller, CallStyle, Casts, Parts, as_it_is, cast_feeds

if TYPE_CHECKING:  # the traits of a call style are also used without onnxruntime
    from onnxruntime.capi.onnxruntime_pybind11_state import OrtDevice, OrtValue, SessionIOBinding

    from onnxperf.runtimes.ort.session import OrtSession


def _bind_run(session: OrtSession, feeds: Arrays, _casts: Casts) -> Call:
    return partial(session.ort.run, None, dict(feeds), session.run_options)


def _bind_run_c(session: OrtSession, feeds: Arrays, _casts: Casts) -> Call:
    return partial(session.ort._sess.run, list(session.output_names), dict(feeds), session.run_options)


def _bind_ort_values(session: OrtSession, feeds: Arrays, _casts: Casts) -> Call:
    device = _cpu()
    values = {name: _ort().OrtValue.ortvalue_from_numpy(array, device) for name, array in feeds.items()}
    call = partial(session.ort._sess.run_with_ort_values, values, list(session.output_names), session.run_options)
    vars(call)["arrays"] = feeds  # the values only point into them, and after a cast nothing else holds them
    return call


def _bind_io_binding(session: OrtSession, feeds: Arrays, _casts: Casts) -> Call:
    """Bind pointers again in every call, as a server does whose inputs arrive in new arrays."""
    binding, device, run = _ort().SessionIOBinding(session.ort._sess), _cpu(), session.ort._sess.run_with_iobinding
    inputs, outputs, options = list(feeds.items()), session.output_names, session.run_options

    def call() -> list[Array]:
        for name, array in inputs:
            binding.bind_input(name, device, array.dtype.type, array.shape, array.__array_interface__["data"][0])
        for name in outputs:
            binding.bind_output(name, device)
        run(binding, options)
        values = binding.get_outputs()
        # By index: iterating over this C++ vector ends with an exception that costs 30 µs.
        return [values[i].numpy() for i in range(len(outputs))]

    return call


def _bind_fixed(session: OrtSession, feeds: Arrays, casts: Casts) -> Call:
    """Copy the inputs into buffers that stay bound; the next call overwrites the outputs."""
    binding, buffers, outputs = _fixed_buffers(session, cast_feeds(feeds, casts))
    copies = [(buffers[name], array) for name, array in feeds.items()]
    run, options = session.ort._sess.run_with_iobinding, session.run_options

    def call() -> list[Array]:
        for buffer, array in copies:
            np.copyto(buffer, array, casting="unsafe")
        run(binding, options)
        return outputs

    return call


def _bind_inplace(session: OrtSession, feeds: Arrays, _casts: Casts) -> Call:
    """Call on the given arrays, which stay bound: producers write inputs into them directly, without a copy."""
    binding, buffers, outputs = _fixed_buffers(session, feeds, copied=False)
    run, options = session.ort._sess.run_with_iobinding, session.run_options

    # The buffers are defaults of the call: this keeps them alive as long as the addresses bound to them.
    def call(_keep: dict[str, Array] = buffers) -> list[Array]:
        run(binding, options)
        return outputs

    return call


def _split_run(session: OrtSession, feeds: Arrays, casts: Casts) -> Parts:
    """Through onnxruntime's own values; if these cannot hold the data, all but the cast counts as computing."""
    try:
        require_tensors(session, feeds)
    except SubjectError:
        return Parts(lambda: _bind_run(session, cast_feeds(feeds, casts), {}), as_it_is)
    return _split_ort_values(session, feeds, casts)


def _split_ort_values(session: OrtSession, feeds: Arrays, casts: Casts) -> Parts:
    def fetch(values: Sequence[OrtValue]) -> list[Array]:
        return [values[i].numpy() for i in range(len(values))]

    return Parts(lambda: _bind_ort_values(session, cast_feeds(feeds, casts), {}), fetch)


def _split_io_binding(session: OrtSession, feeds: Arrays, casts: Casts) -> Parts:
    binding, device, run = _ort().SessionIOBinding(session.ort._sess), _cpu(), session.ort._sess.run_with_iobinding
    outputs, options = session.output_names, session.run_options

    def prepare() -> Callable[[], object]:
        arrays = cast_feeds(feeds, casts)
        for name, array in arrays.items():
            binding.bind_input(name, device, array.dtype.type, array.shape, array.__array_interface__["data"][0])
        for name in outputs:
            binding.bind_output(name, device)

        def compute(_keep: dict[str, Array] = arrays) -> None:
            run(binding, options)

        return compute

    def fetch(_nothing: object) -> list[Array]:
        values = binding.get_outputs()
        return [values[i].numpy() for i in range(len(outputs))]

    return Parts(prepare, fetch)


def _split_fixed(session: OrtSession, feeds: Arrays, casts: Casts) -> Parts:
    binding, buffers, outputs = _fixed_buffers(session, cast_feeds(feeds, casts))
    copies = [(buffers[name], array) for name, array in feeds.items()]
    run = partial(session.ort._sess.run_with_iobinding, binding, session.run_options)

    def prepare() -> Callable[[], object]:
        for buffer, array in copies:
            np.copyto(buffer, array, casting="unsafe")
        return run

    return Parts(prepare, lambda _nothing: outputs)


def _split_inplace(session: OrtSession, feeds: Arrays, casts: Casts) -> Parts:
    call = _bind_inplace(session, feeds, casts)
    return Parts(lambda: call, as_it_is)


def _fixed_buffers(
    session: OrtSession, feeds: Arrays, copied: bool = True
) -> tuple[SessionIOBinding, dict[str, Array], list[Array]]:
    """Bind the inputs or copies of them, and outputs of the shapes that these inputs produce."""
    results = session.ort.run(None, dict(feeds))
    for name, result in zip(session.output_names, results, strict=True):
        if not isinstance(result, np.ndarray) or result.dtype.hasobject:
            raise SubjectError("skipped", f"output {name!r} is not a numeric tensor and cannot be bound to a buffer")
    buffers = {name: array.copy() if copied else array for name, array in feeds.items()}
    outputs = [result.copy() for result in results]
    binding, device = _ort().SessionIOBinding(session.ort._sess), _cpu()
    for name, array in buffers.items():
        binding.bind_input(name, device, array.dtype.type, array.shape, array.__array_interface__["data"][0])
    for name, array in zip(session.output_names, outputs, strict=True):
        binding.bind_output(name, device, array.dtype.type, array.shape, array.__array_interface__["data"][0])
    return binding, buffers, outputs


# ---------------------------------------------------------------- calls on similar inputs


def _call_run(session: OrtSession, _feeds: Arrays) -> Caller:
    """Call the C level directly: the names, which `run` checks again, are known to be right."""
    run, names, options = session.ort._sess.run, list(session.output_names), session.run_options
    return lambda feeds: run(names, feeds, options)


def _call_ort_values(session: OrtSession, _feeds: Arrays) -> Caller:
    run, make, device = session.ort._sess.run_with_ort_values, _ort().OrtValue.ortvalue_from_numpy, _cpu()
    names, fetch, options = list(session.output_names), _fetch(session), session.run_options

    def call(feeds: Arrays) -> list[Array]:
        return fetch(run({name: make(array, device) for name, array in feeds.items()}, names, options))

    return call


def _call_io_binding(session: OrtSession, feeds: Arrays) -> Caller:
    """Keep the binding; inputs and outputs are bound again in every call, as the old outputs belong to the caller."""
    run, device, fetch = session.ort._sess.run_with_iobinding, _cpu(), _fetch(session)
    options = session.run_options
    inputs = [(name, array.dtype.type, array.shape) for name, array in feeds.items()]
    spare: list[SessionIOBinding] = []  # a thread takes one for itself, or creates one; none waits

    def call(feeds: Arrays) -> list[Array]:
        try:
            binding = spare.pop()
        except IndexError:
            binding = _ort().SessionIOBinding(session.ort._sess)
        for name, kind, shape in inputs:
            binding.bind_input(name, device, kind, shape, feeds[name].__array_interface__["data"][0])
        for name in session.output_names:
            binding.bind_output(name, device)
        run(binding, options)
        outputs = fetch(binding.get_outputs())
        binding.clear_binding_outputs()  # the caller owns them, and frees them
        spare.append(binding)
        return outputs

    return call


def _call_fixed(session: OrtSession, feeds: Arrays) -> Caller:
    """Keep the buffers; their results are copied, and if these no longer fit, new buffers are created."""
    run, quietly = session.ort._sess.run_with_iobinding, session.new_run_options()
    quietly.log_severity_level = 4
    spare = [_fixed_buffers(session, feeds)]

    def call(feeds: Arrays) -> list[Array]:
        try:
            fixed = spare.pop()
            binding, buffers, _ = fixed
            for name, buffer in buffers.items():
                np.copyto(buffer, feeds[name])
            run(binding, quietly)
        except Exception:  # all are in use, the shape of an output has changed, or the inputs are at fault
            fixed = _fixed_buffers(session, feeds)  # this also computes
        outputs = [output.copy() for output in fixed[2]]
        spare.append(fixed)
        return outputs

    return call


def _fetch(session: OrtSession) -> Callable[[Sequence[OrtValue]], list[Array]]:
    """Reads outputs; an output that is also a graph input would be the caller's own array."""
    places = [(place, name in session.input_names) for place, name in enumerate(session.output_names)]
    return lambda values: [values[i].numpy().copy() if is_input else values[i].numpy() for i, is_input in places]


@dataclass(frozen=True, kw_only=True)
class OrtCall(CallStyle):
    """A call style of onnxruntime."""

    bind: Callable[[OrtSession, Arrays, Casts], Call]
    """A call on inputs that stay the same arrays."""
    caller: Callable[[OrtSession, Arrays], Caller]
    """Calls on new but similar arrays, with new outputs."""
    split: Callable[[OrtSession, Arrays, Casts], Parts]
    needs_tensors: bool = True
    """Inputs and outputs travel as onnxruntime's own values, of which Python can read and write only tensors."""
    copies: bool = True
    casts_by_copy: bool = False


_run = OrtCall(
    name="run", bind=_bind_run, caller=_call_run, split=_split_run, needs_tensors=False, makes_contiguous=True
)
_fixed = OrtCall(
    name="io-binding-fixed",
    bind=_bind_fixed,
    caller=_call_fixed,
    split=_split_fixed,
    needs_contiguous=True,
    casts_by_copy=True,
)
_STYLES = (
    _run,
    replace(_run, name="run-c", bind=_bind_run_c),
    OrtCall(name="ort-values", bind=_bind_ort_values, caller=_call_ort_values, split=_split_ort_values, made_once=True),
    OrtCall(
        name="io-binding",
        bind=_bind_io_binding,
        caller=_call_io_binding,
        split=_split_io_binding,
        needs_contiguous=True,
    ),
    _fixed,
    replace(
        _fixed, name="io-binding-inplace", bind=_bind_inplace, split=_split_inplace, casts_by_copy=False, copies=False
    ),
)
CALLS = {style.name: style for style in _STYLES}


def require_tensors(session: OrtSession, feeds: Arrays) -> None:
    """Skip what onnxruntime's own values cannot hold, with the same reason for every call style."""
    for name, array in feeds.items():
        if array.dtype.hasobject or array.dtype.kind in "US":
            raise SubjectError("skipped", f"input {name!r} is a string tensor, which this call style cannot bind")
    for output in session.ort.get_outputs():
        if not output.type.startswith("tensor("):
            raise SubjectError(
                "skipped", f"output {output.name!r} is a {output.type}, but this call style returns only tensors"
            )


@cache
def _ort() -> ModuleType:
    """The C-level module of onnxruntime."""
    return importlib.import_module("onnxruntime.capi._pybind_state")


def _cpu() -> OrtDevice:
    device = _ort().OrtDevice
    return device(device.cpu(), device.default_memory(), 0)
