"""Tool arguments: strict models, and refusals that name the argument and what was expected, never a value."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar
from uuid import UUID

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from server import schemas
from server.characters import SURROGATE
from shared.errors import InvalidArgument

CONTENT_BYTES_MAX = 32_000
CATEGORY_BYTES_MAX = 128
TAGS_MAX = 20
TAG_BYTES_MAX = 64
NOTE_BYTES_MAX = 1_000
QUERY_BYTES_MAX = 4_000
SUPERSEDES_MAX = 50
NAME_BYTES_MAX = 1_024

_DEPTH_MAX = 16
_ARGUMENT_NAME_MAX = 64
_NEXT = "Correct the argument named and call again."

ModelT = TypeVar("ModelT", bound="Arguments")


class Arguments(BaseModel):
    """The base of all argument models: nothing unknown, nothing converted."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


def parse(model: type[ModelT], given: Mapping[str, Any]) -> ModelT:
    """The arguments as their model. A null stands for an argument left out.

    Raises InvalidArgument naming the first argument that is unknown, malformed or out of its bound.
    """
    for name, value in given.items():
        if name not in model.model_fields:
            raise InvalidArgument(
                _printable(name), "unknown argument", next=f"Known: {', '.join(model.model_fields)}."
            )
        _check_text(name, value, depth=0)
    try:
        return model.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as refused:
        raise _named(model, refused) from None


def sized(*, bytes_max: int, bytes_min: int = 1) -> AfterValidator:
    """A bound in bytes of UTF-8, which is what the database stores; JSON schema can only count characters."""

    def check(text: str) -> str:
        size = len(text.encode())
        if size > bytes_max or size < bytes_min:
            raise ValueError(f"must be {bytes_min:,} to {bytes_max:,} bytes of UTF-8, got {size:,}")
        return text

    return AfterValidator(check)


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _instant(text: str) -> str:
    moment(text)
    return text


def moment(text: str) -> datetime:
    """An aware datetime from an ISO 8601 instant; ValueError without an offset."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(_EXPECTED_INSTANT) from None
    if instant.tzinfo is None:
        raise ValueError(_EXPECTED_INSTANT)
    return instant


def _instant_or_never(text: str) -> str:
    return text if text == "never" else _instant(text)


def _uuid(text: str) -> str:
    if not _UUID.fullmatch(text):
        raise ValueError("must be a UUID as this server issued it")
    return text


_EXPECTED_INSTANT = "must be an ISO 8601 instant with offset, like 2026-08-01T12:00:00Z"
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", re.ASCII)

Content = Annotated[str, AfterValidator(_not_blank), sized(bytes_max=CONTENT_BYTES_MAX)]
Tag = Annotated[str, AfterValidator(_not_blank), sized(bytes_max=TAG_BYTES_MAX)]
Tags = Annotated[list[Tag], Field(max_length=TAGS_MAX)]
Note = Annotated[str, sized(bytes_max=NOTE_BYTES_MAX)]
Name = Annotated[str, AfterValidator(_not_blank), sized(bytes_max=NAME_BYTES_MAX)]
Whole = BeforeValidator(_whole)
Importance = Annotated[int, Field(ge=0, le=100), Whole]
MemoryId = Annotated[str, AfterValidator(_uuid)]
Instant = Annotated[str, AfterValidator(_instant)]
InstantOrNever = Annotated[str, AfterValidator(_instant_or_never)]
RequestKey = Annotated[str, Field(min_length=8, max_length=128)]


def ids(texts: list[str]) -> tuple[UUID, ...]:
    """The ids, each once, in the order given."""
    return tuple(dict.fromkeys(UUID(text) for text in texts))


def unique(texts: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(texts))


def _named(model: type[Arguments], refused: ValidationError) -> InvalidArgument:
    error = refused.errors(include_url=False)[0]
    name = str(error["loc"][0]) if error["loc"] else "arguments"
    place = name + "".join(f"[{part}]" for part in error["loc"][1:] if isinstance(part, int))
    return InvalidArgument(place, _problem(model, name, error), next=_NEXT)


def _problem(model: type[Arguments], name: str, error: Mapping[str, Any]) -> str:
    if error["type"] == "missing":
        return "is required"
    if error["type"] == "value_error":
        return str(error["ctx"]["error"])
    schema = schemas.flat(model)["properties"][name]
    if len(error["loc"]) > 1:
        schema = schema.get("items", schema)
    return f"expected {_expected(schema)}, got {_kind(error['input'])}"


def _expected(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    describe = _DESCRIPTIONS.get(schema["type"])
    return describe(schema) if describe else str(schema["type"])


def _integer(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None:
        return f"an integer from {low} to {high}"
    return "an integer" if low is None else f"an integer, {low} or more"


def _string(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minLength"), schema.get("maxLength")
    return "a string" if high is None else f"a string of {low or 0} to {high} characters"


def _array(schema: Mapping[str, Any]) -> str:
    return f"an array of at most {schema.get('maxItems')} items, each {_expected(schema['items'])}"


_DESCRIPTIONS: dict[str, Callable[[Mapping[str, Any]], str]] = {
    "integer": _integer,
    "string": _string,
    "array": _array,
    "boolean": lambda _: "true or false",
}


def _kind(value: object) -> str:  # noqa: PLR0911
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int():
            return f"the integer {value}" if abs(value) < 10**9 else "an integer"
        case float():
            return "a number"
        case str():
            return f"a string of {len(value)} characters"
        case list():
            return f"an array of {len(value)} items"
        case _:
            return "an object"


def _check_text(place: str, value: object, *, depth: int) -> None:
    if depth > _DEPTH_MAX:
        raise InvalidArgument(place, "is nested too deeply", next=_NEXT)
    if isinstance(value, str):
        _check_characters(place, value)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_text(f"{place}[{index}]", item, depth=depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_text(f"{place}.{_printable(key)}", item, depth=depth + 1)


def _check_characters(place: str, text: str) -> None:
    if "\0" in text:
        raise InvalidArgument(place, "contains a NUL character", next="Send the text without it.")
    if not text.isascii() and SURROGATE.search(text):
        raise InvalidArgument(
            place,
            "contains a lone surrogate or bytes that are not UTF-8",
            next="Send the text as valid Unicode.",
        )


def _printable(name: str) -> str:
    return ascii(name[:_ARGUMENT_NAME_MAX])[1:-1]
