"""Settings that are wrong are named with their bounds; variables that are no settings are named too."""

from __future__ import annotations

from dataclasses import asdict

import pytest
from annotated_types import Ge, Gt, Le, Lt

from shared import settings
from shared.errors import ConfigurationError
from shared.settings import Settings

VALUE = "no such value ☃"
FREE = {"client", "embedding_model", "embedding_api_key", "oauth_scope", "oauth_write_scope"}
RULES = {
    name: [rule for rule in field.metadata if isinstance(rule, Ge | Gt | Le | Lt)]
    for name, field in Settings.model_fields.items()
    if name not in FREE
}


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in settings.unknown():
        monkeypatch.delenv(name)


@pytest.mark.parametrize("name", RULES)
def test_a_bad_value_is_named_with_its_bound_and_not_repeated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"MEMHUB_{name.upper()}", VALUE)
    with pytest.raises(ConfigurationError) as refused:
        settings.load()
    assert f"MEMHUB_{name.upper()}: " in refused.value.message
    assert VALUE not in refused.value.message
    for rule in RULES[name]:
        (end,) = asdict(rule).values()
        assert f" {end}" in refused.value.message


@pytest.mark.parametrize("project", ["No Slug", "x", "-app", "app/api", "a" * 65, "caf\u00e9"])
def test_a_project_that_is_neither_slug_nor_uuid_is_refused_at_start(
    project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMHUB_PROJECT", project)
    with pytest.raises(ConfigurationError, match="MEMHUB_PROJECT: a UUID, or a slug: 2 to 64 of"):
        settings.load()


@pytest.mark.parametrize(
    "project", ["my-app", "0B3F2A4C-6D1E-4F7A-8B9C-0D1E2F3A4B5C", "0b3f2a4c-6d1e-4f7a-8b9c-0d1e2f3a4b5c"]
)
def test_a_slug_or_a_uuid_is_a_project(project: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMHUB_PROJECT", project)
    assert settings.load().project == project


def test_what_a_database_url_holds_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMHUB_DATABASE_URL", "mysql://someone:secret@host/name")
    with pytest.raises(ConfigurationError, match="MEMHUB_DATABASE_URL: must be a URL such as postgresql://") as refused:
        settings.load()
    assert "secret" not in refused.value.line


def test_variables_that_are_no_settings_are_found_in_any_case(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMHUB_TENANTS", "memhub_databse_url", "MEMHUB_TENANT", "memhub_client", "MEMHUB_TOKEN", "OTHER"):
        monkeypatch.setenv(name, "x")
    assert settings.unknown() == ["MEMHUB_TENANTS", "memhub_databse_url"]


def test_the_nearest_setting_is_named_beside_one_that_is_none_but_nothing_that_is_far() -> None:
    # MEMHUB_HOST is told to be MEMHUB_PROJECT where `nearest` compares with the prefix.
    told = settings.named(["MEMHUB_TENANTS", "memhub_databse_url", "MEMHUB_HOST"])
    assert told == [
        "MEMHUB_TENANTS (did you mean MEMHUB_TENANT?)",
        "memhub_databse_url (did you mean MEMHUB_DATABASE_URL?)",
        "MEMHUB_HOST",
    ]


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"WORKER_HEARTBEAT_S": "60"}, ["WORKER_SILENCE_S: must be above MEMHUB_WORKER_HEARTBEAT_S"]),
        ({"WORKER_HEARTBEAT_S": "2", "WORKER_SILENCE_S": "2"}, ["WORKER_SILENCE_S: must be above"]),
        (
            {"JOB_BACKOFF_S": "9", "JOB_BACKOFF_S_MAX": "8"},
            ["JOB_BACKOFF_S_MAX: must be at least MEMHUB_JOB_BACKOFF_S"],
        ),
        (
            {"EMBEDDING_PROVIDER": "openai", "TENANT": "-"},
            ["TENANT: ", "EMBEDDING_MODEL: the provider openai", "EMBEDDING_BASE_URL: the provider openai"],
        ),
        ({"EMBEDDING_PROVIDER": "bedrock"}, ["EMBEDDING_MODEL: the provider bedrock"]),
        (
            {"OAUTH_SCOPE": "a", "OAUTH_WRITE_SCOPE": "b"},
            ["OAUTH_SCOPE: is a scope of JWTs", "OAUTH_WRITE_SCOPE: is a scope of JWTs"],
        ),
    ],
)
def test_settings_that_cannot_work_together_are_named_at_start(
    given: dict[str, str], named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each case fails without its validator in Settings.
    for name, value in given.items():
        monkeypatch.setenv(f"MEMHUB_{name}", value)
    with pytest.raises(ConfigurationError) as refused:
        settings.load()
    assert len(refused.value.message.split("; ")) == len(named)
    for problem in named:
        assert f"MEMHUB_{problem}" in refused.value.message


def test_settings_that_complete_each_other_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    together = {
        "WORKER_HEARTBEAT_S": "0.2",
        "WORKER_SILENCE_S": "1.5",
        "EMBEDDING_PROVIDER": "openai",
        "EMBEDDING_MODEL": "any",
        "EMBEDDING_BASE_URL": "http://models.test/v1",
        "OAUTH_ISSUER": "https://issuer.test",
        "OAUTH_AUDIENCE": "memhub",
        "OAUTH_TENANT_CLAIM": "tenant",
        "OAUTH_SCOPE": "read",
    }
    for name, value in together.items():
        monkeypatch.setenv(f"MEMHUB_{name}", value)
    assert settings.load().oauth_scope == "read"
