"""What the documents say is what the product does."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands
from django.urls import URLPattern, URLResolver, get_resolver
from pydantic import SecretStr

from holamem.environment import DEVELOPMENT_SECRET_KEY, PROJECT_DIR, Environment
from tests.environment_names import variable_names

README = (PROJECT_DIR / "README.md").read_text()
OWN_APPS = {"holamem", "workspaces", "retrieval", "agents"}


def section(title: str) -> str:
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def rows(title: str) -> list[list[str]]:
    lines = [line for line in section(title).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def shown(default: Any) -> str:
    """A default as the documents write it; empty for none."""
    if isinstance(default, SecretStr):
        secret = default.get_secret_value()
        return "" if secret == DEVELOPMENT_SECRET_KEY else secret
    if isinstance(default, Path):
        return default.name
    if isinstance(default, bool):
        return str(default).lower()
    return "" if default is None else str(default)


def documented_defaults() -> dict[str, str]:
    names = variable_names(Environment)
    return {name: shown(Environment.model_fields[field].default) for name, field in names.items()}


def test_the_readme_lists_every_setting_with_its_default() -> None:
    table = {
        name.strip("`"): default.strip("`").replace("–", "")
        for name, default, _ in rows("Settings")
    }
    assert table == documented_defaults()
    assert all(meaning for _, _, meaning in rows("Settings"))


def test_the_example_file_lists_every_setting_with_its_default() -> None:
    text = (PROJECT_DIR / ".env.example").read_text()
    found = re.findall(r"^# ([A-Z_]+)=(.*)$", text, re.MULTILINE)
    assert dict(found) == documented_defaults()
    assert not re.search(r"^[A-Z_]+=", text, re.MULTILINE), "an example sets nothing by itself"


def test_the_readme_lists_every_command() -> None:
    own = {name for name, app in get_commands().items() if app in OWN_APPS}
    assert {name.strip("`") for name, _ in rows("Commands")} == own


def addresses() -> set[str]:
    """Every path of the API with its parameters named: `/workspaces/{ws}/events`."""
    return {
        "/" + re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", path).removeprefix("api/v1/")
        for path in _paths(get_resolver().url_patterns)
        if path.startswith("api/v1/")
    }


def _paths(patterns: list[URLPattern | URLResolver], before: str = "") -> list[str]:
    found = []
    for pattern in patterns:
        path = before + str(pattern.pattern)
        is_group = isinstance(pattern, URLResolver)
        found += _paths(pattern.url_patterns, path) if is_group else [path]
    return found


def documented_addresses() -> set[str]:
    found = re.findall(r"`[A-Z ]+ ([^`]+)`", "".join(row[0] for row in rows("API")))
    return {path.replace("…", "/workspaces/{ws}") for path in found}


def test_the_readme_names_addresses_that_exist() -> None:
    assert len(documented_addresses()) > 15
    assert documented_addresses() <= addresses()


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_named_file_exists(name: str) -> None:
    text = (PROJECT_DIR / name).read_text()
    named = re.findall(
        r"`((?:docker|tests|holamem|workspaces|retrieval|templates)/[\w./-]*)`", text
    )
    named += re.findall(r"`([A-Z]+(?:\.md)?|\.env\.example)`", text) if name == "README.md" else []
    files = [path for path in named if "/" in path or path.endswith((".md", "example"))]
    assert all((PROJECT_DIR / path).exists() for path in files), files


def test_make_targets_that_the_documents_name_exist() -> None:
    makefile = (PROJECT_DIR / "Makefile").read_text()
    text = README + (PROJECT_DIR / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"^make ([a-z-]+)", text, re.MULTILINE))
    assert {"up", "test"} <= named
    assert all(re.search(rf"^{name}:", makefile, re.MULTILINE) for name in named)


def test_the_licence_is_the_full_text() -> None:
    text = (PROJECT_DIR / "LICENSE").read_text()
    assert "Version 2.0, January 2004" in text
    assert "9. Accepting Warranty or Additional Liability." in text
    assert "END OF TERMS AND CONDITIONS" in text
