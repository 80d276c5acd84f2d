"""`onnxperf.log_to_mlflow`: what a result found, as a run of MLflow."""

from __future__ import annotations

from typing import Any

from onnxperf.api._keeping.mlflow_log import log_result
from onnxperf.results.base import Result


def log_to_mlflow(result: Result[Any], *, experiment: str | None = None) -> str:
    """Log a result to MLflow; returns the id of the run there.

    Parameters, numbers, verdicts as tags, the HTML page and the record. Each case of a sweep is a run of its own below
    that run, which in turn is below the active run, if there is one. MLFLOW_TRACKING_URI says where; `experiment`,
    MLFLOW_EXPERIMENT_NAME or MLFLOW_EXPERIMENT_ID in which experiment [default: "onnxperf"].
    """
    return log_result(result, experiment)
