from pathlib import Path

import pytest

from ops.connecting.clients import CLIENTS
from ops.connecting.errors import Malformed
from ops.connecting.places import Places
from ops.connecting.rules import BEGIN, END, Rules

BLOCK = Rules.of_block(lambda places: places.home / "AGENTS.md")
SKILL = Rules.of_skill(lambda places: places.home / "SKILL.md")
MINE = "# My rules\n\nAlways run the tests.\n"
# Windsurf cuts its global rules there.
WINDSURF_CHARACTERS_MAX = 6_000


def test_a_block_joins_what_is_there_and_leaves_without_trace() -> None:
    installed = BLOCK.installed(MINE)
    assert installed.startswith(MINE)
    assert "memory_remember" in installed
    assert BLOCK.installed(installed) == installed
    assert BLOCK.removed(installed) == MINE
    assert BLOCK.removed(BLOCK.installed("")) is None


def test_a_block_is_replaced_where_it_stands() -> None:
    old = f"before\n\n{BEGIN}\nan older text\n{END}\n\nafter\n"
    installed = BLOCK.installed(old)
    assert "an older text" not in installed
    assert installed.startswith("before\n\n")
    assert installed.endswith("\n\nafter\n")
    assert BLOCK.removed(installed) == "before\nafter\n"


@pytest.mark.parametrize("text", [BEGIN, END, f"{END}\n{BEGIN}", f"{BEGIN}\n{END}\n{BEGIN}\n{END}"])
def test_marks_that_do_not_match_are_refused(text: str) -> None:
    for edit in (BLOCK.installed, BLOCK.removed):
        with pytest.raises(Malformed, match="do not match"):
            edit(text)


def test_a_skill_of_somebody_else_is_not_overwritten_and_not_removed() -> None:
    with pytest.raises(Malformed, match="memhub did not write"):
        SKILL.installed(MINE)
    assert SKILL.removed(MINE) == MINE


def test_a_skill_of_ours_is_replaced_and_removed_whole() -> None:
    installed = SKILL.installed("")
    assert installed.startswith("---\nname: memhub\ndescription: Shared memory")
    assert SKILL.installed(installed) == installed
    assert SKILL.removed(installed) is None


@pytest.mark.parametrize("name", CLIENTS)
def test_the_rules_name_every_tool_that_they_lean_on_and_fit_the_client(name: str) -> None:
    places = Places(home=Path("/home"), project=Path("/project"))
    for rules in (CLIENTS[name].user_rules, CLIENTS[name].project_rules):
        if rules is not None:
            text = rules.installed("")
            assert rules.path(places).is_absolute()
            assert len(text) < WINDSURF_CHARACTERS_MAX
            for tool in ("memory_search", "memory_remember", "memory_revise", "memory_forget", "memory_history"):
                assert tool in text
            assert "supersedes=[id]" in text
