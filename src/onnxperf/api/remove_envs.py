"""`onnxperf.remove_envs`: remove environments that were built."""

from __future__ import annotations

from collections.abc import Sequence

from onnxperf.environments import find
from onnxperf.errors import BadOption

ALL = "all"


def remove_envs(names: str | Sequence[str]) -> list[str]:
    """Remove environments by name, "all" for all of them; returns what was removed.

    One that is needed again is built again.
    """
    wanted = [names] if isinstance(names, str) else list(names)
    if not wanted or (ALL in wanted and len(wanted) > 1):
        raise BadOption("name the environments to remove, or all for all of them; `onnxperf envs` lists them")
    removed = find.remove(None if wanted == [ALL] else wanted)
    return [f"{each.name} (Python {each.python_version})" for each in removed]
