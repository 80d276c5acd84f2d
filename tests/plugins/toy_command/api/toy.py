"""`onnxperf.toy`: count the nodes of a model."""

from __future__ import annotations

from onnxperf.analyze.answers.toy import toy_answer  # type: ignore[import-not-found]
from onnxperf.records.toy import Toy  # type: ignore[import-not-found]

from onnxperf.api._shared.opening import Source, open_source
from onnxperf.api._shared.public import public
from onnxperf.measure.model_reader import outline_of
from onnxperf.options.base import Takes
from onnxperf.options.shared import Store, Tags
from onnxperf.results.base import Result

TOY = Takes(Store, Tags)
"""A row of options/functions.py."""


@public(TOY)
def toy(model: Source) -> Result[Toy]:
    """Count the nodes of a model."""
    opened = open_source(model)
    operators = {each.op_type: each.nodes for each in outline_of(opened).operators}
    return Result(Toy(model=opened.label, operators=operators, answer=toy_answer(opened.label, operators)))
