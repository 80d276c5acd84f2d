"""Texts of traces as onnxruntime and others write them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

Event = dict[str, Any]

STATISTICS = {"main_thread": {"block_size": [1], "core": 1, "Run": 323}, "sub_threads": {}}


def node(name: str = "n0", **changes: Any) -> Event:
    """A node's event, with arguments as version 1.31 gives them, as json.load returns it."""
    arguments = {
        "op_name": "Conv",
        "provider": "CPUExecutionProvider",
        "node_index": "3",
        "mem_in_use_delta": "-256",
        "input_type_shape": [{"float": [1, 3]}, {"int64": []}],
        "output_type_shape": [{"float": [1, 8]}],
        "thread_scheduling_stats": STATISTICS,
    }
    event = {"cat": "Node", "pid": 7, "tid": 8, "dur": 5, "ts": 10, "ph": "X", "name": f"{name}_kernel_time"}
    return event | {"args": arguments} | changes


def session(name: str = "model_run", **changes: Any) -> Event:
    """An event without arguments."""
    return node() | {"cat": "Session", "name": name, "args": {}} | changes


def line_of(event: Mapping[str, Any], escape: bool = True) -> str:
    """An event as onnxruntime writes it; its older versions do not escape names."""
    name = json.dumps(event["name"], ensure_ascii=False) if escape else f'"{event["name"]}"'
    arguments = ",".join(f"{json.dumps(key)} : {json.dumps(value)}" for key, value in event["args"].items())
    numbers = ",".join(f'"{key}" :{event[key]}' for key in ("pid", "tid", "dur", "ts"))
    return f'{{"cat" : "{event["cat"]}",{numbers},"ph" : "X","name" :{name},"args" : {{{arguments}}}}}'


def written(events: Sequence[Mapping[str, Any]], escape: bool = True) -> bytes:
    """A trace as onnxruntime writes it."""
    return written_lines([line_of(event, escape) for event in events])


def written_lines(lines: Sequence[str]) -> bytes:
    """A trace of these lines."""
    return ("[\n" + ",\n".join(lines) + "\n]\n").encode()
