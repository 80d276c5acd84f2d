"""Runs of MLflow: written through its client, quietly, and to where its own settings lead."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from onnxperf.api._keeping.logged import RunLog, log_of
from onnxperf.errors import NotLogged, OnnxperfError, required
from onnxperf.results.base import Result
from onnxperf.wording.names import one_line, shortened

T = TypeVar("T")
EXPERIMENT = "onnxperf"
"""[default] name of an experiment."""
_MOST_METRICS, _MOST_PARAMS, _MOST_TAGS = 1000, 100, 100
"""Of one request."""
_LONGEST_CAUSE = 300
_ENDS = {"ok": "FINISHED", "differs": "FINISHED", "interrupted": "KILLED"}
_QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT": "true",
    "MLFLOW_ENABLE_ARTIFACTS_PROGRESS_BAR": "false",
    "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "2",
    "MLFLOW_HTTP_REQUEST_TIMEOUT": "30",
    "GIT_PYTHON_REFRESH": "quiet",
}
"""Unless set otherwise: no messages to third parties, nothing on standard output, and no minutes of waiting."""


def require_mlflow() -> Any:
    """The library, imported without a word and without a thread that reports its use."""
    with _quietly():
        return required("mlflow", "mlflow", "mlflow-skinny")


def log_result(result: Result[Any], experiment: str | None = None) -> str:
    """Log a result with its files; returns the id of the run in MLflow."""
    mlflow = require_mlflow()
    with _quietly(), _explained():
        client = mlflow.MlflowClient()
        active = mlflow.active_run()
        place = _experiment(client, experiment) if experiment or active is None else active.info.experiment_id
        log = log_of(result)
        files = {"report.html": result.to_html(), "record.json": result.to_json()}
        end = _ENDS.get(result.status, "FAILED")
        return _written(client, place, log, active.info.run_id if active is not None else "", end, files)


def _experiment(client: Any, name: str | None) -> str:
    """The id of the experiment: named, or as the variables of MLflow say."""
    named = name or os.environ.get("MLFLOW_EXPERIMENT_NAME")
    if not named and os.environ.get("MLFLOW_EXPERIMENT_ID"):
        return os.environ["MLFLOW_EXPERIMENT_ID"]
    named = named or EXPERIMENT
    found = client.get_experiment_by_name(named)
    if found is not None:
        return str(found.experiment_id)
    try:
        return str(client.create_experiment(named))
    except Exception:  # another process was quicker
        found = client.get_experiment_by_name(named)
        if found is None:
            raise
        return str(found.experiment_id)


def _written(client: Any, experiment: str, log: RunLog, parent: str, end: str, files: Mapping[str, str]) -> str:
    """Write a run, its files and the runs below; one that could not be written whole is marked as failed."""
    tags = {"mlflow.parentRunId": parent} if parent else {}
    run = client.create_run(experiment, run_name=log.name, tags={**tags, "mlflow.source.type": "LOCAL"}).info.run_id
    try:
        _write_values(client, run, log)
        for child in log.children:
            status = _ENDS.get(child.tags.get("onnxperf.status", "ok"), "FAILED")
            _written(client, experiment, child, run, status, {})
        for name, text in files.items():
            client.log_text(run, text, name)
    except BaseException:
        with contextlib.suppress(Exception):
            client.set_terminated(run, "FAILED")
        raise
    client.set_terminated(run, end)
    return str(run)


def _write_values(client: Any, run: str, log: RunLog) -> None:
    from mlflow.entities import Metric, Param, RunTag

    now = int(time.time() * 1000)
    for metrics in _batches((Metric(*each, now, 0) for each in log.metrics.items()), _MOST_METRICS):
        client.log_batch(run, metrics=metrics)
    for params in _batches(itertools.starmap(Param, log.params.items()), _MOST_PARAMS):
        client.log_batch(run, params=params)
    for tags in _batches(itertools.starmap(RunTag, log.tags.items()), _MOST_TAGS):
        client.log_batch(run, tags=tags)


def _batches(entries: Iterable[T], most: int) -> Iterator[list[T]]:
    remaining = iter(entries)
    while some := list(itertools.islice(remaining, most)):
        yield some


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    """Let the library neither warn nor print, nor report its use."""
    added = {name: value for name, value in _QUIET.items() if name not in os.environ}
    os.environ.update(added)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    """Whatever the library or its server says becomes one line."""
    try:
        yield
    except OnnxperfError:
        raise
    except ModuleNotFoundError as error:  # the small package has the client of a server only
        raise NotLogged(
            f"MLflow needs {error.name} for its own database: install mlflow, or let MLFLOW_TRACKING_URI name a server"
        ) from error
    except Exception as error:
        line = shortened(one_line(str(error)) or type(error).__name__, _LONGEST_CAUSE)
        raise NotLogged(f"MLflow did not take the run: {line}") from error
