"""The events of a trace as a DataFrame, with our column names or those of onnxruntime's JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pandas as pd
from msgspec import Struct, field

from onnxperf.analyze.trace.events import Integers, TraceLayout
from onnxperf.records.trace import MISSING, Coded, TensorTypes, Trace


class _MainThread(Struct, frozen=True):
    thread_pool_name: str = ""
    block_size: list[int] = []
    core: int = -1
    distribution_us: int = field(default=0, name="Distribution")
    enqueue_us: int = field(default=0, name="DistributionEnqueue")
    run_us: int = field(default=0, name="Run")
    wait_us: int = field(default=0, name="Wait")
    revoke_us: int = field(default=0, name="WaitRevoke")


class _SubThread(Struct):
    num_run: int = 0


class _Pool(Struct):
    """Thread pool statistics of a node."""

    main_thread: _MainThread = _MainThread()
    sub_threads: dict[str, _SubThread] = {}


_decode_pool = msgspec.json.Decoder(_Pool, strict=False).decode
_POOL_COLUMNS: dict[str, tuple[str, Callable[[_Pool], object]]] = {
    "pool_name": ("str", lambda pool: pool.main_thread.thread_pool_name),
    "pool_block_sizes": ("object", lambda pool: tuple(pool.main_thread.block_size)),
    "pool_core": ("Int64", lambda pool: pool.main_thread.core),
    "pool_distribution_us": ("Int64", lambda pool: pool.main_thread.distribution_us),
    "pool_enqueue_us": ("Int64", lambda pool: pool.main_thread.enqueue_us),
    "pool_run_us": ("Int64", lambda pool: pool.main_thread.run_us),
    "pool_wait_us": ("Int64", lambda pool: pool.main_thread.wait_us),
    "pool_revoke_us": ("Int64", lambda pool: pool.main_thread.revoke_us),
    "pool_sub_threads": ("Int64", lambda pool: len(pool.sub_threads)),
    "pool_sub_runs": ("Int64", lambda pool: sum(thread.num_run for thread in pool.sub_threads.values())),
}


def events_frame(trace: Trace, layout: TraceLayout) -> pd.DataFrame:
    """One row per event, in file order."""
    columns: dict[str, Any] = {
        "cat": _texts(trace.categories),
        "ph": _texts(trace.phases),
        "pid": trace.processes,
        "tid": trace.threads,
        "name": _texts(trace.names),
        "node_name": _texts(layout.node_names),
        "op_name": _texts(trace.op_names),
        "kind": _texts(layout.kinds),
        "iteration": _whole(layout.iteration, layout.iteration < 0),
        "start_us": trace.start_us,
        "duration_us": trace.duration_us,
        "provider": _texts(trace.providers),
        "inputs": _objects(trace.inputs.rows()),
        "outputs": _objects(trace.outputs.rows()),
        **{name: _whole(numbers, numbers == MISSING) for name, numbers in trace.numbers.items()},
        **_pool_columns(trace),
        "depth": _whole(layout.depth, layout.node < 0),
        "parent": _whole(layout.parent, layout.parent < 0),
        "self_us": _whole(layout.self_us, layout.node < 0),
    }
    return pd.DataFrame(columns)


def ort_frame(trace: Trace, layout: TraceLayout) -> pd.DataFrame:
    """One row per event with the names of the JSON file: dur, ts, args_op_name…; op_name is the node's name there."""
    columns: dict[str, Any] = {
        "cat": _texts(trace.categories),
        "pid": trace.processes,
        "tid": trace.threads,
        "dur": trace.duration_us,
        "ts": trace.start_us,
        "ph": _texts(trace.phases),
        "name": _texts(trace.names),
        "args_op_name": _texts(trace.op_names),
        "op_name": _texts(layout.node_names),
        "args_provider": _texts(trace.providers),
        **{f"args_{name}": _whole(numbers, numbers == MISSING) for name, numbers in trace.numbers.items()},
        "args_input_type_shape": _objects([_as_json(types) for types in trace.inputs.rows()]),
        "args_output_type_shape": _objects([_as_json(types) for types in trace.outputs.rows()]),
        "args_thread_scheduling_stats": _objects([_any_json(text) for text in trace.thread_statistics]),
    }
    return pd.DataFrame(columns)


def _texts(column: Coded[str]) -> pd.Series[str]:
    known = np.array([*column.values, None], dtype=object)
    return pd.Series(known[column.codes], dtype="str")


def _whole(values: Integers, missing: Any) -> Any:
    return pd.arrays.IntegerArray(values.astype(np.int64), np.asarray(missing, dtype=bool))


def _objects(values: list[Any]) -> pd.Series[Any]:
    """Values of any kind; a plain array would treat tuples as another axis."""
    return pd.Series(values, dtype="object")


def _as_json(types: TensorTypes | None) -> list[dict[str, list[int]]] | None:
    return None if types is None else [{each.dtype: list(each.shape)} for each in types]


def _any_json(text: bytes) -> object:
    try:
        return msgspec.json.decode(text) if text else None
    except msgspec.DecodeError:
        return None


def _pool_columns(trace: Trace) -> dict[str, Any]:
    if not any(trace.thread_statistics):
        return {}
    pools = [_pool(text) for text in trace.thread_statistics]
    return {
        name: pd.Series([None if pool is None else read(pool) for pool in pools], dtype=dtype)
        for name, (dtype, read) in _POOL_COLUMNS.items()
    }


def _pool(text: bytes) -> _Pool | None:
    try:
        return _decode_pool(text) if text else None
    except msgspec.DecodeError:
        return None
