"""Whether a converted model agrees with its source, in plain words."""

from __future__ import annotations

from onnxperf.records.convert import Conversion
from onnxperf.wording.names import listed
from onnxperf.wording.numbers import count, significant


def conversion_answer(record: Conversion) -> str:
    """Answer whether the model agrees with its source, and where it was written."""
    wrong = dict.fromkeys(output.name for check in record.checks for output in check.outputs if not output.equal)
    where = f"Written to {record.output}." if record.output else ""
    if wrong:
        return f"The model differs from its source in {listed(wrong)}. {where or 'Nothing was written.'}"
    if not record.checks:
        return f"The model was not compared with its source. {where}".rstrip()
    outputs = count(len(record.checks[0].outputs), "output")
    sizes = f", with {count(len(record.checks), 'size')}" if len(record.checks) > 1 else ""
    worst = max((output.max_absolute or 0.0 for check in record.checks for output in check.outputs), default=0.0)
    agreed = f"The model agrees with its source on {outputs}{sizes} (largest difference {significant(worst)})."
    return f"{agreed} {where}".rstrip()
