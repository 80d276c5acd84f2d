"""Olive's tuner of session parameters on one model; runs in an environment of its own, which has olive-ai.

usage: python olive_tuner.py MODEL SHAPES SECONDS CORES, where SHAPES is JSON: {"X": [1, 10]}; the last line is JSON
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from typing import Any

os.environ["OLIVE_DISABLE_TELEMETRY"] = "1"


def config_of(model: str, shapes: dict[str, list[int]], seconds: int, cores: int, folder: str) -> dict[str, Any]:
    """A search through all settings that the pass knows on a CPU, in so much time; latency is the mean of 20 calls.

    The search is sequential: one of 20 s with the sampler "tpe" had not ended after 300.
    """
    data = {
        "name": "inputs",
        "type": "DummyDataContainer",
        "load_dataset_config": {
            "type": "dummy_dataset",
            "input_shapes": list(shapes.values()),
            "input_names": list(shapes),
            "input_types": ["float32"] * len(shapes),
            "max_samples": 32,
        },
        "pre_process_data_config": {"type": "skip_pre_process"},
        "post_process_data_config": {"type": "skip_post_process"},
        "dataloader_config": {"type": "no_auto_batch_dataloader"},
    }
    latency = {
        "name": "latency",
        "type": "latency",
        "data_config": "inputs",
        "sub_types": [{"name": "avg", "priority": 1}],
    }
    spaces = [
        {
            "type": "OrtSessionParamsTuning",
            "data_config": "inputs",
            "intra_thread_num_list": list(range(1, cores + 1)),
            "opt_level_list": [99, 2, 1],
            "execution_mode_list": [0, 1],
            **extra,
        }
        for extra in ({}, {"extra_session_config": {"session.intra_op.allow_spinning": "0"}})
    ]
    return {
        "input_model": {"type": "ONNXModel", "model_path": model},
        "systems": {
            "local": {
                "type": "LocalSystem",
                "accelerators": [{"device": "cpu", "execution_providers": ["CPUExecutionProvider"]}],
            }
        },
        "data_configs": [data],
        "evaluators": {"usual": {"metrics": [latency]}},
        "passes": {"tuned": spaces},
        "engine": {
            "search_strategy": {
                "execution_order": "joint",
                "sampler": "sequential",
                "max_time": seconds,
                "output_model_num": 1,
            },
            "evaluator": "usual",
            "host": "local",
            "target": "local",
            "cache_dir": f"{folder}/cache",
            "output_dir": f"{folder}/out",
            "log_severity_level": 3,
        },
    }


def main() -> None:
    """Print the settings that Olive chooses, and the milliseconds that it believes."""
    import olive  # type: ignore[import-not-found]  # in an environment of its own

    logging.disable(logging.WARNING)
    model, shapes, seconds, cores = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    with tempfile.TemporaryDirectory() as folder:
        found = olive.run(config_of(model, shapes, seconds, cores, folder))
        best, before = found.get_best_candidate(), found.get_input_model_metrics()
        answer = {
            "session_options": best.get_inference_config().get("session_options", {}),
            "before_ms": before["latency-avg"]["value"],
            "after_ms": best.metrics_value["latency-avg"]["value"],
        }
        print(json.dumps(answer))


if __name__ == "__main__":
    main()
