"""What an interpreter provides: its version and its packages, as it reports them itself."""

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
"""The worker's imports, in addition to its runtime."""
_RUNTIMES = ("onnxruntime", "openvino")
"""Prefixes of packages whose versions always matter."""
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
"""Valid in every Python, however old."""


class Inventory(Struct, frozen=True):
    """The report of an interpreter."""

    version: tuple[int, int, int]
    packages: dict[str, str]

    @property
    def python_version(self) -> str:
        """Version of Python."""
        return ".".join(map(str, self.version))

    def relevant(self, requested: Sequence[str] = ()) -> dict[str, str]:
        """Versions of requested packages, of runtimes, and of the worker's dependencies, in this order."""
        found = {normalized(name): version for name, version in self.packages.items()}
        runtimes = sorted(name for name in found if name.startswith(_RUNTIMES))
        names = dict.fromkeys([*requested, *runtimes, *NEEDED])
        return {name: found[name] for name in names if name in found}


def program_at(text: str) -> Path:
    """The program at a path, which is not run."""
    # Not resolved: in a virtual environment, the interpreter is a link to the outside.
    path = Path(os.path.abspath(Path(text).expanduser()))  # noqa: PTH100
    if path.is_dir():
        advice = "use its interpreter, such as bin/python"
        raise BadOption(f"this is a folder; {advice}", option="env", value=text)
    if not os.access(path, os.X_OK):
        raise BadOption("no such program", option="env", value=text, expected="the path of a Python")
    return path


def given_environment(text: str) -> Environment:
    """The environment of an interpreter given by its path, as reported by itself."""
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
        raise BadOption(f"{' and '.join(missing)} not installed there; {advice}", option="env", value=text)
    return Environment(name=text, python=str(path), python_version=found.python_version, packages=packages)


def ask(python: Path) -> Inventory | None:
    """The inventory of an interpreter; None if the program is not one."""
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
    """Our variables, without those that would make another interpreter use our modules or not compile its own."""
    return {name: value for name, value in os.environ.items() if name not in _OURS} | {"PYTHONSAFEPATH": "1"}
