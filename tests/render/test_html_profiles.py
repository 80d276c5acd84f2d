"""Profiles, diffs and optimisations as HTML fragments."""

from __future__ import annotations

from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onnxperf.render.kit.old_html import diff_html, optimization_html, profile_html
from onnxperf.wording.names import name_of
from tests.render import examples, profiles
from tests.render.test_html import ALLOWED, Reader
from tests.render.test_profile import hostile


@settings(deadline=None)
@given(st.one_of(st.sampled_from(examples.NASTY_NAMES), st.text()))
def test_no_name_becomes_markup(name: str) -> None:
    profile, diff, optimization = hostile(name)
    for html in (profile_html(profile), diff_html(diff), optimization_html(optimization)):
        reader = Reader(html)
        assert reader.tags <= ALLOWED
        assert reader.attributes == {"style"}
        assert name_of(name) in unescape("\n".join(reader.words))


@pytest.mark.parametrize(
    ("html", "parts"),
    [
        (
            profile_html(profiles.profile()),
            ["resnet.onnx · Intel", "1.93 ms", profiles.LONG_NAME, "FusedConv: n3", "Conv takes 41 %", "median of 5"],
        ),
        (diff_html(profiles.diff()), ["against", "noise", "gone", "1.191…1.217", "5 others", "1.20 times"]),
        (
            optimization_html(profiles.optimization()),
            ["-103", "n5 Relu -&gt; n3 FusedConv", "n11 = n17", "Shape_9 and 2 more", "resnet.optimised.onnx"],
        ),
    ],
)
def test_tables_answers_and_notes_are_there(html: str, parts: list[str]) -> None:
    for part in parts:
        assert part in html
    assert "http" not in html


def test_body_nodes_keep_their_indentation() -> None:
    inner = profiles.node("inner", 900, path=("loop",))
    html = profile_html(profiles.profile(inner, profiles.node("loop", 1)))
    assert 'white-space:pre">  inner<' in html
