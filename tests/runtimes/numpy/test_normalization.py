"""Normalisations, against onnx's reference implementation and their own definitions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.against_reference import one_node, random, run, same, same_as_reference

IMAGE = random(2, 6, 3, 5)
CHANNELS = [random(6, seed=1), random(6, seed=2)]
STATISTICS = [*CHANNELS, random(6, seed=3), np.abs(random(6, seed=4))]
CASES: dict[str, tuple[str, list[Any], dict[str, Any]]] = {
    "batch": ("BatchNormalization", [IMAGE, *STATISTICS], {}),
    "batch of rows": ("BatchNormalization", [random(4, 6), *STATISTICS], {"epsilon": 0.1}),
    "layer": ("LayerNormalization", [IMAGE, random(5, seed=1), random(5, seed=2)], {}),
    "layer without bias": ("LayerNormalization", [IMAGE, random(3, 5, seed=1)], {"axis": 2}),
    "layer with statistics": ("LayerNormalization", [IMAGE, random(5, seed=1)], {"outputs": 3, "epsilon": 0.1}),
    "instance": ("InstanceNormalization", [IMAGE, *CHANNELS], {}),
    "group": ("GroupNormalization", [IMAGE, *CHANNELS], {"num_groups": 3}),
    "root mean square": ("RMSNormalization", [IMAGE, random(5, seed=1)], {}),
    "root mean square of several axes": ("RMSNormalization", [IMAGE, random(3, 5, seed=1)], {"axis": -2}),
    "length": ("LpNormalization", [IMAGE], {"axis": 1}),
    "mean and variance": ("MeanVarianceNormalization", [IMAGE], {}),
    "mean and variance of some axes": ("MeanVarianceNormalization", [IMAGE], {"axes": [1, 3]}),
}


@pytest.mark.parametrize("case", CASES)
def test_it_computes_what_the_reference_computes(case: str) -> None:
    operator, inputs, options = CASES[case]
    same_as_reference(operator, inputs, rtol=1e-4, atol=1e-5, **options)


@given(shape=st.lists(st.integers(1, 5), min_size=1, max_size=4), data=st.data())
def test_a_layer_is_normalised_from_any_axis_on(shape: list[int], data: st.DataObject) -> None:
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    scale, bias = (random(*shape[axis:], seed=seed) for seed in (1, 2))
    same_as_reference("LayerNormalization", [random(*shape), scale, bias], rtol=1e-3, atol=1e-4, axis=axis)


@pytest.mark.parametrize("opset", [7, 9, 14])
def test_a_batch_with_one_output_is_not_trained_in_any_opset(opset: int) -> None:
    # The reference mixes in the statistics of the batch before opset 14.
    x, (scale, bias, mean, variance) = random(4, 6), STATISTICS
    model, feeds = one_node("BatchNormalization", [x, *STATISTICS], opset=opset)
    expected = scale * (x - mean) / np.sqrt(variance + np.float32(1e-5)) + bias
    same(run(model, feeds)[0], expected, rtol=1e-4, atol=1e-5)


def test_half_precision_is_normalised_in_single_precision() -> None:
    x = (random(2, 64) * 100).astype(np.float16)
    model, feeds = one_node("LayerNormalization", [x, np.ones(64, np.float16)])
    wide = x.astype(np.float64)
    expected = (wide - wide.mean(1, keepdims=True)) / wide.std(1, keepdims=True)
    same(run(model, feeds)[0], expected.astype(np.float16), rtol=2e-3, atol=1e-3)


def test_before_opset_21_a_group_has_one_scale() -> None:
    scale, bias = random(3, seed=1), random(3, seed=2)
    old, feeds = one_node("GroupNormalization", [IMAGE, scale, bias], opset=18, num_groups=3)
    new, more = one_node("GroupNormalization", [IMAGE, scale.repeat(2), bias.repeat(2)], opset=21, num_groups=3)
    same(run(old, feeds)[0], run(new, more)[0])


@pytest.mark.parametrize("p", [1, 2])
def test_what_has_no_length_stays_zero(p: int) -> None:
    x = np.array([[0, 0], [-3, 4]], np.float32)
    model, feeds = one_node("LpNormalization", [x], p=p, axis=-1)
    same(run(model, feeds)[0], np.array([[0, 0], [-3, 4]], np.float32) / np.float32(7 if p == 1 else 5))


@pytest.mark.parametrize("size", [1, 2, 3, 5, 20])
@pytest.mark.parametrize("beta", [0.75, 0.5])
def test_local_responses_are_summed_over_neighbouring_channels(size: int, beta: float) -> None:
    # The reference walks over the batch instead of the channels, so the definition is written out here.
    x, energy = random(2, 6, 3, 3), np.zeros((2, 6, 3, 3))
    for channel in range(6):
        first, last = max(0, channel - (size - 1) // 2), min(5, channel + size // 2)
        energy[:, channel] = np.square(x[:, first : last + 1].astype(np.float64)).sum(1)
    model, feeds = one_node("LRN", [x], size=size, alpha=0.5, beta=beta, bias=2.0)
    same(run(model, feeds)[0], (x / (2 + 0.5 / size * energy) ** beta).astype(np.float32))


def test_statistics_of_the_batch_are_left_to_the_fallback() -> None:
    model, _ = one_node("BatchNormalization", [IMAGE, *STATISTICS], outputs=3, training_mode=1)
    assert NumpySession(model).fallbacks == ("BatchNormalization",)
