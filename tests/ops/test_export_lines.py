"""Lines of an export, each read alone: what no server of memhub would have written is refused by its line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import orjson
import pytest

from ops.moving.formats import ours
from ops.moving.lines import Line
from ops.moving.lives import Life, Problem, Project

AT = "2026-01-01T00:00:00+00:00"
LATER = "2026-02-01T00:00:00+00:00"
KEY = "AKIAIOSFODNN7EXAMPL2"
ID = "12345678-1234-4234-8234-123456789012"
OTHER = "22345678-1234-4234-8234-123456789012"

Change = Callable[[dict[str, Any]], None]


def memory() -> dict[str, Any]:
    said = {
        "revision": 1, "type": "FACT", "category": None, "tags": ["a b", "ü"], "importance": 5, "expires_at": None,
        "author_client": "cursor", "author_conversation": None, "author_kind": "agent", "source": " as it is ",
    }  # fmt: skip
    event = {
        "event": "remembered", "revision": 1, "scope_key": "", "client": "cursor", "request_id": "0123456789abcdef",
        "details": {"supersedes": [OTHER], "reason": "it moved"}, "at": AT,
    }  # fmt: skip
    revision = said | {
        "origin": "remember", "content": "Port 80.", "reason": None, "valid_from": AT, "valid_to": None,
        "purged_at": None,
    }  # fmt: skip
    return {
        "kind": "memory", "id": ID, "project": OTHER, "conversation": None, "status": "ACTIVE", "created_at": AT,
        "retired_at": None, "retired_by": None, "superseded_by": None, "revisions": [revision],
        "attestations": [said | {"created_at": AT}], "events": [event],
    }  # fmt: skip


def project() -> dict[str, Any]:
    event = {"event": "alias_added", "client": "cursor", "request_id": None, "details": {"kind": "x"}, "at": AT}
    return {
        "kind": "project", "id": OTHER, "tenant": "acme", "slug": "billing", "display_name": "Billing",
        "created_at": AT,
        "aliases": [
            {"kind": "git_remote", "value": "example.org:8443/billing", "created_at": AT},
            {"kind": "workspace_path", "value": "c:/src/billing", "created_at": AT},
        ],
        "events": [event],
    }  # fmt: skip


def read(value: dict[str, Any], *, accept_sensitive: bool = False) -> object:
    reader = ours.Reader(target=None, accept_sensitive=accept_sensitive)
    return reader.item(Line(1, 0, orjson.dumps(value)))


def first(name: str, **values: Any) -> Change:
    def change(memory: dict[str, Any]) -> None:
        memory[name][0] |= values

    return change


def itself(**values: Any) -> Change:
    return lambda memory: memory.update(values)


def deep(levels: int) -> Any:
    return "x" if levels == 0 else [deep(levels - 1)]


def test_a_line_as_a_server_wrote_it_is_read() -> None:
    assert isinstance(read(memory()), Life)
    found = read(project())
    assert isinstance(found, Project)
    assert (found.left, len(found.aliases), found.display_name) == ((), 2, "Billing")


ODD: dict[str, Change] = {
    "blank content": first("revisions", content=" \n"),
    "control character of an author": first("revisions", author_client="a\x1b[31mred"),
    "author of two lines": first("revisions", author_client="a\nb"),
    "long author": first("revisions", author_client="a" * 129),
    "long tag": first("revisions", tags=["x" * 65]),
    "tag of two lines": first("revisions", tags=["a\nb"]),
    "tag twice": first("revisions", tags=["a", "a"]),
    "category of two lines": first("revisions", category="a\nb"),
    "blank source": first("revisions", source=" "),
    "long source": first("revisions", source="x" * 1_001),
    "long reason": first("revisions", reason="x" * 1_001),
    "conversation of its author": first("revisions", author_conversation="a b"),
    "author of an attestation": first("attestations", author_client="a\nb"),
    "tag of an attestation": first("attestations", tags=["a\nb"]),
    "source of an attestation": first("attestations", source="x" * 1_001),
    "conversation of an attestation": first("attestations", author_conversation="x" * 513),
    "event of another conversation": first("events", scope_key="other"),
    "long client": first("events", client="x" * 129),
    "client of two lines": first("events", client="a\nb"),
    "long request id": first("events", request_id="x" * 129),
    "details a text": first("events", details="acknowledged_sensitive"),
    "details a list": first("events", details=["acknowledged_sensitive"]),
    "details null": first("events", details=None),
    "large details": first("events", details={"reason": "x" * 16_384}),
    "deep details": first("events", details={"told": deep(5)}),
    "details of NUL": first("events", details={"reason": "a\0b"}),
    "details of another name": first("events", details={"AKIA": 1}),
    "supersedes no list": first("events", details={"supersedes": "words that a purge would leave"}),
    "supersedes no ids": first("events", details={"supersedes": ["words that a purge would leave"]}),
    "successor no id": first("events", details={"superseded_by": "words that a purge would leave"}),
    "expiry no time": first("events", details={"expires_at": "words that a purge would leave"}),
    "revisions no number": first("events", details={"revisions": "words that a purge would leave"}),
    "redacted no flag": first("events", details={"redacted": "words that a purge would leave"}),
    "end before its retirement": lambda memory: (
        itself(status="DELETED", retired_at=LATER, retired_by="client")(memory),
        first("revisions", valid_to=AT)(memory),
    )[0],
    "end of an active memory": first("revisions", valid_to=LATER),
    "purged and active": first("revisions", content=None, purged_at=LATER),
    "no revisions": itself(revisions=None),
    "empty revisions": itself(revisions=[], attestations=[], events=[]),
    "events an object": itself(events={}),
}


@pytest.mark.parametrize("name", ODD)
def test_what_no_server_would_have_written_is_refused(name: str) -> None:
    # Fails, each, without its check in `fields` or in `_require_order` of `ours`.
    odd = memory()
    ODD[name](odd)
    found = read(odd)
    assert isinstance(found, Problem)
    assert found.kind == "bad"


@pytest.mark.parametrize(
    ("list", "field", "value"),
    [
        *(("revisions", *said) for said in (("reason", f"for {KEY}"), ("source", KEY), ("tags", [KEY]))),
        *(("attestations", *said) for said in (("author_client", KEY), ("source", KEY), ("tags", [KEY]))),
        ("attestations", "category", KEY),
        ("events", "client", KEY),
        ("events", "details", {"reason": f"for {KEY}"}),
        ("events", "details", {"told": [{"by": KEY}]}),
    ],
)
def test_a_credential_is_left_out_wherever_it_stands(list: str, field: str, value: object) -> None:
    # Fails, each, without its refuse_labels in `ours` or `details` of `fields`.
    odd = memory()
    odd[list][0][field] = value
    found = read(odd)
    assert isinstance(found, Problem)
    assert (found.kind, KEY in found.reason) == ("sensitive", False)
    assert isinstance(read(odd, accept_sensitive=True), Life)


@pytest.mark.parametrize(
    ("details", "comes"),
    [
        ({"acknowledged_sensitive": "AWS Access Key"}, True),
        ({"acknowledged_sensitive": True}, False),
        ({"reason": "acknowledged_sensitive"}, False),
        ("acknowledged_sensitive", False),
        (["acknowledged_sensitive"], False),
    ],
)
def test_only_what_was_acknowledged_comes_unscreened(details: object, comes: bool) -> None:
    # Fails without isinstance in `_acknowledged`: a text that holds the word switched screening off.
    odd = memory()
    odd["revisions"][0]["content"] = f"The key is {KEY}."
    odd["events"][0]["details"] = details
    assert isinstance(read(odd), Life if comes else Problem)


@pytest.mark.parametrize(
    ("change", "kind", "left"),
    [
        (itself(display_name="a\x1b[2Jb"), "bad", (None, 2, 1)),
        (itself(display_name=f"key {KEY}"), "sensitive", (None, 2, 1)),
        (first("aliases", value="https://"), "bad", ("Billing", 1, 1)),
        (first("aliases", value="https://x.org/a\0b"), "bad", ("Billing", 1, 1)),
        (first("aliases", kind="workspace_path", value="not/absolute"), "bad", ("Billing", 1, 1)),
        (first("aliases", kind="evil"), "bad", ("Billing", 1, 1)),
        (first("aliases", kind="workspace_path", value=f"/home/{KEY}"), "sensitive", ("Billing", 1, 1)),
        (first("events", details={"name": KEY}), "sensitive", ("Billing", 2, 0)),
        (first("events", details=[]), "bad", ("Billing", 2, 0)),
    ],
)
def test_what_is_odd_around_a_project_is_left_out_and_the_project_comes(
    change: Change, kind: str, left: tuple[str | None, int, int]
) -> None:
    # Fails, each, without its check or refuse_labels in `_display_name`, `_alias` or `fields.details`.
    odd = project()
    change(odd)
    found = read(odd)
    assert isinstance(found, Project)
    assert [problem.kind for problem in found.left] == [kind]
    assert (found.display_name, len(found.aliases), len(found.events)) == left


@pytest.mark.parametrize("change", [{"tenant": "a b"}, {"slug": "B"}, {"slug": ID}, {"aliases": {}}, {"events": None}])
def test_a_project_that_nobody_could_make_is_refused_with_its_memories(change: dict[str, Any]) -> None:
    # Fails without limits in `_project`, or without `_keep_refused`.
    reader = ours.Reader(target=None, accept_sensitive=False)
    assert isinstance(reader.item(Line(1, 0, orjson.dumps(project() | change))), Problem)
    refused = reader.item(Line(2, 0, orjson.dumps(memory())))
    assert isinstance(refused, Problem)
    assert refused.reason == "its project was refused"
    moved = ours.Reader(target=UUID(ID), accept_sensitive=False)
    moved.item(Line(1, 0, orjson.dumps(project() | change)))
    assert isinstance(moved.item(Line(2, 0, orjson.dumps(memory()))), Life)
