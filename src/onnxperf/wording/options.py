"""Options inside messages: `time=45` in backquotes, which the command line shows as --time 45."""

from __future__ import annotations

import re

_REGULAR = """
against all all_combinations allocations allow around atol baseline baseline_env baseline_subject black_op blocks by
calibrate call calls case cast change check count depth device dtype dynamic env every force goal host input_names
interval keep_trace kind limit lines match max_error max_memory max_slowdown memory_limit min_effect min_share native
netron no_store nodes on op opset opt_level output output_names port portable profile provider rate releases
repeat resume retry rewrite roofline rtol runtime save search seed since split store table threads time timeout top
trace_out undecided values warmup
"""
"""Keywords of the public functions that messages mention and that the command line spells in the same way."""
_SPELLED = {
    "as_": "--as",
    "dims": "--dim",
    "feeds": "--input",
    "options": "--option",
    "options_unchecked": "--option-unchecked",
    "plan": "PLAN",
    "ranges": "--range",
    "sample": "--input",
    "shapes": "--shape",
    "variants": "--variant",
}
"""Those that it spells otherwise."""

FLAGS = {name: f"--{name.replace('_', '-')}" for name in _REGULAR.split()} | _SPELLED
"""Keywords that messages may mention, and how the command line spells them."""
_MENTION = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")


def as_flags(text: str) -> str:
    """The text with every option in backquotes as the command line spells it; other words in backquotes stay."""
    return _MENTION.sub(_flag, text)


def _flag(found: re.Match[str]) -> str:
    name, value = found.groups()
    if name not in FLAGS:
        return found[0]
    return FLAGS[name] if value is None else f"{FLAGS[name]} {value}"
