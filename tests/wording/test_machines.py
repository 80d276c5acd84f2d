"""Processors as people name them."""

from __future__ import annotations

import pytest

from onnxperf.wording.machines import cpu_name, extensions_text


@pytest.mark.parametrize(
    ("flags", "text"),
    [
        (("avx", "avx2", "avx512_bf16", "avx512_vnni", "avx512f", "fma", "sse4_2"), "AVX2, AVX512, VNNI, BF16"),
        (("avx", "avx2", "avx_vnni", "fma"), "AVX2, VNNI"),
        (("amx_bf16", "amx_tile", "avx2"), "AVX2, AMX"),
        (("asimd", "asimddp", "i8mm", "sve"), "NEON, dot product, I8MM, SVE"),
        (("sse4_2",), "sse4_2"),
        ((), ""),
    ],
)
def test_vector_extensions_are_named_as_in_papers(flags: tuple[str, ...], text: str) -> None:
    assert extensions_text(flags) == text


def test_a_processor_has_no_trademarks_and_no_frequency() -> None:
    assert cpu_name("Intel(R) Xeon(R) Platinum 8370C CPU @ 2.80GHz") == "Intel Xeon Platinum 8370C"
