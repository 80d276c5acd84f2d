"""Options inside messages: `time=45` in backquotes, which the command line shows as --time 45."""

from __future__ import annotations

import re

FLAGS = {
    "against": "--against",
    "allocations": "--allocations",
    "all": "--all",
    "around": "--around",
    "as_": "--as",
    "atol": "--atol",
    "baseline": "--baseline",
    "black_op": "--black-op",
    "blocks": "--blocks",
    "by": "--by",
    "call": "--call",
    "calls": "--calls",
    "case": "--case",
    "cast": "--cast",
    "check": "--check",
    "depth": "--depth",
    "device": "--device",
    "dims": "--dim",
    "dtype": "--dtype",
    "dynamic": "--dynamic",
    "feeds": "--input",
    "force": "--force",
    "input_names": "--input-names",
    "interval": "--interval",
    "keep_trace": "--keep-trace",
    "kind": "--kind",
    "limit": "--limit",
    "lines": "--lines",
    "match": "--match",
    "memory_limit": "--memory-limit",
    "min_effect": "--min-effect",
    "min_share": "--min-share",
    "native": "--native",
    "netron": "--netron",
    "no_store": "--no-store",
    "nodes": "--nodes",
    "op": "--op",
    "opset": "--opset",
    "opt_level": "--opt-level",
    "options": "--option",
    "output": "--output",
    "output_names": "--output-names",
    "plan": "PLAN",
    "plot": "--plot",
    "portable": "--portable",
    "profile": "--profile",
    "provider": "--provider",
    "ranges": "--range",
    "rate": "--rate",
    "repeat": "--repeat",
    "resume": "--resume",
    "retry": "--retry",
    "rewrite": "--rewrite",
    "rtol": "--rtol",
    "runtime": "--runtime",
    "sample": "--input",
    "save": "--save",
    "search": "--search",
    "seed": "--seed",
    "shapes": "--shape",
    "split": "--split",
    "store": "--store",
    "table": "--table",
    "threads": "--threads",
    "time": "--time",
    "timeout": "--timeout",
    "top": "--top",
    "trace_out": "--trace-out",
    "values": "--values",
    "warmup": "--warmup",
}
"""Keywords of the public functions that messages mention, and how the command line spells them."""

_MENTION = re.compile(r"`([a-z_]+)(?:=([^`]*))?`")


def as_flags(text: str) -> str:
    """The text with every option in backquotes as the command line spells it; other words in backquotes stay."""
    return _MENTION.sub(_flag, text)


def _flag(found: re.Match[str]) -> str:
    name, value = found.groups()
    if name not in FLAGS:
        return found[0]
    return FLAGS[name] if value is None else f"{FLAGS[name]} {value}"
