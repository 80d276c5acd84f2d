"""A sweep on the terminal."""

from __future__ import annotations

import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from onnxperf.records import Bench, Case
from onnxperf.render.kit.old_html import bench_html
from onnxperf.render.race.sweep import MAX_LINES, about, crossover_lines, print_cells, print_sweep, reason_lines
from onnxperf.render.race.sweep_grid import duel, panels_of, usual_rival, winners
from tests.render import examples, sweeps

WIDTHS = [80, 100, 120, 160, 200]


def printed(bench: Bench, width: int = 100, encoding: str = "utf-8", colour: bool = False, full: bool = False) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, write_through=True)
    colours = "standard" if colour else None
    print_sweep(bench, Console(file=stream, width=width, color_system=colours, force_terminal=colour), full)  # type: ignore[arg-type]
    return raw.getvalue().decode(encoding)


def row_of(text: str, *start: str) -> list[str]:
    return next(line.split() for line in text.splitlines() if line.split()[: len(start)] == list(start))


def many_subjects(count: int) -> Bench:
    rivals = [sweeps.ms(f"subject-{number}", 10.0 + number, "slower", 0.9) for number in range(count)]
    return examples.bench(*(sweeps.case(sweeps.ms("ort", 9.0), *rivals, dims={"batch": b}) for b in (1, 2)))


# ---------------------------------------------------------------- the flat table


def test_every_case_is_a_row_with_dims_times_speedup_verdict_and_throughput() -> None:
    text = printed(sweeps.square())
    assert text.splitlines()[0].startswith("bert.onnx · 30 cases · Intel Xeon Platinum 8370C · 2 threads · onnxruntime")
    assert row_of(text, "batch", "seq", "ort")[3:5] == ["torch", "speedup"]
    assert " ".join(row_of(text, "2", "10")) == "2 10 7.00 ms 18.5 ms 0.378× 0.373…0.384 slower 286"  # noqa: RUF001
    assert row_of(text, "4", "500")[-2:] == ["faster", "15.0"]
    assert "speedup of torch against ort" in text


@pytest.mark.parametrize("width", WIDTHS)
def test_every_time_is_whole_and_no_line_too_wide(width: int) -> None:
    text = printed(sweeps.square(), width)
    assert max(map(cell_len, text.splitlines())) <= width
    for value in ["7.00 ms", "18.5 ms", "oom", "26.0 ms differs", "1.20 s", "0.378×", "faster", "slower"]:  # noqa: RUF001
        assert value in text


@pytest.mark.parametrize("status", ["oom", "timeout", "failed", "crashed", "skipped"])
def test_a_blank_cell_has_its_word_and_its_reason_below(status: str) -> None:
    text = printed(sweeps.line([0.5, status]))
    assert row_of(text, "2", "20.0")[3] == status
    assert f"batch=2: torch {status}: {sweeps.OOM}\n" in text


def test_outputs_that_differ_keep_their_time_but_never_win() -> None:
    wrong = sweeps.ms("torch", 1.0, "faster", 10.0, status="differs", reason="off by 0.02")
    case = sweeps.case(sweeps.ms("ort", 10.0), wrong, dims={"batch": 1})
    assert winners(case) == set()
    text = printed(examples.bench(case))
    assert "1.00 ms differs" in text
    assert "10.0×" not in text  # noqa: RUF001
    assert "batch=1: torch differs: off by 0.02" in text


def test_a_case_that_failed_as_a_whole_says_why() -> None:
    broken = Case(model="resnet.onnx", dims={"batch": 2}, status="failed", answer="no such file")
    text = printed(examples.bench(*sweeps.line([0.5]).cases, broken))
    assert row_of(text, "2")[:3] == ["2", "failed", "failed"]
    assert "batch=2: failed: no such file" in text


def test_equal_reasons_share_a_line_and_long_lists_end_with_a_number() -> None:
    assert reason_lines(sweeps.line([0.5, "oom", "oom"]).cases) == [f"batch=2, batch=4: torch oom: {sweeps.OOM}"]
    cases = [
        sweeps.case(sweeps.ms("ort", 1.0), examples.failed("torch", "failed", f"error {n}"), dims={"batch": n})
        for n in range(30)
    ]
    lines = reason_lines(cases)
    assert len(lines) == MAX_LINES
    assert lines[-1] == "and 11 other reasons"


def test_the_winner_is_bold_where_it_is_proven() -> None:
    text = printed(sweeps.line([0.5, 1.01, 2.0]), colour=True)
    bold = [line for line in text.splitlines() if "\x1b[1;32m" in line]
    assert len(bold) == 2
    assert "\x1b[1;32m10.0 ms" in bold[0]
    assert "\x1b[1;32m20.0 ms" in bold[1]


def test_those_that_share_the_first_place_all_win() -> None:
    subjects = [
        sweeps.ms("ort", 10.0),
        sweeps.ms("run-c", 9.9, "equivalent", 1.01),
        sweeps.ms("torch", 20, "slower", 0.5),
    ]
    assert winners(sweeps.case(*subjects, dims={})) == {"ort", "run-c"}


@pytest.mark.parametrize("width", [80, 120])
def test_more_subjects_than_fit_continue_in_another_table(width: int) -> None:
    text = printed(many_subjects(14), width)
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
    assert "resnet.onnx: median time per call" in text
    assert text.index("resnet.onnx: median") < text.index("bert.onnx: median")


def test_notes_are_told_once() -> None:
    cases = [sweeps.case(*sweeps.pair(0.5), dims={"batch": b}, notes=("a cast",)) for b in (1, 2)]
    cases.append(sweeps.case(*sweeps.pair(0.5), dims={"batch": 4}, notes=("a cast", "odd")))
    text = printed(examples.bench(*cases))
    assert text.count("a cast\n") == 1
    assert "odd (1 case)" in text


def test_an_interrupted_sweep_says_so_and_everything_can_be_asked_for() -> None:
    cut = examples.bench(sweeps.case(*sweeps.pair(0.5), dims={"batch": 1}, interrupted=True))
    assert "Interrupted" in printed(cut)
    assert "first call" in printed(sweeps.line([0.5, 2.0]), 160, full=True)
    assert "first call" not in printed(sweeps.line([0.5, 2.0]), 160)


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
    assert bench_html(bench)


# ---------------------------------------------------------------- matrices


def test_two_dimensions_make_a_matrix_per_subject() -> None:
    text = printed(sweeps.square())
    assert "ort, time per call" in text
    after = text[text.index("torch, time per call") :]
    assert row_of(after, "batch")[1:3] == ["seq=10", "seq=50"]
    assert row_of(after, "16")[-1] == "oom"
    assert row_of(after, "8")[1:4] == ["26.0", "ms", "differs"]


def test_no_matrix_where_it_would_not_fit_or_one_dimension_varies() -> None:
    assert "time per call\nbatch" not in printed(sweeps.line([0.5, 2.0])).replace("Median time per call, ", "")
    wide = examples.bench(
        *(sweeps.case(*sweeps.pair(0.5), dims={"batch": b, "seq": s}) for b in (1, 2) for s in range(100, 130))
    )
    assert "ort, time per call" not in printed(wide, 80)


# ---------------------------------------------------------------- where the winner changes


@pytest.mark.parametrize(
    ("speedups", "sentence"),
    [
        ([0.5, 0.6, 0.7, 0.8, 0.9], "ort is faster throughout."),
        ([2.0, 2.0], "torch is faster throughout."),
        ([1.0, 1.0], "undecided throughout."),
        ([2.0], "torch is faster than ort."),
        (
            [0.5, 0.9, 1.0, 2.0, 2.0],
            "ort is faster up to batch=2, torch is faster from batch=8 on; undecided at batch=4.",
        ),
        ([1.0, 1.0, 1.0, 2.0, 2.0], "torch is faster from batch=8 on; undecided up to batch=4."),
        ([0.5, 0.5, "oom", 2.0], "ort is faster up to batch=2, torch is faster at batch=8; oom at batch=4."),
        (
            [0.5, 2.0, 2.0, 0.5],
            "ort is faster at batch=1, torch is faster from batch=2 to 4, ort is faster at batch=8.",
        ),
    ],
)
def test_a_sentence_says_where_the_winner_changes(speedups: list[float | str], sentence: str) -> None:
    assert crossover_lines(sweeps.line(speedups).cases) == [sentence]


def test_subjects_that_never_met_have_no_sentence() -> None:
    assert crossover_lines(sweeps.line(["oom", "oom"]).cases) == []


def test_a_grid_has_a_sentence_for_rows_that_are_alike() -> None:
    cases = [
        sweeps.case(*sweeps.pair(2.0 if seq == 30 and batch > 1 else 0.5), dims={"batch": batch, "seq": seq})
        for batch in (1, 2, 4)
        for seq in (10, 20, 30)
    ]
    assert crossover_lines(cases) == [
        "seq=10, 20: ort is faster throughout.",
        "seq=30: ort is faster at batch=1, torch is faster from batch=2 on.",
    ]


def test_more_dimensions_are_counted() -> None:
    cases = [
        sweeps.case(*sweeps.pair(2.0 if a == 1 else 0.5), dims={"a": a, "b": b, "c": c})
        for a in (1, 2)
        for b in (1, 2)
        for c in (1, 2)
    ]
    assert crossover_lines(cases) == ["torch is faster in 4, ort is faster in 4 of 8 cases."]
    assert len(panels_of(examples.bench(*cases))) == 2


def test_several_rivals_are_named() -> None:
    assert crossover_lines(many_subjects(2).cases)[0] == "subject-0 against ort: ort is faster throughout."


# ---------------------------------------------------------------- two subjects in one case


def test_a_duel_can_be_turned_round_or_go_through_a_third() -> None:
    subjects = [sweeps.ms("ort", 10.0), sweeps.ms("tf", 20.0, "slower", 0.5), sweeps.ms("torch", 5.0, "faster", 2.0)]
    case = sweeps.case(*subjects, dims={})
    assert duel(case, "torch", "ort")[:2] == (0.5, "slower")
    assert duel(case, "tf", "ort")[:2] == (2.0, "faster")
    assert duel(case, "tf", "torch")[:2] == (4.0, "faster")
    assert duel(case, "torch", "tf")[:2] == (0.25, "slower")
    assert duel(case, "ort", "ort")[:2] == (1.0, "baseline")
    assert duel(case, "ort", "nobody").word == "not run"


def test_an_indirect_duel_with_overlapping_intervals_is_undecided() -> None:
    subjects = [sweeps.ms("ort", 10.0), sweeps.ms("tf", 5.1, "faster", 1.96), sweeps.ms("torch", 5.0, "faster", 2.0)]
    assert duel(sweeps.case(*subjects, dims={}), "tf", "torch").verdict == "undecided"


def test_the_usual_rival_has_another_runtime() -> None:
    subjects = [sweeps.ms("ort", 1.0), sweeps.ms("run-c", 1.0, runtime="ort"), sweeps.ms("torch", 1.0)]
    assert usual_rival([sweeps.case(*subjects, dims={})], "ort") == "torch"
    assert usual_rival([sweeps.case(*subjects[:2], dims={})], "ort") == "run-c"
    assert usual_rival([sweeps.case(*subjects[:1], dims={})], "ort") is None


# ---------------------------------------------------------------- a dry run


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (12.2, "13 s"),
        (125, "2 min"),
        (3600, "1 h"),
        (4800, "1 h 20 min"),
        (float("inf"), "an unknown time"),
    ],
)
def test_times_are_rough(seconds: float, text: str) -> None:
    assert about(seconds) == text


def test_a_dry_run_lists_its_cases_and_the_estimate() -> None:
    text = io.StringIO()
    console = Console(file=text, width=80, color_system=None)
    print_cells(["m.onnx batch=1", "[bold]m\x1b batch=2"], 125, console)
    assert text.getvalue() == "m.onnx batch=1\n[bold]m\\x1b batch=2\n\n2 cases, about 2 min\n"


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


@settings(deadline=None, max_examples=40)
@given(st.text(st.characters(), max_size=40), st.integers(60, 200), st.sampled_from(["utf-8", "ascii", "cp1252"]))
def test_any_name_can_be_printed_on_any_terminal(name: str, width: int, encoding: str) -> None:
    assert not any(ord(c) < 32 and c != "\n" for c in printed(nasty(name), width, encoding))


def test_html_has_a_row_per_case_and_no_markup_of_others() -> None:
    html = bench_html(sweeps.square())
    assert html.count("<tr") == 31
    assert "batch=16 seq=500: torch oom" in html
    assert "torch is faster from" in html
    assert "<b>bold" not in bench_html(nasty("</script><b>bold</b>"))
