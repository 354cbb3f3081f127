"""The product's own Python files, parsed once."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from holamem.environment import PROJECT_DIR

PACKAGES = ("holamem", "workspaces", "retrieval", "agents")


@cache
def python_files(*packages: str) -> tuple[Path, ...]:
    """Paths relative to the project, migrations left out."""
    found = [
        path.relative_to(PROJECT_DIR)
        for package in packages or PACKAGES
        for path in (PROJECT_DIR / package).rglob("*.py")
        if "migrations" not in path.parts
    ]
    return tuple(sorted(found))


@cache
def text_of(path: Path) -> str:
    return (PROJECT_DIR / path).read_text()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(text_of(path))


def functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def length_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
