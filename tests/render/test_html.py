"""Results as HTML fragments."""

from __future__ import annotations

from html import unescape
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from onnxperf.records import Signature
from onnxperf.records.convert import Conversion
from onnxperf.render.kit.old_html import conversion_html, doctor_html
from onnxperf.results.bench import BenchResult
from onnxperf.wording.names import name_of
from tests.render import examples

ALLOWED = {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}


class Reader(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.words.append(data)


@given(st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text()))
def test_no_name_becomes_markup(name: str) -> None:
    case = examples.case(
        examples.subject(name),
        examples.failed(name, reason=name),
        model=name,
        answer=name,
        notes=(name,),
        dims={name: 1},
    )
    reader = Reader(BenchResult(examples.bench(case))._repr_html_())
    assert reader.tags <= ALLOWED
    assert reader.attributes == {"style"}
    assert name_of(name) in unescape("\n".join(reader.words))


def test_the_table_the_answer_and_the_reason_are_there() -> None:
    bench = examples.bench(examples.case(*examples.case().subjects, examples.failed()))
    html = BenchResult(bench)._repr_html_()
    for part in ["8.43 µs", "1.191…1.217", "ort-values is fastest", "io-binding: X is not contiguous", "batch=1000"]:
        assert part in html
    assert "http" not in html


@given(st.sampled_from(examples.NASTY_NAMES))
def test_the_doctor_escapes_what_it_shows(name: str) -> None:
    reader = Reader(doctor_html(examples.machine(cpu=name or "x"), [(name, name)], name))
    assert reader.tags <= ALLOWED
    assert "2 physical, 4 logical" in reader.words


@given(st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text()))
def test_no_name_of_a_converted_model_becomes_markup(name: str) -> None:
    side = (Signature(name=name, dtype="float32", shape=(name, None, 3)),)
    record = Conversion(
        model=name,
        framework="torch",
        versions={},
        opset=20,
        inputs=side,
        outputs=side,
        nodes=1,
        size_bytes=4,
        output=name,
    )
    read = Reader(conversion_html(record))
    assert read.tags <= ALLOWED
    assert read.attributes <= {"style"}
    assert name_of(name) in "".join(read.words)
