"""What is known about a machine as a page."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from onnxperf.records.doctor import MachineReport
from onnxperf.records.headroom import Bandwidth, Peaks
from onnxperf.render.kit.page import sections_of
from onnxperf.render.race.doctor import doctor_page
from tests.render import examples
from tests.render.described import charts_of, picture_of
from tests.render.drawn_pages import TAGS, Markup, printed

LONG = ", ".join(f"provider {number}" for number in range(20))


def report(name: str = "providers", text: str = "CPU", band: float | None = 0.004) -> MachineReport:
    machine = examples.machine(turbo=True)
    return MachineReport(machine=machine, rows={name: text}, noise_band=band, answer="1 % can be seen here.")


SIZES = (Bandwidth(size_bytes=10**5, gb_per_s=70.0), Bandwidth(size_bytes=10**8, gb_per_s=25.0))
DOCTOR = replace(report(), peaks=(Peaks(threads=2, gflop_per_s=90.0, bandwidths=SIZES),))


def test_the_answer_comes_first_then_facts_then_the_noise() -> None:
    lines = [line.strip() for line in printed(doctor_page(report())).splitlines()]
    named = [
        next(i for i, line in enumerate(lines) if line.startswith(start)) for start in ("CPU", "providers", "noise")
    ]
    assert named == sorted(named)
    assert lines[0] == "1 % can be seen here."
    assert "±0.40 % (A/A race)" in lines[named[-1]]


def test_what_is_known_about_the_machine_is_shown_and_the_rest_left_out() -> None:
    shown = printed(doctor_page(report("pro[b]viders", "CPU\n")))
    for part in ["Intel Xeon", "AVX2, AVX512", "2 physical, 4 logical", "17.2 GB", "turbo", "pro[b]viders"]:
        assert part in shown
    assert "CPU\\n" in shown
    assert "governor" not in shown


@pytest.mark.parametrize(
    ("share", "shown"),
    [(0.342, "34 % of the processors"), (0.001, "less than 1 % of the processors"), (0.0, "0 % of the processors")],
)
def test_the_share_of_others_is_a_fact(share: float, shown: str) -> None:
    report = MachineReport(machine=examples.machine(others_share=share), rows={})
    assert f"used by others {shown}" in " ".join(printed(doctor_page(report)).split())


def test_a_share_that_was_not_measured_has_no_row() -> None:
    assert "used by others" not in printed(doctor_page(report()))


def test_a_noise_that_was_not_measured_has_no_row() -> None:
    assert "noise" not in printed(doctor_page(report(band=None)))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_a_long_fact_is_folded_and_loses_nothing(width: int) -> None:
    text = printed(doctor_page(report(text=LONG)), width)
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    assert LONG in " ".join(text.split())


@pytest.mark.parametrize("name", [name for name in examples.NASTY_NAMES if name])
def test_no_text_becomes_markup_or_steers_the_terminal(name: str) -> None:
    page = doctor_page(report(name, name))
    assert Markup(page).tags <= TAGS
    assert all(character.isprintable() or character == "\n" for character in printed(page) if ord(character) < 160)


def test_a_page_has_the_facts_of_the_machine_only_below() -> None:
    (facts,) = [part for section in sections_of(doctor_page(report())) for part in section.parts]
    assert [row[0] for row in facts.rows] == ["providers", "noise"]


def test_peaks_are_lines_over_sizes_and_bars_per_number_of_threads() -> None:
    found = charts_of(doctor_page(DOCTOR))
    (line,) = picture_of(found["Bandwidth over sizes"]).series
    assert (line.name, line.xs, line.ys) == ("2 threads", [1e5, 1e8], [70.0, 25.0])
    assert "The most is 70.0 GB/s, with 2 threads and 100 kB." in found["Bandwidth over sizes"].summary
    assert [each.values for each in picture_of(found["Arithmetic"]).series] == [[90.0]]
