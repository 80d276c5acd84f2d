"""`onnxperf.history` on stores with the runs of months."""

from __future__ import annotations

from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec.structs import replace
from onnx import parser

import onnxperf
from onnxperf.api._keeping.kept_runs import keep
from onnxperf.errors import BadOption
from onnxperf.records.history import By, History
from onnxperf.render.kit.documents import from_json
from tests.histories import MODEL, keep_runs, noisy, timed
from tests.render import examples

TIMES = noisy({20: 100e3, 21: 110e3})
TAGS = [{"commit": f"{n // 4:x}" * 8, "branch": "main"} for n in range(len(TIMES))]


@pytest.fixture
def store(tmp_path: Path) -> Path:
    path = tmp_path / "runs.sqlite"
    lost = replace(examples.failed("ort", "crashed"), model=MODEL, runtime="ort", call="run")
    runs = [[timed(ns, version="1.31.1")] for ns in TIMES]
    keep_runs(path, [*runs[:5], [lost], *runs[6:]], TAGS)
    return path


def test_a_step_is_found_at_its_run(store: Path) -> None:
    result = onnxperf.history(MODEL, store=store)
    (series,) = result.record.series
    (change,) = series.changes
    assert (len(series.points), series.changes[0].index) == (41, 19)  # one of those before it failed
    assert change.first_after.run == series.points[20].run
    assert result.answer.startswith(f"{MODEL}: slower by ")
    assert change.first_after.commit == TAGS[20]["commit"]


@pytest.mark.parametrize(("by", "groups"), [("version", 1), ("commit", 11), ("day", 40), ("machine", 1), (None, 0)])
def test_every_order_has_its_groups_tables_and_files(store: Path, tmp_path: Path, by: By | None, groups: int) -> None:
    result = onnxperf.history(MODEL, group_by=by, store=store)
    assert len(result.record.series[0].groups) == groups
    assert len(result.table("groups")) == groups
    assert len(result.table("points")) == 41
    assert str(result.table("points")["started"].dtype).endswith("UTC]")
    assert len(result.table("changes")) == (by != "machine")
    for suffix in ("json", "md", "csv", "html"):
        result.save(tmp_path / f"h.{suffix}")
    assert from_json((tmp_path / "h.json").read_bytes(), History) == result.record
    assert MODEL in repr(result)


def test_a_file_is_found_by_its_name_and_by_what_is_in_it(tmp_path: Path) -> None:
    path = tmp_path / "linear.onnx"
    text = '<ir_version: 9, opset_import: ["" : 18]> g (float[n] X) => (float[n] Y) { Y = Relu(X) }'
    onnx.save(parser.parse_model(text), path)
    store = tmp_path / "runs.sqlite"
    result = onnxperf.bench(path, dims={"n": 4}, blocks=2, calls_per_block=1, threads=1)
    keep(result, store=store)
    other = path.rename(tmp_path / "other.onnx")
    with pytest.raises(BadOption, match="no race of"):  # its file would be known
        onnxperf.history(str(other), by_label=True, store=store)
    for model in ("linear", path, "linear.onnx", other, str(other)):
        assert len(onnxperf.history(model, store=store).record.series[0].points) == 1
    other.write_bytes(b"not a model")
    with pytest.raises(BadOption, match="no race of"):
        onnxperf.history(other, store=store)


@pytest.mark.parametrize(
    ("since", "runs"), [("2026-02-01", 10), (date(2026, 2, 1), 10), ("2026-02-01T13:00:00+00:00", 9), ("99999d", 41)]
)
def test_only_runs_since_a_date_are_looked_at(
    store: Path, since: Any, runs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "UTC")
    assert len(onnxperf.history(MODEL, since=since, store=store).record.series[0].points) == runs


def test_days_are_counted_from_now(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from onnxperf.api._shared import since as module

    class Clock(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Clock:
            return cls(2026, 2, 10, 13, tzinfo=UTC)

    monkeypatch.setattr(module, "datetime", Clock)
    assert len(onnxperf.history(MODEL, since="3d", store=store).record.series[0].points) == 3


def test_only_the_newest_runs_are_shown_if_that_is_asked_for(store: Path) -> None:
    assert len(onnxperf.history(MODEL, top=7, store=store).record.series[0].points) == 7


def test_a_larger_least_effect_leaves_a_change_out(store: Path) -> None:
    assert onnxperf.history(MODEL, min_effect=0.3, store=store).record.series[0].changes == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"group_by": "hour"}, "unknown group by 'hour'; choose from: version, commit"),
        ({"by": "day"}, "unknown option 'by'"),
        ({"top": 0}, "`top=0`: expected at least 1"),
        ({"min_effect": 1.5}, "min_effect"),
        ({"since": "yesterday"}, "a date such as 2026-11-03, or days such as 30d"),
        ({"since": "9" * 30 + "d"}, "a date such as"),
        ({"since": "2027-01-01"}, f"no race of {MODEL} since 2027-01-01 in the store"),
    ],
)
def test_what_makes_no_sense_is_refused(store: Path, options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadOption, match=words):
        onnxperf.history(MODEL, **{"store": store, **options})


def test_an_unknown_model_lists_those_that_are_there(store: Path, tmp_path: Path) -> None:
    with pytest.raises(BadOption, match=rf"no race of nothing in the store .*; it has: {MODEL}$"):
        onnxperf.history("nothing", store=store)
    missing = tmp_path / "missing.sqlite"
    with pytest.raises(BadOption, match="does not exist yet"):
        onnxperf.history(MODEL, store=missing)
    assert not missing.exists()
