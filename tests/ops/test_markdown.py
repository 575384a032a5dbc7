"""Markdown: what becomes a memory, under which headings, and that no word of a file is lost or said of another."""

from __future__ import annotations

import re
from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ops.connecting.clients import CLIENTS
from ops.moving import importing
from ops.moving.entries import Entry
from ops.moving.formats import markdown
from ops.moving.lives import Place, Problem

NOTES = """---
title: x
---
# Project
Billing in Go.

<!-- not
this -->
## Rules

Always:

- run `make check`
  before a push
  - also on Fridays
- never rebase main

@docs/other.md

Setext
------
1. first
2. second

```sh
# no heading
make
```
"""


def said(text: str) -> tuple[list[str], list[str]]:
    """The contents, and what is told to be left out."""
    found = markdown.entries("a.md", text)
    notes = [entry.reason.removeprefix("left out: ") for entry in found if isinstance(entry, Problem)]
    return [str(entry.content) for entry in found if isinstance(entry, Entry)], notes


def test_markdown_becomes_a_memory_for_each_item_and_paragraph_under_its_headings() -> None:
    entries = markdown.entries("CLAUDE.md", NOTES)
    found = [(entry.content, str(entry.type), entry.place.told) for entry in entries if isinstance(entry, Entry)]

    assert found == [
        ("Project: Billing in Go.", "FACT", "CLAUDE.md line 5"),
        (
            "Project > Rules: Always: run `make check`\n  before a push\n  - also on Fridays",
            "CONSTRAINT",
            "CLAUDE.md line 13",
        ),
        ("Project > Rules: Always: never rebase main", "CONSTRAINT", "CLAUDE.md line 16"),
        ("Project > Setext: first", "FACT", "CLAUDE.md line 22"),
        ("Project > Setext: second", "FACT", "CLAUDE.md line 23"),
        ("Project > Setext: ```sh\n# no heading\nmake\n```", "FACT", "CLAUDE.md line 25"),
    ]


RULES = """\
# Rules
- [ ] write the release notes
- [x] rename the package
- never rebase main
  ```sh
  git merge
  ```
```sh
make check
```
- amounts are cents
| code | means |
|---|---|
| 17 | cents |

> Somebody said once
> that all must be blue.

![the plan](plan.png)

[![build](b.svg)](https://ci.example)
<img src="x.png">

unit | of
--- | ---
cents | money

As in this:
> quoted

Never push on Fridays:
```sh
date +%u
```
"""


def test_only_sentences_of_markdown_are_rules_and_what_stands_for_itself_is_its_own_memory() -> None:
    # Fails without `demands`, and without `_takes_fence` and the kinds in `_belongs`.
    found = [
        (str(entry.content).removeprefix("Rules: "), str(entry.type))
        for entry in markdown.entries("a.md", RULES)
        if isinstance(entry, Entry)
    ]

    assert found == [
        ("[ ] write the release notes", "FACT"),
        ("[x] rename the package", "FACT"),
        ("never rebase main\n  ```sh\n  git merge\n  ```", "CONSTRAINT"),
        ("```sh\nmake check\n```", "FACT"),
        ("amounts are cents", "CONSTRAINT"),
        ("| code | means |\n|---|---|\n| 17 | cents |", "FACT"),
        ("> Somebody said once\n> that all must be blue.", "FACT"),
        ("![the plan](plan.png)", "FACT"),
        ('[![build](b.svg)](https://ci.example)\n<img src="x.png">', "FACT"),
        ("unit | of\n--- | ---\ncents | money", "FACT"),
        ("As in this:\n> quoted", "FACT"),
        ("Never push on Fridays:\n```sh\ndate +%u\n```", "CONSTRAINT"),
    ]


def test_the_rules_that_connect_wrote_are_no_memories_of_the_project() -> None:
    # Without _OURS in `comments` they come as facts and constraints of the project.
    own = "# Ours\n\n- Amounts are cents.\n"
    with_rules = CLIENTS["codex"].project_rules
    assert with_rules is not None
    text = with_rules.installed(own) + "\n- Times are UTC.\n"
    assert said(text) == (
        ["Ours: Amounts are cents.", "Ours: Times are UTC."],
        ["the rules that memhub connect wrote (line 5)"],
    )


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        (
            "# G\n## Never\nNever do:\n\n- push\n\n## Commands\n- test",
            ["G > Never: Never do: push", "G > Commands: test"],
        ),
        ("Never do:\n# A\n- test", ["Never do:", "A: test"]),
        ("# A\nNever do:\n# A\n- test", ["A: Never do:", "A: test"]),
        ("Never do:\n\n---\n\n- test", ["Never do:", "test"]),
        ("Never do:\n- push\n\nElse all is well.\n\n- test", ["Never do: push", "Else all is well.", "test"]),
        ("Never do:\n- push\n```\nmake\n```\n- test", ["Never do: push", "```\nmake\n```", "test"]),
        ("Never do:\n- push\n> quoted\n\n- test", ["Never do: push", "> quoted", "test"]),
        ("Never do:\n\n- push\n- rebase\n\n1. test", ["Never do: push", "Never do: rebase", "test"]),
        ("As here:\n> quoted\n\n| a |\n|---|", ["As here:\n> quoted", "| a |\n|---|"]),
        ("Never do:\n\n@a.md\n\n- test", ["Never do:", "test"]),
        ("Never do:\n\n- push\n\n  on Fridays\n- rebase", ["Never do: push\n\n  on Fridays", "Never do: rebase"]),
    ],
)
def test_an_announcement_ends_where_something_else_begins(text: str, contents: list[str]) -> None:
    # Fails without any one of the conditions in `_is_announced`.
    assert said(text)[0] == contents


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("The port is 5499. Details follow:\n\nAsk Anna.", ["The port is 5499. Details follow:", "Ask Anna."]),
        ("One:\n\nTwo:\n\n- x", ["One:", "Two: x"]),
        ("# A\nOne:\n## B\nx", ["A: One:", "A > B: x"]),
        ("The last words are:", ["The last words are:"]),
        ("# Never push to main\n# B\nx", ["Never push to main", "B: x"]),
        ("# A\n## Never push to main", ["A: Never push to main"]),
        ("# Imports\n@a.md", ["Imports"]),
        (f"# {'long ' * 200}end\n- x", [f"{'long ' * 200}end", f"{('long ' * 100).strip()}: x"]),
        ("Since\n2024. All is well", ["Since\n2024. All is well"]),
        ("It has\n42. All is well", ["It has\n42. All is well"]),
        ("2024. All is well", ["2024. All is well"]),
        ("x\n```\nmake\n```\n---\ny", ["x\n```\nmake\n```", "y"]),
        ("1. ```sh\n   make\n   ```\n2. next", ["```sh\n   make\n   ```", "next"]),
        ("```make``` does it\n\nnext", ["```make``` does it", "next"]),
    ],
)
def test_what_nothing_stands_under_is_said_for_itself(text: str, contents: list[str]) -> None:
    # Fails without the yields of `intro` and `heading` in `_said`, and without what each line names in `marks`.
    assert said(text)[0] == contents


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("- Never write `<!--` in templates\n- The path is /api\n\n```mermaid\nA --> B\n```", 3),
        ("```html\n<!-- a -->\n```", 1),
        ("~~~\n<!--\n~~~\n\nb -->", 2),
        ("- ```\n  <!--\n  ```\n- b -->", 2),
        ("Write\n\n    <!-- a -->", 2),
        ("> ```\n> <!--\n> ```\n> b -->", 1),
        ("``a ` <!-- b --> ``", 1),
        ("\\<!-- a -->", 1),
        ("a <!-- b\n\nc --> d", 2),
        ("- a <!-- b\n- c --> d", 2),
        ("| a | <!-- |\n|---|---|\n| --> | b |", 1),
    ],
)
def test_what_only_looks_like_a_comment_stays(text: str, contents: int) -> None:
    # Fails without `fence`, `code`, the ticks and the backslash, and `_paragraph_end`, in `comments`.
    found, notes = said(text)
    assert (len(found), notes) == (contents, [])
    assert "<!--" in "".join(found)


@pytest.mark.parametrize(
    ("text", "contents", "line"),
    [
        ("a <!-- b --> c", ["a  c"], 1),
        ("a\n\n<!-- b\n\n```\n\nc --> d", ["a", "d"], 3),
        ("a `b <!-- c --> d", ["a `b  d"], 1),
        ("\\` <!-- ` -->", ["\\`"], 1),
        ("<!--> a\n\nb -->", ["a", "b -->"], 1),
        ("<!---> a\n\nb -->", ["a", "b -->"], 1),
        ("- a\n    <!-- b -->\n- c", ["a", "c"], 2),
        ("```\n```\n<!-- a -->", ["```\n```"], 3),
    ],
)
def test_a_comment_is_left_out_and_told(text: str, contents: list[str], line: int) -> None:
    assert said(text) == (contents, [f"comments (line {line})"])


@pytest.mark.parametrize(
    "text",
    [
        "---\nThe port is 7654.\n---\nb",
        "---\n\nThe port is 7654.\n\n- We use tabs\n\n---\n\nAfter.",
        "---\nkey: value\n- item\n---\nb",
        "---\nkey: value\n# Heading\n---\nb",
        "---\nhttp://a/b\n---\nb",
        "---\nkey: value\n\nnever closed",
        "---\n---\nb\n---\n",
    ],
)
def test_a_rule_at_the_beginning_takes_nothing_away(text: str) -> None:
    # Fails without each of the conditions in `_front_matter_end`.
    found, notes = said(text)
    assert (words(" ".join(found)), notes) == (words(text), [])


@pytest.mark.parametrize(
    "text",
    [
        "---\ndescription: a\nglobs: *.ts\nalwaysApply: false\n---\nb",
        "---\r\ntags:\r\n- a\r\n- b\r\n\r\nname: |\r\n  a\r\n---\r\nb",
        "--- \nname: a\n---\t\nb",
    ],
)
def test_front_matter_is_left_out_and_told(text: str) -> None:
    assert said(text) == (["b"], ["front matter (line 1)"])


def test_what_was_left_out_is_told_with_its_first_lines() -> None:
    text = "---\na: b\n---\n" + "<!-- a -->\n" * 7 + "@a.md\n\nb"
    assert said(text)[1] == ["front matter (line 1), comments (line 4, 5, 6, 7, 8, …), names of other files (line 11)"]


def test_notes_leave_room_for_what_could_not_be_read() -> None:
    # Fails when the report keeps both in one list.
    report = importing.Report()
    for number in range(2 * importing.PROBLEMS_KEPT_MAX):
        report.tell(Problem(Place(f"{number}.md"), "left out: front matter", "note"))
    report.tell(Problem(Place("z.md"), "it is not UTF-8"))
    assert [problem.place.told for problem in report.problems] == ["z.md"]
    assert len(report.notes) == importing.PROBLEMS_KEPT_MAX


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text)


# Each with %s where words may stand; what follows it begins a line of its own.
_SAID = (
    "%s\n\n", "%s\n", "%s:\n\n", "%s:\n", "# %s\n", "## %s\n\n", "### %s #\n", "%s\n===\n", "%s\n---\n",
    "- %s\n", "  - %s\n", "* [ ] %s\n", "1. %s\n", "7) %s:\n\n", "> %s\n", "| %s | %s |\n", "---\n", "\n", "    %s\n\n",
    "    %s\n", "```\n<!-- %s\n```\n", "- ```\n  %s -->\n  ```\n", "~~~\n# %s -->\n- %s\n~~~\n",
    "%s `<!--` %s `-->`\n\n", "``%s ` <!-- %s`` -->\n\n", "%s \\<!-- %s -->\n\n", "%s ` %s\n\n", "- `%s\n\n",
    "%s <!-- %s\n\n", "%s -->\n\n", "key: %s\n",
    "**%s** [%s](http://a/%s)\n", "<b>%s</b>\n", "![%s](%s.png)\n\n", "@%s %s\n\n",
)  # fmt: skip
_LEFT_OUT = ("\n\n<!-- %s -->\n\n", "\n\n<!-- %s\n\n```\n# %s -->\n\n", "\n\n@%s\n\n")
_PIECES = st.lists(st.sampled_from((*_SAID, *_LEFT_OUT)), max_size=30)


@settings(max_examples=300, deadline=None)
@given(_PIECES, st.booleans())
def test_every_word_is_in_an_entry_or_in_what_is_told_to_be_left_out(
    pieces: list[str], with_front_matter: bool
) -> None:
    # Fails without the same, and without `names_a_file` in `_takes_fence`.
    begun = ["---\nkey: %s\n---\n"] if with_front_matter else ["\n"]
    numbered = count()
    text = ""
    kept: set[str] = set()
    left: set[str] = set()
    for piece in (*begun, *pieces):
        said_here = [f"w{next(numbered)}w" for _ in range(piece.count("%s"))]
        (left if piece in (*_LEFT_OUT, *begun) else kept).update(said_here)
        text += piece % tuple(said_here)
    found, notes = said(text)
    there = set(re.findall(r"w\d+w", " ".join(found)))
    assert (kept - there, left & there, bool(left)) == (set(), set(), bool(notes))


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="ab \n#-*+>|`~<!:.1@[]()\\\t", max_size=200))
def test_no_text_loses_a_word(text: str) -> None:
    numbered = iter(range(len(text)))
    text = re.sub("[ab]+", lambda _: f"w{next(numbered)}w", text)
    found, notes = said(text)
    missing = set(re.findall(r"w\d+w", text)) - set(re.findall(r"w\d+w", " ".join(found)))
    assert not missing or notes
