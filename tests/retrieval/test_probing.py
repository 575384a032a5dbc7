"""What a conversation remembers for itself leaves no trace in a search from elsewhere."""

from __future__ import annotations

import pytest

from shared.domain import Scope
from shared.retrieval import frequencies, results, terms
from shared.retrieval.requests import Found
from tests.retrieval.searching import Searcher

PRIVATE = "The takeover of Zanzibar is signed."
NORTH = (1.0, 0.0, 0.0)


async def count(searcher: Searcher) -> None:
    await frequencies.count(searcher.client.connection, searcher.client.scope.project_id)


async def remember_privately(searcher: Searcher) -> None:
    await searcher.client.speaking(conversation="talk-1").saved(PRIVATE, scope=Scope.CONVERSATION)


@pytest.mark.parametrize("elsewhere", [None, "talk-2"])
@pytest.mark.parametrize("query", ["cookies zanzibar", "cookies zanzibra"])
@pytest.mark.parametrize("counted_max", [terms.COUNTED_MAX, 1])
async def test_a_search_is_the_same_whatever_another_conversation_remembers(
    searcher: Searcher, monkeypatch: pytest.MonkeyPatch, query: str, elsewhere: str | None, counted_max: int
) -> None:
    monkeypatch.setattr(terms, "COUNTED_MAX", counted_max)
    monkeypatch.setattr(results, "COUNTED_MAX", counted_max)

    async def found() -> Found:
        return await searcher.search(query, NORTH, conversation=elsewhere)

    await searcher.saved("We keep sessions in signed cookies.", NORTH)
    await count(searcher)
    before = await found()
    assert before.results
    await remember_privately(searcher)
    assert await found() == before

    await count(searcher)
    assert await found() == before


async def test_the_conversation_itself_counts_its_words(searcher: Searcher) -> None:
    await remember_privately(searcher)
    client = searcher.client

    async def documents(conversation: str | None) -> list[int]:
        author = client.speaking(conversation=conversation).author
        asked = await terms.ask(client.connection, client.scope, author, "zanzibar", model=None)
        return [asked.memories, *(term.documents for term in asked.terms)]

    assert await documents("talk-1") == [1, 1]
    assert await documents("talk-2") == await documents(None) == [0, 0]


async def test_words_of_a_conversation_are_neither_kept_nor_offered_as_corrections(searcher: Searcher) -> None:
    await searcher.saved("We keep sessions in signed cookies.")
    await remember_privately(searcher)
    await count(searcher)
    project = searcher.client.scope.project_id

    kept = await searcher.owner.fetch("SELECT lexeme FROM memhub.term_frequencies WHERE project_id = $1", project)
    assert {"cooki", "sign"} <= {row["lexeme"] for row in kept}
    assert "zanzibar" not in {row["lexeme"] for row in kept}
    assert await searcher.owner.fetchval("SELECT memories FROM memhub.counted_projects") == 1
    assert await searcher.found("zanzibra", conversation="talk-2") == []


async def test_a_project_is_not_due_for_what_a_conversation_remembers(searcher: Searcher) -> None:
    await remember_privately(searcher)

    assert await frequencies.due(searcher.client.connection) == []
