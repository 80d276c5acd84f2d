"""Build the environments that tests need, once, by the code that they test: python -m tests.environments.prepare."""

from __future__ import annotations

import os
from pathlib import Path

KEPT = Path(__file__).parents[2] / ".venv" / "test-environments"
"""A user's cache that stays as long as the virtual environment of this checkout."""
NEEDED = ("onnxruntime==1.20.1",)


def main() -> None:
    os.environ["XDG_CACHE_HOME"] = str(KEPT)
    from onnxperf.environments.find import environment
    from onnxperf.errors import BadInput

    for name in NEEDED:
        try:
            environment(name, print)
        except BadInput as error:
            print(f"tests of this environment will be skipped: {error}")


if __name__ == "__main__":
    main()
