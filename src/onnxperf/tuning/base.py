"""Facts about a model known before tuning, and combinations of candidates."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from onnxperf.records.tune import TuneChoice

_GOES_WITH_OTHER_RUNTIMES = frozenset({"threads"})
"""Knobs that also affect runtimes other than onnxruntime."""


class ModelFacts(Struct, frozen=True, kw_only=True):
    """Facts that determine which knobs are worth trying."""

    operators: dict[str, int] = {}
    """Number of nodes per operator, including subgraphs."""
    symbolic: dict[str, int] = {}
    """Symbolic dimensions of the inputs and their current sizes."""
    branches: bool = False
    """Whether some nodes are independent of each other."""
    cast_chain: bool = False
    """Whether a Cast reads the output of another Cast."""
    cores: int = 1
    """Number of available cores, which is also the default number of threads."""
    calls: tuple[str, ...] = ()
    """Call styles other than the default; empty if one was requested."""
    runtimes: tuple[str, ...] = ()
    """Other installed runtimes."""

    def has(self, *operators: str) -> bool:
        """Whether the model contains any of these operators."""
        return any(each in self.operators for each in operators)


def can_join(one: TuneChoice, other: TuneChoice) -> bool:
    """Whether two candidates change different things and can both take effect together."""
    if set(one.knobs) & set(other.knobs) or (one.rewrite and other.rewrite):
        return False
    if one.runtime or other.runtime:
        rest = {*one.knobs, *other.knobs} - {"runtime"}
        return rest <= _GOES_WITH_OTHER_RUNTIMES
    return True


def is_part(part: TuneChoice, whole: TuneChoice) -> bool:
    """Whether a combination includes all changes of this candidate."""
    kinds = ((part.call, whole.call), (part.runtime, whole.runtime), (part.rewrite, whole.rewrite))
    return (
        set(part.knobs) <= set(whole.knobs)
        and part.settings.items() <= whole.settings.items()
        and all(own in ("", other) for own, other in kinds)
    )


def joined(choices: Sequence[TuneChoice]) -> TuneChoice:
    """The combination of all these candidates."""
    return TuneChoice(
        name=", ".join(each.name for each in choices),
        knobs=tuple(knob for each in choices for knob in each.knobs),
        settings={name: value for each in choices for name, value in each.settings.items()},
        call=next((each.call for each in choices if each.call), ""),
        runtime=next((each.runtime for each in choices if each.runtime), ""),
        rewrite=next((each.rewrite for each in choices if each.rewrite), ""),
        approximate=any(each.approximate for each in choices),
    )
