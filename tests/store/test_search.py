"""Runs found by words and filters, in both databases."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import update

from onnxperf.records.runs import RunStatus
from onnxperf.store import Store, schema
from onnxperf.store.search import SORTS, FoundRuns, KnownModel, RunSearch, filter_values, known_models, search_runs
from tests.render import examples
from tests.store.examples import sql
from tests.store.writing import start_run

EPYC = 'AMD EPYC "7B13" 100 % é\u202e'
ODD = "a_b%c\\d"


def keep(
    store: Store, topic: str, kind: str = "bench", status: RunStatus = "ok", cpu: str = "Xeon", **tags: str
) -> str:
    record = examples.bench(
        examples.case(examples.subject(model=topic), model=topic),
        machine=examples.machine(cpu=cpu),
        command=f"onnxperf {kind} {topic}",
    )
    return store.keep(record, kind, status, answer=f"{topic} is Fast.", topic=topic, tags=tags)


@pytest.fixture
def names(store: Store) -> dict[str, str]:
    """Topics by the names of their runs, the oldest first."""
    return {
        keep(store, "resnet.onnx", commit="abc", branch="main"): "resnet",
        keep(store, "bert.onnx", "sweep", "failed", EPYC, branch="main"): "bert",
        keep(store, "modèle 日本.onnx", cpu=EPYC): "modèle",
        keep(store, ODD, branch="100%"): "odd",
    }


def found(store: Store, limit: int = 50, offset: int = 0, **wanted: Any) -> FoundRuns:
    with store.reading() as connection:
        return search_runs(connection, RunSearch(**wanted), limit, offset)


@pytest.mark.parametrize(
    ("wanted", "topics"),
    [
        ({}, ["odd", "modèle", "bert", "resnet"]),
        ({"text": "RESNET"}, ["resnet"]),
        ({"text": "onnxperf fast"}, ["odd", "modèle", "bert", "resnet"]),
        ({"text": "fast  sweep"}, ["bert"]),
        ({"text": "modèle"}, ["modèle"]),
        ({"text": "日本"}, ["modèle"]),
        ({"text": "commit=abc"}, ["resnet"]),
        ({"text": "main"}, ["bert", "resnet"]),
        ({"branch": "main"}, ["bert", "resnet"]),
        ({"branch": "100%"}, ["odd"]),
        ({"branch": "mai"}, []),
        ({"since": "2999"}, []),
        ({"since": "2001"}, ["odd", "modèle", "bert", "resnet"]),
        ({"text": "_b%c"}, ["odd"]),
        ({"text": "c\\d"}, ["odd"]),
        ({"text": "a%d"}, []),
        ({"text": "%"}, ["odd"]),
        ({"text": "' OR 1=1 --"}, []),
        ({"text": "\0"}, []),
        ({"kind": "sweep"}, ["bert"]),
        ({"kind": "sweep' OR ''='"}, []),
        ({"status": "failed"}, ["bert"]),
        ({"status": "running"}, []),
        ({"machine": EPYC}, ["modèle", "bert"]),
        ({"machine": "AMD"}, []),
        ({"tag": "branch"}, ["odd", "bert", "resnet"]),
        ({"tag": "branch=main"}, ["bert", "resnet"]),
        ({"tag": "branch=100%"}, ["odd"]),
        ({"tag": "branch=1%"}, []),
        ({"tag": "commit=ab"}, ["resnet"]),
        ({"text": "onnx", "tag": "branch=main", "status": "ok"}, ["resnet"]),
    ],
)
def test_what_is_wanted_is_found(
    store: Store, names: dict[str, str], wanted: dict[str, Any], topics: list[str]
) -> None:
    result = found(store, **wanted)
    assert [names[each.run.id] for each in result.runs] == topics
    assert result.total == len(topics)


def test_the_id_of_a_run_finds_it(store: Store, names: dict[str, str]) -> None:
    name = next(iter(names))
    assert [each.run.id for each in found(store, text=name.upper()).runs] == [name]


def test_a_run_comes_with_its_tags_and_its_machine(store: Store, names: dict[str, str]) -> None:
    odd, _, bert, resnet = found(store).runs
    assert (resnet.run.tags, resnet.machine) == ({"branch": "main", "commit": "abc"}, "Xeon")
    assert (bert.machine, odd.run.tags) == (EPYC, {"branch": "100%"})
    assert (bert.run.cases, bert.run.cases_done) == (1, 1)


def test_pages_follow_one_another_and_know_the_total(store: Store, names: dict[str, str]) -> None:
    pages = [found(store, 3, offset) for offset in (0, 3, 6)]
    assert [[names[each.run.id] for each in page.runs] for page in pages] == [
        ["odd", "modèle", "bert"],
        ["resnet"],
        [],
    ]
    assert {page.total for page in pages} == {4}


def test_the_filters_offer_what_there_is(store: Store, names: dict[str, str]) -> None:
    with store.reading() as connection:
        values = filter_values(connection)
    assert (values.kinds, values.statuses) == (("bench", "sweep"), ("failed", "ok"))
    assert values.machines == (EPYC, "Xeon")
    assert values.tags == ("branch=main", "branch=100%", "commit=abc")


def test_an_empty_store_has_nothing_to_offer(store: Store) -> None:
    assert found(store) == FoundRuns()
    with store.reading() as connection:
        assert filter_values(connection).kinds == ()
        assert known_models(connection) == []


def test_a_run_whose_process_is_gone_is_found_as_interrupted(store: Store) -> None:
    alive = start_run(store, "onnxperf sweep", "sweep", examples.machine())
    gone = start_run(store, "onnxperf sweep", "sweep", examples.machine())
    with store.writing() as connection:
        connection.execute(update(schema.runs).where(schema.runs.c.name == gone).values(owner=None))
        offered = filter_values(connection).statuses
    assert [each.run.id for each in found(store, status="running").runs] == [alive]
    assert [each.run.id for each in found(store, status="interrupted").runs] == [gone]
    assert offered == ("interrupted", "running")


@pytest.mark.parametrize(
    "machine", [None, "", "{", '{"cpu":"x', '{"other":1}', '{"cpu":{"a":1},"vector_extensions":[]}']
)
def test_a_damaged_machine_hides_no_run(store: Store, names: dict[str, str], machine: str | None) -> None:
    sql(store, "UPDATE runs SET machine = :machine WHERE kind = 'sweep'", machine=machine)
    assert [each.machine for each in found(store, kind="sweep").runs] == [""]
    with store.reading() as connection:
        assert filter_values(connection).machines == (EPYC, "Xeon")


def test_the_models_of_all_races_are_known(store: Store, names: dict[str, str]) -> None:
    keep(store, "bert.onnx")
    with store.reading() as connection:
        models = known_models(connection)
    assert KnownModel(model="bert.onnx", subjects=2) in models
    assert {each.model for each in models} == {"bert.onnx", "resnet.onnx", "modèle 日本.onnx", ODD}


def raced(store: Store, name: str, time_ns: float, speedup: float | None, verdict: Any, cases: int = 1) -> str:
    """A run of one or several cases, whose rival has this speedup."""
    base = examples.subject("run", time_ns * 2, "baseline", time_ns=time_ns * 2, speedup=1.0)
    rival = examples.subject("rival", time_ns, verdict, time_ns=time_ns, speedup=speedup)
    several = [examples.case(base, rival, dims={"batch": n + 1}) for n in range(cases)]
    return store.keep(examples.bench(*several, machine=examples.machine(cpu=name)), "bench", topic=name)


@pytest.mark.parametrize(
    ("sort", "order"),
    [
        ("time", ["b", "a", "c", "several"]),
        ("speedup", ["a", "c", "b", "several"]),
        ("verdict", ["a", "c", "b", "several"]),
        ("machine", ["a", "b", "c", "several"]),
        ("model", ["a", "b", "c", "several"]),
        ("commit", ["b", "several", "c", "a"]),
        ("started", ["several", "c", "b", "a"]),
    ],
)
def test_lists_are_sorted_by_what_the_tables_hold(store: Store, sort: str, order: list[str]) -> None:
    ids = {
        "a": raced(store, "a", 3000.0, 1.5, "faster"),
        "b": raced(store, "b", 1000.0, 0.5, "slower"),
        "c": raced(store, "c", 9000.0, 1.0, "equivalent"),
        "several": raced(store, "several", 10.0, 9.0, "faster", cases=2),
    }
    store.tag_run(ids["b"], {"commit": "1"})
    with store.reading() as connection:
        runs = search_runs(connection, RunSearch(), sort=sort).runs
        turned = search_runs(connection, RunSearch(), 2, 1, sort=sort, descending=not SORTS[sort]).runs
    names = {run: name for name, run in ids.items()}
    assert [names[each.run.id] for each in runs] == order
    assert len(turned) == 2
    figures = {names[each.run.id]: (round(each.time_ns or 0), each.speedup, each.verdict) for each in runs}
    assert figures["b"] == (1000, 0.5, "slower")
    assert figures["several"] == (0, None, "")


def test_branches_are_filter_values(store: Store, names: dict[str, str]) -> None:
    with store.reading() as connection:
        assert filter_values(connection).branches == ("main", "100%")
        assert names
