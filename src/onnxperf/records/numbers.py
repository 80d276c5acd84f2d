"""Number types of records: finite, within bounds that no measurement exceeds.

Msgspec checks the bounds when a record is decoded, so that an untrusted record cannot cause a division by zero. Output
errors are plain floats, because they may be infinite.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

_MOST = 10**18
"""31 years in nanoseconds, or as many bytes: sums of a few such numbers are still exact in 64 bits."""
_LARGEST = 1.7976931348623157e308

Count = Annotated[int, Meta(ge=0, le=_MOST)]
"""An integer, at least 0: bytes, nanoseconds, a count."""
Calls = Annotated[int, Meta(ge=1, le=_MOST)]
"""An integer, at least 1, used as a divisor."""
Delta = Annotated[int, Meta(ge=-_MOST, le=_MOST)]
"""An integer that may be negative: a difference, or a value from a trace."""
Amount = Annotated[float, Meta(ge=0, le=1e18)]
"""A number, at least 0: a time, a ratio, a share."""
Ratio = Annotated[float, Meta(gt=0, le=1e18)]
"""A number above 0, used in logarithms."""
Signed = Annotated[float, Meta(ge=-1e18, le=1e18)]
"""A number that may be negative: a time difference."""
Finite = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
"""Any number except NaN and infinity."""
UnixTime = Annotated[float, Meta(ge=0, le=8e9)]
"""Seconds since 1970, until 2223."""
