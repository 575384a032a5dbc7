from uuid import UUID

import pytest

from shared import limits
from shared.domain import MemoryType, Scope
from shared.errors import InvalidArgument

RANGES = [
    (limits.importance, "importance", 0, 100),
    (limits.limit, "limit", 1, 100),
    (limits.token_budget, "token_budget", 100, 32_000),
    (limits.expected_revision, "expected_revision", 1, 2_147_483_647),
]
ID = "0192f0c1-2b3c-7d4e-8f50-123456789abc"


@pytest.mark.parametrize(("check", "argument", "least", "most"), RANGES)
def test_both_ends_of_a_range_are_taken(check: object, argument: str, least: int, most: int) -> None:
    assert check(least) == least  # type: ignore[operator]
    assert check(most) == most  # type: ignore[operator]
    assert check(float(most)) == most  # type: ignore[operator]


@pytest.mark.parametrize(("check", "argument", "least", "most"), RANGES)
def test_what_is_outside_a_range_or_no_whole_number_is_refused(
    check: object, argument: str, least: int, most: int
) -> None:
    for value in (least - 1, most + 1, 1.5, True, False, "5", [5], float("nan"), float("inf"), 10**400):
        with pytest.raises(InvalidArgument, match=f"^{argument}: .*{least} to {most}") as refused:
            check(value)  # type: ignore[operator]
        assert refused.value.argument == argument


def test_a_number_left_out_stays_out() -> None:
    assert limits.importance(None) is limits.limit(None) is limits.token_budget(None) is None
    with pytest.raises(InvalidArgument):
        limits.expected_revision(None)


def test_a_narrower_limit_names_its_own_bound() -> None:
    assert limits.limit(50, most=50) == 50
    with pytest.raises(InvalidArgument, match="1 to 50"):
        limits.limit(51, most=50)


def test_an_id_is_a_uuid_of_its_usual_form() -> None:
    assert limits.memory_id(ID) == limits.memory_id(ID.upper()) == UUID(ID)


@pytest.mark.parametrize(
    "value",
    [None, "", "1", 5, ID[:-1], ID + "0", ID + "\n", f"{{{ID}}}", f"urn:uuid:{ID}", ID.replace("-", "")],
)
def test_an_id_of_another_form_is_refused(value: object) -> None:
    with pytest.raises(InvalidArgument, match=r"^memory_id: "):
        limits.memory_id(value)


def test_supersedes_keeps_its_order_and_drops_what_is_named_twice() -> None:
    ids = [f"0192f0c1-2b3c-7d4e-8f50-{number:012x}" for number in range(50)]
    assert limits.memory_ids([*ids, ids[0].upper()]) == tuple(map(UUID, ids))
    assert limits.memory_ids(None) == limits.memory_ids([]) == ()


def test_one_superseded_memory_too_many_is_refused() -> None:
    with pytest.raises(InvalidArgument, match=r"^supersedes: names 51 memories, at most 50"):
        limits.memory_ids([f"0192f0c1-2b3c-7d4e-8f50-{number:012x}" for number in range(51)])


def test_a_bad_id_among_the_superseded_is_named_by_its_place() -> None:
    with pytest.raises(InvalidArgument, match=r"^supersedes\[1\]: "):
        limits.memory_ids([ID, "x"])
    with pytest.raises(InvalidArgument, match=r"^supersedes: must be a list"):
        limits.memory_ids(ID)


def test_a_choice_is_one_of_its_enum_spelled_exactly() -> None:
    assert limits.choice("scope", "conversation", Scope) is Scope.CONVERSATION
    for value in ("Conversation", "", None, 1, True, ["project"]):
        with pytest.raises(InvalidArgument, match=r"^scope: must be one of project, conversation"):
            limits.choice("scope", value, Scope)


def test_types_left_out_or_empty_filter_nothing() -> None:
    assert limits.types(None) is limits.types([]) is None
    assert limits.types(["TASK", "FACT", "TASK"]) == (MemoryType.TASK, MemoryType.FACT)
    for value in ("TASK", ["task"], [None]):
        with pytest.raises(InvalidArgument, match=r"^types: "):
            limits.types(value)


def test_a_flag_is_a_boolean() -> None:
    assert limits.flag("restore", None, default=False) is False
    assert limits.flag("restore", True, default=False) is True
    for value in (0, 1, "true", ["true"], 1.0):
        with pytest.raises(InvalidArgument, match=r"^restore: "):
            limits.flag("restore", value, default=False)
