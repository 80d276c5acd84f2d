"""Write docs/options.md from the options: python docs/make_options.py."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from onnxperf.options import functions
from onnxperf.options.base import Option, Takes
from onnxperf.options.spelling import declared

PAGE = Path(__file__).with_name("options.md")
HEAD = """# Options

Every option is declared once. The command line spells it as a flag, Python as a keyword, and a plan as a key of
`[options]`; they mean the same everywhere. A text such as `1%`, `2GB` or `50ms` is accepted in Python, too. This page
is made by `make generated`.

A command may have another default than the one in the first tables; the last table lists those.
"""
OTHERS = """
## Defaults of single commands

| command | option | default |
|---|---|---|
"""
ONLY_THERE = "the command line only"


def page() -> str:
    """The whole page."""
    takers = _takers()
    sections: dict[str, list[str]] = defaultdict(list)
    for option in _options():
        sections[option.group].append(_row(option, takers.get(option.name, [ONLY_THERE])))
    head = "| option | Python | default | what it does | commands |\n|---|---|---|---|---|\n"
    parts = [f"\n## {title}\n\n{head}" + "\n".join(rows) + "\n" for title, rows in sorted(sections.items())]
    return HEAD + "".join(parts) + OTHERS + "\n".join(_other_defaults()) + "\n"


def _functions() -> dict[str, Takes]:
    """What each function takes, by the name of the function."""
    found = {name.lower(): each for name, each in vars(functions).items() if isinstance(each, Takes)}
    return {name: each for name, each in sorted(found.items()) if name not in ("case", "stored")}


def _takers() -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, takes in _functions().items():
        for option in takes:
            found[option.name].append(name)
    return found


def _options() -> list[Option]:
    """Every option, the first declaration of each."""
    found: dict[tuple[str, str], Option] = {}
    for each in declared():
        found.setdefault((each.group, each.name), each)
    return list(found.values())


def _row(option: Option, takers: list[str]) -> str:
    value = f" {option.metavar}" if option.metavar else ""
    flag = ", ".join(filter(None, [f"`{option.flag}{value}`", option.short and f"`{option.short}`"]))
    python = f"`{option.name}`" if takers != [ONLY_THERE] else ""
    cells = (flag, python, option.shown_default, option.help, ", ".join(takers))
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _other_defaults() -> list[str]:
    usual: dict[str, object] = {}
    for each in declared():
        usual.setdefault(each.name, each.default)
    return [
        f"| {name} | `{option.flag}` | {option.shown_default or 'none'} |"
        for name, takes in _functions().items()
        for option in takes
        if option.default != usual[option.name] and option.name != "store"
    ]


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
