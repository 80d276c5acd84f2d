"""What takes the most time under each variant, in plain sentences."""

from __future__ import annotations

from onnxperf.analyze.answers.profile import overhead_words
from onnxperf.records.profile import OperatorTime, Profile
from onnxperf.records.profiles import Profiles
from onnxperf.wording.names import listed, name_of
from onnxperf.wording.numbers import microseconds


def profiles_answer(record: Profiles) -> str:
    """The operator that takes the most time: one for all, or one for each."""
    most = {profile.model: found for profile in record.variants if (found := _costliest(profile)) is not None}
    if not most:
        return "No node took any time that the traces could show."
    operators = list(dict.fromkeys(each.op_name for each in most.values()))
    overhead = overhead_words(max((each.overhead or 0.0 for each in record.variants), default=0.0))
    if len(operators) == 1:
        times = [f"{microseconds(each.usual_us)} with {name_of(name)}" for name, each in most.items()]
        return f"{overhead}{name_of(operators[0])} takes the most time: {listed(times)}."
    parts = [f"{name_of(o.op_name)} with {name_of(name)} ({microseconds(o.usual_us)})" for name, o in most.items()]
    return f"{overhead}The most time goes to {listed(parts)}."


def _costliest(profile: Profile) -> OperatorTime | None:
    timed = [operator for operator in profile.operators if operator.usual_us > 0]
    return max(timed, key=lambda operator: operator.usual_us, default=None)
