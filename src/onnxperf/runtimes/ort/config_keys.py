"""All session and run config entries and graph optimizers of onnxruntime 1.16 to 1.31, which ignores unknown ones.

Taken from onnxruntime's headers at each release, and compared with the strings in its wheels.
"""

from __future__ import annotations

import platform
from collections.abc import Collection, Iterable
from typing import NamedTuple

from onnxperf.errors import BadOption

OLDEST, NEWEST = "1.16", "1.31"
"""The releases that the tables cover; entries of the oldest one may be older."""


class KnownName(NamedTuple):
    """A name that onnxruntime recognizes."""

    name: str
    values: tuple[str, ...] = ()
    """All allowed values, if the header lists them."""
    since: str = OLDEST
    until: str = ""
    """The last release that has it; empty: the newest has it."""
    needs: str = ""
    """A key of `_NEEDS` or a provider, without which it has no effect."""


_FLAG = ("0", "1")
_NEEDS = {
    "arm64": "an ARM processor",
    "provider": "a provider other than the CPU's",
    "training": "a training build of onnxruntime",
    "internal": "onnxruntime's own compiler, which sets it",
}
_FORMATS = ("ORT", "ONNX")

SESSION_KEYS = (
    KnownName("session.disable_prepacking", _FLAG),
    KnownName("session.use_env_allocators", _FLAG),
    KnownName("session.load_model_format", _FORMATS),
    KnownName("session.save_model_format", _FORMATS),
    KnownName("session.set_denormal_as_zero", _FLAG),
    KnownName("session.disable_quant_qdq", _FLAG),
    KnownName("session.disable_double_qdq_remover", _FLAG),
    KnownName("session.enable_quant_qdq_cleanup", _FLAG),
    KnownName("session.use_device_allocator_for_initializers", _FLAG),
    KnownName("session.inter_op.allow_spinning", _FLAG),
    KnownName("session.intra_op.allow_spinning", _FLAG),
    KnownName("session.use_ort_model_bytes_directly", _FLAG),
    KnownName("session.use_ort_model_bytes_for_initializers", _FLAG),
    KnownName("session.qdqisint8allowed", _FLAG),
    KnownName("session.x64quantprecision", _FLAG),
    KnownName("session.dynamic_block_base"),
    KnownName("session.force_spinning_stop", _FLAG),
    KnownName("session.strict_shape_type_inference", _FLAG),
    KnownName("session.allow_released_opsets_only", _FLAG),
    KnownName("session.node_partition_config_file"),
    KnownName("session.intra_op_thread_affinities"),
    KnownName("session.debug_layout_transformation", _FLAG, needs="provider"),
    KnownName("session.disable_cpu_ep_fallback", _FLAG),
    KnownName("session.optimized_model_external_initializers_file_name"),
    KnownName("session.optimized_model_external_initializers_min_size_in_bytes"),
    KnownName("optimization.enable_gelu_approximation", _FLAG),
    KnownName("optimization.minimal_build_optimizations", ("", "save", "apply")),
    KnownName("optimization.enable_memory_optimizer", until="1.16", needs="training"),
    KnownName("optimization.enable_memory_probe_recompute_level", until="1.16", needs="training"),
    KnownName("ep.nnapi.partitioning_stop_ops", needs="NNAPI"),
    KnownName("ep.dml.disable_graph_fusion", _FLAG, needs="DML"),
    KnownName("session.disable_aot_function_inlining", _FLAG, "1.17"),
    KnownName("optimization.memory_optimizer_config", since="1.17", needs="training"),
    KnownName("optimization.enable_memory_probe_recompute_config", since="1.17", needs="training"),
    KnownName("mlas.enable_gemm_fastmath_arm64_bfloat16", _FLAG, "1.17", needs="arm64"),
    KnownName("ep.context_enable", _FLAG, "1.17", needs="provider"),
    KnownName("ep.context_file_path", since="1.17", needs="provider"),
    KnownName("ep.context_embed_mode", _FLAG, "1.17", needs="provider"),
    KnownName("optimization.disable_specified_optimizers", since="1.18"),
    KnownName("ep.dml.enable_cpu_sync_spinning", _FLAG, "1.18", needs="DML"),
    KnownName("ep.dml.enable_graph_capture", _FLAG, "1.18", needs="DML"),
    KnownName("ep.dml.enable_graph_serialization", _FLAG, "1.18", needs="DML"),
    KnownName("session.qdq_matmulnbits_accuracy_level", since="1.19"),
    KnownName("ep.dml.disable_memory_arena", _FLAG, "1.19", needs="DML"),
    KnownName("ep.context_node_name_prefix", since="1.19", needs="provider"),
    KnownName("ep.share_ep_contexts", _FLAG, "1.20", needs="provider"),
    KnownName("session.model_external_initializers_file_folder_path", since="1.21"),
    KnownName("session.save_external_prepacked_constant_initializers", _FLAG, "1.21"),
    KnownName("session.collect_node_memory_stats_to_file", since="1.21"),
    KnownName("session.resource_cuda_partitioning_settings", since="1.21", needs="CUDA"),
    KnownName("ep.context_model_external_initializers_file_name", since="1.21", needs="provider"),
    KnownName("session.disable_model_compile", _FLAG, "1.22"),
    KnownName("ep.stop_share_ep_contexts", _FLAG, "1.22", needs="provider"),
    KnownName("session.graph_optimizations_loop_level", ("0", "1", "2"), "1.23"),
    KnownName("session.fail_on_suboptimal_compiled_model", _FLAG, "1.23"),
    KnownName("optimization.enable_cast_chain_elimination", _FLAG, "1.23"),
    KnownName("session.record_ep_graph_assignment_info", _FLAG, "1.24"),
    KnownName("mlas.use_lut_gemm", _FLAG, "1.24"),
    KnownName("session.enable_dq_matmulnbits_fusion", _FLAG, "1.24.3"),
    KnownName("session.qdq_matmulnbits_block_size", since="1.25"),
    KnownName("session.layer_assignment_settings", since="1.25"),
    KnownName("mlas.disable_kleidiai", _FLAG, "1.25", needs="arm64"),
    KnownName("ep.enable_weightless_ep_context_nodes", _FLAG, "1.25", needs="provider"),
    KnownName("session.disable_qdq_constant_folding", _FLAG, "1.26"),
    KnownName("session.inter_op.spin_duration_us", since="1.26"),
    KnownName("session.intra_op.spin_duration_us", since="1.26"),
    KnownName("session.inter_op.spin_backoff_max", since="1.26"),
    KnownName("session.intra_op.spin_backoff_max", since="1.26"),
    KnownName("session.use_memory_mapped_ort_model", _FLAG, "1.26"),
    KnownName("session.compile_only", _FLAG, "1.27", needs="internal"),
    KnownName("optimization.constant_folding_max_output_size_in_bytes", since="1.27"),
    KnownName("session.name_based_layer_assignment", since="1.28"),
    KnownName("session.intra_op_num_threads", since="1.28"),
    KnownName("session.inter_op_num_threads", since="1.28"),
    KnownName("session.enable_cpu_mem_arena", _FLAG, "1.28"),
    KnownName("session.enable_mem_pattern", _FLAG, "1.28"),
    KnownName("session.log_id", since="1.28"),
    KnownName("session.log_severity_level", since="1.28"),
    KnownName("session.log_verbosity_level", since="1.28"),
    KnownName("session.enable_profiling", since="1.28"),
    KnownName(
        "session.graph_optimization_level",
        ("disable_all", "enable_basic", "enable_extended", "enable_layout", "enable_all"),
        "1.28",
    ),
    KnownName("session.optimized_model_filepath", since="1.28"),
    KnownName("session.execution_mode", ("sequential", "parallel", "ort_sequential", "ort_parallel"), "1.28"),
    KnownName("session.use_per_session_threads", _FLAG, "1.28"),
    KnownName("session.use_deterministic_compute", _FLAG, "1.28"),
    KnownName("mlas.kleidiai.conv_igemm_max_work", since="1.28", needs="arm64"),
    KnownName("ep.cuda.fpa_intb_gemm", since="1.28", needs="CUDA"),
    KnownName("ep.cuda.fpa_intb_profile_m", since="1.28", needs="CUDA"),
    KnownName("session.max_shape_override", since="1.29"),
    KnownName("ep.enable_weightless", _FLAG, "1.29", needs="provider"),
    KnownName("ep.context_source_model_path", since="1.29", needs="provider"),
    KnownName("session.enable_saved_runtime_optimizations", _FLAG, "1.30"),
    KnownName("session.gqa_value_layout", since="1.30"),
    KnownName("mlas.nchwc_pointwise_conv_max_input_channel_batch", since="1.30"),
    KnownName("ep.cuda.qmoe_row_tile_size", since="1.30", needs="CUDA"),
    KnownName("session.enable_moe_expert_counting", since="1.31"),
    KnownName("session.enable_moe_expert_statistics", since="1.31"),
    KnownName("session.function_expansion_byte_limit", since="1.31"),
    KnownName("session.function_expansion_node_limit", since="1.31"),
    KnownName("session.moe_expert_counter_alpha", since="1.31"),
    KnownName("session.moe_expert_counter_beta", since="1.31"),
    KnownName("session.moe_expert_counter_state_file", since="1.31"),
    KnownName("session.prepack.enable_parallel", since="1.31"),
    KnownName("session.strict_workspace_verification", since="1.31"),
    KnownName("session.use_external_initializer_file_buffers_directly", since="1.31"),
    KnownName("mlas.nchwc_depthwise_sliding", since="1.31"),
    KnownName("mlas.qnbit.force_fp32", since="1.31"),
    KnownName("ep.cuda.gqa_workspace_max_total_sequence_length", since="1.31", needs="CUDA"),
)
RUN_KEYS = (
    KnownName("memory.enable_memory_arena_shrinkage"),
    KnownName("disable_synchronize_execution_providers", _FLAG),
    KnownName("gpu_graph_id", since="1.18", needs="provider"),
    KnownName("qnn.htp_perf_mode", since="1.18", needs="QNN"),
    KnownName("qnn.htp_perf_mode_post_run", since="1.18", needs="QNN"),
    KnownName("qnn.rpc_control_latency", since="1.18", needs="QNN"),
    KnownName("qnn.lora_config", since="1.22", needs="QNN"),
)

_OPTIMIZERS_OF_ALL = """
AttentionFusion Avx2WeightS8ToU8Transformer BiasDropoutFusion BiasGeluFusion BiasSoftmaxFusion CastElimination
ClipQuantRewrite CommonSubexpressionElimination ConstantFolding ConstantSharing ConvActivationFusion
ConvAddActivationFusion ConvAddFusion ConvBNFusion ConvMulFusion DivMulFusion DoubleQDQPairsRemover
DynamicQuantizeMatMulFusion EliminateDropout EliminateIdentity EliminateSlice EmbedLayerNormFusion
EnsureUniqueDQForNodeUnit ExpandElimination FastGeluFusion FreeDimensionOverrideTransformer FuseReluClip
GatherToSliceFusion GeluApproximation GemmActivationFusion GemmSumFusion GemmTransposeFusion
Level1_RuleBasedTransformer Level2_RuleBasedTransformer MatMulActivationFusion MatMulAddFusion
MatMulIntegerToFloatFusion MatMulScaleFusion MatmulTransposeFusion NchwcTransformer NhwcTransformer NoopElimination
NotWhereFusion PreShapeNodeElimination QDQFinalCleanupTransformer QDQPropagationTransformer QDQS8ToU8Transformer
QDQSelectorActionTransformer QuickGeluFusion ReluQuantRewrite ReshapeFusion SimplifiedLayerNormFusion
SkipLayerNormFusion TransposeOptimizer UnsqueezeElimination
"""
OPTIMIZERS = (
    *map(KnownName, _OPTIMIZERS_OF_ALL.split()),
    KnownName("GatherToSplitFusion", until="1.17"),
    KnownName("GeluFusion", until="1.19"),
    KnownName("LayerNormFusion", until="1.19"),
    KnownName("RocmBlasAltImpl", until="1.23", needs="ROCM"),
    KnownName("MatMul_BatchNormalization_Fusion", since="1.17"),
    KnownName("Pad_Fusion", since="1.17"),
    KnownName("TransposeOptimizer_CPUExecutionProvider", since="1.17"),
    KnownName("GatherSliceToSplitFusion", since="1.18"),
    KnownName("LabelEncoderFusion", since="1.18"),
    KnownName("ShapeInputMerge", since="1.18", until="1.18"),
    KnownName("MatMulNBitsFusion", since="1.19"),
    KnownName("GeluFusionL1", since="1.20"),
    KnownName("GeluFusionL2", since="1.20"),
    KnownName("LayerNormFusionL1", since="1.20"),
    KnownName("LayerNormFusionL2", since="1.20"),
    KnownName("WeightBiasQuantization", since="1.21"),
    KnownName("GroupQueryAttentionFusion", since="1.22"),
    KnownName("CastChainElimination", since="1.23"),
    KnownName("FuseFp16InitializerToFp32NodeTransformer", since="1.23"),
    KnownName("WhereDummyDq", since="1.24"),
    KnownName("DQMatMulNBitsFusion", since="1.24.3"),
    KnownName("BiasSkipLayerNormFusion", since="1.25"),
    KnownName("SliceConcatToSpaceToDepthFusion", since="1.25"),
    KnownName("MatMulNBitsMlpFusion", since="1.27", needs="WebGPU"),
    KnownName("MatMulNBitsQkvFusion", since="1.27", needs="WebGPU"),
    KnownName("GroupQueryAttentionPreNormFusion", since="1.28", needs="provider"),
)
"""Names accepted by `disabled_optimizers` and `optimization.disable_specified_optimizers`."""


def check_key(key: str, version: str, providers: Collection[str] = (), *, run: bool = False) -> None:
    """Reject a session or run config entry that this onnxruntime with these providers would ignore."""
    _check(
        "run config entry" if run else "session config entry",
        key,
        RUN_KEYS if run else SESSION_KEYS,
        version,
        providers,
    )


def check_value(key: str, value: str) -> None:
    """Reject a value that the entry does not allow; keys missing from the tables accept any value."""
    values = next((entry.values for entry in (*SESSION_KEYS, *RUN_KEYS) if entry.name == key), ())
    if values and value not in values:
        raise BadOption(
            f"{key!r} cannot be {value!r}; choose from: {', '.join(each or 'an empty text' for each in values)}",
        )


def check_optimizer(name: str, version: str, providers: Collection[str] = ()) -> None:
    """Reject the name of a graph optimizer that this onnxruntime does not have."""
    _check("graph optimizer", name, OPTIMIZERS, version, providers)


def known(entries: Iterable[KnownName], version: str) -> list[str]:
    """The names that a release recognizes."""
    return [entry.name for entry in entries if _place(entry, version) == 0]


def _check(what: str, name: str, entries: tuple[KnownName, ...], version: str, providers: Collection[str]) -> None:
    entry = next((each for each in entries if each.name == name), None)
    if entry is None:
        raise _unknown(what, name, known(entries, version), version)
    place = _place(entry, version)
    if place > 0:
        raise BadOption(f"{what} {name!r} was added in onnxruntime {entry.since}; {version} would ignore it")
    if place < 0:
        raise BadOption(f"{what} {name!r} was removed after onnxruntime {entry.until}; {version} would ignore it")
    if entry.needs and not _has(entry.needs, providers):
        raise BadOption(
            f"{what} {name!r} has no effect without {_NEEDS.get(entry.needs, f'the {entry.needs} provider')}"
        )


def _unknown(what: str, name: str, valid: list[str], version: str) -> BadOption:
    """Lists the closest names, or all if none is close; a newer onnxruntime may support more than the table."""
    from difflib import get_close_matches  # needed only for errors

    error = BadOption.unknown(what, name, get_close_matches(name, valid, n=3, cutoff=0.7) or valid)
    if _numbers(version)[:2] <= _numbers(NEWEST):
        return error
    return BadOption(f"{error} (checked against onnxruntime up to {NEWEST}; this is {version})")


def _place(entry: KnownName, version: str) -> int:
    """0 if the release has the entry, 1 if the entry is newer, -1 if it was removed."""
    release = _numbers(version)
    if release < _numbers(entry.since) and entry.since != OLDEST:
        return 1
    last = _numbers(entry.until)
    return -1 if last and release[: len(last)] > last else 0


def _has(need: str, providers: Collection[str]) -> bool:
    names = {each.removesuffix("ExecutionProvider").lower() for each in providers}
    if need == "arm64":
        return platform.machine().lower() in ("arm64", "aarch64")
    return bool(names - {"cpu"}) if need == "provider" else need.lower() in names


def _numbers(version: str) -> tuple[int, ...]:
    """1.24.3 as numbers; suffixes such as +cpu or rc1 are ignored."""
    numbers = []
    for part in version.split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
    return tuple(numbers)
