"""The runtime `ort`: onnxruntime, in every style in which Python can call it."""

from __future__ import annotations

import os

from onnxperf.records.options import SessionOptions
from onnxperf.runtimes.base import OpenSession, RuntimeDescription
from onnxperf.runtimes.ort.calls import CALLS

os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
"""Read when onnxruntime is imported: without it, the import creates a device identifier and a thread."""


def _load() -> OpenSession:
    from onnxperf.runtimes.ort.session import open_session

    return open_session


def _check_options(options: SessionOptions) -> None:
    if options.env:
        return  # another onnxruntime, which checks them in its worker
    RUNTIME.ready()
    from onnxperf.runtimes.ort.session import provider_name

    provider_name(options.provider)


RUNTIME = RuntimeDescription(
    name="ort",
    calls=tuple(CALLS.values()),
    load=_load,
    check_options=_check_options,
    distributions=("onnxruntime", "onnxruntime-gpu"),
    extra="cpu",
    records=True,
    settings=frozenset(SessionOptions.__struct_fields__),
    domains=("com.microsoft", "com.microsoft.nchwc"),
)
