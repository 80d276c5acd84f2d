"""A stack as `onnxperf.stack` would find it, with nothing measured."""

from __future__ import annotations

from typing import Any

from onnxperf.records.stack import Allocations, Allocator, CodeShares, FunctionShare, NativeFunction, Stack, StackFrame
from tests.render import examples

UMATH = "numpy/_core/_multiarray_umath.cpython-311-x86_64-linux-gnu.so"
SAMPLES = [
    (("call_again (python_stack.py:40)", "f (a.py:2)", f"FLOAT_add ({UMATH})"), 30),
    (("call_again (python_stack.py:40)", "f (a.py:2)"), 10),
    (("call_again (python_stack.py:40)", "<script>&\x1b (a.py:3)", "malloc (libc.so.6)"), 10),
]
SHARES = CodeShares(
    python=0.338, compiled=0.662, kernels=0.094, dispatch=0.568, samples=1560, margin=0.0246, how="py-spy"
)
ALLOCATIONS = Allocations(
    calls=10,
    peak_bytes=2048,
    total_bytes=20480,
    count=120,
    allocators=(
        Allocator(function="f", file="a.py", line=3, total_bytes=20000, count=20, peak_bytes=2000),
        Allocator(function="[red]g", file="a.py", line=7, total_bytes=480, count=100, peak_bytes=48),
    ),
)


def stack(**fields: Any) -> Stack:
    """Two frames, of which one is built in."""
    known: dict[str, Any] = {
        "machine": examples.machine(),
        "name": "sgd",
        "runtime": "numpy",
        "call": "run",
        "calls": 1000,
        "call_ns": 8000.0,
        "duration_ns": 9_000_000,
        "cpu_ns": 8_000_000,
        "samples": 18,
        "interval_ns": 500_000,
        "shares": SHARES,
        "frames": (
            StackFrame(function="run", file="model.py", line=1, self_ns=6_000_000, total_ns=9_000_000, parent=None),
            StackFrame(function="take", file="<built-in>", line=0, self_ns=3_000_000, total_ns=3_000_000, parent=0),
        ),
        "functions": (
            FunctionShare(function="run", file="model.py", share=0.75, python=0.25, kernels=0.4, dispatch=0.1),
            FunctionShare(function="take", file="<built-in>", share=0.25, python=0.088, kernels=0.1, dispatch=0.062),
        ),
        "native": (NativeFunction(function="FLOAT_add", place=UMATH, kind="kernels", self_share=0.6, total_share=0.6),),
        "answer": "Most of it is Python.",
    }
    return Stack(**{**known, **fields})
