"""Every setting of memhub, read from the environment and checked as a whole at start."""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path
from typing import Annotated, Literal, assert_never, get_args

from annotated_types import Ge, Gt, Le, Lt
from pydantic import (
    AnyHttpUrl,
    Field,
    PostgresDsn,
    SecretStr,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
)
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from shared import logs
from shared.domain import LOCAL_TENANT
from shared.environment import CONVERSATION_PATTERN, PROJECT_PATTERN, TENANT_PATTERN, default_data_dir
from shared.errors import ConfigurationError

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "::1", "[::1]")

PREFIX = "MEMHUB_"
# Of the shipped containers and of what `memhub connect` writes for clients.
_OTHERS = frozenset({"MEMHUB_APP_PASSWORD", "MEMHUB_OWNER_PASSWORD", "MEMHUB_TOKEN"})

_NAMED_MAX = 20

_KEY = re.compile(r"[\x21-\x7e]{1,512}", re.ASCII)
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?", re.ASCII)
_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?", re.ASCII)
_POSTGRES_URL: TypeAdapter[PostgresDsn] = TypeAdapter(PostgresDsn)
_HTTP_URL: TypeAdapter[AnyHttpUrl] = TypeAdapter(AnyHttpUrl)


class Settings(BaseSettings):
    """The environment, read once; `load` is the only way in."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", frozen=True, env_ignore_empty=True)

    database_url: str | None = None
    database_direct_url: str | None = None
    data_dir: Path = Field(default_factory=default_data_dir)
    tenant: str = LOCAL_TENANT
    project: str | None = None
    client: str | None = Field(default=None, max_length=128)
    conversation: str | None = None

    embedding_provider: Literal["fastembed", "openai", "bedrock", "none"] = "fastembed"
    embedder_url: AnyHttpUrl | None = None
    embedding_model: str | None = Field(default=None, validate_default=True)
    embedding_dim: int | None = Field(default=None, ge=1, le=16_000)
    embedding_base_url: AnyHttpUrl | None = Field(default=None, validate_default=True)
    embedding_api_key: SecretStr | None = None
    embedding_floor: float | None = Field(default=None, gt=0, lt=1)
    embedding_threads: int = Field(default=1, ge=1, le=64)
    embedding_request_timeout_s: float = Field(default=10, gt=0, le=120)
    query_embedding_timeout_s: float = Field(default=0.15, gt=0, le=10)

    oauth_issuer: str | None = None
    oauth_audience: str | None = Field(default=None, validate_default=True)
    oauth_tenant_claim: str | None = Field(default=None, validate_default=True)
    oauth_scope: str | None = None
    oauth_write_scope: str | None = None
    api_key: SecretStr | None = None
    allowed_origins: Annotated[tuple[str, ...], NoDecode] = ()
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    rate_limit_per_s: float = Field(default=200, gt=0, le=1_000_000)
    http_body_bytes_max: int = Field(default=1_048_576, ge=65_536, le=67_108_864)
    http_sessions_max: int = Field(default=10_000, ge=1, le=1_000_000)
    http_sessions_per_caller_max: int | None = Field(default=None, ge=1, le=1_000_000)
    http_request_head_timeout_s: float = Field(default=10, gt=0, le=600)
    http_stall_timeout_s: float = Field(default=30, gt=0, le=600)
    http_recheck_s: float = Field(default=10, gt=0, le=3_600)
    http_session_idle_s: float = Field(default=1_800, gt=0, le=86_400)

    stats_flush_s: float = Field(default=30, ge=0.1, le=3600)
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    pool_connections_max: int = Field(default=10, ge=1, le=200)
    pool_wait_s: float = Field(default=15, gt=0, le=60)
    connect_timeout_s: float = Field(default=5, gt=0, le=60)
    statement_timeout_s: float = Field(default=15, gt=0, le=600)

    worker_heartbeat_s: float = Field(default=10, ge=0.1, le=60)
    worker_silence_s: float = Field(default=30, ge=0.5, le=600, validate_default=True)
    worker_stop_s: float = Field(default=8, gt=0, le=300)
    worker_idle_s: float = Field(default=600, ge=0.1, le=86_400)
    job_attempts_max: int = Field(default=8, ge=1, le=100)
    job_backoff_s: float = Field(default=2, gt=0, le=60)
    job_backoff_s_max: float = Field(default=600, gt=0, le=86_400)
    tend_every_s: int = Field(default=30, ge=1, le=59)
    fold_every_s: int = Field(default=30, ge=1, le=59)
    sweep_every_s: int = Field(default=30, ge=1, le=59)

    embedding_batch_rows: int = Field(default=32, ge=1, le=1000)
    embedding_lease_s: float = Field(default=30, ge=0.5, le=3600)
    embedding_attempts_max: int = Field(default=5, ge=1, le=100)

    idempotency_retention_days: float = Field(default=7, gt=0, le=3650)
    job_retention_days: float = Field(default=2, gt=0, le=3650)
    failed_job_retention_days: float = Field(default=30, gt=0, le=3650)
    run_retention_days: float = Field(default=7, gt=0, le=3650)

    @property
    def is_pooled(self) -> bool:
        """Whether database_url leads to a pooler in transaction mode, which keeps no state of a session."""
        return self.database_direct_url is not None

    @property
    def direct_url(self) -> str | None:
        """The way to PostgreSQL itself; None for an embedded one."""
        return self.database_direct_url or self.database_url

    @property
    def sessions_per_caller_max(self) -> int:
        return self.http_sessions_per_caller_max or max(1, self.http_sessions_max // 10)

    @field_validator("database_url", "database_direct_url")
    @classmethod
    def _is_postgres(cls, url: str | None, others: ValidationInfo) -> str | None:
        if url is not None:
            try:
                _POSTGRES_URL.validate_python(url)
            except ValidationError:
                raise ValueError("must be a URL such as postgresql://name:password@host:5432/database") from None
            if others.field_name == "database_direct_url" and others.data.get("database_url") is None:
                raise ValueError("is for a database whose MEMHUB_DATABASE_URL leads to a pooler: set that too")
        return url

    @field_validator("data_dir")
    @classmethod
    def _is_absolute(cls, folder: Path) -> Path:
        if not folder.expanduser().is_absolute():
            raise ValueError("must be an absolute path")
        return folder.expanduser()

    @field_validator("tenant")
    @classmethod
    def _is_tenant(cls, tenant: str) -> str:
        if not TENANT_PATTERN.fullmatch(tenant):
            raise ValueError("1 to 128 characters, first a letter or digit, then letters, digits, '.', '_', '-'")
        return tenant

    @field_validator("project")
    @classmethod
    def _is_project(cls, project: str | None) -> str | None:
        if project is not None and not PROJECT_PATTERN.fullmatch(project):
            raise ValueError("a UUID, or a slug: 2 to 64 of a-z, 0-9, '.', '_', '-', first and last a letter or digit")
        return project

    @field_validator("conversation")
    @classmethod
    def _is_conversation(cls, conversation: str | None) -> str | None:
        if conversation is not None and not CONVERSATION_PATTERN.fullmatch(conversation):
            raise ValueError("1 to 512 printable ASCII characters without spaces")
        return conversation

    @field_validator("embedding_model", "embedding_base_url")
    @classmethod
    def _completes_provider(cls, value: object, others: ValidationInfo) -> object:
        """A server beside an embedder of its own needs the model's name, and not the way to it."""
        provider = others.data.get("embedding_provider")
        by_url = others.field_name == "embedding_base_url"
        needing = ("openai",) if by_url else ("openai", "bedrock")
        if value is None and provider in needing and not (by_url and others.data.get("embedder_url")):
            raise ValueError(f"the provider {provider} needs it")
        return value

    @field_validator("worker_silence_s")
    @classmethod
    def _outlasts_heartbeat(cls, silence_s: float, others: ValidationInfo) -> float:
        if silence_s <= others.data.get("worker_heartbeat_s", 0):
            raise ValueError("must be above MEMHUB_WORKER_HEARTBEAT_S: a living worker would lose its jobs")
        return silence_s

    @field_validator("job_backoff_s_max")
    @classmethod
    def _is_above_first(cls, most_s: float, others: ValidationInfo) -> float:
        if most_s < others.data.get("job_backoff_s", 0):
            raise ValueError("must be at least MEMHUB_JOB_BACKOFF_S")
        return most_s

    @field_validator("oauth_scope", "oauth_write_scope")
    @classmethod
    def _needs_issuer(cls, scope: str | None, others: ValidationInfo) -> str | None:
        if scope is not None and others.data.get("oauth_issuer", "") is None:
            raise ValueError("is a scope of JWTs: set MEMHUB_OAUTH_ISSUER too")
        return scope

    @field_validator("log_level", mode="before")
    @classmethod
    def _upper(cls, level: object) -> object:
        return level.upper() if isinstance(level, str) else level

    @field_validator("oauth_issuer")
    @classmethod
    def _is_issuer(cls, issuer: str | None) -> str | None:
        # Kept as it is written: a token's issuer is compared character by character.
        url = None if issuer is None else _HTTP_URL.validate_python(issuer)
        if url is not None and url.scheme != "https" and url.host not in LOOPBACK_NAMES:
            raise ValueError("must be an https URL")
        return issuer

    @field_validator("oauth_audience", "oauth_tenant_claim")
    @classmethod
    def _completes_issuer(cls, value: str | None, others: ValidationInfo) -> str | None:
        if (value is None) != (others.data.get("oauth_issuer") is None):
            raise ValueError("MEMHUB_OAUTH_ISSUER, _AUDIENCE and _TENANT_CLAIM are set together or not at all")
        return value

    @field_validator("api_key")
    @classmethod
    def _is_header_value(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and not _KEY.fullmatch(key.get_secret_value()):
            raise ValueError("1 to 512 printable ASCII characters without spaces")
        return key

    @field_validator("allowed_origins", "allowed_hosts", mode="before")
    @classmethod
    def _split(cls, names: object) -> object:
        if isinstance(names, str):
            return tuple(name.strip().lower() for name in names.split(",") if name.strip())
        return names

    @field_validator("allowed_origins")
    @classmethod
    def _are_origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_ORIGIN.fullmatch(origin) for origin in origins):
            raise ValueError("origins such as https://app.example.com, separated by commas")
        return origins

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_HOST.fullmatch(host) for host in hosts):
            raise ValueError("host names such as memory.example.com, separated by commas")
        return hosts


def exports_traces() -> bool:
    """Whether OpenTelemetry's own variables name a collector for traces."""
    named = any(os.environ.get(f"OTEL_EXPORTER_OTLP_{kind}ENDPOINT") for kind in ("", "TRACES_"))
    return named and os.environ.get("OTEL_SDK_DISABLED", "").lower() != "true"


def load() -> Settings:
    """Settings from the environment.

    Raises ConfigurationError naming every bad variable with its bound, never its value, and those that are no settings.
    """
    try:
        return Settings()
    except ValidationError as refused:
        problems = [_problem(error) for error in refused.errors(include_input=False, include_url=False)]
        problems += [f"{told}: there is no such setting" for told in named(unknown()[:_NAMED_MAX])]
        raise ConfigurationError(
            "; ".join(problems), next="Correct or unset the variables named, then start again."
        ) from None


def unknown() -> list[str]:
    """Variables that look like settings and are none: a misspelt one would otherwise be a default that nobody chose."""
    known = _names() | _OTHERS
    return sorted(name for name in os.environ if name.upper().startswith(PREFIX) and name.upper() not in known)


def nearest(name: str) -> str | None:
    """The setting that a name which is none is likely to stand for."""
    # The prefix alone would make any two look alike.
    settings = [setting.removeprefix(PREFIX) for setting in sorted(_names())]
    found = difflib.get_close_matches(name.upper().removeprefix(PREFIX), settings, n=1)
    return f"{PREFIX}{found[0]}" if found else None


def named(names: list[str]) -> list[str]:
    """Names that are no settings, as people are told them: each with its nearest setting."""
    return [f"{name} (did you mean {near}?)" if (near := nearest(name)) else name for name in names]


def warn_of_unknown() -> None:
    """One line in the log that names them, where there are any, and the setting that each is nearest to."""
    if names := unknown():
        near = {name: setting for name in names[:_NAMED_MAX] if (setting := nearest(name))}
        logs.event("settings_unknown", level="WARNING", names=names[:_NAMED_MAX], unknown=len(names), nearest=near)


def _names() -> set[str]:
    return {f"{PREFIX}{name.upper()}" for name in Settings.model_fields}


def _problem(error: ErrorDetails) -> str:
    name = str(error["loc"][0])
    told = error["msg"].removeprefix("Value error, ")
    bound = told if error["type"] == "value_error" else _bound(name) or _kind(error)
    return f"{PREFIX}{name.upper()}: {bound}"


def _kind(error: ErrorDetails) -> str:
    """The library's own words are of inputs and schemes."""
    if error["type"] == "literal_error":
        known = str(error["ctx"]["expected"]).replace("'", "").replace(" or ", ", ")
        return f"must be one of {known}"
    if error["type"].startswith("url_"):
        return "must be a URL such as https://example.com"
    return error["msg"].removeprefix("Value error, ")


def _bound(name: str) -> str | None:
    """Both ends of a number's range: the library names the one that was passed, and none for what is no number."""
    field = Settings.model_fields[name]
    ends = [_end(rule) for rule in field.metadata if isinstance(rule, Ge | Gt | Le | Lt)]
    if not ends:
        return None
    kind = "number" if float in (field.annotation, *get_args(field.annotation)) else "whole number"
    return f"must be a {kind} {' and '.join(ends)}"


def _end(rule: Ge | Gt | Le | Lt) -> str:
    match rule:
        case Ge():
            return f"of at least {rule.ge}"
        case Gt():
            return f"above {rule.gt}"
        case Le():
            return f"at most {rule.le}"
        case Lt():
            return f"below {rule.lt}"
        case _:
            assert_never(rule)
