"""Objects of a source: the latest revision is what memory holds of them, and all of it."""

import pytest

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import InvalidInput
from tests.verification import assert_clean
from tests.workspaces.memory import draft, remember
from workspaces.bodies import read_markdown
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import EventDraft
from workspaces.services.revisions import object_key


def revision(
    text: str, *, of: str = "handbook.md", minutes: int = 0, **values: object
) -> EventDraft:
    kind = {"kind": "document_revision", "provider": "files", "account": "docs"} | values
    return draft(text, minutes=minutes, external_id=of, **kind)


def current(workspace: Workspace) -> list[str]:
    with workspace_scope(workspace, ALL_SCOPES):
        leaves = list(workspace.leaves.filter(status="active").order_by("observed_at", "id"))
    return [read_markdown(leaf.body_path) for leaf in leaves]


def section(name: str) -> str:
    facts = (f"The {name} service number {n} keeps its data in room {n}." for n in range(20))
    return f"# {name}\n\n{' '.join(facts)}"


def test_a_text_that_comes_back_is_a_revision_again(workspace: Workspace) -> None:
    for minutes, text in enumerate(["Port is 1.", "Port is 2.", "Port is 1."]):
        remember(workspace, revision(text, minutes=minutes))
    assert current(workspace) == ["Port is 1."]


@pytest.mark.parametrize("text", ["Port is 1.", "Port is 2."])
def test_a_revision_sent_again_is_the_first_event(workspace: Workspace, text: str) -> None:
    first = remember(workspace, revision("Port is 1."), revision("Port is 2.", minutes=1))
    [again] = remember(workspace, revision(text, minutes=int(text == "Port is 2.")))
    assert again.event_id in [result.event_id for result in first]


def test_a_part_that_a_revision_drops_is_no_longer_current(workspace: Workspace) -> None:
    parts = [section(name) for name in ("Alpha", "Bravo", "Charlie")]
    remember(workspace, revision("\n\n".join(parts)))
    remember(workspace, revision("\n\n".join(parts[1:]), minutes=1))
    assert not any("Alpha" in text for text in current(workspace))
    assert any("Bravo" in text for text in current(workspace))
    assert_clean(workspace)


def test_an_older_revision_that_arrives_late_drops_nothing(workspace: Workspace) -> None:
    parts = [section(name) for name in ("Alpha", "Bravo", "Charlie")]
    remember(workspace, revision("\n\n".join(parts), minutes=5))
    before = current(workspace)
    remember(workspace, revision(parts[2], minutes=1))
    assert current(workspace) == before


def test_a_text_of_two_objects_stays_while_one_of_them_says_it(workspace: Workspace) -> None:
    remember(workspace, revision("Licence: MIT.", of="a"), revision("Licence: MIT.", of="b"))
    remember(workspace, revision("Licence: GPL.", of="a", minutes=2))
    assert sorted(current(workspace)) == ["Licence: GPL.", "Licence: MIT."]
    remember(workspace, revision("Licence: BSD.", of="b", minutes=3))
    assert sorted(current(workspace)) == ["Licence: BSD.", "Licence: GPL."]
    assert_clean(workspace)


def test_long_names_with_the_same_beginning_are_two_objects(workspace: Workspace) -> None:
    name = "https://example.org/" + "x" * 230
    remember(workspace, revision("One.", of=f"{name}/a"), revision("Two.", of=f"{name}/b"))
    assert sorted(current(workspace)) == ["One.", "Two."]


def test_a_name_that_looks_like_a_part_is_an_object_of_its_own() -> None:
    keys = {object_key(name, position=n) for name in ("doc", "doc#1", "doc#1#0") for n in range(3)}
    assert len(keys) == 9
    assert object_key("doc", position=0) == "doc"


@pytest.mark.parametrize("provider", ["interaction", "Interaction", "git:hub"])
def test_a_provider_that_would_blur_the_keys_of_trees_is_refused(
    workspace: Workspace, provider: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        remember(workspace, revision("Port is 1.", provider=provider))
    assert refused.value.field == "provider"
