"""The faces of verdicts and statuses: the same sign and word wherever one is shown."""

from __future__ import annotations

_BETTER, _WORSE, _EQUAL, _UNSURE, _LOST, _OTHER = "✓", "✗", "≈", "?", "⛔", "≠"
_GATE = {"passed": "PASS", "failed": "FAIL", "undecided": "CANNOT TELL"}
_SIGNS: dict[str, str] = {
    **dict.fromkeys(("faster", "gain", "less", "passed", "as before", "kept", "rewritten", "better"), _BETTER),
    **dict.fromkeys(("chosen", "won", "fastest"), _BETTER),
    **dict.fromkeys(("slower", "more", "exceeded", "lost"), _WORSE),
    **dict.fromkeys(("equivalent", "no gain", "same"), _EQUAL),
    **dict.fromkeys(("undecided", "trade", "unexplained", "no verdict", "noise", "unproven", "unclear"), _UNSURE),
    **dict.fromkeys(("failed", "timeout", "oom", "crashed"), _LOST),
    **dict.fromkeys(("differs", "changed"), _OTHER),
    "PASS": _BETTER,
    "FAIL": _WORSE,
    "CANNOT TELL": _UNSURE,
}
_WORDS = {"equivalent": "equal", "differs": "outputs differ"}
"""What a record calls otherwise."""


def sign_of(verdict: str) -> str:
    """The sign of a verdict or a status, or nothing; what follows a comma explains it: `lost, stays in float32`."""
    return _SIGNS.get(verdict.partition(",")[0], "")


def verdict_word(verdict: str) -> str:
    """A verdict or a status as people read it: `equal` for equivalent."""
    return _WORDS.get(verdict, verdict)


def faced(verdict: str) -> str:
    """A verdict or a status with its sign, such as `✓ faster`."""
    return f"{sign_of(verdict)} {verdict_word(verdict)}".strip()


def gate_word(outcome: str) -> str:
    """The outcome of a gate as people look for it: `PASS`, `FAIL` or `CANNOT TELL`."""
    return _GATE[outcome]


def with_sign(verdict: str, sentence: str) -> str:
    """A sentence behind the sign of its verdict."""
    return f"{sign_of(verdict)} {sentence}".strip()
