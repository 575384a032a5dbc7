"""Every write that an invariant forbids, tried with plain SQL as the owner, as a server and as the operator.

Nothing of shared/memories runs here: what refuses is the constraint, the trigger or the missing privilege that
stands beside each case. Taking that one line out of migrations/ makes its cases fail.
"""

from __future__ import annotations

import psycopg
import pytest

from tests.schema.forbidden import FORBIDDEN, TIMES, Forbidden
from tests.schema.world import filled

_ALL = [pytest.param(case, id=f"{case.invariant}: {case.sentence}") for case in FORBIDDEN + TIMES]


def _refusal(owner: psycopg.Connection, role: str, sql: str) -> str:
    """The name of the constraint, trigger or SQLSTATE that refuses this; empty when nothing does."""
    try:
        with owner.transaction(force_rollback=True):
            owner.execute(f"SET LOCAL ROLE {role}")
            owner.execute(filled(sql))
            owner.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except psycopg.Error as refused:
        return refused.diag.constraint_name or refused.sqlstate or ""
    return ""


@pytest.mark.parametrize("case", _ALL)
def test_the_owner_is_refused(owner: psycopg.Connection, case: Forbidden) -> None:
    assert _refusal(owner, "postgres", case.sql) == case.by


@pytest.mark.parametrize("case", _ALL)
def test_a_server_is_refused(owner: psycopg.Connection, case: Forbidden) -> None:
    assert _refusal(owner, "memhub_server", case.sql) == (case.server or case.by)


@pytest.mark.parametrize("case", [pytest.param(case, id=case.sentence) for case in FORBIDDEN])
def test_the_operator_is_refused_but_for_import_and_purge(owner: psycopg.Connection, case: Forbidden) -> None:
    expected = case.by if case.operator is None else case.operator

    assert _refusal(owner, "memhub_operator", case.sql) == expected
