"""JSON on a page: a tree that folds, without a script."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

import msgspec

from onnxperf.wording.names import shortened, visible
from onnxperf.wording.numbers import count, grouped

_OPEN_LEVELS = 2
"""How far the tree is open at first."""
_MOST = 1000
"""Members of one list or object that a page shows: a browser is slow with more."""
_SHORT = 72
"""Lists and objects whose text is not longer stay on one line."""
_PREVIEW = 60
_MARGIN = "margin-left:1.4em"


def json_tree(text: str | bytes) -> str:
    """A JSON document as elements that open and close by a click; everything in it is escaped."""
    tree = "".join(_item("", msgspec.json.decode(text), 0))
    return f'<div style="font-family:monospace;font-size:13px;line-height:1.45">{tree}</div>'


def _item(name: str, value: object, level: int) -> Iterator[str]:
    label = f"<strong>{_safe(name)}</strong>: " if name else ""
    members = _members(value)
    line = _encoded(value) if len(members) <= _SHORT else ""
    if not members or 0 < len(line) <= _SHORT:
        yield _line(f"{label}{_safe(line)}")
        return
    is_open = " open" if level < _OPEN_LEVELS else ""
    yield f'<details style="{_MARGIN}"{is_open}><summary>{label}{_safe(_summary(value))}</summary>'
    if any(isinstance(each, dict | list) for _, each in members) or isinstance(value, dict):
        for key, each in members[:_MOST]:
            yield from _item(key, each, level + 1)
    else:
        yield _line(_safe(_encoded([each for _, each in members[:_MOST]])))
    if len(members) > _MOST:
        yield _line(f"… {grouped(len(members) - _MOST)} more")
    yield "</details>"


def _line(content: str) -> str:
    return f'<div style="{_MARGIN};white-space:pre-wrap;overflow-wrap:anywhere">{content}</div>'


def _members(value: object) -> list[tuple[str, object]]:
    if isinstance(value, dict):
        return [(str(key), each) for key, each in value.items()]
    return [(str(place), each) for place, each in enumerate(value)] if isinstance(value, list) else []


def _summary(value: object) -> str:
    """What a folded list or object holds: how much, or its first texts and numbers."""
    if isinstance(value, list):
        return f"[{count(len(value), 'item')}]"
    simple = {key: each for key, each in _members(value) if each and not isinstance(each, dict | list)}
    return shortened(", ".join(f"{key} {each}" for key, each in simple.items()), _PREVIEW) or "{…}"


def _encoded(value: object) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=0).decode()


def _safe(text: str) -> str:
    return escape(visible(text))
