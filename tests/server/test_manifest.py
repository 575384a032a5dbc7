import json
from collections.abc import Iterator
from typing import Any

import pytest

from server import tools
from server.tools.tool import Tool
from tests.server import manifest

FORBIDDEN = {
    "$ref",
    "$defs",
    "anyOf",
    "oneOf",
    "allOf",
    "format",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "title",
    "const",
}
BYTES_MAX = 16_000
"""Paid in tokens by every session of every client."""


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], int]:
    return manifest.told(tmp_path_factory.mktemp("manifest"))


def test_the_manifest_is_the_reviewed_one(published: tuple[dict[str, Any], int]) -> None:
    """To accept a change: `python -m tests.server.manifest`, then read the difference as a model would."""
    assert published[0] == json.loads(manifest.SNAPSHOT.read_text())


def test_tools_list_stays_within_its_bytes(published: tuple[dict[str, Any], int]) -> None:
    assert published[1] < BYTES_MAX


@pytest.mark.parametrize("tool", tools.ALL, ids=lambda tool: tool.name)
def test_schemas_are_flat(tool: Tool) -> None:
    published = tool.published()
    for schema in (published.input_schema, published.output_schema):
        assert schema is not None
        assert schema["type"] == "object"
        assert not FORBIDDEN & set(_keys(schema))
        assert None not in list(_values(schema))


@pytest.mark.parametrize("tool", tools.ALL, ids=lambda tool: tool.name)
def test_every_field_of_a_schema_has_one_type(tool: Tool) -> None:
    published = tool.published()
    assert list(published.input_schema["properties"]) == list(tool.arguments.model_fields)
    for schema in (published.input_schema, published.output_schema):
        assert schema is not None
        for described in schema["properties"].values():
            assert described["type"] in {"string", "integer", "number", "boolean", "array", "object"}


@pytest.mark.parametrize("tool", tools.ALL, ids=lambda tool: tool.name)
def test_every_description_steers_with_an_example_that_its_own_schema_takes(tool: Tool) -> None:
    line = next(line for line in tool.description.splitlines() if line.startswith("Example: "))
    example = json.loads(line.removeprefix("Example: "))
    assert set(example) <= set(tool.arguments.model_fields)
    assert set(tool.published().input_schema.get("required", ())) <= set(example)
    assert tool.description.isascii()


@pytest.mark.parametrize("tool", tools.ALL, ids=lambda tool: tool.name)
def test_hints_are_truthful(tool: Tool) -> None:
    reads = tool.name in {"memory_search", "memory_context", "memory_history", "memory_stats", "memory_conflicts"}
    assert tool.hints.read_only_hint is reads
    assert tool.hints.open_world_hint is False
    if not reads:
        assert tool.hints.destructive_hint is (tool.name == "memory_forget")
        assert tool.hints.idempotent_hint is (tool.name != "memory_remember")


def _keys(value: Any) -> Iterator[str]:
    match value:
        case {"type": "object", "properties": dict(properties), **rest}:
            yield from map(str, rest)
            for described in properties.values():
                yield from _keys(described)
        case dict():
            for key, inner in value.items():
                yield str(key)
                yield from _keys(inner)
        case list():
            for inner in value:
                yield from _keys(inner)
        case _:
            return


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _values(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _values(inner)
    else:
        yield value
