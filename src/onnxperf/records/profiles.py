"""One model profiled under several variants."""

from __future__ import annotations

from onnxperf.records.base import Experiment
from onnxperf.records.profile import Profile


class Profiles(Experiment, frozen=True, kw_only=True):
    """What `onnxperf profile` found where a setting had several values."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of the model's file and its external data."""
    variants: tuple[Profile, ...] = ()
    """A profile for each, with its name in place of the model's; their iterations took turns."""
    interrupted: bool = False
    """Stopped by the user before its end."""

    @property
    def operators(self) -> tuple[str, ...]:
        """Operator types of all variants, the one that takes the most time in any of them first."""
        most: dict[str, float] = {}
        for profile in self.variants:
            for operator in profile.operators:
                most[operator.op_name] = max(most.get(operator.op_name, 0.0), operator.usual_us)
        return tuple(sorted(most, key=lambda name: -most[name]))
