"""The knobs of a tuning, their values, and the models for which they are worth trying."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from onnxperf.records.tune import Goal, TuneChoice
from onnxperf.tuning.base import ModelFacts

_GEMM = ("MatMul", "Gemm", "Conv", "ConvTranspose", "LSTM", "GRU")
"""Operators whose weights onnxruntime prepacks when opening a session."""
_GELU = ("Gelu", "Erf", "FastGelu", "BiasGelu")
_TIME: tuple[Goal, ...] = ("latency", "cpu")
_ALL: tuple[Goal, ...] = ("latency", "cpu", "memory")


class Knob(NamedTuple):
    """Something that can be changed; its values are alternatives."""

    name: str
    values: Callable[[ModelFacts], Iterator[dict[str, str]]]
    """Settings of each value worth trying for a model; `call`, `runtime` and `rewrite` are special keys, not
    settings."""
    goals: tuple[Goal, ...] = _ALL
    approximate: bool = False


def _value(
    when: Callable[[ModelFacts], bool], *values: dict[str, str]
) -> Callable[[ModelFacts], Iterator[dict[str, str]]]:
    def found(facts: ModelFacts) -> Iterator[dict[str, str]]:
        if when(facts):
            yield from values

    return found


def _always(_facts: ModelFacts) -> bool:
    return True


def _several_threads(facts: ModelFacts) -> bool:
    return facts.cores > 1


def _has(*operators: str) -> Callable[[ModelFacts], bool]:
    return lambda facts: facts.has(*operators)


def _call_styles(facts: ModelFacts) -> Iterator[dict[str, str]]:
    return ({"call": each} for each in facts.calls)


def _threads(facts: ModelFacts) -> Iterator[dict[str, str]]:
    number = 1
    while number < facts.cores:
        yield {"threads": str(number)}
        number *= 2


def _dimensions(facts: ModelFacts) -> Iterator[dict[str, str]]:
    if facts.symbolic:
        yield {f"dim.{name}": str(size) for name, size in facts.symbolic.items()}


def _parallel(facts: ModelFacts) -> Iterator[dict[str, str]]:
    if facts.branches and facts.cores > 1:
        yield {"execution_mode": "parallel", "inter_op_threads": str(facts.cores)}


def _runtimes(facts: ModelFacts) -> Iterator[dict[str, str]]:
    return ({"runtime": each} for each in facts.runtimes)


KNOBS = (
    Knob("call", _call_styles, _TIME),
    Knob("rewrite", _value(_has("Einsum"), {"rewrite": "einsum"})),
    Knob("casts", _value(lambda facts: facts.cast_chain, {"optimization.enable_cast_chain_elimination": "1"})),
    Knob("dimensions", _dimensions),
    Knob("threads", _threads),
    Knob("arena", _value(_always, {"arena": "off"})),
    Knob("arena", _value(_always, {"arena": "same-as-requested"}, {"arena": "shrinkage"}), ("memory",)),
    Knob("mem_pattern", _value(_always, {"mem_pattern": "off"})),
    Knob("optimisation", _value(_has("Conv", "ConvTranspose"), {"disabled_optimizers": "NchwcTransformer"})),
    Knob("spinning", _value(_several_threads, {"session.intra_op.allow_spinning": "0"}), _TIME),
    Knob("blocks", _value(_several_threads, {"session.dynamic_block_base": "4"}), _TIME),
    Knob("optimisation", _value(_has("Transpose"), {"disabled_optimizers": "TransposeOptimizer"})),
    Knob("optimisation", _value(_always, {"opt_level": "extended"})),
    Knob("order", _value(lambda facts: facts.branches, {"execution_order": "memory-efficient"}), ("memory",)),
    Knob("denormals", _value(_always, {"session.set_denormal_as_zero": "1"}), _TIME),
    Knob("gelu", _value(_has(*_GELU), {"optimization.enable_gelu_approximation": "1"}), approximate=True),
    Knob("prepacking", _value(_has(*_GEMM), {"session.disable_prepacking": "1"})),
    Knob("optimisation", _value(_always, {"opt_level": "basic"})),
    Knob("runtime", _runtimes, _TIME),
    Knob("execution", _parallel),
)
"""In test order: first knobs that share a session or have a cause in the model, then those that helped most often
(threads and the arena), last those that rarely help or take long (other runtimes, parallel nodes)."""


def choices_for(facts: ModelFacts, goal: Goal = "latency", approximate: bool = False) -> list[TuneChoice]:
    """All candidates worth trying for a model; those that change results only if allowed."""
    return [
        _choice(knob, value)
        for knob in KNOBS
        if goal in knob.goals and (approximate or not knob.approximate)
        for value in knob.values(facts)
    ]


def _choice(knob: Knob, value: dict[str, str]) -> TuneChoice:
    kinds = ("call", "runtime", "rewrite")
    return TuneChoice(
        name=_name(value),
        knobs=(knob.name,),
        settings={name: each for name, each in value.items() if name not in kinds},
        call=value.get("call", ""),
        runtime=value.get("runtime", ""),
        rewrite=value.get("rewrite", ""),
        approximate=knob.approximate,
    )


def _name(value: dict[str, str]) -> str:
    """Settings and their values; a config entry is shortened to the last part of its name."""
    return " ".join(
        f"{name if name.startswith('dim.') else name.rpartition('.')[2]}={each}" for name, each in value.items()
    )
