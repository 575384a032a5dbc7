"""Checks that the graded set is sound by itself: no database, no ranker."""

import json
import re
from collections import Counter, defaultdict
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

DATA = Path(__file__).parent / "data"
PROJECTS = ("gridsight", "hearthlink", "ledgerline", "trailmate")
NOW = "2026-11-01T00:00:00Z"
KINDS = {
    "acronym": 17,
    "cross_project": 20,
    "identifier": 35,
    "keyword": 33,
    "long_question": 24,
    "multilingual": 29,
    "near_duplicate": 22,
    "paraphrase": 40,
    "superseded": 60,
    "temporal": 22,
    "typo": 25,
    "unanswerable": 76,
}
MEMORY_FIELDS = {"id", "project", "type", "tags", "content", "created_at"}
MEMORY_OPTIONAL = {"category", "importance", "supersedes", "cluster", "language"}
QUERY_FIELDS = {"id", "project", "kind", "text", "grades", "split"}
QUERY_OPTIONAL = {"stale", "elsewhere", "language", "cross_language", "as_of"}


def read(folder: str, project: str) -> list[dict[str, Any]]:
    lines = (DATA / folder / f"{project}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


MEMORIES = {row["id"]: row for project in PROJECTS for row in read("memories", project)}
QUERIES = [row for project in PROJECTS for row in read("queries", project)]
SUCCESSOR = {row["supersedes"]: row for row in MEMORIES.values() if "supersedes" in row}


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", normalize("NFKC", text).casefold()))


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", normalize("NFKC", text).casefold()))


def live(memory_id: str, at: str) -> bool:
    successor = SUCCESSOR.get(memory_id)
    return MEMORIES[memory_id]["created_at"] <= at and (successor is None or successor["created_at"] > at)


def instant(query: dict[str, Any]) -> str:
    return str(query.get("as_of", NOW))


def shared_words(query: dict[str, Any], memory_id: str) -> int:
    return len(words(query["text"]) & words(MEMORIES[memory_id]["content"]))


def answers(query: dict[str, Any]) -> list[str]:
    return [memory_id for memory_id, grade in query["grades"].items() if grade == 3]


@pytest.mark.parametrize("folder", ["memories", "queries"])
@pytest.mark.parametrize("project", PROJECTS)
def test_files_are_sorted_by_a_unique_id_and_name_their_own_project(folder: str, project: str) -> None:
    rows = read(folder, project)
    ids = [row["id"] for row in rows]
    assert ids == sorted(set(ids))
    assert {row["project"] for row in rows} == {project}


def test_ids_are_unique_over_all_projects() -> None:
    assert len(MEMORIES) == sum(len(read("memories", project)) for project in PROJECTS)
    assert len({query["id"] for query in QUERIES}) == len(QUERIES)


def test_rows_carry_the_documented_fields_only() -> None:
    for row in MEMORIES.values():
        assert MEMORY_FIELDS <= set(row) <= MEMORY_FIELDS | MEMORY_OPTIONAL, row["id"]
    for row in QUERIES:
        assert QUERY_FIELDS <= set(row) <= QUERY_FIELDS | QUERY_OPTIONAL, row["id"]


def test_memories_keep_the_limits_of_the_tool() -> None:
    for row in MEMORIES.values():
        assert row["type"] in {"DECISION", "CONSTRAINT", "FACT", "TASK"}
        assert 1 <= len(row["content"].encode()) <= 32_000
        assert len(row["tags"]) <= 20
        assert all(1 <= len(tag.encode()) <= 64 for tag in row["tags"])
        assert len(row.get("category", "").encode()) <= 128
        assert 0 <= row.get("importance", 0) <= 100
    assert all(len(query["text"]) <= 1000 for query in QUERIES)


def test_instants_are_utc_and_before_the_now_of_the_set() -> None:
    for row in MEMORIES.values():
        assert datetime.fromisoformat(row["created_at"]).utcoffset() == timedelta(0)
        assert row["created_at"].endswith(":00Z")
        assert row["created_at"] < NOW
    created = sorted(row["created_at"] for row in MEMORIES.values())
    span = datetime.fromisoformat(created[-1]) - datetime.fromisoformat(created[0])
    assert span.days >= 540


def test_tasks_are_younger_than_the_longest_life_of_a_task() -> None:
    now = datetime.fromisoformat(NOW)
    for row in MEMORIES.values():
        if row["type"] == "TASK":
            assert (now - datetime.fromisoformat(row["created_at"])).days < 30, row["id"]


def test_no_two_memories_or_queries_of_a_project_say_the_same() -> None:
    for rows, field in ((MEMORIES.values(), "content"), (QUERIES, "text")):
        seen = Counter((row["project"], plain(row[field])) for row in rows)
        assert [key for key, count in seen.items() if count > 1] == []


def test_supersession_stays_in_the_project_goes_forward_in_time_and_never_forks() -> None:
    targets = [row["supersedes"] for row in MEMORIES.values() if "supersedes" in row]
    assert len(targets) == len(set(targets)) >= 45
    for row in MEMORIES.values():
        if "supersedes" in row:
            old = MEMORIES[row["supersedes"]]
            assert old["project"] == row["project"]
            assert old["created_at"] < row["created_at"], "strictly later, so that no chain can be a cycle"


def test_every_retired_wording_fits_one_of_its_queries_better_than_the_answer() -> None:
    lured = {
        old
        for query in QUERIES
        for old in query.get("stale", [])
        if answers(query) and shared_words(query, old) > max(shared_words(query, a) for a in answers(query))
    }
    assert set(SUCCESSOR) - lured == set()


def test_superseded_queries_lure_to_a_retired_memory() -> None:
    for query in QUERIES:
        if query["kind"] == "superseded":
            lure = max(shared_words(query, old) for old in query["stale"])
            assert lure > max(shared_words(query, answer) for answer in answers(query)), query["id"]


def test_grades_name_live_memories_of_the_project_only() -> None:
    for query in QUERIES:
        for memory_id, grade in query["grades"].items():
            assert grade in {1, 2, 3}, query["id"]
            assert MEMORIES[memory_id]["project"] == query["project"], query["id"]
            assert live(memory_id, instant(query)), (query["id"], memory_id)


def test_stale_memories_are_of_the_project_and_not_live_at_the_instant_of_the_query() -> None:
    for query in QUERIES:
        for memory_id in query.get("stale", []):
            assert MEMORIES[memory_id]["project"] == query["project"], query["id"]
            assert not live(memory_id, instant(query)), (query["id"], memory_id)


def test_traps_elsewhere_are_live_memories_of_other_projects() -> None:
    for query in QUERIES:
        for memory_id in query.get("elsewhere", []):
            assert MEMORIES[memory_id]["project"] != query["project"], query["id"]
            assert live(memory_id, NOW), (query["id"], memory_id)
    assert all(query.get("elsewhere") for query in QUERIES if query["kind"] == "cross_project")


def test_an_answerable_query_has_an_answer_and_an_unanswerable_one_has_no_grade() -> None:
    for query in QUERIES:
        assert bool(answers(query)) == (query["kind"] != "unanswerable"), query["id"]
        assert bool(query["grades"]) == (query["kind"] != "unanswerable"), query["id"]


def test_no_query_is_copied_from_a_memory_unless_it_is_a_keyword_or_an_identifier() -> None:
    contents = [f" {plain(row['content'])} " for row in MEMORIES.values()]
    for query in QUERIES:
        if query["kind"] not in {"keyword", "identifier"}:
            assert not any(f" {plain(query['text'])} " in content for content in contents), query["id"]


def test_an_as_of_query_is_temporal_and_its_answer_was_retired_later() -> None:
    asked = [query for query in QUERIES if "as_of" in query]
    assert len(asked) >= 10
    for query in asked:
        assert query["kind"] == "temporal"
        assert all(not live(memory_id, NOW) for memory_id in answers(query)), query["id"]


def test_multilingual_queries_name_their_language_and_some_cross_it() -> None:
    multilingual = [query for query in QUERIES if query["kind"] == "multilingual"]
    assert {query["language"] for query in multilingual} == {"de", "en", "es", "ja", "ko", "zh"}
    assert sum(query.get("cross_language", False) for query in multilingual) >= 8
    for query in multilingual:
        spoken = {MEMORIES[memory_id].get("language", "en") for memory_id in answers(query)}
        assert (query["language"] in spoken) != query.get("cross_language", False), query["id"]


def test_counts_by_kind_are_as_stated() -> None:
    assert Counter(query["kind"] for query in QUERIES) == KINDS


def test_the_set_is_as_large_and_as_varied_as_promised() -> None:
    clusters = Counter(row["cluster"] for row in MEMORIES.values() if "cluster" in row)
    languages = Counter(row["language"] for row in MEMORIES.values() if "language" in row)
    long = [row for row in MEMORIES.values() if 200 <= len(row["content"].split()) <= 600]
    assert len(MEMORIES) >= 320
    assert len(clusters) >= 15
    assert min(clusters.values()) >= 2
    assert min(languages[language] for language in ("de", "es", "ja", "ko", "zh")) >= 3
    assert len(long) >= 8


def test_the_members_of_a_cluster_are_graded_together() -> None:
    members = defaultdict(set)
    for row in MEMORIES.values():
        if "cluster" in row:
            members[row["cluster"]].add(row["id"])
    for query in QUERIES:
        if query["kind"] == "near_duplicate":
            (answer,) = answers(query)
            assert members[MEMORIES[answer]["cluster"]] <= set(query["grades"]), query["id"]


def test_the_split_follows_the_hash_of_the_id_and_halves_every_kind() -> None:
    by_kind = defaultdict(list)
    for query in QUERIES:
        by_kind[query["kind"]].append(query)
    for queries in by_kind.values():
        ranked = sorted(queries, key=lambda query: sha256(query["id"].encode()).hexdigest())
        assert ranked[0]["split"] == "tune"
        assert all({a["split"], b["split"]} == {"tune", "report"} for a, b in pairwise(ranked))
