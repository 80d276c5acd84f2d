"""What an interpreter has: its version and its packages, as it reports them itself."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from onnxperf.environments.requirements import normalized
from onnxperf.errors import BadOption
from onnxperf.records.envs import Environment

OLDEST = (3, 11)
NEEDED = ("numpy", "msgspec")
"""What the worker side imports besides its runtime."""
_RUNTIMES = ("onnxruntime", "openvino")
"""How the names of packages begin whose versions matter whoever asked for them."""
_TIMEOUT_S = 60.0
_OURS = frozenset({"PYTHONPATH", "PYTHONHOME", "PYTHONPLATLIBDIR", "PYTHONDONTWRITEBYTECODE", "__PYVENV_LAUNCHER__"})
_QUESTION = """
import json, sys
found = {}
if sys.version_info >= (3, 8):
    from importlib.metadata import distributions
    for each in distributions():
        if each.metadata["Name"]:
            found.setdefault(each.metadata["Name"], each.version)
print(json.dumps({"version": list(sys.version_info[:3]), "packages": found}))
"""
"""Readable by every Python, however old."""


class Inventory(Struct, frozen=True):
    """What an interpreter reports."""

    version: tuple[int, int, int]
    packages: dict[str, str]

    @property
    def python_version(self) -> str:
        """Version of Python."""
        return ".".join(map(str, self.version))

    def relevant(self, requested: Sequence[str] = ()) -> dict[str, str]:
        """Versions of what was requested, of runtimes, and of what a worker needs, in this order."""
        found = {normalized(name): version for name, version in self.packages.items()}
        runtimes = sorted(name for name in found if name.startswith(_RUNTIMES))
        names = dict.fromkeys([*requested, *runtimes, *NEEDED])
        return {name: found[name] for name in names if name in found}


def program_at(text: str) -> Path:
    """The program at a path, which is not run."""
    # Not resolved: in a virtual environment, the interpreter is a link that leads out of it.
    path = Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100
    if path.is_dir():
        advice = "name its interpreter, such as bin/python in it"
        raise BadOption(f"this is a folder; {advice}", option="env", value=text)
    if not os.access(path, os.X_OK):
        raise BadOption("there is no such program", option="env", value=text, expected="the path of a Python")
    return path


def given_environment(text: str) -> Environment:
    """The environment of an interpreter that was given by its path, as it reports itself."""
    path = program_at(text)
    found = ask(path)
    if found is None:
        raise BadOption("this program is not a Python interpreter", option="env", value=text)
    if found.version < OLDEST:
        least = ".".join(map(str, OLDEST))
        raise BadOption(
            f"this is Python {found.python_version}", option="env", value=text, expected=f"{least} or newer"
        )
    packages = found.relevant()
    missing = [name for name in NEEDED if name not in packages]
    if missing:
        advice = f"install with: {text} -m pip install {' '.join(missing)}"
        raise BadOption(f"{' and '.join(missing)} missing there; {advice}", option="env", value=text)
    return Environment(name=text, python=str(path), python_version=found.python_version, packages=packages)


def ask(python: Path) -> Inventory | None:
    """What an interpreter has; None for a program that is not one."""
    try:
        answer = subprocess.run(
            [str(python), "-c", _QUESTION],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            timeout=_TIMEOUT_S,
            cwd=python.parent,
            env=neutral_variables(),
        )
        return msgspec.json.decode(answer.stdout, type=Inventory)
    except (OSError, subprocess.TimeoutExpired, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def neutral_variables() -> dict[str, str]:
    """Our variables, without those that lead another interpreter to our modules or forbid it to compile its own."""
    return {name: value for name, value in os.environ.items() if name not in _OURS} | {"PYTHONSAFEPATH": "1"}
