from __future__ import annotations

from shared.retrieval.meaning import UNKNOWN, Meaning
from shared.retrieval.similar import Similar, similar
from tests.retrieval.searching import MODEL, Searcher, Vector

NORTH, EAST = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)


async def close(
    searcher: Searcher, content: str, vector: Vector | None = None, deadline_s: float = 5
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
