"""Models of other frameworks as things that can be called with numpy inputs."""

from onnxperf.frameworks.base import FrameworkModel, Live, framework_of, is_saved_model, to_numpy

__all__ = ["FrameworkModel", "Live", "framework_of", "is_saved_model", "to_numpy"]
