"""What files and stored records may decide about a run: settings that are data, and nothing that names code."""

from __future__ import annotations

from collections.abc import Iterable

from onnxperf.errors import BadInput
from onnxperf.wording.names import shortened

_LONGEST_NAME = 80
"""Characters of a wrong name in an error."""
_RUNTIMES = ("", "ort", "numpy", "reference", "openvino")
"""Those of this package."""
_SETTINGS = frozenset(
    {
        "threads",
        "inter_op_threads",
        "opt_level",
        "arena",
        "execution_mode",
        "execution_order",
        "mem_pattern",
        "mem_reuse",
        "deterministic",
        "disabled_optimizers",
    }
)
"""Listed one by one: a new setting is refused until somebody decides that it names no program, library or file."""
_NUMBERS = frozenset(
    {"session.dynamic_block_base", "session.intra_op.spin_duration_us", "session.intra_op.spin_backoff_max"}
)
"""Config entries with any value that a record may have: numbers."""


def check_exchanged(settings: Iterable[str], runtime: str, source: str) -> None:
    """Refuse settings of a file or a stored record that could make other code run; the error begins with `source`.

    Everything that runs a model by such settings asks here first.
    """
    if runtime not in _RUNTIMES:
        raise BadInput(f"{source} names the runtime {_shown(runtime)}, which a file may not choose")
    for name in settings:
        if not _is_data(name):
            raise BadInput(f"{source} names {_shown(name)}, which is not a setting that a file may have")


def _is_data(name: str) -> bool:
    """Whether a setting is known, and names no library, interpreter or file."""
    if name in _SETTINGS or name.startswith("dim."):
        return True
    from onnxperf.runtimes.ort.config_keys import SESSION_KEYS

    return name in {entry.name for entry in SESSION_KEYS if entry.values or entry.name in _NUMBERS}


def _shown(name: str) -> str:
    return repr(shortened(name, _LONGEST_NAME))
