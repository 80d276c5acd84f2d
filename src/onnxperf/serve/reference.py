"""The OpenAPI document as rows for a page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Schema = Mapping[str, Any]
_NOTHING: Schema = {}


class TypeWords(NamedTuple):
    """A type in words, and the object in it, if that is documented separately on the page."""

    words: str
    object: str = ""


class Parameter(NamedTuple):
    """A parameter of a request."""

    name: str
    kind: str
    required: bool
    meaning: str


class Operation(NamedTuple):
    """An address of the API."""

    path: str
    meaning: str
    parameters: list[Parameter]
    answers: list[tuple[str, str, TypeWords]]
    """Status, its meaning, and the content of the answer."""


class DocumentedObject(NamedTuple):
    """An object in answers."""

    name: str
    meaning: str
    fields: list[tuple[str, TypeWords]]


def operations(document: Schema) -> list[Operation]:
    """The addresses, in order."""
    return [_operation(path, methods["get"]) for path, methods in document["paths"].items()]


def objects(document: Schema) -> list[DocumentedObject]:
    """The objects, by name."""
    schemas: Mapping[str, Schema] = document.get("components", _NOTHING).get("schemas", _NOTHING)
    return [
        DocumentedObject(
            name,
            schema.get("description", ""),
            [(field, type_words(kind)) for field, kind in schema.get("properties", _NOTHING).items()],
        )
        for name, schema in sorted(schemas.items())
    ]


def type_words(schema: Schema) -> TypeWords:
    """A schema in a few words."""
    if "$ref" in schema:
        return TypeWords("", str(schema["$ref"]).rpartition("/")[2])
    if "anyOf" in schema:
        parts = [type_words(each) for each in schema["anyOf"]]
        return TypeWords(
            " or ".join(each.words for each in parts if each.words), "".join(each.object for each in parts)
        )
    if "enum" in schema:
        return TypeWords(" or ".join("null" if value is None else str(value) for value in schema["enum"]))
    if isinstance(schema.get("items"), Mapping):
        inner = type_words(schema["items"])
        return TypeWords(f"list of {inner.words}".strip(), inner.object)
    return TypeWords(str(schema.get("type", "any")))


def _operation(path: str, get: Schema) -> Operation:
    parameters = [
        Parameter(
            each["name"], _parameter_type(each["schema"]), each.get("required", False), each.get("description", "")
        )
        for each in get.get("parameters", ())
    ]
    answers = [(status, each["description"], _content(each)) for status, each in sorted(get["responses"].items())]
    return Operation(path, get.get("description", ""), parameters, answers)


def _parameter_type(schema: Schema) -> str:
    words = type_words(schema).words
    default = schema.get("default")
    return f"{words} [default: {default}]" if default not in (None, "") else words


def _content(answer: Schema) -> TypeWords:
    schema: Schema = answer["content"]["application/json"]["schema"]
    return TypeWords(str(schema["description"])) if "description" in schema else type_words(schema)
