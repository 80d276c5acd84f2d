"""The runtime `numpy`: a graph compiled to one Python function."""

from __future__ import annotations

from onnxperf.runtimes.base import CallStyle, OpenSession, RuntimeDescription


def _load() -> OpenSession:
    from onnxperf.runtimes.numpy.session import open_session

    return open_session


RUNTIME = RuntimeDescription(name="numpy", calls=(CallStyle(name="run"),), load=_load, distributions=("numpy",))
