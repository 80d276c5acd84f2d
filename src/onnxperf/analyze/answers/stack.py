"""Where the time of a call goes, in one plain sentence."""

from __future__ import annotations

from onnxperf.records.stack import CodeShares
from onnxperf.wording.numbers import count, duration, sampled_percent

_WITHOUT_SYMBOLS = ("onnxruntime",)
"""Libraries whose kernels cannot be distinguished from the code around them."""
_WORTH_A_WORD = 0.005


def stack_answer(shares: CodeShares | None, call_ns: float) -> str:
    """The undisturbed time of a call; in one sentence Python, kernels and what lies between, and the sampler."""
    takes = f"A call takes {duration(call_ns)}"
    if shares is None:
        return f"{takes}. No samples: the calls were too short; make more of them with `calls`."
    margin = max(1, round(shares.margin * 100))
    source = f"±{margin} %, {count(shares.samples, 'sample')} of {shares.how}"
    if shares.kernels is None or shares.dispatch is None:
        python, compiled = sampled_percent(shares.python), sampled_percent(shares.compiled)
        return (
            f"{takes}: at most {python} Python, at least {compiled} compiled code ({source}; "
            "operators such as a @ b count as Python)."
        )
    parts = {
        _compiled(shares): shares.kernels,
        "Python": shares.python,
        "numpy's call machinery": shares.dispatch,
        "code without a known name": shares.unknown if shares.unknown >= _WORTH_A_WORD else 0.0,
    }
    ranked = sorted(((share, name) for name, share in parts.items() if share), reverse=True)
    listing = ", ".join(f"{sampled_percent(share)} {name}" for share, name in ranked)
    return f"{takes}: {listing} ({source})."


def _compiled(shares: CodeShares) -> str:
    main = max(shares.libraries, key=shares.libraries.__getitem__, default="")
    return f"{main} with its kernels" if main in _WITHOUT_SYMBOLS else "kernels"
