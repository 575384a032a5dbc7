"""What the documentation names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main

from ops.cli import app
from ops.connecting.clients import CLIENTS
from server import prompts, tools
from shared.errors import MemhubError, RateLimited
from shared.settings import Settings
from tests.ops.conftest import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
VARIABLES = {f"MEMHUB_{name.upper()}" for name in Settings.model_fields}
# Of connect's example and of the containers, not of memhub.
NOT_OURS = {"MEMHUB_TOKEN", "MEMHUB_OWNER_PASSWORD", "MEMHUB_APP_PASSWORD", "MEMHUB_TEST_POSTGRES"}


def test_the_settings_of_the_readme_are_all_that_there_are() -> None:
    named = set(re.findall(r"`(MEMHUB_[A-Z_]+)`", (ROOT / "README.md").read_text()))
    assert named == VARIABLES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_setting_link_and_command_of_a_page_is_there(page: Path) -> None:
    text = page.read_text()
    assert set(re.findall(r"\bMEMHUB_[A-Z_]*[A-Z]\b", text)) <= VARIABLES | NOT_OURS
    for target in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / target).exists(), target
    commands = typer.main.get_command(app)
    for words in re.findall(r"`memhub ([a-z]+)", text):
        assert words in commands.commands, words  # type: ignore[attr-defined]


def test_the_page_of_clients_names_every_client() -> None:
    text = (ROOT / "docs" / "clients.md").read_text()
    for name in CLIENTS:
        assert f"`{name}`" in text


def test_the_page_of_errors_names_every_code_and_which_are_retryable() -> None:
    text = (ROOT / "docs" / "errors.md").read_text()
    # What commands alone raise has no code that a client sees.
    told = [error for error in MemhubError.__subclasses__() if error.__module__ == "shared.errors"]
    assert set(re.findall(r"`([A-Z]+(?:_[A-Z]+)*)`", text)) == {error.code for error in told} | {"INTERNAL_ERROR"}
    retryable = {error.code for error in told if error.retryable}
    rows = re.findall(r"^\| `([A-Z_]+)` \| (yes|no) \|", text, re.MULTILINE)
    assert {code for code, again in rows if again == "yes"} == retryable - {RateLimited.code}


def test_the_page_of_clients_names_every_tool_and_prompt() -> None:
    named = set(re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "clients.md").read_text(), re.MULTILINE))
    assert named >= {tool.name for tool in tools.ALL} | set(prompts.BY_NAME)
