"""A sweep on the terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from onnxperf.analyze.answers.sweep import sweep_answer
from onnxperf.analyze.judges.crossover import panels_of, sweep_models
from onnxperf.records.race import Bench, Case
from onnxperf.records.sweep import Estimate
from onnxperf.render.kit.console import page_group, print_page
from onnxperf.render.race.sweep import MAX_LINES, plan_page, sweep_page
from onnxperf.results.bench import BenchResult, live_page
from onnxperf.wording.verdicts import sign_of
from tests.render import drawn_pages, examples, sweeps

WIDTHS = [80, 100, 120, 160, 200]


def printed(bench: Bench, width: int = 100, encoding: str = "utf-8", colour: bool = False) -> str:
    models = sweep_models(bench.cases)
    page = sweep_page(bench, models, panels_of(bench), sweep_answer(models))
    return drawn_pages.printed(page, width, encoding, colour)


def row_of(text: str, *start: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.split()[: len(start)] == list(start))


# ---------------------------------------------------------------- the flat table


def test_every_case_is_a_row_with_dims_times_speedup_verdict_and_throughput() -> None:
    text = printed(sweeps.square())
    assert text.splitlines()[0].startswith(
        "bert.onnx · 30 cases · 2 threads · onnxruntime 1.31.1 · Intel Xeon Platinum 8370C (AVX512)"
    )
    assert row_of(text, "batch", "seq", "ort")[3:5] == ["torch", "speedup"]
    assert " ".join(row_of(text, "2", "10")) == "2 10 7.00 ms 18.5 ms 0.38× 0.37–0.38 ✗ slower 286"
    assert row_of(text, "4", "500")[-2:] == ["faster", "15.0"]
    assert "speedup of torch against ort" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_every_time_is_whole_and_no_line_too_wide(width: int) -> None:
    text = printed(sweeps.square(), width)
    assert max(map(cell_len, text.splitlines())) <= width
    for value in ["7.00 ms", "18.5 ms", "oom", "26.0 ms ≠", "≠ differs", "1.20 s", "0.38×", "faster", "slower"]:
        assert value in text


@pytest.mark.parametrize("status", ["oom", "timeout", "failed", "crashed", "skipped"])
def test_a_blank_cell_has_its_word_and_its_reason_below(status: str) -> None:
    text = printed(sweeps.line([0.5, status]))
    assert " ".join(row_of(text, "2", "20.0")[3:5]).startswith(f"{sign_of(status)} {status}".strip())
    assert f"batch=2: torch {status}: {sweeps.OOM}\n" in text


def test_outputs_that_differ_keep_their_time_but_never_win() -> None:
    wrong = sweeps.ms("torch", 1.0, "faster", 10.0, status="differs", reason="off by 0.02")
    case = sweeps.case(sweeps.ms("ort", 10.0), wrong, dims={"batch": 1})
    text = printed(examples.bench(case))
    assert "1.00 ms ≠" in text
    assert "10.0×" not in text
    assert "batch=1: torch differs: off by 0.02" in text


def test_a_case_that_failed_as_a_whole_says_why() -> None:
    broken = Case(model="resnet.onnx", dims={"batch": 2}, status="failed", answer="no such file")
    text = printed(examples.bench(*sweeps.line([0.5]).cases, broken))
    assert row_of(text, "2")[:5] == ["2", "⛔", "failed", "⛔", "failed"]
    assert "batch=2: failed: no such file" in text


def test_a_long_list_of_reasons_ends_with_a_number() -> None:
    cases = [
        sweeps.case(sweeps.ms("ort", 1.0), examples.failed("torch", "failed", f"error {n}"), dims={"batch": n})
        for n in range(30)
    ]
    lines = printed(examples.bench(*cases)).splitlines()
    assert sum(": torch failed: error" in line for line in lines) == MAX_LINES - 1
    assert "and 11 other reasons" in lines


def test_the_winner_is_bold_where_it_is_proven() -> None:
    text = printed(sweeps.line([0.5, 1.01, 2.0]), colour=True)
    bold = [line for line in text.splitlines() if "\x1b[1;32m" in line]
    assert len(bold) == 2
    assert "\x1b[1;32m10.0 ms" in bold[0]
    assert "\x1b[1;32m20.0 ms" in bold[1]


@pytest.mark.parametrize("width", [80, 120])
def test_more_subjects_than_fit_continue_in_another_table(width: int) -> None:
    text = printed(sweeps.many_subjects(14), width)
    assert max(map(cell_len, text.splitlines())) <= width
    for number in range(14):
        assert f"subject-{number}" in text
        assert f"{10.0 + number:.1f} ms" in text
    assert sum(line.startswith("batch ") for line in text.splitlines()) > 1
    assert "best rival" in text


def test_models_have_tables_of_their_own() -> None:
    both = examples.bench(*sweeps.line([0.5, 2.0]).cases, *sweeps.square().cases)
    text = printed(both)
    assert text.startswith("resnet.onnx, bert.onnx · 32 cases")
    assert "resnet.onnx: time of a call" in text
    assert text.index("resnet.onnx: time") < text.index("bert.onnx: time")


def test_notes_are_told_once() -> None:
    cases = [sweeps.case(*sweeps.pair(0.5), dims={"batch": b}, notes=("a cast",)) for b in (1, 2)]
    cases.append(sweeps.case(*sweeps.pair(0.5), dims={"batch": 4}, notes=("a cast", "odd")))
    text = printed(examples.bench(*cases))
    assert text.count("a cast\n") == 1
    assert "odd (batch=4)" in text


def test_notes_that_differ_only_in_numbers_are_one() -> None:
    cases = [sweeps.case(*sweeps.pair(0.5), dims={"batch": b}, notes=(f"loading took {b}.5 s",)) for b in (1, 2)]
    assert "loading took 1.5 to 2.5 s\n" in printed(examples.bench(*cases))


def test_an_interrupted_sweep_says_so() -> None:
    cut = examples.bench(sweeps.case(*sweeps.pair(0.5), dims={"batch": 1}, interrupted=True))
    assert "Interrupted" in printed(cut)


@pytest.mark.parametrize(
    "bench",
    [
        examples.bench(Case(model="m")),
        examples.bench(Case(model="m", status="failed"), Case(model="m", dims={"batch": 0})),
        examples.bench(sweeps.case(sweeps.ms("ort", 1.0), dims={"n": 0}), sweeps.case(dims={"other": 2})),
        examples.bench().__class__(machine=examples.machine(), command="", cases=()),
    ],
)
def test_odd_sweeps_are_printed(bench: Bench) -> None:
    assert printed(bench)
    assert BenchResult(bench)._repr_html_()


def test_winners_stand_above_the_table_and_the_sizes_without_one_below_it() -> None:
    lines = printed(sweeps.line([0.5, 1.0, 2.0]), 120, "ascii").splitlines()
    assert lines[1:4] == [
        "+ ort and torch win 1 of 3 cases each, no winner in 1.",
        "batch=1: ort is fastest: torch is 0.50x as fast (95 % CI 0.49-0.51).",
        "batch=4: torch is 2.00x as fast as ort (95 % CI 1.97-2.03).",
    ]
    assert lines[-1] == "No winner at batch=2: torch is undecided: the 95 % CI includes 1."


def test_a_large_ratio_that_is_undecided_has_its_reason_below_the_table() -> None:
    few = sweeps.ms("torch", 5000.0, "undecided", 0.002, speedup_low=None, speedup_high=None, reason="only 2 rounds")
    text = printed(examples.bench(sweeps.case(sweeps.ms("ort", 10.0), few, dims={"batch": 8})), 120, "ascii")
    assert row_of(text, "8")[5:8] == ["0.0020x", "?", "undecided"]
    assert "No winner at batch=8: torch is undecided: only 2 rounds." in text
    assert "noise" not in text


def test_a_sweep_that_lacks_rounds_has_their_number_once() -> None:
    cases = [
        sweeps.case(
            sweeps.ms("ort", 10.0),
            sweeps.ms("torch", 100.0, "undecided", 0.1, reason=f"only {batch} rounds"),
            dims={"batch": batch},
        )
        for batch in (2, 3)
    ]
    text = printed(examples.bench(*cases), 120)
    line = "2 of 2 cases had no time for the rounds of a verdict: give each more time."
    assert text.count(line) == 1
    assert "had no time" not in printed(sweeps.line([0.5, 2.0]))


def test_a_row_without_the_usual_baseline_names_its_own() -> None:
    lost = [examples.failed("ort", "oom"), sweeps.ms("subject-0", 9.0), sweeps.ms("subject-1", 3.0, "faster", 3.0)]
    case = sweeps.case(*lost, dims={"batch": 4}, baseline="subject-0")
    assert "subject-1 against subject-0" in printed(examples.bench(*sweeps.many_subjects(2).cases, case), 160)


# ---------------------------------------------------------------- matrices


def test_two_dimensions_make_a_map_of_who_is_fastest_above_the_times() -> None:
    text = printed(sweeps.square())
    assert text.index("ort wins 14") < text.index("Who is fastest, and how much faster") < text.index("Time of a call")
    after = text[text.index("Who is fastest") : text.index("Time of a call")]
    assert row_of(after, "batch")[1:3] == ["seq=10", "seq=50"]
    assert row_of(after, "16")[-2:] == ["⛔", "oom"]
    assert row_of(after, "8")[1:5] == ["≠", "differs", "ort", "1.03×"]


def test_cells_of_a_map_show_their_verdicts() -> None:
    text = printed(sweeps.square(), 120)
    cells = text[text.index("Who is fastest") : text.index("Time of a call")]
    assert (cells.count("ort "), cells.count("torch ")) == (14, 13)
    assert (cells.count("? undecided"), cells.count("⛔ oom"), cells.count("≠ differs")) == (1, 1, 1)


def test_a_map_without_undecided_cells_needs_no_sign() -> None:
    cases = [sweeps.case(*sweeps.pair(0.5), dims={"batch": b, "seq": s}) for b in (1, 2) for s in (1, 2)]
    assert "?" not in printed(examples.bench(*cases))


def test_no_matrix_where_it_would_not_fit_or_one_dimension_varies() -> None:
    assert "time per call\nbatch" not in printed(sweeps.line([0.5, 2.0])).replace("Time of a call, ", "")
    wide = examples.bench(
        *(sweeps.case(*sweeps.pair(0.5), dims={"batch": b, "seq": s}) for b in (1, 2) for s in range(100, 130))
    )
    assert "ort, time per call" not in printed(wide, 80)


# ---------------------------------------------------------------- while it runs


def test_the_cases_so_far_are_a_table_per_model() -> None:
    text = io.StringIO()
    console = Console(file=text, width=100, color_system=None)
    both = [*sweeps.line([0.5, "oom"]).cases, *sweeps.square().cases[:1]]
    console.print(page_group(live_page(both), console))
    assert text.getvalue().startswith("resnet.onnx\nbatch ")
    assert row_of(text.getvalue(), "2", "20.0")[3:5] == ["⛔", "oom"]
    assert "bert.onnx" in text.getvalue()


# ---------------------------------------------------------------- a dry run


def test_a_dry_run_lists_its_cases_and_the_estimate() -> None:
    text = io.StringIO()
    console = Console(file=text, width=80, color_system=None)
    print_page(plan_page(["m.onnx batch=1", "[bold]m\x1b batch=2"], Estimate(18, 107, 0)), console)
    assert text.getvalue() == (
        "2 cases, about 2 min on this machine\n"
        "racing 18 s, start-up 2 min; calls that take longer than 10 ms make it longer\n\n"
        "m.onnx batch=1\n[bold]m\\x1b batch=2\n"
    )


# ---------------------------------------------------------------- words of others


def nasty(name: str) -> Bench:
    subjects = (sweeps.ms("ort", 1.0), sweeps.ms(name, 2.0, "slower", 0.5), examples.failed(f"{name}2", "failed", name))
    return examples.bench(
        *(sweeps.case(*subjects, dims={name: a, "n": b}, model=name, notes=(name,)) for a in (1, 2) for b in (1, 2))
    )


@pytest.mark.parametrize("name", examples.NASTY_NAMES)
@pytest.mark.parametrize("width", [80, 160])
def test_nasty_names_are_printed_literally(name: str, width: int) -> None:
    text = printed(nasty(name), width)
    assert not any(ord(c) < 32 and c != "\n" for c in text)
    assert max(map(cell_len, text.splitlines())) <= width
    if "[bold]" in name:
        assert text.count(name) >= 6


@given(st.text(st.characters(), max_size=40), st.integers(60, 200), st.sampled_from(["utf-8", "ascii", "cp1252"]))
def test_any_name_can_be_printed_on_any_terminal(name: str, width: int, encoding: str) -> None:
    assert not any(ord(c) < 32 and c != "\n" for c in printed(nasty(name), width, encoding))


def test_html_has_a_row_per_case_and_no_markup_of_others() -> None:
    html = BenchResult(sweeps.square())._repr_html_()
    assert html.count("<tr") == 31 + 6
    assert "batch=16 seq=500: torch oom" in html
    assert "Who is fastest" in html
    assert "<b>bold" not in BenchResult(nasty("</script><b>bold</b>"))._repr_html_()
