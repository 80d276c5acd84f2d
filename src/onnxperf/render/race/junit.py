"""A gate as JUnit XML, which CI systems show next to tests."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from onnxperf.records.gate import Gate, GateControl, GateLimit, GateOutcome
from onnxperf.wording.names import dims_text, visible
from onnxperf.wording.numbers import factor, interval, significant


def junit_xml(record: Gate) -> bytes:
    """A test case for every limit and every control; what is undecided is an error unless it counts as passed."""
    suite = ET.Element("testsuite", name=visible(f"onnxperf gate {record.model}"))
    for limit in record.limits:
        outcome = record.undecided_as if limit.outcome == "undecided" else limit.outcome
        _add(suite, limit.measure, limit, outcome, limit.reason or _measured(limit))
    for control in record.controls:
        _add(suite, "control", control, "passed" if control.passed else record.undecided_as, control.reason)
    cases = suite.findall("testcase")
    suite.set("tests", str(len(cases)))
    suite.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    suite.set("errors", str(sum(case.find("error") is not None for case in cases)))
    ET.SubElement(suite, "system-out").text = visible(record.answer)
    content: bytes = ET.tostring(suite, encoding="utf-8", xml_declaration=True)
    return content


def _measured(limit: GateLimit) -> str:
    if limit.measure == "error":
        return f"error of outputs: {significant(limit.new or 0.0)}, and the limit is {significant(limit.limit or 0.0)}"
    low, high = limit.ratio_low, limit.ratio_high
    ends = (low, high) if low is not None and high is not None else None
    found = f"{factor(limit.ratio, ends)}{f' ({interval(*ends)})' if ends is not None else ''}"
    return f"{limit.measure}: new / baseline is {found}, and the limit is {factor(limit.limit)}"


def _add(suite: ET.Element, name: str, part: GateLimit | GateControl, outcome: GateOutcome, reason: str) -> None:
    place = dims_text(part.dims)
    case = ET.SubElement(suite, "testcase", classname="onnxperf.gate", name=visible(f"{name} {place}".strip()))
    if outcome != "passed":
        kind = "failure" if outcome == "failed" else "error"
        ET.SubElement(case, kind, message=visible(reason or outcome))
