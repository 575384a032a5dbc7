"""Published JSON schemas: flat, shallow and small, because every session of every client pays for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

_UNPUBLISHED = frozenset(
    {"title", "format", "additionalProperties", "const", "exclusiveMinimum", "exclusiveMaximum"}
)


@cache
def flat(model: type[BaseModel]) -> dict[str, Any]:
    """The input schema of an argument model: references inlined, null arms, titles and null defaults gone."""
    return _flattened(model, nested=True)


@cache
def shallow(model: type[BaseModel]) -> dict[str, Any]:
    """The output schema of a result model: its fields by name and type, nested objects left open."""
    return _flattened(model, nested=False)


def _flattened(model: type[BaseModel], *, nested: bool) -> dict[str, Any]:
    whole = model.model_json_schema(mode="validation" if nested else "serialization")
    definitions = whole.get("$defs", {})
    properties = {
        name: _property(schema, definitions, nested=nested) for name, schema in whole["properties"].items()
    }
    flattened: dict[str, Any] = {"type": "object", "properties": properties}
    if nested:
        flattened["additionalProperties"] = False
    if required := whole.get("required"):
        flattened["required"] = required
    return flattened


def _property(schema: Mapping[str, Any], definitions: Mapping[str, Any], *, nested: bool) -> dict[str, Any]:
    arm = _resolved(_without_null(schema), definitions)
    merged = {**arm, **{key: value for key, value in schema.items() if key not in ("anyOf", "$ref")}}
    if merged.get("type") == "object" and not nested:
        return {"type": "object"}
    published = {key: value for key, value in merged.items() if key not in _UNPUBLISHED}
    if published.get("default", 0) is None or not nested:
        published.pop("default", None)
    if "items" in published:
        published["items"] = _property(published["items"], definitions, nested=nested)
    return published


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    arms = [arm for arm in schema.get("anyOf", ()) if arm.get("type") != "null"]
    assert len(arms) <= 1, "a published property has one type"
    return arms[0] if arms else schema


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return definitions[reference.removeprefix("#/$defs/")] if reference else schema
