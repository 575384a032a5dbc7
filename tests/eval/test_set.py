"""Checks that the graded sets are sound by themselves: no database, no ranker."""

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

DATA = Path(__file__).parent / "data"
NOW = "2026-11-01T00:00:00Z"
MEMORY_FIELDS = {"id", "project", "type", "tags", "content", "created_at"}
MEMORY_OPTIONAL = {"category", "importance", "supersedes", "cluster", "language"}
QUERY_FIELDS = {"id", "project", "kind", "text", "grades", "split"}
QUERY_OPTIONAL = {"stale", "elsewhere", "language", "cross_language", "as_of"}

Row = dict[str, Any]


@dataclass(frozen=True)
class Ruler:
    folder: Path
    projects: tuple[str, ...]
    kinds: dict[str, int]
    memories_min: int
    pairs_min: int
    as_of_min: int
    days_min: int

    @cached_property
    def memories(self) -> dict[str, Row]:
        return {row["id"]: row for project in self.projects for row in self.read("memories", project)}

    @cached_property
    def queries(self) -> list[Row]:
        return [row for project in self.projects for row in self.read("queries", project)]

    @cached_property
    def successor(self) -> dict[str, Row]:
        return {row["supersedes"]: row for row in self.memories.values() if "supersedes" in row}

    def read(self, what: str, project: str) -> list[Row]:
        lines = (self.folder / what / f"{project}.jsonl").read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def live(self, memory_id: str, at: str) -> bool:
        successor = self.successor.get(memory_id)
        return self.memories[memory_id]["created_at"] <= at and (successor is None or successor["created_at"] > at)

    def shared_words(self, query: Row, memory_id: str) -> int:
        return len(words(query["text"]) & words(self.memories[memory_id]["content"]))

    def lures(self, query: Row, memory_id: str) -> bool:
        """It has more words of the query than any answer has."""
        found = [self.shared_words(query, answer) for answer in answers(query)]
        return bool(found) and self.shared_words(query, memory_id) > max(found)


TUNED = Ruler(
    folder=DATA,
    projects=("gridsight", "hearthlink", "ledgerline", "trailmate"),
    kinds={
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
    },
    memories_min=320,
    pairs_min=45,
    as_of_min=10,
    days_min=540,
)
TRANSFER = Ruler(
    folder=DATA / "transfer",
    projects=("elmstreet", "inkwell"),
    kinds={
        "identifier": 7,
        "keyword": 11,
        "long_question": 8,
        "multi_hop": 17,
        "paraphrase": 18,
        "single_hop": 22,
        "superseded": 23,
        "temporal": 12,
        "unanswerable": 40,
    },
    memories_min=280,
    pairs_min=20,
    as_of_min=4,
    days_min=180,
)


@pytest.fixture(params=[TUNED, TRANSFER], ids=["tuned", "transfer"])
def ruler(request: pytest.FixtureRequest) -> Ruler:
    chosen = request.param
    assert isinstance(chosen, Ruler)
    return chosen


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", normalize("NFKC", text).casefold()))


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", normalize("NFKC", text).casefold()))


def instant(query: Row) -> str:
    return str(query.get("as_of", NOW))


def answers(query: Row) -> list[str]:
    return [memory_id for memory_id, grade in query["grades"].items() if grade == 3]


@pytest.mark.parametrize("what", ["memories", "queries"])
def test_files_are_sorted_by_a_unique_id_and_name_their_own_project(ruler: Ruler, what: str) -> None:
    assert sorted(file.stem for file in (ruler.folder / what).glob("*.jsonl")) == list(ruler.projects)
    for project in ruler.projects:
        rows = ruler.read(what, project)
        ids = [row["id"] for row in rows]
        assert ids == sorted(set(ids))
        assert {row["project"] for row in rows} == {project}


def test_ids_are_unique_over_all_projects(ruler: Ruler) -> None:
    assert len(ruler.memories) == sum(len(ruler.read("memories", project)) for project in ruler.projects)
    assert len({query["id"] for query in ruler.queries}) == len(ruler.queries)


def test_rows_carry_the_documented_fields_only(ruler: Ruler) -> None:
    for row in ruler.memories.values():
        assert MEMORY_FIELDS <= set(row) <= MEMORY_FIELDS | MEMORY_OPTIONAL, row["id"]
    for row in ruler.queries:
        assert QUERY_FIELDS <= set(row) <= QUERY_FIELDS | QUERY_OPTIONAL, row["id"]


def test_memories_keep_the_limits_of_the_tool(ruler: Ruler) -> None:
    for row in ruler.memories.values():
        assert row["type"] in {"DECISION", "CONSTRAINT", "FACT", "TASK"}
        assert 1 <= len(row["content"].encode()) <= 32_000
        assert len(row["tags"]) <= 20
        assert all(1 <= len(tag.encode()) <= 64 for tag in row["tags"])
        assert len(row.get("category", "").encode()) <= 128
        assert 0 <= row.get("importance", 0) <= 100
    assert all(len(query["text"]) <= 1000 for query in ruler.queries)


def test_instants_are_utc_and_before_the_now_of_the_set(ruler: Ruler) -> None:
    for row in ruler.memories.values():
        assert datetime.fromisoformat(row["created_at"]).utcoffset() == timedelta(0)
        assert row["created_at"].endswith(":00Z")
        assert row["created_at"] < NOW
    created = sorted(row["created_at"] for row in ruler.memories.values())
    span = datetime.fromisoformat(created[-1]) - datetime.fromisoformat(created[0])
    assert span.days >= ruler.days_min


def test_tasks_are_younger_than_the_longest_life_of_a_task(ruler: Ruler) -> None:
    now = datetime.fromisoformat(NOW)
    for row in ruler.memories.values():
        if row["type"] == "TASK":
            assert (now - datetime.fromisoformat(row["created_at"])).days < 30, row["id"]


def test_no_two_memories_or_queries_of_a_project_say_the_same(ruler: Ruler) -> None:
    for rows, field in ((ruler.memories.values(), "content"), (ruler.queries, "text")):
        seen = Counter((row["project"], plain(row[field])) for row in rows)
        assert [key for key, count in seen.items() if count > 1] == []


def test_supersession_stays_in_the_project_goes_forward_in_time_and_never_forks(ruler: Ruler) -> None:
    targets = [row["supersedes"] for row in ruler.memories.values() if "supersedes" in row]
    assert len(targets) == len(set(targets)) >= ruler.pairs_min
    for row in ruler.memories.values():
        if "supersedes" in row:
            old = ruler.memories[row["supersedes"]]
            assert old["project"] == row["project"]
            assert old["created_at"] < row["created_at"], "strictly later, so that no chain can be a cycle"


def test_every_retired_wording_fits_one_of_its_queries_better_than_the_answer(ruler: Ruler) -> None:
    lured = {old for query in ruler.queries for old in query.get("stale", []) if ruler.lures(query, old)}
    assert set(ruler.successor) - lured == set()


def test_superseded_queries_lure_to_a_retired_memory(ruler: Ruler) -> None:
    for query in ruler.queries:
        if query["kind"] == "superseded":
            assert any(ruler.lures(query, old) for old in query["stale"]), query["id"]


def test_grades_name_live_memories_of_the_project_only(ruler: Ruler) -> None:
    for query in ruler.queries:
        for memory_id, grade in query["grades"].items():
            assert grade in {1, 2, 3}, query["id"]
            assert ruler.memories[memory_id]["project"] == query["project"], query["id"]
            assert ruler.live(memory_id, instant(query)), (query["id"], memory_id)


def test_stale_memories_are_of_the_project_and_not_live_at_the_instant_of_the_query(ruler: Ruler) -> None:
    for query in ruler.queries:
        for memory_id in query.get("stale", []):
            assert ruler.memories[memory_id]["project"] == query["project"], query["id"]
            assert not ruler.live(memory_id, instant(query)), (query["id"], memory_id)


def test_traps_elsewhere_are_live_memories_of_other_projects(ruler: Ruler) -> None:
    for query in ruler.queries:
        for memory_id in query.get("elsewhere", []):
            assert ruler.memories[memory_id]["project"] != query["project"], query["id"]
            assert ruler.live(memory_id, NOW), (query["id"], memory_id)
    assert all(query.get("elsewhere") for query in ruler.queries if query["kind"] == "cross_project")


def test_an_answerable_query_has_an_answer_and_an_unanswerable_one_has_no_grade(ruler: Ruler) -> None:
    for query in ruler.queries:
        assert bool(answers(query)) == (query["kind"] != "unanswerable"), query["id"]
        assert bool(query["grades"]) == (query["kind"] != "unanswerable"), query["id"]


def test_no_query_is_copied_from_a_memory_unless_it_is_a_keyword_or_an_identifier(ruler: Ruler) -> None:
    contents = [f" {plain(row['content'])} " for row in ruler.memories.values()]
    for query in ruler.queries:
        if query["kind"] not in {"keyword", "identifier"}:
            assert not any(f" {plain(query['text'])} " in content for content in contents), query["id"]


def test_an_as_of_query_is_temporal_and_its_answer_was_retired_later(ruler: Ruler) -> None:
    asked = [query for query in ruler.queries if "as_of" in query]
    assert len(asked) >= ruler.as_of_min
    for query in asked:
        assert query["kind"] == "temporal"
        assert all(not ruler.live(memory_id, NOW) for memory_id in answers(query)), query["id"]


def test_multilingual_queries_name_their_language_and_some_cross_it() -> None:
    multilingual = [query for query in TUNED.queries if query["kind"] == "multilingual"]
    assert {query["language"] for query in multilingual} == {"de", "en", "es", "ja", "ko", "zh"}
    assert sum(query.get("cross_language", False) for query in multilingual) >= 8
    for query in multilingual:
        spoken = {TUNED.memories[memory_id].get("language", "en") for memory_id in answers(query)}
        assert (query["language"] in spoken) != query.get("cross_language", False), query["id"]


def test_counts_by_kind_are_as_stated(ruler: Ruler) -> None:
    assert Counter(query["kind"] for query in ruler.queries) == ruler.kinds


def test_a_set_is_as_large_as_promised(ruler: Ruler) -> None:
    assert len(ruler.memories) >= ruler.memories_min


def test_the_tuned_set_is_as_varied_as_promised() -> None:
    clusters = Counter(row["cluster"] for row in TUNED.memories.values() if "cluster" in row)
    languages = Counter(row["language"] for row in TUNED.memories.values() if "language" in row)
    long = [row for row in TUNED.memories.values() if 200 <= len(row["content"].split()) <= 600]
    assert len(clusters) >= 15
    assert min(clusters.values()) >= 2
    assert min(languages[language] for language in ("de", "es", "ja", "ko", "zh")) >= 3
    assert len(long) >= 8


def test_the_members_of_a_cluster_are_graded_together() -> None:
    members = defaultdict(set)
    for row in TUNED.memories.values():
        if "cluster" in row:
            members[row["cluster"]].add(row["id"])
    for query in TUNED.queries:
        if query["kind"] == "near_duplicate":
            (answer,) = answers(query)
            assert members[TUNED.memories[answer]["cluster"]] <= set(query["grades"]), query["id"]


def test_nothing_of_the_transfer_set_is_there_to_tune_on() -> None:
    assert {query["split"] for query in TRANSFER.queries} == {"report"}


def test_the_sets_share_no_project_and_no_id() -> None:
    assert not set(TUNED.projects) & set(TRANSFER.projects)
    assert not set(TUNED.memories) & set(TRANSFER.memories)
    assert not {query["id"] for query in TUNED.queries} & {query["id"] for query in TRANSFER.queries}


def test_the_split_follows_the_hash_of_the_id_and_halves_every_kind() -> None:
    by_kind = defaultdict(list)
    for query in TUNED.queries:
        by_kind[query["kind"]].append(query)
    for queries in by_kind.values():
        ranked = sorted(queries, key=lambda query: sha256(query["id"].encode()).hexdigest())
        assert ranked[0]["split"] == "tune"
        assert all({a["split"], b["split"]} == {"tune", "report"} for a, b in pairwise(ranked))
