"""What a tuner knows of a model before anything is tried, and how choices are joined."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from onnxperf.records.tune import TuneChoice

_GOES_WITH_OTHER_RUNTIMES = frozenset({"threads"})
"""What has an effect on runtimes besides onnxruntime."""


class ModelFacts(Struct, frozen=True, kw_only=True):
    """What decides which knobs are worth trying."""

    operators: dict[str, int] = {}
    """How often each operator is in the model, subgraphs included."""
    symbolic: dict[str, int] = {}
    """Symbolic dimensions of the inputs, and the sizes that they have here."""
    branches: bool = False
    """Some nodes do not depend on each other."""
    cast_chain: bool = False
    """A Cast reads what a Cast wrote."""
    cores: int = 1
    """Cores that may be used, which is how many threads the defaults have."""
    calls: tuple[str, ...] = ()
    """Call styles besides the usual one; empty where one was requested."""
    runtimes: tuple[str, ...] = ()
    """Other runtimes that are installed."""

    def has(self, *operators: str) -> bool:
        """Whether one of these operators is in the model."""
        return any(each in self.operators for each in operators)


def can_join(one: TuneChoice, other: TuneChoice) -> bool:
    """Whether two choices change different things, and both have an effect together."""
    if set(one.knobs) & set(other.knobs) or (one.rewrite and other.rewrite):
        return False
    if one.runtime or other.runtime:
        rest = {*one.knobs, *other.knobs} - {"runtime"}
        return rest <= _GOES_WITH_OTHER_RUNTIMES
    return True


def is_part(part: TuneChoice, whole: TuneChoice) -> bool:
    """Whether a combination changes all that this choice changes, in the same way."""
    kinds = ((part.call, whole.call), (part.runtime, whole.runtime), (part.rewrite, whole.rewrite))
    return (
        set(part.knobs) <= set(whole.knobs)
        and part.settings.items() <= whole.settings.items()
        and all(own in ("", other) for own, other in kinds)
    )


def joined(choices: Sequence[TuneChoice]) -> TuneChoice:
    """All of these together."""
    return TuneChoice(
        name=", ".join(each.name for each in choices),
        knobs=tuple(knob for each in choices for knob in each.knobs),
        settings={name: value for each in choices for name, value in each.settings.items()},
        call=next((each.call for each in choices if each.call), ""),
        runtime=next((each.runtime for each in choices if each.runtime), ""),
        rewrite=next((each.rewrite for each in choices if each.rewrite), ""),
        approximate=any(each.approximate for each in choices),
    )
