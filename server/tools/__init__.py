"""The tools of memhub, one a file, in the order in which clients see them."""

from __future__ import annotations

from server.tools import (
    memory_conflicts,
    memory_context,
    memory_forget,
    memory_history,
    memory_remember,
    memory_revise,
    memory_search,
    memory_stats,
    project_use,
)
from server.tools.tool import Tool

ALL: tuple[Tool, ...] = (
    memory_search.TOOL,
    memory_context.TOOL,
    memory_remember.TOOL,
    memory_revise.TOOL,
    memory_forget.TOOL,
    memory_history.TOOL,
    memory_stats.TOOL,
    memory_conflicts.TOOL,
    project_use.TOOL,
)
BY_NAME = {tool.name: tool for tool in ALL}
