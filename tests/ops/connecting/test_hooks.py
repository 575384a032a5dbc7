import json
from pathlib import Path

import pytest

from ops.connecting import hooks
from ops.connecting.errors import Malformed

PROGRAM = Path("/opt/my tools/memhub")
OTHER = {"matcher": "startup", "hooks": [{"type": "command", "command": "echo hello"}]}


def _commands(text: str) -> list[str]:
    return [hook["command"] for group in json.loads(text)["hooks"]["SessionStart"] for hook in group["hooks"]]


def test_the_hook_is_set_up_once_beside_the_others() -> None:
    settings = json.dumps({"model": "opus", "hooks": {"SessionStart": [OTHER], "Stop": []}})
    installed = hooks.installed(settings, PROGRAM, {"MEMHUB_DATA_DIR": "/data of mine"})
    assert _commands(installed) == [
        "echo hello",
        "MEMHUB_DATA_DIR='/data of mine' '/opt/my tools/memhub' hook session-start",
    ]
    assert hooks.installed(installed, PROGRAM, {"MEMHUB_DATA_DIR": "/data of mine"}) == installed
    assert json.loads(hooks.removed(installed) or "") == json.loads(settings)


def test_a_hook_of_an_older_installation_is_replaced() -> None:
    installed = hooks.installed(hooks.installed("", Path("/old/memhub"), {}), PROGRAM, {})
    assert _commands(installed) == ["'/opt/my tools/memhub' hook session-start"]


def test_a_group_shared_with_another_hook_keeps_that_one() -> None:
    ours = {"type": "command", "command": "/opt/memhub hook session-start"}
    shared = {"hooks": {"SessionStart": [{"matcher": "startup", "hooks": [ours, *OTHER["hooks"]]}]}}
    assert _commands(hooks.removed(json.dumps(shared)) or "") == ["echo hello"]


def test_settings_without_our_hook_are_left_as_they_are() -> None:
    settings = json.dumps({"hooks": {"SessionStart": [OTHER]}}) + "\n"
    assert hooks.removed(settings) == settings
    assert hooks.removed("") is None


def test_settings_of_another_form_are_refused() -> None:
    with pytest.raises(Malformed, match="expected to be a list"):
        hooks.installed('{"hooks": {"SessionStart": {}}}', PROGRAM, {})
