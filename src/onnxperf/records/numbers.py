"""Numbers as records hold them: finite, and within bounds that no measurement reaches.

Msgspec checks the bounds wherever a record is decoded: those of strangers must not end in a division by zero. Errors of
outputs are plain floats, as they may be infinite.
"""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

_MOST = 10**18
"""Nanoseconds of 31 years, or as many bytes: sums of a few such numbers are still exact in 64 bits."""
_LARGEST = 1.7976931348623157e308

Count = Annotated[int, Meta(ge=0, le=_MOST)]
"""A whole number from 0: bytes, nanoseconds, how many."""
Calls = Annotated[int, Meta(ge=1, le=_MOST)]
"""A whole number from 1, by which is divided."""
Delta = Annotated[int, Meta(ge=-_MOST, le=_MOST)]
"""A whole number that may be negative: a difference, or what a trace says."""
Amount = Annotated[float, Meta(ge=0, le=1e18)]
"""A number from 0: a time, a ratio, a share."""
Ratio = Annotated[float, Meta(gt=0, le=1e18)]
"""A number above 0, whose logarithm is taken."""
Signed = Annotated[float, Meta(ge=-1e18, le=1e18)]
"""A number that may be negative: a difference of times."""
Finite = Annotated[float, Meta(ge=-_LARGEST, le=_LARGEST)]
"""Any number but NaN and infinity."""
UnixTime = Annotated[float, Meta(ge=0, le=8e9)]
"""Seconds since 1970, until 2223."""
