"""Products of matrices, windows, normalisations, quantised and recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.operator_cases.base import FLOATS, NUMBERS, Array, Case, Random, operator, whole


@operator("MatMul")
def matmul(random: Random, name: str) -> Case:
    head, (m, k, n) = random.shape(0, 2), random.integers(3, 0, 4)
    left, right = (*random.broadcast(head), m, k), (*random.broadcast(head), k, n)
    dtype = random.one_of(*NUMBERS)
    vectors = random.one_of("", "", "", "left", "right")
    a = random.array((k,) if vectors == "left" else left, dtype)
    return Case(name, [a, random.array((k,) if vectors == "right" else right, dtype)])


@operator("Gemm")
def gemm(random: Random, name: str) -> Case:
    (m, k, n), dtype = random.integers(3, 1, 4), random.one_of(*FLOATS)
    left, right = random.flag(), random.flag()
    inputs = [random.array((k, m) if left else (m, k), dtype), random.array((n, k) if right else (k, n), dtype)]
    if random.chance():
        inputs.append(random.array(random.broadcast((m, n)), dtype))
    attributes = {"transA": left, "transB": right, "alpha": random.one_of(1.0, 0.5), "beta": random.one_of(1.0, 2.0)}
    return Case(name, inputs, {key: value for key, value in attributes.items() if value})


_EQUATIONS = (
    "ij,jk->ik", "bij,bjk->bik", "ij->ji", "ii->i", "ij->", "i,j->ij", "bsnh,btnh->bnts", "ij,ij->i", "ijk,kl,lm->ijm",
    "...ij,...jk->...ik", "ij,jk", "abc->b", "i,i->", "abcd,cd->ab",
)  # fmt: skip


@operator("Einsum")
def einsum(random: Random, name: str) -> Case:
    equation = random.one_of(*_EQUATIONS)
    sizes = {letter: random.integer(1, 4) for letter in set(equation) if letter.isalpha()}
    head, dtype = random.shape(0, 2), random.one_of(*FLOATS)
    terms = equation.partition("->")[0].split(",")
    shapes = [(*(head if "." in term else ()), *(sizes[c] for c in term if c.isalpha())) for term in terms]
    return Case(name, [random.array(shape, dtype) for shape in shapes], {"equation": equation})


def _windows(random: Random, rank: int, largest_pad: int = 2) -> tuple[dict[str, object], list[int]]:
    """Attributes of windows, and sizes that hold at least one."""
    kernel = random.integers(rank, 1, 3)
    strides, dilations = random.integers(rank, 1, 3), [1] * rank
    attributes: dict[str, object] = {"kernel_shape": kernel, "strides": strides}
    if random.integer(0, 3) == 0:
        dilations = random.integers(rank, 1, 2)
        attributes["dilations"] = dilations
    if random.chance():
        attributes["pads"] = [random.integer(0, min(largest_pad, k - 1)) for k in [*kernel, *kernel]]
    else:
        attributes["auto_pad"] = random.one_of("SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET")
    extents = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    return attributes, [extent + random.integer(0, 4) for extent in extents]


@operator("Conv")
def conv(random: Random, name: str) -> Case:
    attributes, sizes = _windows(random, random.integer(1, 3))
    groups, inner, outer, dtype = *random.integers(3, 1, 2), np.float32
    kernel: Sequence[int] = attributes["kernel_shape"]  # type: ignore[assignment]
    inputs = [random.array((random.integer(1, 2), groups * inner, *sizes), dtype)]
    inputs.append(random.array((groups * outer, inner, *kernel), dtype))
    if random.chance():
        inputs.append(random.array((groups * outer,), dtype))
    return Case(name, inputs, {**attributes, "group": groups})


@operator("ConvTranspose")
def conv_transpose(random: Random, name: str) -> Case:
    rank = random.integer(1, 3)
    kernel, strides = random.integers(rank, 1, 3), random.integers(rank, 1, 3)
    dilations = random.integers(rank, 1, 2) if random.integer(0, 3) == 0 else [1] * rank
    sizes, groups = random.integers(rank, 2, 4), random.integer(1, 2)
    attributes: dict[str, object] = {"strides": strides, "dilations": dilations, "group": groups}
    if random.chance():
        attributes["kernel_shape"] = kernel
    extra = [random.integer(0, max(s, d) - 1) for s, d in zip(strides, dilations, strict=True)]
    if random.chance():
        attributes["output_padding"] = extra
    else:
        extra = [0] * rank
    whole_sizes = [
        (n - 1) * s + (k - 1) * d + 1 + e
        for n, s, k, d, e in zip(sizes, strides, kernel, dilations, extra, strict=True)
    ]
    match random.integer(0, 3):
        case 0:
            attributes["pads"] = [random.integer(0, min(1, (n - 1) // 2)) for n in whole_sizes * 2]
        case 1:
            attributes["auto_pad"] = random.one_of("SAME_UPPER", "SAME_LOWER", "VALID")
        case 2:
            attributes["output_shape"] = [max(1, n - random.integer(0, 2)) for n in whole_sizes]
            attributes["auto_pad"] = random.one_of("SAME_UPPER", "SAME_LOWER", "NOTSET")
    inner, outer = random.integers(2, 1, 2)
    inputs = [
        random.array((random.integer(1, 2), groups * inner, *sizes)),
        random.array((groups * inner, outer, *kernel)),
    ]
    if random.chance():
        inputs.append(random.array((groups * outer,)))
    return Case(name, inputs, attributes)


@operator("MaxPool", "AveragePool", "LpPool")
def pool(random: Random, name: str) -> Case:
    attributes, sizes = _windows(random, random.integer(1, 3))
    attributes["ceil_mode"] = random.flag()
    outputs = 1
    if name == "MaxPool":
        outputs = random.integer(1, 2)
        attributes["storage_order"] = random.flag() if outputs == 2 else 0
    elif name == "AveragePool":
        attributes["count_include_pad"] = random.flag()
    else:
        attributes["p"] = random.integer(1, 3)
    x = random.array((random.integer(1, 2), random.integer(1, 3), *sizes), np.float32)
    return Case(name, [x], attributes, outputs, 22)


@operator("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(random: Random, name: str) -> Case:
    return Case(name, [random.array(random.shape(3, 5))], {"p": random.integer(1, 3)} if "Lp" in name else {})


@operator("BatchNormalization")
def batch_normalization(random: Random, name: str) -> Case:
    shape = random.shape(2, 4)
    vectors = [random.array((shape[1],)) for _ in range(3)]
    variance = np.abs(random.array((shape[1],))) + np.float32(0.1)
    return Case(name, [random.array(shape), *vectors, variance], {"epsilon": random.one_of(1e-5, 1e-2)}, opset=15)


@operator("InstanceNormalization", "GroupNormalization")
def instance_normalization(random: Random, name: str) -> Case:
    groups = random.integer(1, 2)
    shape = (random.integer(1, 2), groups * random.integer(1, 2), *random.shape(1, 2, 2))
    inputs = [random.array(shape), random.array((shape[1],)), random.array((shape[1],))]
    return Case(name, inputs, {"num_groups": groups} if name == "GroupNormalization" else {})


@operator("LayerNormalization", "RMSNormalization")
def layer_normalization(random: Random, name: str) -> Case:
    shape = random.shape(1, 4, 2)
    axis = random.axis(len(shape))
    inputs = [random.array(shape), random.array(shape[axis:])]
    if name == "LayerNormalization" and random.chance():
        inputs.append(random.array(shape[axis:]))
    return Case(name, inputs, {"axis": axis}, opset=23 if name == "RMSNormalization" else 17)


@operator("LpNormalization")
def lp_normalization(random: Random, name: str) -> Case:
    shape = random.shape(1, 4)
    return Case(
        name,
        [random.array(shape, random.one_of(*FLOATS))],
        {"p": random.integer(1, 2), "axis": random.axis(len(shape))},
    )


@operator("MeanVarianceNormalization")
def mean_variance_normalization(random: Random, name: str) -> Case:
    return Case(name, [random.array(random.shape(4, 4, 2))], {"axes": random.one_of([0, 2, 3], [1, 2], [0, 1, 2, 3])})


@operator("LRN")
def lrn(random: Random, name: str) -> Case:
    attributes = {"size": random.one_of(1, 3, 5), "alpha": 0.5, "beta": random.one_of(0.75, 0.5), "bias": 1.5}
    return Case(name, [random.array(random.shape(4, 4))], attributes)


# ---------------------------------------------------------------- quantised


def _scales(random: Random, shape: Sequence[int], dtype: type) -> Array:
    positive: Array = np.abs(random.array(shape, dtype)) / 4 + dtype(0.05)
    return positive.astype(dtype)


@operator("QuantizeLinear", "DequantizeLinear")
def quantize(random: Random, name: str) -> Case:
    shape = random.shape(1, 3)
    axis = random.axis(len(shape))
    small = random.one_of(np.uint8, np.int8, np.uint16, np.int16, *((np.int32,) if name == "DequantizeLinear" else ()))
    scale_shape = random.one_of((), (1,), (shape[axis],))
    wide = random.one_of(np.float32, np.float16)
    x = random.array(shape, wide if name == "QuantizeLinear" else small, -300, 300)
    if name == "DequantizeLinear" and small in (np.int8, np.uint8):
        x = random.array(shape, small, -100, 100)
    inputs = [x, _scales(random, scale_shape, wide)]
    if random.chance() or (name == "QuantizeLinear" and small != np.uint8):
        inputs.append(random.array(scale_shape, small, -20, 0 if small is np.int32 else 20))
        if small is np.int32:
            inputs[2] = np.zeros_like(inputs[2])
    return Case(name, inputs, {"axis": axis} if scale_shape == (shape[axis],) else {})


@operator("DynamicQuantizeLinear")
def dynamic_quantize(random: Random, name: str) -> Case:
    return Case(name, [random.array(random.shape(0, 3))], {}, 3)


@operator("MatMulInteger")
def matmul_integer(random: Random, name: str) -> Case:
    (m, k, n), first, second = (
        random.integers(3, 1, 4),
        random.one_of(np.uint8, np.int8),
        random.one_of(np.uint8, np.int8),
    )
    inputs = [random.array((m, k), first, -100, 100), random.array((k, n), second, -100, 100)]
    if random.chance():
        inputs += [random.array((), first, 0, 9), random.array(random.one_of((), (n,)), second, 0, 9)]
    return Case(name, inputs)


@operator("QLinearMatMul")
def qlinear_matmul(random: Random, name: str) -> Case:
    (m, k, n), dtype = random.integers(3, 1, 4), random.one_of(np.uint8, np.int8)
    sides = [random.array(shape, dtype, -100, 100) for shape in ((m, k), (k, n))]
    inputs: list[Array | None] = []
    for each in (*sides, None):
        inputs += [each, _scales(random, (), np.float32), random.array((), dtype, 0, 9)]
    return Case(name, [each for each in inputs if each is not None])


@operator("ConvInteger", "QLinearConv")
def quantised_conv(random: Random, name: str) -> Case:
    attributes, sizes = _windows(random, 2)
    kernel: Sequence[int] = attributes["kernel_shape"]  # type: ignore[assignment]
    channels, filters = random.integers(2, 1, 2)
    x = random.array((1, channels, *sizes), np.uint8, 0, 200)
    w = random.array((filters, channels, *kernel), np.uint8, 0, 200)
    zero_x, zero_w, zero_y = (random.array((), np.uint8, 0, 99) for _ in range(3))
    if name == "ConvInteger":
        return Case(name, [x, w, zero_x, zero_w], attributes)
    scales = [_scales(random, (), np.float32) for _ in range(3)]
    return Case(name, [x, scales[0], zero_x, w, scales[1], zero_w, scales[2] * np.float32(99), zero_y], attributes)


# ---------------------------------------------------------------- recurrent


@operator("RNN", "GRU", "LSTM")
def recurrent(random: Random, name: str) -> Case:
    gates, functions = {"RNN": (1, 1), "GRU": (3, 2), "LSTM": (4, 3)}[name]
    steps, batch, width, hidden = random.integers(4, 1, 3)
    direction = random.one_of("forward", "reverse", "bidirectional")
    both = 2 if direction == "bidirectional" else 1
    attributes: dict[str, object] = {"hidden_size": hidden, "direction": direction}
    if random.chance():
        attributes["activations"] = [random.one_of("Relu", "Tanh", "Sigmoid") for _ in range(functions * both)]
    if random.integer(0, 3) == 0:
        attributes["clip"] = 0.5
    if name == "GRU":
        attributes["linear_before_reset"] = random.flag()
    if name == "LSTM":
        attributes["input_forget"] = random.flag()
    inputs: list[Array | None] = [
        random.array((steps, batch, width)),
        random.array((both, gates * hidden, width), low=-1, high=1),
        random.array((both, gates * hidden, hidden), low=-1, high=1),
        random.array((both, 2 * gates * hidden), low=-1, high=1) if random.chance() else None,
        np.array(random.integers(batch, 1, steps), np.int32) if random.chance() else None,
        random.array((both, batch, hidden)) if random.chance() else None,
    ]
    if name == "LSTM":
        inputs.append(random.array((both, batch, hidden)) if random.chance() else None)
        inputs.append(random.array((both, 3 * hidden)) if random.chance() else None)
    while inputs[-1] is None:
        inputs.pop()
    return Case(name, inputs, attributes, 3 if name == "LSTM" else 2, 14)


# ---------------------------------------------------------------- others


@operator("Det")
def determinant(random: Random, name: str) -> Case:
    n = random.integer(1, 4)
    return Case(name, [random.array((*random.shape(0, 2), n, n))])


@operator("GridSample")
def grid_sample(random: Random, name: str) -> Case:
    n, c, h, w = random.integers(4, 1, 4)
    grid = random.array((n, random.integer(1, 3), random.integer(1, 3), 2), low=-1.2, high=1.2)
    attributes = {
        "mode": random.one_of("linear", "nearest", "cubic"),
        "padding_mode": random.one_of("zeros", "border", "reflection"),
        "align_corners": random.flag(),
    }
    return Case(name, [random.array((n, c, h, w)), grid], attributes)


@operator("HannWindow", "HammingWindow", "BlackmanWindow")
def window(random: Random, name: str) -> Case:
    return Case(name, [whole(random.integer(1, 12))], {"periodic": random.flag()})


@operator("DFT")
def fourier(random: Random, name: str) -> Case:
    n = random.integer(2, 6)
    x = random.array((random.integer(1, 2), n, random.integer(1, 2)))
    inverse = random.flag() if x.shape[2] == 2 else 0
    onesided = random.flag() if x.shape[2] == 1 else 0
    return Case(name, [x, None, whole(1)], {"inverse": inverse, "onesided": onesided}, opset=20)


@operator("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(random: Random, name: str) -> Case:
    n, c = random.integers(2, 1, 4)
    rest = random.shape(0, 2)
    labels = random.array((n, *rest), np.int64, 0, c - 0.6)
    inputs = [random.array((n, c, *rest)), labels]
    if random.chance():
        inputs.append(np.abs(random.array((c,))) + np.float32(0.1))
    return Case(name, inputs, {"reduction": random.one_of("none", "mean", "sum")}, opset=13)


@operator("NonMaxSuppression")
def non_max_suppression(random: Random, name: str) -> Case:
    batch, boxes, classes = random.integers(3, 1, 3)
    corners = np.sort(random.array((batch, boxes, 2, 2)), axis=2).reshape(batch, boxes, 4)
    scores = random.array((batch, classes, boxes), low=0, high=1)
    limits = [whole([random.integer(1, 3)]), np.array([0.5], np.float32), np.array([0.2], np.float32)]
    return Case(name, [corners, scores, *limits], {"center_point_box": random.flag()})


@operator("RoiAlign")
def roi_align(random: Random, name: str) -> Case:
    n, c = random.integers(2, 1, 2)
    starts, lengths = random.array((2, 2), low=0, high=2), random.array((2, 2), low=1, high=3)
    boxes = np.concatenate([starts, starts + np.maximum(lengths, np.float32(1))], 1)
    attributes = {
        "output_height": random.integer(1, 3),
        "output_width": random.integer(1, 3),
        "sampling_ratio": random.integer(1, 2),
        "mode": random.one_of("avg", "max"),
        "coordinate_transformation_mode": random.one_of("half_pixel", "output_half_pixel"),
    }
    return Case(
        name, [random.array((n, c, 6, 6)), boxes, random.array((2,), np.int64, 0, n - 0.6)], attributes, opset=16
    )


@operator("MaxUnpool")
def max_unpool(random: Random, name: str) -> Case:
    n, c, h, w = random.integers(4, 1, 2)
    indices = np.arange(n * c * h * w, dtype=np.int64).reshape(n, c, h, w) * 4
    return Case(name, [random.array((n, c, h, w)), indices], {"kernel_shape": [2, 2], "strides": [2, 2]}, opset=11)
