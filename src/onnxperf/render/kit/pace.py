"""How much time is left, from what was done so far."""

from __future__ import annotations

from onnxperf.wording.numbers import rough_time

_LEAST_PART = 0.02
"""Before so much is done, a guess would be wild."""
_SLACK_S = 5.0
"""So many seconds a guess may be too short before it is corrected."""


class Pace:
    """The pace since the first sign of progress; what came before it (starting, loading) does not come again."""

    def __init__(self) -> None:
        self._begin: tuple[float, float] | None = None
        self._latest = (0.0, 0.0)
        self._least: float | None = None

    def note(self, done: float, now: float) -> None:
        """So much (0 to 1) is done at this time."""
        if self._begin is None or done <= self._begin[0]:
            self._begin, self._least = (done, now), None
        self._latest = (done, now)

    def left(self) -> str:
        """Such as `12 s left`; empty if it is not known yet."""
        if self._begin is None:
            return ""
        (first, begin), (done, now) = self._begin, self._latest
        if done - first < _LEAST_PART or done >= 1 or now <= begin:
            return ""
        seconds = (now - begin) * (1 - done) / (done - first)
        if self._least is None or seconds < self._least or seconds > 2 * self._least + _SLACK_S:
            self._least = seconds  # it grows only if much more work was found
        return f"{rough_time(self._least)} left"
