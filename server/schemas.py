"""Published JSON schemas: flat, shallow and small, because every session of every client pays for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from pydantic import BaseModel

_OF_RESULTS = ("type", "enum", "items")
_OF_ARGUMENTS = (*_OF_RESULTS, "minimum", "maximum", "maxItems", "description", "default")


@cache
def of_arguments(model: type[BaseModel]) -> dict[str, Any]:
    """The input schema of an argument model, without titles and empty defaults."""
    return {**_object(model.model_json_schema(), kept=_OF_ARGUMENTS), "additionalProperties": False}


@cache
def of_result(model: type[BaseModel]) -> dict[str, Any]:
    """The output schema of a result model: its fields by name and type, nested objects left open."""
    return _object(model.model_json_schema(mode="serialization"), kept=_OF_RESULTS)


def _object(whole: Mapping[str, Any], *, kept: tuple[str, ...]) -> dict[str, Any]:
    definitions = whole.get("$defs", {})
    properties = {name: _property(schema, definitions, kept=kept) for name, schema in whole["properties"].items()}
    required = {"required": whole["required"]} if whole.get("required") else {}
    return {"type": "object", "properties": properties, **required}


def _property(schema: Mapping[str, Any], definitions: Mapping[str, Any], *, kept: tuple[str, ...]) -> dict[str, Any]:
    arm = {**_resolved(_without_null(schema), definitions), "default": schema.get("default")}
    published = {key: arm[key] for key in kept if arm.get(key) not in (None, [], ())}
    if "items" in published:
        published["items"] = _property(published["items"], definitions, kept=kept)
    return published


def _without_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    arms = [arm for arm in schema.get("anyOf", ()) if arm.get("type") != "null"]
    assert len(arms) <= 1, "a published property has one type"
    return arms[0] if arms else schema


def _resolved(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> Mapping[str, Any]:
    reference = schema.get("$ref")
    return definitions[reference.removeprefix("#/$defs/")] if reference else schema
