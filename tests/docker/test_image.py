"""What can be known about the image and the compose file without a container engine."""

import importlib
import os
import re
import runpy
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.core.management import get_commands

from holamem.environment import Environment
from tests.environment_names import variables

PROJECT = Path(__file__).resolve().parents[2]
DOCKER = PROJECT / "docker"
DOCKERFILE = (DOCKER / "Dockerfile").read_text()
ENTRYPOINT = DOCKER / "entrypoint.sh"
HEALTH = runpy.run_path(str(DOCKER / "healthcheck.py"))
SHIPPED = ("Dockerfile", "compose.yml", "entrypoint.sh", "roles.sql", "healthcheck.py")


def instructions(name: str) -> list[str]:
    """Arguments of every instruction of this name, continued lines joined."""
    joined = DOCKERFILE.replace("\\\n", " ")
    return re.findall(rf"^{name}\s+(.*)$", joined, re.MULTILINE)


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load((DOCKER / "compose.yml").read_text())
    return document


def test_every_copied_file_exists_and_is_let_through() -> None:
    let_through = (DOCKER / "Dockerfile.dockerignore").read_text().splitlines()
    sources = [
        source
        for arguments in instructions("COPY")
        if not arguments.startswith("--from")
        for source in shlex.split(arguments)[:-1]
    ]
    assert {"holamem", "workspaces", "retrieval", "agents", "templates"} <= set(sources)
    for source in sources:
        assert (PROJECT / source).exists(), source
        assert f"!{source}" in let_through


def test_images_are_named_by_version(compose: dict[str, Any]) -> None:
    images = [line.split(" AS ")[0] for line in instructions("FROM")]
    images += [service["image"] for service in compose["services"].values()]
    assert all(re.search(r":[\w.-]*\d", image) for image in images), images
    assert not any("latest" in image for image in images)


def test_dependencies_are_installed_by_hash() -> None:
    [install] = [line for line in instructions("RUN") if "pip install" in line]
    assert "--require-hashes" in install
    assert "--no-deps" in install


def test_the_process_is_not_root() -> None:
    [user] = instructions("USER")
    assert user not in ("root", "0")
    assert DOCKERFILE.index("\nUSER ") < DOCKERFILE.index("\nENTRYPOINT ")


def test_the_image_asks_for_readiness() -> None:
    [check] = instructions("HEALTHCHECK")
    assert 'CMD ["python", "docker/healthcheck.py", "web"]' in check
    assert "/readyz" in (DOCKER / "healthcheck.py").read_text()


def test_every_lasting_service_has_a_health_check(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert set(services) == {"db", "migrate", "web", "worker", "runner"}
    for name in ("db", "web", "worker", "runner"):
        assert services[name]["healthcheck"]["test"][0] == "CMD", name
    assert services["migrate"]["restart"] == "no"


def test_nothing_starts_before_the_migrations_are_done(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert services["migrate"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    for name in ("web", "worker", "runner"):
        assert services[name]["depends_on"] == {
            "migrate": {"condition": "service_completed_successfully"}
        }


def test_services_take_roles_that_the_entrypoint_knows(compose: dict[str, Any]) -> None:
    known = re.findall(r"^    (\w+)\)$", ENTRYPOINT.read_text(), re.MULTILINE)
    assert set(known) == {"web", "worker", "runner", "migrate", "manage"}
    for name in ("migrate", "web", "worker", "runner"):
        assert compose["services"][name]["command"] == [name]


def test_web_worker_and_runner_share_the_bodies_and_nothing_else(compose: dict[str, Any]) -> None:
    for name in ("web", "worker", "runner"):
        assert compose["services"][name]["volumes"] == ["bodies:/data/bodies"]
        assert compose["services"][name]["read_only"] is True
    assert set(compose["volumes"]) == {"database", "bodies"}


def test_no_password_has_a_default() -> None:
    text = (DOCKER / "compose.yml").read_text()
    secrets = re.findall(r"\$\{(\w*(?:PASSWORD|SECRET)\w*)([^}]*)\}", text)
    assert secrets
    assert all(rest.startswith(":?") for _, rest in secrets), secrets


@pytest.mark.parametrize("name", SHIPPED)
def test_every_named_setting_is_one_of_the_product(name: str) -> None:
    named = set(re.findall(r"\b(?:HOLAMEM|OPENAI)_[A-Z_]+\b", (DOCKER / name).read_text()))
    assert named <= variables(Environment), named - variables(Environment)


def test_the_entrypoint_is_a_strict_posix_script() -> None:
    subprocess.run(["sh", "-n", ENTRYPOINT], check=True)
    text = ENTRYPOINT.read_text()
    assert text.startswith("#!/bin/sh\n")
    assert "\nset -eu\n" in text
    assert os.access(ENTRYPOINT, os.X_OK)
    assert not re.search(r"\[\[|\bfunction\b|\blocal\b|\bsource\b", text)
    unquoted = re.sub(r'"[^"]*"', "", re.sub(r"^\s*#.*$", "", text, flags=re.MULTILINE))
    assert "$" not in re.sub(r"'[^']*'", "", unquoted), "an expansion without quotes"


def run_entrypoint(tmp_path: Path, *arguments: str, **environment: str) -> tuple[int, str]:
    """With a `python` that only prints what it was asked to run."""
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\necho "$HOLAMEM_PROCESS" "$@"\n')
    fake.chmod(0o755)
    result = subprocess.run(
        ["sh", ENTRYPOINT, *arguments],
        env={"PATH": f"{tmp_path}:{os.defpath}", "HOLAMEM_PROCESS": "", **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    return result.returncode, (result.stdout + result.stderr).strip()


@pytest.mark.parametrize(
    ("arguments", "start"),
    [
        ([], "web -m uvicorn holamem.asgi:application --host 0.0.0.0 --port 8000"),
        (["web"], "web -m uvicorn holamem.asgi:application"),
        (["worker"], "worker manage.py qcluster"),
        (["runner"], "runner manage.py runner"),
        (["migrate"], "manage.py migrate --noinput"),
        (["manage", "verify", "--json"], "manage.py verify --json"),
    ],
)
def test_each_role_runs_its_own_command(tmp_path: Path, arguments: list[str], start: str) -> None:
    code, output = run_entrypoint(tmp_path, *arguments, HOLAMEM_DATABASE_URL="postgresql://db/x")
    assert (code, output[: len(start)]) == (0, start)


def test_a_container_without_a_database_or_a_known_role_stops(tmp_path: Path) -> None:
    assert run_entrypoint(tmp_path, "web") == (
        64,
        "HOLAMEM_DATABASE_URL must name a PostgreSQL server with pgvector.",
    )
    code, output = run_entrypoint(tmp_path, "bash", HOLAMEM_DATABASE_URL="postgresql://db/x")
    assert code == 64
    assert output.startswith("Unknown role 'bash'")


def test_what_the_roles_run_exists() -> None:
    application = importlib.import_module("holamem.asgi").application
    assert callable(application)
    commands = get_commands()
    named = set(re.findall(r"manage\.py (\w+)", ENTRYPOINT.read_text() + DOCKERFILE))
    named |= set(re.findall(r"run --rm web manage (\w+)", (DOCKER / "compose.yml").read_text()))
    assert {"qcluster", "migrate", "collectstatic", "create_tenant"} <= named
    assert named <= set(commands)


def test_a_web_container_without_a_server_is_unhealthy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOLAMEM_PORT", "1")
    assert HEALTH["web_is_ready"]() is False


@pytest.mark.parametrize(("count", "healthy"), [(0, False), (2, False), (3, True)])
def test_a_worker_container_is_healthy_with_a_whole_cluster(
    tmp_path: Path, count: int, healthy: bool
) -> None:
    for number in range(count):
        make_process(tmp_path, number, b"python\0manage.py\0qcluster\0")
    make_process(tmp_path, 99, b"python\0docker/healthcheck.py\0worker\0")
    (tmp_path / "100").mkdir()  # one that ended while it was looked at
    assert HEALTH["worker_is_running"](tmp_path) is healthy


def test_a_runner_container_is_healthy_while_its_process_runs(tmp_path: Path) -> None:
    make_process(tmp_path, 99, b"python\0docker/healthcheck.py\0runner\0")
    assert HEALTH["runner_is_running"](tmp_path) is False
    make_process(tmp_path, 1, b"python\0manage.py\0runner\0")
    assert HEALTH["runner_is_running"](tmp_path) is True


def make_process(folder: Path, number: int, command_line: bytes) -> None:
    (folder / str(number)).mkdir()
    (folder / str(number) / "cmdline").write_bytes(command_line)
