import tomllib

import pytest

from ops.connecting import toml
from ops.connecting.errors import Malformed

ENTRY = {"command": "/opt/memhub-server", "args": [], "env": {"MEMHUB_TENANT": "acme"}}
KEY = ("mcp_servers", "memhub")
MINE = """\
# mine
model = "o4"   # the good one

[mcp_servers.other] # a server
command = "x"

[profiles.fast]
model = "mini"
"""


@pytest.mark.parametrize("text", ["", MINE, "[mcp_servers]\n", 'mcp_servers = { a = { command = "x" } }\n'])
def test_what_was_put_reads_back_and_dropping_it_restores_what_was_there(text: str) -> None:
    put = toml.put(text, KEY, ENTRY)
    assert tomllib.loads(put)["mcp_servers"]["memhub"] == ENTRY
    assert toml.put(put, KEY, ENTRY) == put
    left = tomllib.loads(toml.drop(put, KEY))
    assert left.pop("mcp_servers", {}) == tomllib.loads(text).get("mcp_servers", {})


def test_comments_and_order_stay() -> None:
    put = toml.put(MINE, KEY, ENTRY)
    lines = [line for line in put.splitlines() if line]
    assert [line for line in MINE.splitlines() if line] == [line for line in lines if line in MINE.splitlines()]


def test_a_changed_entry_is_replaced() -> None:
    put = toml.put(toml.put(MINE, KEY, {"url": "http://old"}), KEY, ENTRY)
    assert tomllib.loads(put)["mcp_servers"]["memhub"] == ENTRY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a = 1\n",
        "[mcp_servers.memhub]\nurl = 'x' # y\n\n[z]\na = 1\n",
        "mcp_servers.a.url = 'x'\n",
        "a = {b = 1}\n",
    ],
)
def test_a_file_of_crlf_keeps_it_in_every_line(text: str) -> None:
    # Fails without `_LONE` in `_checked`.
    mine = (text or "# mine\n").replace("\n", "\r\n")
    put = toml.put(mine, KEY, ENTRY)
    assert tomllib.loads(put)["mcp_servers"]["memhub"] == ENTRY
    for written in (put, toml.put(put, KEY, {"url": "y", "http_headers": {"a": "b"}}), toml.drop(put, KEY)):
        assert "\n" not in written.replace("\r\n", "")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a = \n", "line 1"),
        ("a = 1\na = 2\n", "line 2"),
        ('mcp_servers = "x"\n', "mcp_servers is expected to be a table"),
    ],
)
def test_a_text_that_is_no_toml_or_has_no_room_is_refused(text: str, problem: str) -> None:
    with pytest.raises(Malformed, match=problem):
        toml.put(text, KEY, ENTRY)
