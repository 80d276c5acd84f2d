"""The versions of a package that the registry offers for this Python."""

from __future__ import annotations

import importlib.util
import re
import sys
import tempfile
from pathlib import Path

from onnxperf.environments.build import python_in, run
from onnxperf.environments.failures import BuildFailed, explain
from onnxperf.errors import BadInput

_AVAILABLE = re.compile(r"^Available versions: (.+)$", re.MULTILINE)
_ARGUMENTS = ("--only-binary", ":all:", "--no-input", "--disable-pip-version-check", "--retries", "2")


def versions_of(package: str) -> list[str]:
    """Final versions with a wheel for this Python, as listed by pip; uv provides no such list."""
    ours = [sys.executable, "-P", "-m"]
    try:
        with tempfile.TemporaryDirectory(prefix="onnxperf-") as folder:
            place = Path(folder)
            pip = [*ours, "pip"]
            if not importlib.util.find_spec("pip"):
                run([*ours, "venv", folder], place)
                pip = [str(python_in(place)), "-P", "-m", "pip"]
            return _listed(run([*pip, "index", "versions", package, *_ARGUMENTS], place))
    except BuildFailed as failure:
        raise explain(package, failure.output, "releases") from failure
    except OSError as error:
        raise BadInput(f"the releases of {package} cannot be listed: {error.strerror or error}") from error


def _listed(output: str) -> list[str]:
    found = _AVAILABLE.search(output)
    return [each.strip() for each in found[1].split(",")] if found else []
