"""Taking memhub out of a client's files gives them back as they were, and the backup of before memhub stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from ops.connecting import connecting, files
from ops.connecting.clients import CLIENTS, Client
from ops.connecting.connecting import Wish
from ops.connecting.places import Places
from ops.connecting.servers import Local

JSON = [
    "",
    "\n",
    "{}",
    "{ }\n",
    "{\n}\n\n",
    '{"a": 1}',
    '{"servers": {}, "mcpServers": {}, "hooks": {}}\n',
    '{"mcpServers": {"other": {"command": "x"}}, "servers": {"other": {}}}',
    '{\n  "mcpServers": {"other": {"command": "x"}},\n  "servers": { "other": {} }\n}\n',
    '{\r\n    "mcpServers": {\r\n        "a": "b" // c\r\n    }\r\n}\r\n',
    '{\n\t"servers": {\n\t\t// nothing yet\n\t},\n}',
    '// mine\n{\n  "a": [1, 2], /* z */\n}\n',
    "// nothing but this",
    '\ufeff{"a": 1}',
]
TOML = [
    "",
    "\n",
    "# mine",
    'model = "x"',
    'model = "x"\n',
    'model = "x"\n\n\n',
    "a = 1\r\n\r\n[b] # c\r\nc = 1\r\n",
    'a = 1\r\n[b]\r\nc = """\r\n\r\nx"""',
    '[mcp_servers.other]\ncommand = "x"\n\n# of profiles\n[profiles.fast]\nmodel = "mini"\n',
    "[mcp_servers]\n",
    'mcp_servers = { a = { command = "x" } }',
    'mcp_servers.a.command = "x"\n',
    "[[list]]\na = 1\n\n  [list.b]\n  c = 2",
]
MARKDOWN = ["", "\n", "# Mine\n\nTest.\n\n\n", "# Mine", "# Mine\r\n\r\nTest.\r\n", "\n\n# Mine\n"]
ODD = {".json": JSON, ".toml": TOML, ".md": MARKDOWN}

CASES = [
    (client, project)
    for client in CLIENTS.values()
    for project in (False, True)
    if not project or client.project_file is not None
]
NAMES = [f"{client.name}{'-project' if project else ''}" for client, project in CASES]


@pytest.fixture
def places(tmp_path: Path) -> Places:
    (tmp_path / "project").mkdir()
    return Places(home=tmp_path / "home", project=tmp_path / "project")


def wish(client: Client, *, project: bool, program: str = "/opt/memhub-server") -> Wish:
    return Wish(
        client=client,
        server=Local(Path(program), {"MEMHUB_TENANT": "acme"}),
        project=project,
        hook_program=Path("/opt/memhub") if client.hooks else None,
        rules=True,
    )


def connected(client: Client, places: Places, *, project: bool) -> list[Path]:
    return [change.path for change in connecting.connect(wish(client, project=project), places)]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("client", "project"), CASES, ids=NAMES)
def test_files_that_were_not_there_are_gone_again(client: Client, project: bool, places: Places) -> None:
    # Fails without `is_bare`.
    connected(client, places, project=project)
    connecting.disconnect(client, places, project=project)
    assert contents(places.home) | contents(places.project) == {}
    # Fails without `remove_made` and `remove_empty` in `disconnect`.
    assert not places.home.exists()
    assert list(places.project.iterdir()) == []


@pytest.mark.parametrize("client", CLIENTS.values(), ids=list(CLIENTS))
def test_folders_of_others_stay_though_they_are_empty(client: Client, places: Places) -> None:
    # Fails when `remove_made` asks for no `MADE` before `rmdir`.
    paths = connected(client, places, project=False)
    connecting.disconnect(client, places, project=False)
    folders = {path.parent for path in paths}
    for folder in folders:
        folder.mkdir(parents=True, exist_ok=True)

    connected(client, places, project=False)
    connecting.disconnect(client, places, project=False)

    assert all(folder.is_dir() for folder in folders)
    assert contents(places.home) | contents(places.project) == {}


@pytest.mark.parametrize("client", [client for client, project in CASES if project], ids=lambda client: client.name)
def test_a_repository_gets_no_file_but_those_of_the_client(client: Client, places: Places) -> None:
    # Fails when `_applied` marks the folders of a project too.
    paths = connected(client, places, project=True)
    assert sorted(places.project / name for name in contents(places.project)) == sorted(paths)
    used = places.project / ".github" / "workflows"
    used.mkdir(parents=True)

    connecting.disconnect(client, places, project=True)

    assert [str(path.relative_to(places.project)) for path in places.project.rglob("*")] == [
        ".github",
        ".github/workflows",
    ]


def test_a_folder_that_others_use_meanwhile_stays_and_is_theirs(places: Places) -> None:
    cursor = CLIENTS["cursor"]
    connected(cursor, places, project=False)
    other = places.home / ".cursor" / "other.json"
    other.write_text("{}")

    connecting.disconnect(cursor, places, project=False)
    assert list(other.parent.iterdir()) == [other]

    other.unlink()
    connected(cursor, places, project=False)
    connecting.disconnect(cursor, places, project=False)
    assert list(other.parent.iterdir()) == []


def test_a_folder_made_for_one_client_goes_with_the_last_that_is_in_it(places: Places) -> None:
    # Fails without the look for another `MADE` in `remove_made`: the folder of both would be nobody's.
    places.home.mkdir()
    desktop, vscode = CLIENTS["claude-desktop"], CLIENTS["vscode"]
    for client in (desktop, vscode):
        connected(client, places, project=False)
    for client in (desktop, vscode):
        connecting.disconnect(client, places, project=False)
    assert list(places.home.iterdir()) == []


@pytest.mark.parametrize(("client", "project"), CASES, ids=NAMES)
@pytest.mark.parametrize("odd", range(max(map(len, ODD.values()))))
def test_files_of_any_ending_come_back_byte_by_byte(client: Client, project: bool, odd: int, places: Places) -> None:
    # Fails without `_gives` of the backup.
    paths = connected(client, places, project=project)
    kinds = {path: ODD.get(path.suffix, []) for path in paths}
    mine = {str(path): kind[odd % len(kind)].encode() for path, kind in kinds.items() if kind and _joins(path)}
    for path in paths:
        path.unlink()
    for name, content in mine.items():
        Path(name).write_bytes(content)

    connected(client, places, project=project)
    assert all(b"memhub" in Path(name).read_bytes() for name in mine)
    connecting.disconnect(client, places, project=project)

    kept = {f"{name}{files.BACKUP_SUFFIX}": content for name, content in mine.items()}
    assert contents(places.home) | contents(places.project) == mine | kept

    # Fails without `base` in `connect`: what replaced an entry on one line left a blank behind.
    for program in ("/opt/memhub-server", "/srv/memhub-server", "/usr/bin/memhub-server"):
        connecting.connect(wish(client, project=project, program=program), places)
    connecting.disconnect(client, places, project=project)
    assert contents(places.home) | contents(places.project) == mine | kept


def _joins(path: Path) -> bool:
    """Not a file of rules that is ours as a whole."""
    return path.name not in {"SKILL.md", "memhub.instructions.md"}


@pytest.mark.parametrize(("client", "project"), CASES, ids=NAMES)
def test_the_backup_of_before_memhub_outlives_another_connect_and_remove(
    client: Client, project: bool, places: Places
) -> None:
    # Fails without `is_ours` in `Part.change`.
    path = connecting.config_file(client, places, project=project)
    path.parent.mkdir(parents=True, exist_ok=True)
    mine = "# mine\n" if path.suffix == ".toml" else "// mine\n{}\n"
    path.write_text(mine)

    for program in ("/opt/memhub-server", "/srv/memhub-server"):
        connecting.connect(wish(client, project=project, program=program), places)
        assert files.backup_of(path).read_text() == mine
    # What else was changed meanwhile stays.
    path.write_text(path.read_text().replace("mine", "mine too"))
    connecting.disconnect(client, places, project=project)

    assert files.backup_of(path).read_text() == mine
    assert path.read_text().replace("mine too", "mine").split() != []
    assert "memhub" not in path.read_text()
    assert "mine too" in path.read_text()


@pytest.mark.parametrize("mine", ["a = 1\n", "a = 1\n\n\n", "a = 1\r\n", '[b]\nc = 1\n\n# of d\n[d]\ne = "f"\n'])
def test_codex_keeps_every_other_byte_when_the_file_was_changed_meanwhile(mine: str, places: Places) -> None:
    # Fails without `_cut`: tomlkit leaves an empty line.
    codex = CLIENTS["codex"]
    path = connecting.config_file(codex, places, project=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(mine.encode())
    connected(codex, places, project=False)
    later = b"\n[later]\nx = 1\n"
    path.write_bytes(path.read_bytes() + later)

    connecting.disconnect(codex, places, project=False)

    assert path.read_bytes() == mine.encode() + later


def test_a_file_that_memhub_made_goes_also_when_its_client_wrote_it_anew(places: Places) -> None:
    # Fails without `is_bare`.
    cursor = CLIENTS["cursor"]
    [path, *_] = connected(cursor, places, project=True)
    path.write_text(path.read_text().replace("  ", "\t"))

    connecting.disconnect(cursor, places, project=True)

    assert not path.exists()


def test_removing_what_was_never_connected_changes_nothing(places: Places) -> None:
    cursor = CLIENTS["cursor"]
    path = connecting.config_file(cursor, places, project=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("")

    assert not any(change.done for change in connecting.disconnect(cursor, places, project=False))
    assert contents(places.home) == {str(path): b""}
