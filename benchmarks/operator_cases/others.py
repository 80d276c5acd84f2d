"""Operators of transformers, texts, signals and images."""

from __future__ import annotations

import numpy as np

from benchmarks.operator_cases.base import NUMBERS, Case, Random, operator, whole


@operator("Swish")
def swish(random: Random, name: str) -> Case:
    attributes = {"alpha": random.integer(1, 30) / 10} if random.chance() else {}
    return Case(name, [random.array(random.shape())], attributes, opset=24)


@operator("Attention")
def attention(random: Random, name: str) -> Case:
    batch, steps, seen, width = random.integers(4, 1, 3)
    groups, repeats = random.integers(2, 1, 2)
    heads = groups * repeats
    q = random.array((batch, heads, steps, width))
    k, v = (random.array((batch, groups, seen, size)) for size in (width, random.integer(1, 3)))
    inputs = [q, k, v]
    if random.chance():
        inputs.append(random.array((steps, seen), random.one_of(np.float32, bool)))
    attributes: dict[str, object] = {"is_causal": random.flag()} if len(inputs) == 3 else {}
    if random.chance():
        attributes["softcap"] = 2.0
    if random.chance():
        attributes["scale"] = 0.5
    return Case(name, inputs, attributes, opset=23)


@operator("RotaryEmbedding")
def rotary_embedding(random: Random, name: str) -> Case:
    batch, heads, steps, half = random.integers(4, 1, 3)
    caches = [random.array((9, half), low=-1, high=1) for _ in range(2)]
    places = random.array((batch, steps), np.int64, 0, 8.4)
    x = random.array((batch, heads, steps, 2 * half))
    return Case(name, [x, *caches, places], {"interleaved": random.flag()}, opset=23)


@operator("AffineGrid")
def affine_grid(random: Random, name: str) -> Case:
    rank, batch = random.integer(2, 3), random.integer(1, 2)
    sizes = whole([batch, 1, *random.integers(rank, 1, 4)])
    return Case(name, [random.array((batch, rank, rank + 1)), sizes], {"align_corners": random.flag()}, opset=20)


@operator("Col2Im")
def columns_to_image(random: Random, name: str) -> Case:
    batch, channels, height, width = random.integers(4, 1, 3)
    block = random.integers(2, 1, 2)
    image = [height + block[0] - 1, width + block[1] - 1]
    x = random.array((batch, channels * block[0] * block[1], height * width))
    return Case(name, [x, whole(image), whole(block)], opset=18)


@operator("STFT")
def spectrum(random: Random, name: str) -> Case:
    batch, step = random.integers(2, 1, 2)
    signal = random.array((batch, random.integer(8, 12), 1))
    length = random.integer(2, 6)
    window = np.abs(random.array((length,))) if random.chance() else None
    inputs = [signal, whole(step), window, whole(length)]
    return Case(name, inputs, {"onesided": random.flag()}, opset=17)


@operator("MelWeightMatrix")
def mel_weights(random: Random, name: str) -> Case:
    inputs = [whole(random.integer(2, 8)), whole(random.one_of(16, 32)), whole(8000)]
    return Case(name, [*inputs, np.array(0.0, np.float32), np.array(4000.0, np.float32)], opset=17)


@operator("StringConcat")
def string_concat(random: Random, name: str) -> Case:
    shape = random.shape()
    return Case(name, [random.array(random.broadcast(shape), object) for _ in range(2)], opset=20)


@operator("StringSplit")
def string_split(random: Random, name: str) -> Case:
    shape = random.shape(1, 2)
    words = [" ".join(random.array((3,), object).tolist()) for _ in range(int(np.prod(shape)))]
    attributes = {"delimiter": random.one_of(" ", "b")} if random.chance() else {}
    return Case(name, [np.array(words, object).reshape(shape)], attributes, 2, 20)


@operator("RegexFullMatch")
def regex_full_match(random: Random, name: str) -> Case:
    return Case(
        name, [random.array(random.shape(), object)], {"pattern": random.one_of("[a-z]", "a|b", ".*", "D+")}, opset=20
    )


@operator("StringNormalizer")
def string_normalizer(random: Random, name: str) -> Case:
    attributes = {"case_change_action": random.one_of("NONE", "LOWER", "UPPER"), "is_case_sensitive": random.flag()}
    stop = {"stopwords": ["a", "c"]} if random.chance() else {}
    return Case(name, [random.array((random.integer(1, 4),), object)], {**attributes, **stop}, opset=10)


@operator("TfIdfVectorizer")
def tf_idf(random: Random, name: str) -> Case:
    attributes = {
        "mode": random.one_of("TF", "IDF", "TFIDF"),
        "min_gram_length": 1,
        "max_gram_length": random.integer(1, 2),
        "max_skip_count": random.integer(0, 2),
        "ngram_counts": [0, 2],
        "ngram_indexes": [0, 1, 2, 3],
        "pool_int64s": [1, 2, 1, 2, 2, 1],
        "weights": [0.5, 1.0, 2.0, 3.0],
    }
    return Case(name, [random.array(random.shape(1, 2, 1, 6), np.int64, 0, 3)], attributes, opset=9)


@operator("DeformConv")
def deformed_conv(random: Random, name: str) -> Case:
    channels, filters, height, width = random.integers(4, 1, 3)
    kernel = random.integers(2, 1, 2)
    height, width = height + 1, width + 1
    out = (height - kernel[0] + 1, width - kernel[1] + 1)
    offset = random.array((1, 2 * kernel[0] * kernel[1], *out), low=-1, high=1)
    inputs = [random.array((1, channels, height, width)), random.array((filters, channels, *kernel)), offset]
    return Case(name, inputs, {"kernel_shape": kernel}, opset=19)


@operator("MaxRoiPool")
def max_roi_pool(random: Random, name: str) -> Case:
    boxes = np.array([[0, 0, 0, random.integer(1, 4), random.integer(1, 4)]], np.float32)
    return Case(
        name, [random.array((1, random.integer(1, 2), 5, 5)), boxes], {"pooled_shape": random.integers(2, 1, 3)}
    )


@operator("Scatter")
def scatter(random: Random, name: str) -> Case:
    shape = random.shape(1, 3)
    axis = random.integer(0, len(shape) - 1)
    sizes = [random.integer(1, size) for size in shape]
    sizes[axis] = 1
    indices = random.array(sizes, np.int64, 0, shape[axis] - 0.6)
    return Case(name, [random.array(shape), indices, random.array(sizes)], {"axis": axis}, opset=9)


@operator("CumProd")
def cumulative_product(random: Random, name: str) -> Case:
    shape = random.shape(1, 3)
    attributes = {"exclusive": random.flag(), "reverse": random.flag()}
    return Case(
        name, [random.array(shape, random.one_of(*NUMBERS)), whole(random.axis(len(shape)))], attributes, opset=26
    )
