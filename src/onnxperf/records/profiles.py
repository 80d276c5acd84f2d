"""One model profiled under several variants."""

from __future__ import annotations

from onnxperf.records.base import Experiment
from onnxperf.records.profile import Profile


class Profiles(Experiment, frozen=True, kw_only=True):
    """Result of `onnxperf profile` for a setting with several values."""

    model: str
    """Label of the model."""
    fingerprint: str = ""
    """Hash of the model file and its external data."""
    variants: tuple[Profile, ...] = ()
    """Profiles of all variants, named after the variants; their iterations alternate."""
    interrupted: bool = False
    """Whether the user stopped it early."""

    @property
    def operators(self) -> tuple[str, ...]:
        """Operator types of all variants, ordered by their largest time in any variant."""
        most: dict[str, float] = {}
        for profile in self.variants:
            for operator in profile.operators:
                most[operator.op_name] = max(most.get(operator.op_name, 0.0), operator.usual_us)
        return tuple(sorted(most, key=lambda name: -most[name]))
