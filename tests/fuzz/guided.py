"""Fuzzing that follows the branches it reaches: python -m tests.fuzz.guided TARGET [SECONDS], with atheris."""

from __future__ import annotations

import importlib.util
import sys
import tempfile
from pathlib import Path

FOUND = Path(".fuzz")


def main() -> None:
    """Fuzz one target for some seconds; data that break it are left in the folder .fuzz."""
    name, seconds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 60
    if importlib.util.find_spec("atheris") is None:
        print("atheris is not installed, and has no build for every Python; hypothesis alone has to do")
        return
    import atheris

    with atheris.instrument_imports(include=["onnxperf"]):
        from tests.fuzz.targets import TARGETS, regressions
    target = TARGETS[name]
    folder = FOUND / name
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as corpus:
        known = [
            path.read_bytes() for each, path in regressions(Path(__file__).with_name("regressions")) if each == name
        ]
        for number, data in enumerate([*target.seeds(), *known]):
            (Path(corpus) / str(number)).write_bytes(data)
        options = [f"-max_total_time={seconds}", f"-artifact_prefix={folder}/", "-rss_limit_mb=4096", "-timeout=30"]
        atheris.Setup([sys.argv[0], *options, corpus], target.read)
        atheris.Fuzz()  # ends the process


if __name__ == "__main__":
    main()
