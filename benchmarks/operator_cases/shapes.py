"""Operators that arrange, choose and place elements."""

from __future__ import annotations

from math import prod

import numpy as np
from onnx import helper

from benchmarks.operator_cases.base import FLOATS, NUMBERS, WHOLE, Case, Random, operator, whole

_ANY = (*NUMBERS, np.uint8, bool)


@operator("Reshape")
def reshape(random: Random, name: str) -> Case:
    shape = random.shape(0, 4, random.one_of(0, 1, 1))
    wanted = [prod(shape)] if random.chance() else list(shape)[::-1] + [1] * random.integer(0, 2)
    attributes = {"allowzero": random.flag()} if random.chance() else {}
    if wanted and random.chance():
        wanted[random.integer(0, len(wanted) - 1)] = random.one_of(-1, 0)
    return Case(name, [random.array(shape, random.one_of(*_ANY)), whole(wanted)], attributes)


@operator("Flatten")
def flatten(random: Random, name: str) -> Case:
    shape = random.shape(0, 4, 0)
    attributes = {"axis": random.integer(-len(shape), len(shape))} if not shape or random.chance() else {}
    return Case(name, [random.array(shape)], attributes)


@operator("Transpose")
def transpose(random: Random, name: str) -> Case:
    shape = random.shape(0, 4, 0)
    attributes = {"perm": random.permutation(len(shape))} if shape and random.chance() else {}
    return Case(name, [random.array(shape, random.one_of(*_ANY))], attributes)


@operator("Squeeze")
def squeeze(random: Random, name: str) -> Case:
    shape = tuple(random.one_of(1, size) for size in random.shape(0, 4))
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    axes = [axis - len(shape) if random.chance() else axis for axis in ones if random.chance()]
    return Case(name, [random.array(shape), whole(axes)] if axes else [random.array(shape)])


@operator("Unsqueeze")
def unsqueeze(random: Random, name: str) -> Case:
    shape, count = random.shape(0, 3, 0), random.integer(1, 2)
    return Case(name, [random.array(shape), whole(random.axes(len(shape) + count)[:count])])


@operator("Concat")
def concat(random: Random, name: str) -> Case:
    shape, dtype = random.shape(1, 4, 0), random.one_of(*_ANY)
    axis, parts = random.axis(len(shape)), []
    for _ in range(random.integer(1, 4)):
        sizes = list(shape)
        sizes[axis] = random.integer(0, 3)
        parts.append(random.array(sizes, dtype))
    return Case(name, parts, {"axis": axis})


@operator("Split")
def split(random: Random, name: str) -> Case:
    shape, opset = list(random.shape(1, 3)), random.one_of(13, 18, 21)
    axis, count = random.axis(len(shape)), random.integer(1, 4)
    if random.chance():
        sizes = random.integers(count, 0, 3)
        shape[axis] = sum(sizes)
        return Case(name, [random.array(shape), whole(sizes)], {"axis": axis}, count, opset)
    shape[axis] = count * random.integer(1, 2) if opset == 13 else random.integer(count, 9)
    return Case(
        name, [random.array(shape)], {"axis": axis} | ({"num_outputs": count} if opset > 13 else {}), count, opset
    )


@operator("Slice")
def cut(random: Random, name: str) -> Case:
    shape = random.shape(1, 3, random.one_of(0, 1, 1))
    axes = random.axes(len(shape), 1)
    dtype = random.one_of(*WHOLE)
    edge = random.one_of(6, 2**31 - 1)
    starts, ends = (whole([random.integer(-edge, edge) for _ in axes], dtype) for _ in range(2))
    steps = whole([random.one_of(1, 1, 2, -1, -2, 5) for _ in axes], dtype)
    return Case(name, [random.array(shape, random.one_of(*_ANY)), starts, ends, whole(axes, dtype), steps])


@operator("Shape")
def sizes(random: Random, name: str) -> Case:
    shape = random.shape(0, 4, 0)
    given = {each: random.integer(-5, 5) for each in ("start", "end") if random.chance()}
    return Case(name, [random.array(shape)], given)


@operator("Size")
def size(random: Random, name: str) -> Case:
    return Case(name, [random.array(random.shape(0, 4, 0))])


@operator("Expand")
def expand(random: Random, name: str) -> Case:
    shape = random.shape(0, 4, 0)
    wanted = random.broadcast(shape)
    return Case(name, [random.array(random.broadcast(shape), random.one_of(*_ANY)), whole(wanted)])


@operator("Tile")
def tile(random: Random, name: str) -> Case:
    shape = random.shape(1, 4, 0, 3)
    return Case(name, [random.array(shape, random.one_of(*FLOATS)), whole(random.integers(len(shape), 0, 3))])


@operator("Cast", "CastLike")
def cast(random: Random, name: str) -> Case:
    types = (*NUMBERS, np.float16, np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.uint64, bool)
    source, target = random.one_of(*types), random.one_of(*types)
    x = random.array(random.shape(), source, -9, 9)
    if np.dtype(source).kind == "f" and np.dtype(target).kind == "u":
        x = np.abs(x)
    if name == "CastLike":
        return Case(name, [x, random.array((1,), target)])
    return Case(name, [x], {"to": helper.np_dtype_to_tensor_dtype(np.dtype(target))})


@operator("ConstantOfShape")
def constant_of_shape(random: Random, name: str) -> Case:
    value = random.array((1,), random.one_of(*_ANY))
    attributes = {"value": helper.make_tensor("value", helper.np_dtype_to_tensor_dtype(value.dtype), [1], value)}
    return Case(name, [whole(random.shape(0, 4, 0))], attributes if random.chance() else {})


@operator("Range")
def numbers(random: Random, name: str) -> Case:
    dtype = random.one_of(*NUMBERS)
    start, limit = random.array((), dtype, -9, 9), random.array((), dtype, -9, 9)
    delta = whole(random.one_of(1, 2, -1, -3), dtype)
    return Case(name, [start, limit, delta])


@operator("EyeLike")
def eye_like(random: Random, name: str) -> Case:
    return Case(name, [random.array(random.shape(2, 2), random.one_of(*NUMBERS))], {"k": random.integer(-4, 4)})


@operator("Trilu")
def trilu(random: Random, name: str) -> Case:
    x, k = random.array(random.shape(2, 4, 0), random.one_of(*NUMBERS)), whole(random.integer(-5, 5))
    return Case(name, [x, k] if random.chance() else [x], {"upper": random.flag()})


@operator("Pad")
def pad(random: Random, name: str) -> Case:
    shape, mode = random.shape(1, 3, 2), random.one_of("constant", "constant", "edge", "reflect", "wrap")
    axes = random.axes(len(shape), 1) if random.chance() else list(range(len(shape)))
    least, most = (-1, 2) if mode == "constant" else (-1, 1)
    pads = random.integers(2 * len(axes), least, most)
    dtype = random.one_of(*NUMBERS)
    value = random.array((), dtype) if random.chance() else None
    return Case(name, [random.array(shape, dtype), whole(pads), value, whole(axes)], {"mode": mode})


@operator("DepthToSpace", "SpaceToDepth")
def blocks(random: Random, name: str) -> Case:
    n, c, h, w = (random.integer(1, 3) for _ in range(4))
    size = random.integer(1, 3)
    if name == "SpaceToDepth":
        return Case(name, [random.array((n, c, h * size, w * size))], {"blocksize": size})
    mode = {"mode": random.one_of("DCR", "CRD")} if random.chance() else {}
    return Case(name, [random.array((n, c * size * size, h, w))], {"blocksize": size, **mode})


@operator("Gather")
def gather(random: Random, name: str) -> Case:
    shape = random.shape(1, 4)
    axis = random.axis(len(shape))
    indices = random.array(random.shape(0, 3, 0), random.one_of(*WHOLE), -shape[axis] + 0.4, shape[axis] - 0.6)
    return Case(name, [random.array(shape, random.one_of(*_ANY)), indices], {"axis": axis})


@operator("GatherElements")
def gather_elements(random: Random, name: str) -> Case:
    shape = random.shape(1, 3)
    axis = random.axis(len(shape))
    sizes = [random.integer(1, size) for size in shape]
    sizes[axis] = random.integer(0, 4)
    indices = random.array(sizes, random.one_of(*WHOLE), -shape[axis] + 0.4, shape[axis] - 0.6)
    return Case(name, [random.array(shape), indices], {"axis": axis})


@operator("GatherND")
def gather_nd(random: Random, name: str) -> Case:
    shape = random.shape(1, 4)
    batch = random.integer(0, len(shape) - 1)
    depth = random.integer(1, len(shape) - batch)
    head = (*shape[:batch], *random.shape(0 if batch else 1, 2))
    columns = [random.array(head, np.int64, -n + 0.4, n - 0.6) for n in shape[batch : batch + depth]]
    return Case(name, [random.array(shape), np.stack(columns, -1)], {"batch_dims": batch})


@operator("ScatterElements")
def scatter_elements(random: Random, name: str) -> Case:
    shape, opset = random.shape(1, 3), random.one_of(16, 18)
    axis = random.axis(len(shape))
    sizes = [random.integer(1, size) for size in shape]
    reduction = random.one_of(*("none", "add", "mul", *(("max", "min") if opset == 18 else ())))
    if reduction == "none":
        sizes[axis] = 1  # which of several updates of one element stays is not defined
    indices = random.array(sizes, np.int64, -shape[axis] + 0.4, shape[axis] - 0.6)
    attributes = {"axis": axis, "reduction": reduction}
    return Case(name, [random.array(shape), indices, random.array(sizes)], attributes, opset=opset)


@operator("ScatterND")
def scatter_nd(random: Random, name: str) -> Case:
    shape, reduction = random.shape(1, 3), random.one_of("none", "add", "mul", "max", "min")
    depth, count = random.integer(1, len(shape)), 1 if reduction == "none" else random.integer(1, 4)
    columns = [random.array((count,), np.int64, 0, n - 0.6) for n in shape[:depth]]
    updates = random.array((count, *shape[depth:]))
    return Case(name, [random.array(shape), np.stack(columns, -1), updates], {"reduction": reduction}, opset=18)


@operator("OneHot")
def one_hot(random: Random, name: str) -> Case:
    shape, depth = random.shape(1, 3), random.integer(1, 4)
    indices, values = random.array(shape, np.int64, -6, 6), random.array((2,), random.one_of(np.float32, np.int64))
    return Case(name, [indices, whole(depth), values], {"axis": random.integer(-len(shape) - 1, len(shape))})


@operator("NonZero")
def non_zero(random: Random, name: str) -> Case:
    return Case(name, [random.array(random.shape(0, 3, 0), random.one_of(np.float32, *WHOLE, bool), -1, 1)])


@operator("Compress")
def compress(random: Random, name: str) -> Case:
    shape = random.shape(1, 3)
    axis = random.axis(len(shape)) if random.chance() else None
    length = prod(shape) if axis is None else shape[axis]
    condition = random.array((random.integer(1, length),), bool)
    return Case(name, [random.array(shape), condition], {} if axis is None else {"axis": axis})


@operator("TopK")
def top_k(random: Random, name: str) -> Case:
    shape = random.shape(1, 3)
    axis = random.axis(len(shape))
    attributes = {"axis": axis, "largest": random.flag()}
    k = whole([random.integer(0, shape[axis])])
    return Case(name, [random.array(shape, random.one_of(*NUMBERS)), k], attributes, 2, 11)


@operator("Unique")
def unique(random: Random, name: str) -> Case:
    shape = random.shape(1, 3)
    axis = {"axis": random.axis(len(shape))} if random.chance() else {}
    x = random.array(shape, random.one_of(np.float32, np.int64, np.int8, object), -2, 2)
    return Case(name, [x], {**axis, "sorted": random.flag()}, random.integer(1, 4))


@operator("ReverseSequence")
def reverse_sequence(random: Random, name: str) -> Case:
    shape, batch = random.shape(2, 4), random.flag()
    lengths = whole(random.integers(shape[batch], 1, shape[1 - batch]))
    return Case(name, [random.array(shape), lengths], {"batch_axis": batch, "time_axis": 1 - batch})


@operator("Dropout")
def dropout(random: Random, name: str) -> Case:
    return Case(name, [random.array(random.shape())], {}, random.integer(1, 2), 13)


@operator("CenterCropPad")
def center_crop_pad(random: Random, name: str) -> Case:
    shape = random.shape(1, 3)
    axes = random.axes(len(shape), 1)
    return Case(name, [random.array(shape), whole(random.integers(len(axes), 1, 6))], {"axes": axes})


_SCALES = (0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.6)


@operator("Resize")
def resize(random: Random, name: str) -> Case:
    shape, mode = random.shape(2, 2) + random.shape(2, 2, 2, 5), random.one_of("nearest", "linear", "cubic")
    attributes: dict[str, object] = {"mode": mode}
    transforms = ("half_pixel", "pytorch_half_pixel", "align_corners", "asymmetric", "half_pixel_symmetric")
    attributes["coordinate_transformation_mode"] = random.one_of(*transforms)
    if mode == "nearest":
        attributes["nearest_mode"] = random.one_of("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
    elif random.chance():
        attributes["antialias"] = 1
    if mode == "cubic":
        attributes.update(exclude_outside=random.flag(), cubic_coeff_a=random.one_of(-0.75, -0.5))
    if random.chance():
        scales = np.array([1, 1, random.one_of(*_SCALES), random.one_of(*_SCALES)], np.float32)
        if min(np.floor(scales * shape)) >= 1:
            return Case(name, [random.array(shape), None, scales], attributes, opset=18)
    return Case(
        name, [random.array(shape), None, None, whole([*shape[:2], *random.integers(2, 1, 9)])], attributes, opset=18
    )


@operator("Upsample")
def upsample(random: Random, name: str) -> Case:
    scales = np.array([1, 1, random.integer(1, 3), random.integer(1, 3)], np.float32)
    return Case(name, [random.array(random.shape(4, 4)), scales], {"mode": random.one_of("nearest", "linear")}, opset=9)
