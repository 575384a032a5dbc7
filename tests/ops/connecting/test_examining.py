"""What `memhub doctor` says of the clients of its user."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ops.connecting import connecting
from ops.connecting.clients import CLIENTS
from ops.connecting.examining import findings
from ops.connecting.places import Places
from ops.finding import Finding
from tests.ops.conftest import Installation
from tests.ops.connecting.conftest import Connect, config, entry, rewrite


def told() -> dict[str, Finding]:
    return {finding.name: finding for finding in findings(Places.here())}


@pytest.mark.parametrize("client", CLIENTS)
def test_a_program_that_is_gone_is_told_with_what_mends_it(client: str, connect: Connect, tmp_path: Path) -> None:
    # Fails when `_is_program` always holds.
    assert told() == {}
    connect(client)
    server = tmp_path / "bin" / "memhub-server"
    assert told() == {client: Finding(client, True, f"starts {server}")}
    rewrite(client, entry(client) | {"command": "/gone/memhub-server"})
    assert told() == {
        client: Finding(
            client, False, "starts /gone/memhub-server, which is no program here", f"memhub connect {client}"
        )
    }
    connect(client)
    assert told()[client].well


def test_a_program_of_the_user_that_is_gone_needs_local(connect: Connect) -> None:
    connect("cursor")
    rewrite("cursor", {"command": "/gone/wrapper"})
    assert told()["cursor"].mend == "memhub connect cursor --local"
    rewrite("cursor", {"command": "sh", "args": []})
    assert told()["cursor"].well


def test_a_program_that_cannot_be_looked_for_is_none(connect: Connect) -> None:
    # Fails with Path.is_file in `_is_program`, which raises for a name too long as for a folder that is closed.
    connect("cursor")
    rewrite("cursor", {"command": "/" + 300 * "a"})
    assert not told()["cursor"].well


def test_a_server_over_http_is_told_without_secrets(connect: Connect) -> None:
    connect("cursor", http="http://me:s3cret@h:3000/mcp?key=s3cret", token="s3cret")
    assert told() == {"cursor": Finding("cursor", True, "goes over HTTP to http://h:3000/mcp")}


def test_a_hook_whose_program_is_gone_is_told(connect: Connect, tmp_path: Path) -> None:
    connect("claude-code", with_hooks=True, memory_project="shop-app")
    assert told()["claude-code hook"] == Finding("claude-code hook", True, f"runs {tmp_path / 'bin' / 'memhub'}")
    (tmp_path / "bin" / "memhub").unlink()
    gone = told()["claude-code hook"]
    assert (gone.well, gone.mend) == (False, "memhub connect claude-code --with-hooks")


@pytest.mark.parametrize("content", ['{"mcpServers": {"memhub": ', "", '{"mcpServers": {"other": {}}}', "{ broken"])
def test_a_broken_file_is_told_where_memhub_is_in_it(content: str, connect: Connect) -> None:
    path = connecting.config_file(CLIENTS["cursor"], Places.here(), project=False)
    path.parent.mkdir()
    path.write_text(content)
    assert [finding.well for finding in findings(Places.here())] == ([False] if "memhub" in content else [])


def test_a_folder_in_the_place_of_a_file_is_told(connect: Connect) -> None:
    config("cursor").mkdir(parents=True)
    assert "Is a directory" in told()["cursor"].detail


def test_doctor_looks_at_the_clients_of_its_user(installation: Installation) -> None:
    # Fails without `of_clients` in ops/doctor.py.
    data = {"MEMHUB_DATA_DIR": str(installation.home / "data")}
    installation.run("connect", "cursor", environment=data)
    (installation.programs / "memhub-server").unlink()
    ran = installation.run("doctor", "--json", environment=data)
    [found] = [finding for finding in json.loads(ran.stdout) if finding["name"] == "cursor"]
    assert (ran.returncode, found["well"], found["mend"]) == (1, False, "memhub connect cursor")
