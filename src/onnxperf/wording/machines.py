"""Names of processors as people read them."""

from __future__ import annotations

import re
from collections.abc import Sequence

_EXTENSIONS = {
    "AVX2": r"avx2",
    "AVX512": r"avx512f",
    "VNNI": r"avx\w*vnni",
    "BF16": r"avx512_bf16|bf16",
    "AMX": r"amx_\w+",
    "NEON": r"neon|asimd",
    "dot product": r"asimddp",
    "I8MM": r"i8mm",
    "SVE": r"sve\w*",
}
"""Vector extensions that decide how fast a model runs, by the flags of the kernel."""
_WIDEST = ("NEON", "SVE", "AVX2", "AVX512", "AMX")
_DECORATION = re.compile(r"\((R|TM)\)| CPU(?= @|$)| @ .*$", re.IGNORECASE)


def cpu_name(text: str) -> str:
    """The model of a processor without its trademark signs and frequency."""
    return _DECORATION.sub("", text)


def extensions_text(flags: Sequence[str]) -> str:
    """Vector extensions as people name them: `AVX2, AVX512, VNNI`; if none of these is known, the flags."""
    return ", ".join(_extensions(flags) or flags)


def widest_extension(flags: Sequence[str]) -> str:
    """The widest of its vectors, for headings: `AVX512`."""
    found = [name for name in _extensions(flags) if name in _WIDEST]
    return next((name for name in reversed(_WIDEST) if name in found), "")


def _extensions(flags: Sequence[str]) -> list[str]:
    return [name for name, flag in _EXTENSIONS.items() if any(re.fullmatch(flag, each) for each in flags)]
