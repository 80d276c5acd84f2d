"""A connection to Ray: addresses, tokens, and protection from what it would write or change in addition."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from onnxperf.cluster.local_ray import LONGEST, address_in, local_ray
from onnxperf.cluster.signals import signals_wait
from onnxperf.errors import BadOption, required
from onnxperf.wording.names import one_line, shortened

LOCAL = "ray"
"""Our own Ray, on this machine."""
_ADDRESS = re.compile(r"auto|(ray://)?(?P<host>\[[0-9a-fA-F:.]+\]|[\w.-]+):(?P<port>\d{1,5})")
_CONNECT_S = 5.0
_STDERR = 2
_TOKENS = "RAY_AUTH_MODE"
_HELP_TO_ENTER = "the cluster requires a token; set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH"
_ANY_OF_NODE = "/ray.rpc.NodeInfoGcsService/GetClusterId"
_ANY_OF_CLIENT = "/ray.rpc.RayletDriver/ClusterInfo"
"""Requests without side effects, to the port of a node and to that of the client."""


@contextlib.contextmanager
def connected(on: str) -> Iterator[Any]:
    """The ray library, connected to the cluster at an address, or to our own on this machine."""
    check_address(on)
    with contextlib.ExitStack() as stack:
        if on == LOCAL and not ("ray" in sys.modules and sys.modules["ray"].is_initialized()):
            starting = stack.enter_context(local_ray())
            _imported()  # meanwhile
            on = address_in(starting)
        stack.enter_context(token_mode(on))
        ray = _imported()
        stack.enter_context(_connection(ray, on))
        yield ray


def check_address(on: str) -> None:
    """Reject invalid addresses."""
    if on != LOCAL and _ADDRESS.fullmatch(on) is None:
        raise BadOption(option="on", value=on, expected="ray, ray://HOST:PORT, HOST:PORT or auto")


@contextlib.contextmanager
def token_mode(on: str) -> Iterator[None]:
    """Make Ray use tokens if the cluster does; it reads this variable when it is imported."""
    if not _wants_token(on) or _TOKENS in os.environ:
        yield
        return
    os.environ[_TOKENS] = "token"
    if "ray" in sys.modules:  # it has already read it
        with contextlib.suppress(Exception):
            sys.modules["ray"]._raylet.Config.initialize("")
    try:
        yield
    finally:
        del os.environ[_TOKENS]


def _wants_token(on: str) -> bool:
    """Whether the cluster at an address requires a token: Ray would retry for a long time without giving the reason."""
    found = _ADDRESS.fullmatch(on)
    if found is None or found["host"] is None:
        return False
    _check_reachable(on, found["host"].strip("[]"), int(found["port"]))
    grpc = required("grpc", "ray", "ray")
    method = _ANY_OF_CLIENT if on.startswith("ray://") else _ANY_OF_NODE
    try:
        with grpc.insecure_channel(f"{found['host']}:{found['port']}") as channel:
            channel.unary_unary(method)(b"", timeout=_CONNECT_S)
    except grpc.RpcError as error:
        return bool(error.code() == grpc.StatusCode.UNAUTHENTICATED)
    return False


def _imported() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for module in ("ray.exceptions", "ray.util.scheduling_strategies"):
            required(module, "ray")
        return required("ray", "ray")


@contextlib.contextmanager
def _connection(ray: Any, on: str) -> Iterator[None]:
    """Ray, connected; a Ray started by us is ended."""
    if ray.is_initialized():  # by the calling program
        yield
        return
    logging.getLogger("ray").setLevel(logging.CRITICAL)
    try:
        with signals_wait():
            _connect(ray, on)
        with _hushed(ray):
            yield
    finally:
        with signals_wait(), silence():
            ray.shutdown()


def _connect(ray: Any, on: str) -> None:
    try:
        with silence(), _muted():
            ray.init(address=on, log_to_driver=False, configure_logging=False)
    except Exception as error:  # Ray may raise almost any error
        cause = shortened(one_line(error) or type(error).__name__, LONGEST)
        hint = f"; {_HELP_TO_ENTER}" if os.environ.get(_TOKENS) == "token" else ""
        raise BadOption(f"cannot be used: {cause}{hint}", option="on", value=on) from error


def _check_reachable(on: str, host: str, port: int) -> None:
    """Check that the cluster answers: Ray itself would wait for a minute."""
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except (OSError, OverflowError) as error:
        cause = getattr(error, "strerror", None) or one_line(error)
        raise BadOption(f"no cluster answers there: {cause}; check with `ray status`", option="on", value=on) from error


@contextlib.contextmanager
def _hushed(ray: Any) -> Iterator[None]:
    """Ray prints the log of a dead node to standard output, among our results, and has no option to disable this."""
    module = ray._private.worker
    name = "print_to_stdstream"
    before = getattr(module, name, None)
    setattr(module, name, lambda *_args, **_more: None)
    try:
        yield
    finally:
        setattr(module, name, before)


@contextlib.contextmanager
def _muted() -> Iterator[None]:
    """Ray's native code prints every connection attempt to standard error."""
    try:
        before = os.dup(_STDERR)
    except OSError:  # it is closed
        yield
        return
    with os.fdopen(before, "wb"), Path(os.devnull).open("wb") as nothing:
        os.dup2(nothing.fileno(), _STDERR)
        try:
            yield
        finally:
            os.dup2(before, _STDERR)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Hide Python's warnings: many of Ray's do not concern us."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
