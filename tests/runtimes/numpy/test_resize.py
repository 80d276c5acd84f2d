"""Resized images, against onnx's reference implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onnxperf.runtimes.numpy.session import NumpySession
from tests.runtimes.numpy.against_reference import one_node, random, run, same, same_as_reference, whole

IMAGE = random(1, 2, 5, 7)
WHERE = ["half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric"]
ROUNDING = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]


def scales(*values: float) -> Any:
    return np.array(values, np.float32)


@given(
    mode=st.sampled_from(("nearest", "linear", "cubic")),
    where=st.sampled_from([where for where in WHERE if where != "half_pixel_symmetric"]),
    height=st.sampled_from((0.4, 0.8, 1.0, 1.5, 2.0, 3.3)),
    width=st.sampled_from((0.5, 1.0, 2.0, 2.6)),
)
def test_any_scale_in_any_mode(mode: str, where: str, height: float, width: float) -> None:
    same_as_reference(
        "Resize",
        [IMAGE, None, scales(1, 1, height, width)],
        mode=mode,
        coordinate_transformation_mode=where,
        atol=1e-5,
    )


@pytest.mark.parametrize("mode", ["nearest", "linear"])
def test_a_symmetric_image_stays_symmetric_when_its_width_is_rounded(mode: str) -> None:
    # The reference takes the first pixel from 1.0000000000000002 to be at 0.
    ramp = np.arange(7, dtype=np.float32).reshape(1, 1, 1, 7)
    options: dict[str, Any] = {"mode": mode, "coordinate_transformation_mode": "half_pixel_symmetric"}
    model, feeds = one_node("Resize", [ramp, None, scales(1, 1, 1, 0.5)], **options)
    same(run(model, feeds)[0].ravel(), np.array([1, 3, 5], np.float32))


@pytest.mark.parametrize("rounding", ROUNDING)
@pytest.mark.parametrize("where", WHERE)
@pytest.mark.parametrize("sizes", [(1, 2, 3, 14), (1, 2, 10, 1), (1, 2, 5, 7)])
def test_the_nearest_pixel_for_given_sizes(rounding: str, where: str, sizes: tuple[int, ...]) -> None:
    same_as_reference(
        "Resize",
        [IMAGE, None, None, whole(*sizes)],
        nearest_mode=rounding,
        coordinate_transformation_mode=where,
    )


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("options", [{"antialias": 1}, {"exclude_outside": 1}])
def test_weights_are_adjusted_on_demand(mode: str, options: dict[str, int]) -> None:
    same_as_reference("Resize", [IMAGE, None, scales(1, 1, 0.6, 0.3)], mode=mode, atol=1e-5, **options)


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_some_axes_with_their_proportions_kept(policy: str) -> None:
    sizes = whole(8, 9)
    same_as_reference("Resize", [IMAGE, None, None, sizes], axes=[2, 3], keep_aspect_ratio_policy=policy)


def test_whole_numbers_are_chosen_and_never_mixed() -> None:
    x = random(1, 1, 2, 2, dtype=np.int64)
    same_as_reference("Resize", [x, None, scales(1, 1, 2, 2)])
    model, _ = one_node("Resize", [x, None, scales(1, 1, 2, 2)], mode="linear")
    assert NumpySession(model).fallbacks == ("Resize",)


@pytest.mark.parametrize(("operator", "opset"), [("Upsample", 9), ("Resize", 10)])
def test_old_opsets_repeat_pixels(operator: str, opset: int) -> None:
    model, feeds = one_node(operator, [IMAGE, scales(1, 1, 2, 3)], opset=opset, mode="nearest")
    same(run(model, feeds)[0], IMAGE.repeat(2, 2).repeat(3, 3))


def test_scales_may_be_an_attribute() -> None:
    model, feeds = one_node("Upsample", [IMAGE], opset=7, scales=[1.0, 1.0, 2.0, 1.0])
    same(run(model, feeds)[0], IMAGE.repeat(2, 2))


def test_a_session_serves_one_shape_after_the_other() -> None:
    model, _ = one_node("Resize", [IMAGE, None, scales(1, 1, 2, 2)], bound=True, static=False)
    session = NumpySession(model)
    for height in range(1, 12):
        x = random(1, 1, height, 3)
        same(session.bind("run", {"x0": x}, {})()[0], x.repeat(2, 2).repeat(2, 3))
