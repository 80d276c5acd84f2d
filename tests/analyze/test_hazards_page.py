"""The page of hazards and rewrites says what there is."""

from __future__ import annotations

import re
from pathlib import Path

from onnxperf.model.rewrites.find import EINSUM, REWRITES

PAGE = (Path(__file__).parents[2] / "docs" / "hazards.md").read_text(encoding="utf-8")
SOURCE = Path(__file__).parents[2] / "src" / "onnxperf" / "analyze" / "hazards"


def rows(text: str) -> list[str]:
    return re.findall(r"^\| `([a-z0-9-]+)` \|", text, flags=re.MULTILINE)


def test_every_rewrite_has_a_row() -> None:
    assert rows(PAGE.split("## Rewrites")[1]) == sorted([*REWRITES, EINSUM])


def test_every_hazard_of_the_page_has_a_file() -> None:
    files = {path.stem.replace("_", "-") for path in SOURCE.glob("*.py")}
    listed = rows(PAGE.split("## Rewrites")[0])
    assert len(listed) == len(set(listed)) == 15
    assert set(listed) <= files
