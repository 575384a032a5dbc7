from __future__ import annotations

from shared.domain import Scope
from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.similar import Similar, similar
from tests.retrieval.searching import MODEL, Searcher, Vector

NORTH, EAST = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


async def close(
    searcher: Searcher, content: str, vector: Vector | None = None, deadline_s: float = 60
) -> tuple[Similar, ...] | None:
    client = searcher.client
    written = await client.saved(content)
    meaning = UNKNOWN if vector is None else Meaning(vector=tuple(vector), model=MODEL)
    return await similar(
        client.connection,
        client.scope,
        client.author,
        content,
        written=written,
        meaning=meaning,
        deadline_s=deadline_s,
    )


async def test_a_memory_that_says_nearly_the_same_is_named(searcher: Searcher) -> None:
    twin = await searcher.saved("We keep sessions in signed cookies.", NORTH)
    await searcher.saved("Deploys happen on Tuesdays.", EAST)

    named = await close(searcher, "Sessions: kept in signed cookies", NORTH)
    assert [one.memory_id for one in named or ()] == [twin]


async def test_words_alone_name_a_twin(searcher: Searcher) -> None:
    twin = await searcher.saved("We keep sessions in signed cookies.")

    named = await close(searcher, "Sessions are kept in signed cookies")
    assert [one.memory_id for one in named or ()] == [twin]


async def test_what_is_written_is_not_similar_to_itself_and_strangers_are_not_named(searcher: Searcher) -> None:
    await searcher.saved("Deploys happen on Tuesdays.", EAST)

    assert await close(searcher, "We keep sessions in signed cookies.", NORTH) == ()


async def test_a_late_answer_is_absent_and_the_connection_stays_usable(searcher: Searcher) -> None:
    await searcher.saved("We keep sessions in signed cookies.", NORTH)

    assert await close(searcher, "Sessions: kept in signed cookies", NORTH, deadline_s=0) is None
    assert await searcher.found("signed cookies")


async def test_what_replaced_these_very_words_is_named_first(searcher: Searcher) -> None:
    # Fails without `_replaced`: nothing tells that these words were given up.
    old = await searcher.saved("We keep sessions in Redis.")
    middle = await searcher.saved("Logins live in signed cookies.", supersedes=(old,))
    new = await searcher.saved("Tokens are kept nowhere.", supersedes=(middle,))

    named = await close(searcher, "We keep sessions  in Redis.")
    assert [(one.memory_id, one.content, one.replaced_this) for one in named or ()] == [
        (new, "Tokens are kept nowhere.", True)
    ]


async def test_what_was_revised_away_is_named_and_what_was_forgotten_is_not(searcher: Searcher) -> None:
    revised = await searcher.saved("We keep sessions in Redis.")
    await searcher.client.revise(revised, 1, content="Tokens are kept nowhere.")
    forgotten = await searcher.saved("The gateway is Kong.")
    await searcher.client.forget(forgotten)

    assert [one.memory_id for one in await close(searcher, "We keep sessions in Redis.") or ()] == [revised]
    assert await close(searcher, "The gateway is Kong.") == ()


async def test_another_conversation_is_not_told_of(searcher: Searcher) -> None:
    # Fails without the conversation in `replaced_by`.
    elsewhere = searcher.client.speaking(conversation="theirs")
    said = await elsewhere.saved("We keep sessions in Redis.", scope=Scope.CONVERSATION)
    await elsewhere.revise(said, 1, content="Tokens are kept nowhere.")

    assert await close(searcher, "We keep sessions in Redis.") == ()
