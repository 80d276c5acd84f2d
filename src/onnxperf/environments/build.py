"""Builds an environment from wheels: with uv if installed, else with venv and pip."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from onnxperf.environments import probe
from onnxperf.environments.failures import BuildFailed, explain
from onnxperf.environments.probe import Inventory, neutral_variables
from onnxperf.environments.requirements import normalized, package_of
from onnxperf.errors import BadInput
from onnxperf.programs import find_program

Tell = Callable[[str], None]
_WHEELS = ("--only-binary", ":all:")
"""No package code runs during installation."""
_FOR_WORKERS = {"numpy": "numpy>=1.24", "msgspec": "msgspec>=0.19"}
_FIRST_FOR_NUMPY_2 = (1, 19)
"""Release of onnxruntime; the metadata of earlier ones allow a numpy that is incompatible with them."""


def build(requirements: Sequence[str], folder: Path, tell: Tell) -> Inventory:
    """Build an environment in a folder that does not exist yet; returns its inventory."""
    requested = [package_of(each) for each in requirements]
    more = [wanted for name, wanted in _FOR_WORKERS.items() if name not in requested]
    try:
        install = _made(folder, tell)
        tell("installing")
        install([*requirements, *more])
        found = _inventory(folder)
        if "numpy" not in requested and _is_too_old_for_numpy_2(found):
            install([*requirements, *more, "numpy<2"])
            found = _inventory(folder)
        _check_imports(folder, found)
    except BuildFailed as failure:
        raise explain("+".join(requirements), failure.output) from failure
    except OSError as error:
        raise BadInput(f"environments cannot be built: {error.strerror or error}") from error
    return found


def python_in(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "Scripts" / "python.exe" if sys.platform == "win32" else folder / "bin" / "python"


def _made(folder: Path, tell: Tell) -> Callable[[Sequence[str]], object]:
    """Create an environment without packages; returns a function that installs some."""
    python = str(python_in(folder))
    ours = [sys.executable, "-P", "-m"]
    run_here = partial(run, folder=folder.parent)
    for uv in _uv():
        tell("creating an environment with uv")
        run_here([*uv, "venv", "--quiet", "--python", sys.executable, str(folder)])
        return lambda wanted: run_here([*uv, "pip", "install", "--quiet", "--python", python, *_WHEELS, *wanted])
    quiet = ("--quiet", "--no-input", "--disable-pip-version-check", "--retries", "2", "--no-compile")
    tell("creating an environment with venv")
    if importlib.util.find_spec("pip"):
        run_here([*ours, "venv", "--without-pip", str(folder)])
        pip = [*ours, "pip", "--python", python]
    else:
        run_here([*ours, "venv", str(folder)])
        pip = [python, "-P", "-m", "pip"]
    return lambda wanted: run_here([*pip, "install", *quiet, *_WHEELS, *wanted])


def _uv() -> Iterator[list[str]]:
    """The command prefix of uv, if installed."""
    if found := find_program("uv"):
        yield [found]
    elif importlib.util.find_spec("uv"):
        yield [sys.executable, "-P", "-m", "uv"]


def _inventory(folder: Path) -> Inventory:
    found = probe.ask(python_in(folder))
    if found is None:
        raise BuildFailed("its interpreter does not start")
    return found


def _is_too_old_for_numpy_2(found: Inventory) -> bool:
    packages = {normalized(name): version for name, version in found.packages.items()}
    releases = [version for name, version in packages.items() if name.startswith("onnxruntime")]
    old = any(_release(version) < _FIRST_FOR_NUMPY_2 for version in releases)
    return old and _release(packages.get("numpy", "0")) >= (2,)


def _release(version: str) -> tuple[int, ...]:
    """The first two numbers of a version."""
    numbers = []
    for part in version.split(".")[:2]:
        with contextlib.suppress(ValueError):
            numbers.append(int(part))
    return tuple(numbers)


def _check_imports(folder: Path, found: Inventory) -> None:
    """Check that a worker's imports work; this compiles them, but no other parts of the packages."""
    has_onnxruntime = any(each.startswith("onnxruntime") for each in found.packages)
    modules = [*probe.NEEDED, *(["onnxruntime"] if has_onnxruntime else [])]
    run([str(python_in(folder)), "-P", "-c", f"import {', '.join(modules)}"], folder.parent)


def run(command: Sequence[str], folder: Path) -> str:
    """Run a program to its end, and return its output; whatever ends us also ends it and its children.

    It runs in a folder of ours: uv reads settings, such as its index, from the project in the current folder.
    """
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=folder,
        env=neutral_variables(),
        process_group=None if sys.platform == "win32" else 0,
    )
    with process:
        try:
            output, _ = process.communicate()
        except BaseException:
            _kill(process)
            raise
    text = output.decode("utf-8", "replace")
    if process.returncode:
        raise BuildFailed(text)
    return text


def _kill(process: subprocess.Popen[bytes]) -> None:
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
