"""Estimators of scikit-learn, and whatever looks like one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_SCORES = ("predict_proba", "decision_function")


def estimator_call(estimator: Any) -> Callable[..., Any]:
    """Labels and, where the estimator has them, probabilities or scores; what a transformer returns otherwise."""
    if not hasattr(estimator, "predict"):
        return estimator.transform  # type: ignore[no-any-return]
    scores = next((name for name in _SCORES if hasattr(estimator, name)), None)

    def predict(*inputs: Any) -> Any:
        labels = estimator.predict(*inputs)
        return labels if scores is None else [labels, getattr(estimator, scores)(*inputs)]

    return predict
