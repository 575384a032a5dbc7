from __future__ import annotations

from shared.retrieval.terms import COUNTED_MAX, Asked, Term, ask, of_terms
from tests.retrieval.searching import MODEL, Searcher


async def asked(searcher: Searcher, query: str, *, model: str | None = MODEL) -> Asked:
    client = searcher.client
    return await ask(client.connection, client.scope, client.author, query, model=model)


def counted(searcher: Searcher, *documents: int, memories: int) -> Asked:
    terms = tuple(Term(f"'t{place}'", f"t{place}", count, 1.0) for place, count in enumerate(documents))
    return of_terms(searcher.client.scope, terms, memories=memories, model_id=None, floor=None)


async def test_terms_know_how_many_live_memories_hold_them(searcher: Searcher) -> None:
    retired = await searcher.saved("Redis is the queue.")
    await searcher.saved("The queue is PostgreSQL.", supersedes=(retired,))
    await searcher.saved("Queues are drained nightly.")
    query = await asked(searcher, "redis queue kafka")

    assert [(term.shown, term.documents) for term in query.terms] == [("redis", 0), ("queue", 2), ("kafka", 0)]
    assert query.memories == 2


async def test_the_rarer_of_two_words_weighs_more(searcher: Searcher) -> None:
    for number in range(5):
        await searcher.saved(f"Note {number} about a queue.")
    await searcher.saved("A note about sessions.")
    queue, session = (await asked(searcher, "queue session")).terms

    assert session.weight > queue.weight > 0


async def test_the_model_is_named_only_when_it_is_the_current_one(searcher: Searcher) -> None:
    assert (await asked(searcher, "queue")).floor == 0.25
    assert (await asked(searcher, "queue", model="larger")).model_id is None
    assert (await asked(searcher, "queue", model=None)).model_id is None


async def test_codes_and_symbols_are_told_from_words(searcher: Searcher) -> None:
    query = await asked(searcher, "why does E-SYNC-512 fail in getUserById or user_id with well-known words in 2025")

    assert {term.shown for term in query.terms if term.is_name} == {"esync512", "getuserbyid", "userid"}


async def test_common_terms_find_no_candidates_but_for_the_rarest_two(searcher: Searcher) -> None:
    large = counted(searcher, 9_000, 10, 8_000, 20, memories=10_000)
    assert large.rare is not None
    assert large.rare.endswith("& ('t1' | 't3')")
    assert large.common is None

    all_common = counted(searcher, 9_000, 7_000, 8_000, memories=10_000)
    assert all_common.rare is None
    assert all_common.common is not None
    assert all_common.common.endswith("& ('t1' | 't2')")

    small = counted(searcher, 90, 70, 80, memories=100)
    assert small.rare is not None
    assert small.rare.endswith("& ('t1' | 't2' | 't0')")
    assert small.common is None


async def test_a_rare_term_is_sought_everywhere_beside_a_common_one(searcher: Searcher) -> None:
    mixed = counted(searcher, 9_000, 1, memories=10_000)
    assert mixed.rare is not None
    assert mixed.rare.endswith("& ('t1')")
    assert mixed.common is not None
    assert mixed.common.endswith("& ('t0')")

    ended_early = counted(searcher, COUNTED_MAX, 1, memories=COUNTED_MAX)
    assert ended_early.rare == mixed.rare
    assert ended_early.common == mixed.common
