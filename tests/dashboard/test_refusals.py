"""Every reason for which a change is refused has words in both languages."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import translation

from holamem.errors import Conflict, InvalidInput
from workspaces.dashboard.refusals import BY_CODE, SENTENCES, refusal

SERVICES = Path("workspaces/services")
CHANGES = [
    path
    for name in ("corrections", "entities", "erasure", "integrations")
    for path in sorted((SERVICES / name).glob("*.py"))
] + [SERVICES / "audit.py", SERVICES / "entity_view.py", SERVICES / "rebuild" / "trees.py"]
REFUSALS = ("Conflict", "InvalidInput")


def refused_in(path: Path) -> Iterator[tuple[str, str]]:
    """Sentence (empty when it is put together) and code of each refusal in a module."""
    for found in ast.walk(ast.parse(path.read_text())):
        if not (isinstance(found, ast.Call) and isinstance(found.func, ast.Name)):
            continue
        if found.func.id in REFUSALS:
            [words, *_] = found.args
            is_plain = isinstance(words, ast.Constant)
            yield str(words.value) if is_plain else "", code_of(found)


def code_of(call: ast.Call) -> str:
    for keyword in call.keywords:
        if keyword.arg == "detail" and isinstance(keyword.value, ast.Dict):
            pairs = zip(keyword.value.keys, keyword.value.values, strict=True)
            for key, value in pairs:
                if isinstance(key, ast.Constant) and key.value == "code":
                    return str(value.value) if isinstance(value, ast.Constant) else ""
    return ""


@pytest.mark.parametrize("path", CHANGES, ids=str)
def test_every_refusal_has_words_for_people(path: Path) -> None:
    unknown = [
        (sentence, code)
        for sentence, code in refused_in(path)
        if sentence not in SENTENCES and code not in BY_CODE
    ]
    assert unknown == []


def test_refusals_are_found_where_they_are() -> None:
    found = {sentence for path in CHANGES for sentence, _code in refused_in(path)}
    assert "This change was undone already." in found
    assert "This leaf was not forgotten." in found


def test_a_refusal_is_said_in_the_language_of_the_page() -> None:
    taken = Conflict("This name belongs to x.", detail={"code": "name_taken", "slug": "atlas"})
    plain = Conflict("This leaf was not forgotten.", detail={"code": "leaf_not_forgotten"})
    with translation.override("zh-hans"):
        assert refusal(taken) == "此名称属于实体 atlas。"
        assert refusal(plain) == "此叶子未被遗忘。"
    assert refusal(taken) == "This name belongs to the entity atlas."


def test_an_unknown_refusal_is_said_as_it_came() -> None:
    assert refusal(InvalidInput("Quite new.", detail={"code": "quite_new"})) == "Quite new."
    assert refusal(Conflict("Odd: 100 % of it.")) == "Odd: 100 % of it."
    missing = Conflict("Without its detail.", detail={"code": "name_taken"})
    assert refusal(missing) == "Without its detail."
