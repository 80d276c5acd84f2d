"""Times in reasons: what would decide a race of a search, as time of the whole search."""

from __future__ import annotations

import math
import re


def of_whole(reason: str, race_s: float, total_s: float) -> str:
    """The reason of a race that had so many seconds of all; a time in it becomes one for everything."""
    scale = max(total_s / race_s, 1.0) if race_s > 0 else 1.0
    return re.sub(r"`time=(\d+)`", lambda found: f"`time={math.ceil(scale * int(found[1]))}`", reason)
