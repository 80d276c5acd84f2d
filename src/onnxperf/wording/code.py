"""Code in sentences: what stands between backquotes, such as an option."""

from __future__ import annotations

import re

_SPAN = re.compile(r"(?<!`)`([^`\s](?:[^`\n]*[^`\s])?)`(?!`)")


def code_pieces(text: str) -> list[str]:
    """Plain and code pieces in turn, plain ones first; either may be empty."""
    return _SPAN.split(text)


def without_marks(text: str) -> str:
    """The text as plain streams show it."""
    return _SPAN.sub(r"\1", text)
