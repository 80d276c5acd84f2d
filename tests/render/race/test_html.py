"""A race as an HTML fragment."""

from __future__ import annotations

from html import unescape

from hypothesis import given
from hypothesis import strategies as st

from onnxperf.results.bench import BenchResult
from onnxperf.wording.names import name_of
from tests.render import examples
from tests.render.drawn_pages import TAGS, Markup


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
    reader = Markup(BenchResult(examples.bench(case)).page())
    assert reader.tags <= TAGS
    assert reader.attributes == {"style"}
    assert name_of(name) in unescape("\n".join(reader.words))


def test_the_table_the_answer_and_the_reason_are_there() -> None:
    bench = examples.bench(examples.case(*examples.case().subjects, examples.failed()))
    html = BenchResult(bench)._repr_html_()
    for part in ["8.43 µs", "1.19–1.22", "ort-values is fastest", "io-binding: X is not contiguous", "batch=1000"]:
        assert part in html
    assert "http" not in html
