"""Pages of profiles and optimisations as HTML and Markdown."""

from __future__ import annotations

from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxperf.render.kit.html import page_html
from onnxperf.render.kit.markdown import page_markdown
from onnxperf.render.kit.page import Page
from onnxperf.render.profile.optimization import optimization_page
from onnxperf.render.profile.page import profile_page
from onnxperf.wording.names import name_of
from tests.render import examples
from tests.render.drawn_pages import TAGS, Markup
from tests.render.profile import examples as profiles


@settings(deadline=None)
@given(st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text()))
def test_no_name_becomes_markup(name: str) -> None:
    profile, _, optimization = profiles.hostile(name)
    for page in (profile_page(profile), optimization_page(optimization)):
        reader = Markup(page)
        assert reader.tags <= TAGS
        assert reader.attributes == {"style"}
        assert name_of(name) in unescape("\n".join(reader.words))


@pytest.mark.parametrize(
    ("page", "parts"),
    [
        (
            profile_page(profiles.profile()),
            ["Intel Xeon", "1.93 ms", profiles.LONG_NAME, "FusedConv: n3", "Conv takes 41 %", "2 quickest of 5"],
        ),
        (
            optimization_page(profiles.optimization()),
            ["-103", "n5 Relu → n3 FusedConv", "n11 = n17", "Shape_9 and 2 more", "resnet.optimised.onnx"],
        ),
    ],
)
def test_tables_answers_and_notes_are_there(page: Page, parts: list[str]) -> None:
    html, markdown = page_html(page), unescape(page_markdown(page)).replace("\\", "")
    for part in parts:
        assert part in unescape(html)
        assert part in markdown
    assert "http" not in html


def test_body_nodes_keep_their_indentation() -> None:
    inner = profiles.node("inner", 900, path=("loop",))
    html = page_html(profile_page(profiles.profile(inner, profiles.node("loop", 1))))
    assert 'white-space:pre">  inner<' in html
