"""How this onnxperf was installed, and which command adds an extra to it."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from onnxperf.programs import find_program


class Installation(NamedTuple):
    """Where onnxperf came from, and which tool installed it."""

    installer: str = "pip"
    """The installer."""
    origin: Mapping[str, Any] | None = None
    """The contents of direct_url.json (PEP 610); None if it came from a package index."""
    prefix: Path = Path(sys.prefix)
    """Its environment."""
    active: bool = True
    """Whether `pip`, or uv, uses this environment by default."""


def install_command(extra: str, found: Installation | None = None) -> str:
    """The command that adds an extra to this installation."""
    found = found or _installation()
    if (found.prefix / "uv-receipt.toml").is_file():  # which replaces the current installation
        return f"uv tool install {_requirement(','.join(sorted({extra, *_tool_extras(found.prefix)})), found.origin)}"
    wanted = _requirement(extra, found.origin)
    if (found.prefix / "pipx_metadata.json").is_file():
        return f"pipx runpip {found.prefix.name} install {wanted}"
    if found.installer == "uv":
        environment = [] if found.active else ["--python", shlex.quote(str(found.prefix))]
        return " ".join(["uv pip install", *environment, wanted])
    return f"{'pip' if found.active else f'{shlex.quote(sys.executable)} -m pip'} install {wanted}"


def _requirement(extras: str, origin: Mapping[str, Any] | None) -> str:
    """What to install: the same source as before."""
    name = f"onnxperf[{extras}]"
    if origin is None:
        return shlex.quote(name)
    url = str(origin.get("url", ""))
    if "dir_info" in origin:
        editable = "-e " if origin["dir_info"].get("editable") else ""
        return editable + shlex.quote(f"{_path(url)}[{extras}]")
    if "vcs_info" in origin:
        vcs = origin["vcs_info"]
        revision = vcs.get("requested_revision") or vcs.get("commit_id", "")
        return shlex.quote(f"{name} @ {vcs.get('vcs', 'git')}+{url}@{revision}")
    return shlex.quote(f"{name} @ {url}")


def _path(url: str) -> str:
    from urllib.parse import unquote, urlsplit

    return unquote(urlsplit(url).path)


def _tool_extras(prefix: Path) -> list[str]:
    """The extras given to `uv tool install`."""
    import tomllib

    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        tool = tomllib.loads((prefix / "uv-receipt.toml").read_text(encoding="utf-8"))["tool"]
        return [
            extra for each in tool["requirements"] if each["name"] == "onnxperf" for extra in each.get("extras", [])
        ]
    return []


def _installation() -> Installation:
    """The installation that the environment describes; by default pip and a package index."""
    from importlib.metadata import PackageNotFoundError, distribution

    prefix = Path(sys.prefix)
    with contextlib.suppress(PackageNotFoundError, OSError, ValueError):
        files = distribution("onnxperf")
        installer = (files.read_text("INSTALLER") or "pip").strip()
        origin = json.loads(files.read_text("direct_url.json") or "null")
        return Installation(installer, origin, prefix, _is_active(prefix, installer))
    return Installation(prefix=prefix, active=_is_active(prefix, "pip"))


def _is_active(prefix: Path, installer: str) -> bool:
    if installer == "uv":
        return os.environ.get("VIRTUAL_ENV") == str(prefix)
    pip = find_program("pip")
    return pip is not None and Path(pip).parent == Path(sys.executable).parent
