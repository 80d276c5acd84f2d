"""Names that moved to kit/documents and kit/files, until the last of their users has moved too."""

from __future__ import annotations

from onnxperf.render.kit.documents import to_json
from onnxperf.render.kit.files import write

__all__ = ["to_json", "write"]
