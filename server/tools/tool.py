"""What makes a tool: its models, its words to the calling model, its hints and its function."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import mcp_types
from pydantic import BaseModel

from server import schemas
from server.arguments import Arguments
from server.call import Call

ArgumentsT = TypeVar("ArgumentsT", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    description: str
    arguments: type[Arguments]
    result: type[BaseModel]
    hints: mcp_types.ToolAnnotations
    run: Callable[[Call, Any], Awaitable[BaseModel]]

    def published(self) -> mcp_types.Tool:
        return mcp_types.Tool(
            name=self.name,
            description=self.description,
            input_schema=schemas.of_arguments(self.arguments),
            output_schema=schemas.of_result(self.result),
            annotations=self.hints,
        )


def reads() -> mcp_types.ToolAnnotations:
    return mcp_types.ToolAnnotations(read_only_hint=True, open_world_hint=False)


def writes(*, destructive: bool, idempotent: bool) -> mcp_types.ToolAnnotations:
    return mcp_types.ToolAnnotations(
        read_only_hint=False,
        destructive_hint=destructive,
        idempotent_hint=idempotent,
        open_world_hint=False,
    )
