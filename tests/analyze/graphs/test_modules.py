"""Which module an executed node works for, and the time per module."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.analyze.graphs.modules import module_times, with_origins
from onnxperf.records.profile import NodeTime, SourceGroup, added, usual

MODULES = {"conv": "enc.c1", "bn": "enc.bn1", "relu": "enc", "sum": "", "mul": "enc.c1", "deep": "a.b.c"}
OPS = {"conv": "Conv", "bn": "BatchNormalization", "relu": "Relu", "sum": "Add", "mul": "Mul", "new": "Cast"}


def node(name: str = "n", us: tuple[int, ...] = (9, 9), **more: Any) -> NodeTime:
    fields: dict[str, Any] = {"op_name": "Conv", "calls": len(us), "self_us": us, "total_us": us}
    return NodeTime(name=name, usual_us=usual(us), usual_total_us=usual(us), **(fields | more))


@pytest.mark.parametrize(
    ("sources", "executed_op", "module"),
    [
        (("conv",), "Conv", "enc.c1"),
        (("conv", "bn", "relu"), "FusedConv", "enc.c1"),  # called after its convolution
        (("conv", "bn", "relu"), "Kernel", "enc"),  # the module that both inner ones are in
        (("conv", "sum"), "Kernel", "enc.c1"),  # a function of the outer module moves nothing
        (("conv", "mul"), "Kernel", "enc.c1"),
        (("sum",), "Add", ""),
        (("new",), "Cast", None),
        ((), "ReorderInput", None),
    ],
)
def test_an_executed_node_belongs_to_the_module_of_its_original_nodes(
    sources: tuple[str, ...], executed_op: str, module: str | None
) -> None:
    ops = tuple(OPS[name] for name in sources)
    group = SourceGroup(kind="fused", sources=sources, source_ops=ops, executed=("made",), executed_ops=(executed_op,))
    nodes = [node("made", op_name=executed_op), node("unknown")]
    made, unknown = with_origins(nodes, [group], MODULES)
    assert (set(made.sources), made.module) == (set(sources), module)
    assert (unknown.sources, unknown.module) == ((), None)


def test_the_original_node_that_an_executed_one_is_called_after_comes_first() -> None:
    group = SourceGroup(
        kind="fused",
        sources=("pad", "conv", "relu"),
        source_ops=("Pad", "Conv", "Relu"),
        executed=("n",),
        executed_ops=("FusedConv",),
    )
    assert with_origins([node(op_name="FusedConv")], [group], {})[0].sources == ("conv", "pad", "relu")


def test_a_module_has_the_time_of_those_inside_it_and_stands_before_them() -> None:
    nodes = [
        node(us=(1, 1), module="fc"),
        node(us=(2, 2), module="enc.0.bn"),
        node(us=(30, 30), module="enc.1.conv"),
        node(us=(4, 4), module="enc.1"),
        node(us=(5, 5), module=""),
        node(us=(60, 60), module=None),
    ]
    found = [(each.module, each.nodes, each.usual_us, each.usual_total_us) for each in module_times(nodes)]
    assert found == [
        ("", 5, 5, 42),
        ("enc", 3, 0, 36),
        ("enc.1", 2, 4, 34),
        ("enc.1.conv", 1, 30, 30),
        ("enc.0.bn", 1, 2, 2),  # enc.0 only wraps it
        ("fc", 1, 1, 1),
    ]


@pytest.mark.parametrize("modules", [(), (None, None), ("", ""), ("", None)])
def test_without_modules_there_is_no_table_of_them(modules: tuple[str | None, ...]) -> None:
    assert module_times([node(module=module) for module in modules]) == ()


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "a", "a.b", "a.c", "d.e"]), st.tuples(*[st.integers(0, 999)] * 5)), min_size=1
    )
)
def test_modules_never_exceed_the_module_around_them(made: list[tuple[str, tuple[int, ...]]]) -> None:
    nodes = [node(us=us, module=module) for module, us in made]
    times = {each.module: each for each in module_times(nodes)}
    whole = usual(added(each.self_us for each in nodes)) * (1 + 1e-9)
    for name, each in times.items():
        inside = [
            other for path, other in times.items() if path != name and path.startswith(f"{name}." if name else "")
        ]
        outermost = [one for one in inside if not any(one.module.startswith(f"{other.module}.") for other in inside)]
        parts = each.usual_us + sum(one.usual_total_us for one in outermost)
        assert parts <= each.usual_total_us * (1 + 1e-9) <= whole * (1 + 1e-9)
