"""Where the time of a call goes, in one plain sentence."""

from __future__ import annotations

from onnxperf.records.stack import CodeShares
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import count, duration, sampled_percent

_WITHOUT_SYMBOLS = ("onnxruntime",)
"""Libraries whose kernels cannot be distinguished from the code around them."""
_WORTH_A_WORD = 0.005


def stack_answer(shares: CodeShares | None, call_ns: float) -> str:
    """The undisturbed time of a call; Python, kernels and what lies between in one sentence, and how it was estimated."""
    takes = f"A call takes {duration(call_ns)} undisturbed."
    if shares is None:
        return f"{takes} No samples: the calls were too short; make more of them with `calls`."
    margin = max(1, round(shares.margin * 100))
    source = f"({shares.how}, {count(shares.samples, 'sample')}, ± {margin}"
    if shares.kernels is None or shares.dispatch is None:
        python, compiled = sampled_percent(shares.python), sampled_percent(shares.compiled)
        return (
            f"{takes} Of this, at most {python} is Python and at least {compiled} compiled code {source}; "
            "operators such as a @ b count as Python)."
        )
    parts = [
        f"{sampled_percent(shares.kernels)} is spent in {_compiled(shares)}",
        f"{sampled_percent(shares.python)} in Python",
        f"{sampled_percent(shares.dispatch)} in numpy's own call machinery",
    ]
    if shares.unknown >= _WORTH_A_WORD:
        parts.append(f"{sampled_percent(shares.unknown)} in code without a known name")
    return f"{takes} Of this, {listed(parts)} {source})."


def _compiled(shares: CodeShares) -> str:
    main = max(shares.libraries, key=shares.libraries.__getitem__, default="")
    return f"{main}, kernels and the code around them" if main in _WITHOUT_SYMBOLS else "kernels"
