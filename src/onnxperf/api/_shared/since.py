"""The begin of a range of time, as people give it."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from onnxperf.errors import BadOption


def begin_of(since: str | date | None) -> str:
    """A date or a number of days as the store has its times."""
    if since is None:
        return ""
    text = str(since)
    try:
        if text.endswith("d") and text[:-1].isdigit():
            moment = datetime.now(UTC) - timedelta(days=int(text[:-1]))
        else:
            moment = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError, OSError) as error:
        expected = "a date such as 2026-11-03, or days such as 30d"
        raise BadOption(option="since", value=text, expected=expected) from error
    return moment.isoformat(timespec="microseconds")
