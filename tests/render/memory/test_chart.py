"""Resident memory over time, as a picture."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from onnxperf.render.memory.chart import MOST_PANELS, memory_plot
from tests.render.memory import examples as made


def words(axes: object) -> list[str]:
    return [text.get_text() for text in axes.texts]  # type: ignore[attr-defined]


def test_every_measured_subject_has_a_panel_with_the_peaks_of_the_table() -> None:
    ort, skl = memory_plot(made.memory())
    assert ort.get_title(loc="left") == "linear · batch=300000 · ort"
    assert words(ort)[:3] == ["load 652 MB", "first call 940 MB", "steady call 940 MB"]
    assert skl.get_title(loc="left") == "linear · batch=300000 · skl"
    assert skl.get_ylim() == ort.get_ylim()
    assert ort.get_ylim()[1] > 941


def test_the_calls_that_show_growth_are_labelled() -> None:
    (panel,) = memory_plot(made.memory(made.case(made.function(growth=made.growth("leak", 1.5)))))
    assert panel.get_xlabel() == "ms since the inputs were ready · growth over 64 calls: leak"


def test_calls_without_growth_do_not_push_the_steps_into_a_corner() -> None:
    fields = made.samples(made.steps())
    later_ns = fields["sample_ns"][-1] + 60_000 * made.MS
    longer: dict[str, Any] = {
        "sample_ns": (*fields["sample_ns"], later_ns),
        "sample_bytes": (*fields["sample_bytes"], 700 * made.MB),
    }
    (panel,) = memory_plot(made.memory(made.case(made.subject(**longer))))
    assert panel.get_xlim()[1] < 2000
    assert panel.get_xlabel().endswith("growth over 64 calls (to 60,249 ms): none")


def test_words_of_short_steps_do_not_cover_each_other() -> None:
    (panel,) = memory_plot(made.memory(made.case(made.subject(growth=made.growth("leak", 1.5)))))
    places = [text.get_position()[0] for text in panel.texts[:3]]
    assert all(later - sooner > 0.15 for sooner, later in pairwise(places))


@pytest.mark.parametrize(("exact", "words"), [(True, "peak, from the kernel"), (False, "peak, highest sample")])
def test_the_legend_names_the_source_of_a_peak(exact: bool, words: str) -> None:
    (panel,) = memory_plot(made.memory(made.case(made.subject(steps=made.steps(exact=exact)))))
    entries = [text.get_text() for text in panel.get_legend().get_texts()]
    assert [entry for entry in entries if entry.startswith("peak")] == [words]


def test_what_is_beyond_the_last_panel_is_named() -> None:
    subjects = [made.subject(f"s{i}") for i in range(MOST_PANELS + 2)]
    panels = memory_plot(made.memory(made.case(*subjects)))
    assert len(panels) == MOST_PANELS
    assert words(panels[-1])[0] == ("2 more without a panel: linear · batch=300000 · s12; linear · batch=300000 · s13")


def test_a_subject_that_was_lost_on_its_way_says_so() -> None:
    lost = made.subject(steps=made.steps()[:2], status="oom", growth=None)
    (panel,) = memory_plot(made.memory(made.case(lost)))
    assert panel.get_title(loc="left").endswith("ort · oom")


@pytest.mark.parametrize("name", ["$x$ and $\\frac", "[bold]x[/bold]", "<script>"])
def test_a_name_is_drawn_as_it_is(name: str) -> None:
    (panel,) = memory_plot(made.memory(made.case(made.subject(name))))
    assert panel.get_title(loc="left").endswith(name)
    panel.get_figure().canvas.draw()


def test_nothing_measured_is_an_empty_panel() -> None:
    assert len(memory_plot(made.memory(made.case(made.failed())))) == 1
