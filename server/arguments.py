"""Tool arguments: checked by shared.limits, published as flat schemas, refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationError
from pydantic_core import CoreSchema, core_schema

from shared import limits
from shared.errors import InvalidArgument

_NAME_CHARACTERS_MAX = 64

ModelT = TypeVar("ModelT", bound="Arguments")


class Arguments(BaseModel):
    """The base of all argument models: every field is a Checked one, nothing unknown is taken."""

    model_config = ConfigDict(extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Checked:
    """What the published schema says of an argument, and the check that holds it to all of its bounds."""

    check: Callable[[object], Any]
    schema: Mapping[str, Any]

    def __get_pydantic_core_schema__(self, _source: object, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(self, _core: CoreSchema, _handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return dict(self.schema)


def parse(model: type[ModelT], given: Mapping[str, Any]) -> ModelT:
    """The arguments as their model. A null stands for an argument left out.

    Raises InvalidArgument naming the first argument that is unknown, missing, malformed or out of its bound.
    """
    for name in given:
        if name not in model.model_fields:
            raise InvalidArgument(_printable(name), "unknown argument", next=f"Known: {', '.join(model.model_fields)}.")
    try:
        return model.model_validate({name: value for name, value in given.items() if value is not None})
    except ValidationError as refused:
        missing = str(refused.errors(include_url=False, include_input=False)[0]["loc"][0])
        raise InvalidArgument(missing, "is required", next=f"Call again with {missing}.") from None


def string(description: str | None = None) -> dict[str, Any]:
    return _described({"type": "string"}, description)


def integer(least: int, most: int | None = None, description: str | None = None) -> dict[str, Any]:
    bounds = {"minimum": least} if most is None else {"minimum": least, "maximum": most}
    return _described({"type": "integer", **bounds}, description)


def boolean(description: str | None = None) -> dict[str, Any]:
    return _described({"type": "boolean"}, description)


def choices(*values: str, description: str | None = None) -> dict[str, Any]:
    return _described({"type": "string", "enum": list(values)}, description)


def array(items: Mapping[str, Any], *, items_max: int | None = None, description: str | None = None) -> dict[str, Any]:
    bounds = {} if items_max is None else {"maxItems": items_max}
    return _described({"type": "array", "items": dict(items), **bounds}, description)


def flag(name: str) -> Callable[[object], bool]:
    return lambda value: limits.flag(name, value, default=False)


def _described(schema: dict[str, Any], description: str | None) -> dict[str, Any]:
    return schema if description is None else {**schema, "description": description}


def _printable(name: str) -> str:
    return ascii(name[:_NAME_CHARACTERS_MAX])[1:-1]
