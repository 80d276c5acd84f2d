"""What subjects need in memory, on the terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len

from onnxperf.records.memory import ArenaTrial, LiveTensor, Memory
from onnxperf.render.kit.html import page_html
from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.memory.page import memory_page
from onnxperf.render.memory.tables import growth_text
from onnxperf.wording.names import name_of
from tests.render import drawn_pages, examples
from tests.render.memory import examples as made


def printed(record: Memory, width: int = 100) -> str:
    return drawn_pages.printed(memory_page(record), width)


def html(record: Memory) -> str:
    return page_html(memory_page(record))


def markdown(record: Memory) -> str:
    return page_markdown(memory_page(record))


def test_peaks_causes_answer_and_reasons_are_there_and_fit() -> None:
    text = printed(made.memory())
    for part in ["940", "+240", "copy of X", "cast float64 → float32", "alive at MatMul_0 (MatMul)", "6 others"]:
        assert part in text
    for part in ["ort needs 300 MB.", "numpy: needed more than 2 GB", "oom", "630 + 70"]:
        assert part in text
    assert "2 threads" in text.splitlines()[0]


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ["ort", "a_very_long_name_of_a_subject_with_an_end_that_tells_it_apart"])
def test_tables_fit_and_what_matters_stays(width: int, name: str) -> None:
    leaking = made.subject(name, growth=made.growth("leak", 123.4))
    text = printed(made.memory(made.case(leaking, made.function(), made.failed())), width)
    assert max(map(cell_len, text.splitlines())) <= width
    for part in ["needs", "300", "+300", "leak 123 MB/call", "oom", name[-3:]]:
        assert part in text


def test_the_need_in_the_table_is_that_of_the_sentence() -> None:
    subject = made.subject()
    row = printed(made.memory(made.case(subject))).split("\nort ")[2].splitlines()[0].split()
    assert subject.needed_bytes == 300 * made.MB
    assert row[0] == "300"


def test_what_was_not_measured_has_no_empty_table() -> None:
    text = printed(made.memory(made.case(made.failed())))
    assert "oom" in text
    assert "Resident between" not in text
    assert "stays" not in text


def test_bytes_of_several_sizes_say_which_one_they_are_of() -> None:
    for counted, said in [({"batch": 300_000}, "batch=300000"), ({}, "batch=1")]:  # before, it was the first
        subject = made.subject(breakdown=made.breakdown(dims=counted))
        text = printed(made.memory(made.case(subject, dims={"batch": (1, 300_000)})))
        assert "batch=1,300000" in text
        assert f"inputs, outputs and tensors at {said}\n" in text


def test_threads_that_differ_are_not_in_the_heading() -> None:
    one = made.subject("one", conditions={"threads": 1})
    assert "thread" not in printed(made.memory(made.case(one, made.subject()))).splitlines()[0]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"kind": "none", "mb_per_call": 0.001}, "none"),
        ({"kind": "settling", "mb_per_call": 2}, "settled"),
        ({"kind": "leak", "mb_per_call": 1.5}, "leak 1.5 MB/call"),
        ({"kind": "arena", "mb_per_call": 0.2}, "arena +12.8 MB"),
    ],
)
def test_a_leak_has_its_bytes_per_call_and_an_arena_what_it_grew_by(changes: dict[str, Any], text: str) -> None:
    assert growth_text(made.growth(**changes)) == text


@pytest.mark.parametrize("render", [html, markdown, printed])
def test_every_form_explains_its_columns_and_says_that_it_was_interrupted(render: Callable[[Memory], str]) -> None:
    text = render(made.memory(made.case(made.subject(steps=made.steps(exact=False)), interrupted=True)))
    for part in ["needs: peak of a steady call", "stays: kept after it", "sampled every", "Interrupted"]:
        assert part in text


@pytest.mark.parametrize("name", ["<script>", "a|b", "**bold**"])
def test_markdown_does_not_interpret_names(name: str) -> None:
    text = markdown(made.memory(made.case(made.subject(name))))
    assert f"| {name} |" not in text
    assert "| &emsp;copy of X | 240 MB |" in text


def test_only_sampled_peaks_are_marked_and_explained() -> None:
    assert "~" not in printed(made.memory())
    text = printed(made.memory(made.case(made.subject(steps=made.steps(exact=False)))))
    assert "~940" in text
    assert "sampled every 1.00 ms" in text


@pytest.mark.parametrize("name", [name for name in examples.NASTY_NAMES if len(name) < 30])
def test_names_come_out_as_they_are(name: str) -> None:
    assert name_of(name) in printed(made.memory(made.case(made.subject(name))), 200)


def test_what_is_unexplained_and_what_other_settings_need_are_rows() -> None:
    trials = (ArenaTrial(setting="off", needed_bytes=80 * made.MB), ArenaTrial(setting="shrinkage", needed_bytes=None))
    subject = made.subject(breakdown=made.breakdown(unexplained_bytes=197 * made.MB), trials=trials)
    text = " ".join(printed(made.memory(made.case(subject))).split())
    assert "unexplained 197 MB neither planned nor a copy arena off 80 MB needed instead alive at" in text


def test_only_a_broadcast_view_is_larger_than_what_it_shows() -> None:
    alive = (
        LiveTensor(name="wide", size_bytes=90 * made.MB, role="intermediate", within="a"),
        LiveTensor(name="a", size_bytes=10 * made.MB, role="intermediate"),
        LiveTensor(name="part", size_bytes=4 * made.MB, role="output", within="a"),
    )
    text = " ".join(printed(made.memory(made.case(made.subject(breakdown=made.breakdown(alive=alive))))).split())
    assert "wide 90 MB intermediate, may repeat a" in text
    assert "part 4 MB output, may lie in a" in text
