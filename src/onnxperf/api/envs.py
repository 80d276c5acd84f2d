"""`onnxperf.envs`: the environments that were built."""

from __future__ import annotations

from onnxperf.analyze.answers.envs import environments_answer
from onnxperf.environments import find
from onnxperf.environments.kept import folder_of_all
from onnxperf.records.envs import Environments
from onnxperf.results.base import Result


def envs() -> Result[Environments]:
    """The environments that were built for other versions of onnxruntime, sorted by name."""
    found = tuple(find.all_environments())
    return Result(Environments(environments=found, answer=environments_answer(found, str(folder_of_all()))))
