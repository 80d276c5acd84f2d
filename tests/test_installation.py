"""Which command adds an extra, by how onnxperf was installed; and what the README says about extras."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

import pytest

from onnxperf.installation import Installation, install_command

ROOT = Path(__file__).parents[1]
CHECKOUT = {"dir_info": {"editable": True}, "url": "file:///home/me/my%20code/onnxperf"}
UNPACKED = {"dir_info": {}, "url": "file:///src/onnxperf"}
WHEEL = {"archive_info": {}, "url": "https://host/onnxperf-1.whl"}
GIT = {"vcs_info": {"vcs": "git", "commit_id": "abc"}, "url": "https://host/onnxperf"}


@pytest.mark.parametrize(
    ("found", "command"),
    [
        (Installation(), "pip install 'onnxperf[excel]'"),
        (Installation(active=False), f"{sys.executable} -m pip install 'onnxperf[excel]'"),
        (Installation("uv"), "uv pip install 'onnxperf[excel]'"),
        (Installation("uv", prefix=Path("/env"), active=False), "uv pip install --python /env 'onnxperf[excel]'"),
        (Installation(origin=CHECKOUT), "pip install -e '/home/me/my code/onnxperf[excel]'"),
        (Installation("uv", CHECKOUT), "uv pip install -e '/home/me/my code/onnxperf[excel]'"),
        (Installation(origin=UNPACKED), "pip install '/src/onnxperf[excel]'"),
        (Installation(origin=WHEEL), "pip install 'onnxperf[excel] @ https://host/onnxperf-1.whl'"),
        (Installation(origin=GIT), "pip install 'onnxperf[excel] @ git+https://host/onnxperf@abc'"),
    ],
)
def test_the_command_is_that_of_the_installer_and_the_origin(found: Installation, command: str) -> None:
    assert install_command("excel", found) == command


@pytest.mark.parametrize(
    ("file", "content", "command"),
    [
        ("pipx_metadata.json", "{}", "pipx runpip onnxperf install 'onnxperf[excel]'"),
        (
            "uv-receipt.toml",
            '[tool]\nrequirements = [{ name = "onnxperf", extras = ["view", "cpu"] }]',
            "uv tool install 'onnxperf[cpu,excel,view]'",
        ),
        ("uv-receipt.toml", "damaged", "uv tool install 'onnxperf[excel]'"),
    ],
)
def test_an_environment_of_a_tool_is_changed_by_that_tool(
    tmp_path: Path, file: str, content: str, command: str
) -> None:
    prefix = tmp_path / "onnxperf"
    prefix.mkdir()
    (prefix / file).write_text(content, encoding="utf-8")
    assert install_command("excel", Installation("uv", prefix=prefix)) == command


def test_the_readme_lists_every_extra_with_what_it_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name not in ("all", "dev")}
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", readme, flags=re.MULTILINE))
    listed = {name: {each.strip() for each in rows[name].split(",")} for name in extras if name in rows}
    assert listed == {
        name: {re.split(r"[\[>;]", each)[0].strip() for each in wanted} for name, wanted in extras.items()
    }
