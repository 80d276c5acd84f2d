"""Names of runs and attempts: some that people type, and some that are unique across all stores."""

from __future__ import annotations

import re
import secrets
import uuid

_CONSONANTS = "bdfghjklmnprstvz"
_VOWELS = "aiou"
SYLLABLES = 3
"""Names such as `lonuki`: a quarter of a million, easy to say and to type."""
_NAME = re.compile(f"(?:[{_CONSONANTS}][{_VOWELS}]){{{SYLLABLES},20}}")


def new_name(syllables: int = SYLLABLES) -> str:
    """A name that people can type; the store checks whether it is free."""
    letters = ((secrets.choice(_CONSONANTS), secrets.choice(_VOWELS)) for _ in range(syllables))
    return "".join(consonant + vowel for consonant, vowel in letters)


def is_name(text: str) -> bool:
    """Whether `new_name` could have made this text."""
    return _NAME.fullmatch(text) is not None


def new_uid() -> str:
    """A name that no other run or attempt has in any store."""
    return uuid.uuid4().hex
