"""What memhub demands of a PostgreSQL server before it touches it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import asyncpg

from shared import statements
from shared.errors import ConfigurationError

POSTGRES_MAJOR_MIN = 16
VECTOR_VERSION_MIN = (0, 8)

_SQL = statements.load("migrations")
_VECTOR_VERSIONS = _SQL["vector_versions"]
_CREATE_VECTOR = _SQL["create_vector"]


async def check(connection: asyncpg.Connection, *, create_extension: bool = False) -> None:
    """Refuses a PostgreSQL before 16 and a database without pgvector 0.8, with the statement to run.

    `create_extension` makes the extension where it is missing, for databases that are ours alone.
    Raises ConfigurationError.
    """
    major = connection.get_server_version().major
    if major < POSTGRES_MAJOR_MIN:
        raise ConfigurationError(
            f"The database runs PostgreSQL {major}; memhub needs {POSTGRES_MAJOR_MIN} or later.",
            next="Point MEMHUB_DATABASE_URL at a later server, or unset it to use the embedded one.",
        )
    if create_extension:
        await _create_extension(connection)
    versions = await connection.fetchrow(_VECTOR_VERSIONS)
    if versions is None:
        raise _no_vector("has no pgvector files", "Install pgvector 0.8 or later on that server, then run")
    if versions["installed_version"] is None:
        raise _no_vector("lacks the extension vector", "Run as a superuser or the database's owner:")
    if _version(versions["installed_version"]) < VECTOR_VERSION_MIN:
        raise ConfigurationError(
            f"The database has pgvector {versions['installed_version']}; memhub needs 0.8 or later.",
            next=_update(versions["default_version"]),
        )


@contextmanager
def privileges() -> Iterator[None]:
    """Tells a role that may not do what is done inside who may. Raises ConfigurationError."""
    try:
        yield
    except asyncpg.InsufficientPrivilegeError as refused:
        raise ConfigurationError(
            f"The role of MEMHUB_DATABASE_URL may not change the schema: {refused}.",
            next="Run `memhub migrate` as the owner of the database.",
        ) from None


async def _create_extension(connection: asyncpg.Connection) -> None:
    # A refusal is told by the check that follows, with the statement to run.
    with suppress(asyncpg.InsufficientPrivilegeError, asyncpg.UndefinedFileError, asyncpg.FeatureNotSupportedError):
        await connection.execute(_CREATE_VECTOR)


def _no_vector(problem: str, action: str) -> ConfigurationError:
    return ConfigurationError(f"The database server {problem}.", next=f"{action} CREATE EXTENSION vector;")


def _update(offered: str | None) -> str:
    statement = "ALTER EXTENSION vector UPDATE;"
    if offered is not None and _version(offered) >= VECTOR_VERSION_MIN:
        return f"Run in that database: {statement}"
    return f"Install pgvector 0.8 or later on that server, then run {statement}"


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", text))
