"""What runs and attempts are called: names that people type, and names that are unique in all stores."""

from __future__ import annotations

import re
import secrets
import uuid

_CONSONANTS = "bdfghjklmnprstvz"
_VOWELS = "aiou"
SYLLABLES = 3
"""Names such as `lonuki`: a quarter of a million of them, which can be said and typed."""
_NAME = re.compile(f"(?:[{_CONSONANTS}][{_VOWELS}]){{{SYLLABLES},20}}")


def new_name(syllables: int = SYLLABLES) -> str:
    """A name that people can type; whether it is free is for the store to say."""
    letters = ((secrets.choice(_CONSONANTS), secrets.choice(_VOWELS)) for _ in range(syllables))
    return "".join(consonant + vowel for consonant, vowel in letters)


def is_name(text: str) -> bool:
    """Whether a text could be a name that `new_name` made."""
    return _NAME.fullmatch(text) is not None


def new_uid() -> str:
    """A name that no other run and no other attempt in any store has."""
    return uuid.uuid4().hex
