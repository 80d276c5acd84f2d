"""What uv and pip print becomes one line."""

from __future__ import annotations

import pytest

from onnxperf.environments.failures import explain
from onnxperf.errors import BadOption

PIP_VERSION = """WARNING: Location 'file:///x' is ignored: it is neither a file nor a directory.
ERROR: Could not find a version that satisfies the requirement onnxrt==9.9 (from versions: 1.1, 1.2, 1.3, 1.4, 1.5, 1.6)
ERROR: No matching distribution found for onnxrt==9.9
"""
PIP_NAME = """ERROR: Could not find a version that satisfies the requirement onnxrunntime (from versions: none)
ERROR: No matching distribution found for onnxrunntime
"""
PIP_RETRIED = (
    "WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError(...): Failed to establish a "
    "new connection: [Errno 111] Connection refused')': /simple/onnxruntime/\n"
)
PIP_CONFLICT = """ERROR: Cannot install numpy==1 and onnxruntime==1.30.0 because these have conflicts.
ERROR: ResolutionImpossible: for help visit https://pip.pypa.io
"""
UV_VERSION = """error: No solution found when resolving dependencies
  cause: Because there is no version of onnxruntime==9.9 and you require onnxruntime==9.9, we can conclude that your
         requirements are unsatisfiable.
"""
UV_BOXED = """  \u00d7 No solution found when resolving dependencies:
  ╰─▶ Because onnxruntime==1.20.1 depends on
      numpy>=1.21.6 and you require onnxruntime==1.20.1, we can conclude that you require numpy>=1.21.6.
"""
UV_OFFLINE = """error: Failed to fetch: http://127.0.0.1:9/simple/onnxruntime/
  cause: error sending request for url (http://127.0.0.1:9/simple/onnxruntime/)
"""
IMPORT = """Traceback (most recent call last):
  File "<string>", line 1, in <module>
ImportError: libcudart.so.12: cannot open shared object file
"""
UNREACHABLE = "the package registry cannot be reached"


@pytest.mark.parametrize(
    ("output", "told"),
    [
        (PIP_VERSION, "no wheel of onnxrt==9.9 for Python"),
        (PIP_VERSION, "choose from: 1.6, 1.5, 1.4, 1.3, 1.2 … 1.1"),
        (PIP_RETRIED + PIP_VERSION, "no wheel of onnxrt==9.9 for Python"),
        (PIP_NAME, "check the name"),
        (PIP_RETRIED + PIP_NAME, UNREACHABLE),
        (
            PIP_CONFLICT,
            "or with the worker's requirements: Cannot install numpy==1 and onnxruntime==1.30.0",
        ),
        (UV_VERSION, ": there is no version of onnxruntime==9.9"),
        (UV_BOXED, ": onnxruntime==1.20.1 depends on numpy>=1.21.6"),
        (UV_OFFLINE, UNREACHABLE),
        (IMPORT, "it could not be built: ImportError: libcudart.so.12: cannot open shared object file"),
        ("\x1b[31merror\x1b[0m: strange\x07 thing\n", r"it could not be built: strange\x07 thing"),
        ("", "it could not be built"),
    ],
)  # fmt: skip
def test_an_output_becomes_one_line_with_the_requested_value_and_what_to_do(output: str, told: str) -> None:
    error = explain("onnxruntime==9.9", output)
    assert isinstance(error, BadOption)
    assert str(error).startswith("`env=onnxruntime==9.9`: ")
    assert told in str(error)
    assert "\n" not in str(error)
    assert "\x1b" not in str(error)


def test_a_full_disk_is_named() -> None:
    assert "no space left on the disk" in str(explain("a==1", "OSError: [Errno 28] No space left on device: 'x'"))
