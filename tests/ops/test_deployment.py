"""The files under ops/deploy and docker-compose.yml: of their form, and their very commands run."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml

from server.http.origin import Hosts
from tests.ops.conftest import ROOT, WAIT_S, Installation
from tests.ports import free_port

COMPOSE = ROOT / "docker-compose.yml"
DEPLOY = ROOT / "ops" / "deploy"
KUBERNETES = DEPLOY / "kubernetes.yaml"
UNITS = sorted((DEPLOY / "systemd").iterdir())
PROGRAMS = "/opt/memhub/bin/"
READY = {"memhub-server": "http_listening", "memhub-worker": "worker_started"}


def _compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(COMPOSE.read_text())
    return loaded


def _kubernetes() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(KUBERNETES.read_text()))


def _pods() -> Iterator[dict[str, Any]]:
    for document in _kubernetes():
        if document["kind"] in {"Deployment", "Job"}:
            yield document["spec"]["template"]["spec"]


def _commands() -> list[list[str]]:
    """Each command that the files start, once, its port any free one."""
    found = [service["command"] for service in _compose()["services"].values() if "command" in service]
    found += [container["command"] for pod in _pods() for container in pod["containers"]]
    found += [shlex.split(line.split(": ", 1)[1].replace("${PORT:-3000}", "3000")) for line in _procfile()]
    for unit in UNITS:
        for line in re.findall(r"^ExecStart=(.+)$", unit.read_text(), re.MULTILINE):
            assert line.startswith(PROGRAMS)
            found.append(shlex.split(line.removeprefix(PROGRAMS)))
    found.append(json.loads(re.findall(r"^CMD (.+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)[0]))
    return [list(command) for command in sorted({tuple(command) for command in found})]


def _procfile() -> list[str]:
    return (ROOT / "Procfile").read_text().splitlines()


def _validated(*command: str) -> None:
    ran = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_compose_file_is_of_the_compose_specification() -> None:
    _validated("check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE))


def test_the_kubernetes_example_is_of_the_schemas_of_kubernetes() -> None:
    _validated("kubernetes_validate", "--strict", str(KUBERNETES))
    assert len(_kubernetes()) == 8


def test_systemd_takes_the_units(tmp_path: Path, installation: Installation) -> None:
    verifier = shutil.which("systemd-analyze")
    if verifier is None:
        pytest.skip("needs systemd-analyze")
    for unit in UNITS:
        text = unit.read_text().replace(PROGRAMS, f"{installation.programs}/")
        (tmp_path / unit.name).write_text(text)
    units = [str(tmp_path / unit.name) for unit in UNITS]
    ran = subprocess.run([verifier, "verify", "--man=no", *units], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")


def test_every_service_waits_for_what_it_needs_and_is_watched() -> None:
    services = _compose()["services"]
    for name, service in services.items():
        assert "healthcheck" in service or service["restart"] == "no"
        for needed in service.get("depends_on", {}):
            assert needed in services
        if name not in {"postgres", "migrate"}:
            assert service["depends_on"]["migrate"] == {"condition": "service_completed_successfully"}


def test_the_image_holds_bytecode_of_all_that_it_runs() -> None:
    """Its root is read-only, where nothing is compiled for the next start."""
    compiled = re.findall(r"python -m compileall ((?:.*\\\n)*.*)", (DEPLOY / "Dockerfile").read_text())
    places = ("/opt/memhub/lib", "migrations ops server shared workers", '"$(python -c')
    assert len(compiled) == len(places)
    for command, place in zip(compiled, places, strict=True):
        assert "--invalidation-mode=unchecked-hash" in command
        assert place in command


def test_no_container_is_killed_while_it_still_starts() -> None:
    """Fails without the startupProbe of web: its livenessProbe alone kills it after 30 s."""
    for container in (container for pod in _pods() for container in pod["containers"]):
        if "livenessProbe" not in container:
            continue
        live, start = container["livenessProbe"], container.get("startupProbe")
        patience_s = start["periodSeconds"] * start["failureThreshold"] if start else live["initialDelaySeconds"]
        assert patience_s + 3 * live["periodSeconds"] >= 150


def test_one_service_builds_the_image_and_none_pulls_it() -> None:
    services = [service for service in _compose()["services"].values() if service["image"] == "memhub"]
    assert len(services) == 4
    assert [service["command"] for service in services if "build" in service] == [["memhub", "migrate"]]
    assert {service["pull_policy"] for service in services} == {"never"}


def test_the_server_is_called_by_every_name_of_its_service() -> None:
    """Fails without web.memhub.svc in MEMHUB_ALLOWED_HOSTS of ops/deploy/kubernetes.yaml."""
    (pod,) = (pod for pod in _pods() if pod["containers"][0]["name"] == "web")
    (named,) = (each["value"] for each in pod["containers"][0]["env"] if each["name"] == "MEMHUB_ALLOWED_HOSTS")
    hosts = Hosts(bound="0.0.0.0", allowed=named.split(","))
    for name in ("web", "web.memhub", "web.memhub.svc", "web.memhub.svc.cluster.local"):
        assert hosts.allow(f"{name}:3000")


def test_every_worker_waits_for_the_schema(installation: Installation, empty_database_url: str) -> None:
    """Fails without the initContainers of ops/deploy/kubernetes.yaml, and where their command does not wait."""
    waiting = [
        pod.get("initContainers", ()) for pod in _pods() if pod["containers"][0]["command"][0] == "memhub-worker"
    ]
    ((only,), (same,)) = waiting
    assert only == same
    with psycopg.connect(empty_database_url, autocommit=True) as owner:
        owner.execute("CREATE EXTENSION vector")
    url = {"MEMHUB_DATABASE_URL": empty_database_url}
    environment = installation.environment(url)
    environment["PATH"] = f"{installation.programs}:{environment['PATH']}"
    with subprocess.Popen(only["command"], env=environment, stderr=subprocess.PIPE, text=True, cwd="/") as process:
        # `timeout` hands a SIGTERM on to what it runs, and dies alone of a SIGKILL.
        watchdog = threading.Timer(WAIT_S, process.terminate)
        watchdog.start()
        try:
            assert process.stderr is not None
            said = process.stderr.readline()
            migrated = installation.run("migrate", environment=url)
            process.wait()
        finally:
            process.terminate()
            watchdog.cancel()
    assert "memhub migrate" in said
    assert (migrated.returncode, process.returncode) == (0, 0), migrated.stderr


def test_a_worker_that_waits_for_the_schema_in_vain_fails(installation: Installation, empty_database_url: str) -> None:
    """Fails without `timeout` in those commands: the pod stood as Init:0/1 for ever."""
    only = next(pod["initContainers"][0]["command"] for pod in _pods() if "initContainers" in pod)
    assert only[:2] == ["timeout", "300"]
    environment = installation.environment({"MEMHUB_DATABASE_URL": empty_database_url})
    environment["PATH"] = f"{installation.programs}:{environment['PATH']}"
    ran = subprocess.run(["timeout", "3", *only[2:]], env=environment, capture_output=True, cwd="/", check=False)
    assert ran.returncode == 124


def test_no_container_may_become_root() -> None:
    for pod in _pods():
        assert pod["securityContext"]["runAsNonRoot"]
        for container in [*pod.get("initContainers", ()), *pod["containers"]]:
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert re.search(r"^USER 10001$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)


def test_what_the_image_is_built_from_is_there_and_installed_by_hash() -> None:
    text = (DEPLOY / "Dockerfile").read_text()
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    for source in re.findall(r"^COPY (?!--from)(.+) \S+$", text, re.MULTILINE):
        for part in source.split():
            assert (ROOT / part).exists()
            assert part.split("/")[0] in allowed
    installs = [line for line in re.findall(r"pip install .*", text) if "--no-deps" not in line]
    assert len(installs) == 2
    assert all("--require-hashes" in line for line in installs)


def test_the_image_s_locks_hold_the_same_versions_and_no_tools_of_ours() -> None:
    def versions(lock: Path) -> dict[str, str]:
        return dict(re.findall(r"^([a-z0-9.-]+)==(\S+)", lock.read_text(), re.MULTILINE))

    runtime, everything = versions(DEPLOY / "requirements.lock"), versions(ROOT / "requirements.lock")
    building = versions(DEPLOY / "build.lock")
    assert runtime.items() < everything.items()
    assert building.items() < everything.items()
    assert {"pytest", "mypy", "hatchling"}.isdisjoint(runtime)
    assert {"pytest", "mypy", "asyncpg"}.isdisjoint(building)
    assert {"asyncpg", "procrastinate", "tomlkit", "uvicorn"} <= runtime.keys()
    assert {"editables", "hatchling"} <= building.keys()


def test_the_database_s_first_script_makes_a_login_that_cannot_rewrite_history(
    empty_database_url: str, admin: psycopg.Connection, installation: Installation
) -> None:
    admin.execute("DROP ROLE IF EXISTS memhub_app")
    exists = admin.execute("SELECT count(*) FROM pg_roles WHERE rolname = 'memhub_server'").fetchone() == (1,)
    script = (DEPLOY / "initdb.sh").read_text()
    sql = script.partition("<<'SQL'\n")[2].partition("SQL\n")[0].replace(":'password'", "'p'")
    assert "CREATE ROLE memhub_server NOLOGIN;" in sql
    if exists:
        sql = sql.replace("CREATE ROLE memhub_server NOLOGIN;", "")
    subprocess.run(["/bin/sh", "-n", DEPLOY / "initdb.sh"], check=True)
    with psycopg.connect(empty_database_url, autocommit=True) as owner:
        owner.execute(sql)
    migrated = installation.run("migrate", environment={"MEMHUB_DATABASE_URL": empty_database_url})
    assert migrated.returncode == 0, migrated.stderr
    url = empty_database_url.replace("postgres@", "memhub_app@")
    shown = installation.run("status", environment={"MEMHUB_DATABASE_URL": url})
    assert (shown.returncode, shown.stderr) == (0, "")
    examined = installation.run("doctor", "--json", environment={"MEMHUB_DATABASE_URL": url})
    well = {each["name"]: each["well"] for each in json.loads(examined.stdout)}
    assert well["roles"], examined.stdout
    assert well["invariants"], examined.stdout
    with psycopg.connect(url, autocommit=True) as app, pytest.raises(psycopg.errors.InsufficientPrivilege):
        app.execute("SET ROLE memhub_operator")
    with psycopg.connect(empty_database_url, autocommit=True) as owner:
        owner.execute("DROP OWNED BY memhub_app; DROP ROLE memhub_app")


@pytest.mark.parametrize("command", _commands(), ids=" ".join)
def test_each_command_of_the_files_runs(command: list[str], installation: Installation, database_url: str) -> None:
    data_dir = Path("/tmp") / f"mh-{os.getpid()}-{abs(hash(tuple(command)))}"
    environment = {
        "MEMHUB_DATABASE_URL": database_url,
        "MEMHUB_DATA_DIR": str(data_dir),
        "MEMHUB_EMBEDDING_PROVIDER": "none",
        "MEMHUB_API_KEY": "a-key-of-this-test",
    }
    process = subprocess.Popen(
        [installation.programs / command[0], *_on_a_free_port(command[1:])],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd="/",
        env=installation.environment(environment),
    )
    with process:
        watchdog = threading.Timer(WAIT_S, process.kill)
        watchdog.start()
        try:
            output = _until_ready(process, READY.get(command[0]))
        finally:
            watchdog.cancel()
    shutil.rmtree(data_dir, ignore_errors=True)
    assert process.returncode == 0, output


def _until_ready(process: subprocess.Popen[str], event: str | None) -> str:
    """All that it printed; asked to end as soon as it says that it is ready."""
    assert process.stdout is not None
    seen = []
    for line in process.stdout:
        seen.append(line)
        if event is not None and f'"{event}"' in line:
            process.terminate()
    assert event is None or any(f'"{event}"' in line for line in seen), "".join(seen)
    return "".join(seen)


def _on_a_free_port(arguments: list[str]) -> list[str]:
    port = free_port()
    return [re.sub(r"\b(3000|8200)\b", str(port), argument) for argument in arguments]


async def test_a_host_without_a_living_worker_fails_its_health_check(
    installation: Installation, database_url: str
) -> None:
    url = {"MEMHUB_DATABASE_URL": database_url}
    assert installation.run("status", "--here", environment=url).returncode == 1
    with psycopg.connect(database_url, autocommit=True) as owner:
        owner.execute("INSERT INTO procrastinate_workers DEFAULT VALUES")
        owner.execute(
            "INSERT INTO memhub.fleet_workers (worker_id, host, pid, queues, concurrency, started_at)"
            " SELECT id, %s, 1, '{embed}', 1, now() FROM procrastinate_workers",
            [socket.gethostname()],
        )
    assert installation.run("status", "--here", environment=url).returncode == 0
