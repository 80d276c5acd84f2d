"""Finds the environment for a text: a stored one, one built now, or an interpreter given by its path."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from onnxperf.environments import kept
from onnxperf.environments.build import Tell, build, python_in
from onnxperf.environments.probe import Inventory, given_environment, program_at
from onnxperf.environments.requirements import is_path, package_of, requirements_of
from onnxperf.errors import BadOption
from onnxperf.records.envs import Environment

Build = Callable[[Sequence[str], Path, Tell], Inventory]


def environment(text: str, progress: Tell = lambda _text: None, build: Build = build) -> Environment:
    """The environment that `text` describes, built first if necessary; `progress` receives the current step."""
    if is_path(text):
        return given_environment(text)
    requirements = requirements_of(text)
    folder = kept.folder_of(requirements)
    found = kept.recall(folder) or _built(requirements, progress, build)
    kept.note_use(folder)
    return found


def planned(text: str) -> Environment | None:
    """The environment that `text` describes, or None if it would have to be built; an invalid text is an error.

    Nothing is run: the packages of an interpreter given by its path remain unknown.
    """
    if is_path(text):
        return Environment(name=text, python=str(program_at(text)), python_version="", packages={})
    return kept.recall(kept.folder_of(requirements_of(text)))


def _built(requirements: Sequence[str], progress: Tell, build: Build) -> Environment:
    """Build an environment, unless another command does so meanwhile."""
    name, folder = "+".join(requirements), kept.folder_of(requirements)

    def tell(text: str) -> None:
        progress(f"environment {name}: {text}")

    with kept.locked(tell):
        found = kept.recall(folder)
        if found is not None:
            return found
        kept.discard_drafts()
        draft = kept.new_draft()
        try:
            inventory = build(requirements, draft, tell)
            made = Environment(
                name=name,
                python=str(python_in(folder)),
                python_version=inventory.python_version,
                packages=inventory.relevant([package_of(each) for each in requirements]),
                created=datetime.now(UTC).isoformat(timespec="seconds"),
            )
            kept.keep(draft, folder, made)
        except BaseException:
            kept.discard(draft)
            raise
    return replace(made, used=made.created)


def all_environments() -> list[Environment]:
    """All built environments, with their sizes, sorted by name."""
    return [replace(each, size_bytes=kept.size_of(folder)) for folder, each in kept.all_kept()]


def remove(names: Iterable[str] | None) -> list[Environment]:
    """Remove environments by name, for every Python that they were built for; None means all.

    Nothing is removed if a name is unknown.
    """
    with kept.locked():
        known = list(kept.all_kept())
        wanted = None if names is None else {_known_name(name, [each.name for _, each in known]) for name in names}
        chosen = [(folder, each) for folder, each in known if wanted is None or each.name in wanted]
        for folder in kept.folders() if wanted is None else [folder for folder, _ in chosen]:
            kept.discard(folder)
        kept.discard_drafts()
        return [each for _, each in chosen]


def _known_name(text: str, known: Sequence[str]) -> str:
    if text in known:
        return text
    name = "+".join(requirements_of(text)) if not is_path(text) else text
    if name not in known:
        raise BadOption.unknown("environment", text, known)
    return name
