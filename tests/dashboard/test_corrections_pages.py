"""Pages that change memory: what they show, do, refuse and take back; who may and who may not."""

from uuid import uuid4

import pytest
from django.test import Client

from holamem.database.scope import ALL_SCOPES, workspace_scope
from tests.dashboard.memory import FACTS, Filled
from tests.dashboard.pages import Memory, id_in, messages_in, one_leaf, page_of, undo_in
from tests.dashboard.people import make_person, signed_in_client
from tests.workspaces.memory import drain
from workspaces.models.tenancy import Tenant, Workspace
from workspaces.models.trees import SourceLeaf

WORDS_OF_LEAF = "listens on port 8443"


def node(memory: Memory | Filled, leaf_id: object, action: str = "") -> str:
    return memory.address(f"nodes/{leaf_id}/{action}")


def leaf_of(memory: Memory | Filled, leaf_id: object) -> SourceLeaf:
    with workspace_scope(memory.workspace, ALL_SCOPES):
        return memory.workspace.leaves.select_related("tree", "entity").get(id=leaf_id)


def test_the_page_of_a_leaf_offers_what_can_be_done(member: Client, memory: Memory) -> None:
    page = page_of(member.get(node(memory, memory.leaf_id)))
    for button in ("Correct leaf", "Move leaf", "Forget leaf", "Erase leaf…"):
        assert button in page
    assert "Restore leaf" not in page
    assert FACTS[0] in page.split("<textarea")[1].split("</textarea>")[0]


def test_the_page_of_a_summary_offers_no_change(owner: Client, filled: Filled) -> None:
    assert "Change this leaf" not in page_of(owner.get(node(filled, filled.summary_id)))


def test_a_corrected_leaf_is_replaced_and_the_correction_undone(
    member: Client, memory: Memory
) -> None:
    text = "The Atlas gateway listens on port 9443 in production."
    answer = member.post(node(memory, memory.leaf_id, "correct/"), {"text": text}, follow=True)
    page = page_of(answer)
    new_id = id_in(answer.redirect_chain[-1][0])
    assert new_id != memory.leaf_id
    assert "The leaf is corrected" in page
    assert "9443" in page
    assert leaf_of(memory, memory.leaf_id).status == "superseded"
    back = member.post(undo_in(messages_in(page)), follow=True)
    assert "The change is undone." in page_of(back)
    assert WORDS_OF_LEAF in page_of(back)
    assert leaf_of(memory, new_id).status == "superseded"


def test_a_correction_keeps_the_lines_that_were_typed(member: Client, memory: Memory) -> None:
    """Browsers send the lines of a form with carriage returns."""
    text = "The Atlas gateway has two ports:\r\n\r\n- 9443\r\n- 9080"
    answer = member.post(node(memory, memory.leaf_id, "correct/"), {"text": text}, follow=True)
    page = page_of(answer)
    shown = page.split("<textarea")[1].split(">", 1)[1].split("</textarea>")[0]
    assert shown.strip() == text.replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "This field is required."),
        ("  \n\t ", "The text is blank."),
        ("a\x00b", "The text holds a character that cannot be stored."),
        ("x" * 2001, "One memory has at most 2,000 characters."),
    ],
)
def test_a_text_that_cannot_be_a_memory_is_refused_beside_what_was_typed(
    member: Client, memory: Memory, text: str, reason: str
) -> None:
    answer = member.post(node(memory, memory.leaf_id, "correct/"), {"text": text})
    page = page_of(answer)
    assert reason in page
    assert 'role="alert"' in page
    assert text.replace("\x00", "").strip() in page
    assert leaf_of(memory, memory.leaf_id).status == "active"


def test_a_superseded_leaf_is_not_corrected_and_the_reason_is_told(
    member: Client, memory: Memory
) -> None:
    correct = node(memory, memory.leaf_id, "correct/")
    member.post(correct, {"text": "The Atlas gateway listens on port 9443."})
    answer = member.post(correct, {"text": "The Atlas gateway listens on port 7443."}, follow=True)
    assert "superseded; change the newest one" in page_of(answer)


def test_a_forgotten_leaf_is_withheld_until_it_is_restored(member: Client, memory: Memory) -> None:
    gone = page_of(member.post(node(memory, memory.leaf_id, "forget/"), follow=True))
    assert "The leaf is forgotten" in gone
    assert WORDS_OF_LEAF not in gone
    assert "Restore leaf" in gone
    assert "Correct leaf" not in gone
    back = page_of(member.post(node(memory, memory.leaf_id, "restore/"), follow=True))
    assert WORDS_OF_LEAF in back
    assert leaf_of(memory, memory.leaf_id).status == "active"


def test_forgetting_is_undone_by_the_button_of_its_message(member: Client, memory: Memory) -> None:
    page = page_of(member.post(node(memory, memory.leaf_id, "forget/"), follow=True))
    address = undo_in(messages_in(page))
    assert WORDS_OF_LEAF in page_of(member.post(address, follow=True))
    again = page_of(member.post(address, follow=True))
    assert "This change was undone already." in again


def test_a_leaf_is_moved_to_a_new_entity_and_back(member: Client, memory: Memory) -> None:
    answer = member.post(
        node(memory, memory.leaf_id, "move/"),
        {"new_name": "Harbor Proxy", "new_type": "system"},
        follow=True,
    )
    page = page_of(answer)
    moved = leaf_of(memory, id_in(answer.redirect_chain[-1][0]))
    assert "The leaf is moved" in page
    assert moved.entity
    assert moved.entity.name == "Harbor Proxy"
    assert leaf_of(memory, memory.leaf_id).status == "inactive"
    back = page_of(member.post(undo_in(messages_in(page)), follow=True))
    assert "The change is undone." in back
    assert leaf_of(memory, moved.id).status == "inactive"


def test_a_leaf_is_moved_to_an_entity_by_any_of_its_names(member: Client, memory: Memory) -> None:
    other_id = one_leaf(memory.workspace, "The Harbor tool deploys every service.")
    harbor = leaf_of(memory, other_id).entity
    assert harbor
    offered = page_of(member.get(node(memory, memory.leaf_id)))
    assert f'<option value="{harbor.name}">' in offered
    answer = member.post(
        node(memory, memory.leaf_id, "move/"), {"entity": harbor.name.upper()}, follow=True
    )
    assert leaf_of(memory, id_in(answer.redirect_chain[-1][0])).entity == harbor


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ({}, "Name one entity: a known one or a new one."),
        ({"entity": "a", "new_name": "b", "new_type": "topic"}, "Name one entity"),
        ({"entity": "nobody-knows-this"}, "No entity has this name."),
        ({"new_name": "Harbor"}, "Choose the type of the new entity."),
        ({"new_name": "Harbor", "new_type": "planet"}, "planet"),
        ({"new_name": "a\u202eb", "new_type": "topic"}, "direction characters"),
    ],
)
def test_a_move_that_names_no_one_entity_is_refused(
    member: Client, memory: Memory, data: dict[str, str], reason: str
) -> None:
    answer = member.post(node(memory, memory.leaf_id, "move/"), data)
    assert reason in page_of(answer)
    assert leaf_of(memory, memory.leaf_id).status == "active"


def test_an_erasure_lists_what_goes_and_asks_for_the_word(member: Client, memory: Memory) -> None:
    erase = node(memory, memory.leaf_id, "erase/")
    page = page_of(member.get(erase))
    assert "What goes" in page
    assert "Type “erase” to confirm" in page
    wrong = member.post(erase, {"confirm": "yes", "reason": "GDPR request 17"})
    assert 'role="alert"' in page_of(wrong)
    assert "GDPR request 17" in page_of(wrong)
    assert leaf_of(memory, memory.leaf_id).status == "active"


@pytest.mark.parametrize("word", ["erase", " Erase ", "抹除"])
def test_an_erased_leaf_is_gone_at_once_and_its_receipt_completes(
    member: Client, memory: Memory, word: str
) -> None:
    erase = node(memory, memory.leaf_id, "erase/")
    answer = member.post(erase, {"confirm": word, "reason": "request 17"}, follow=True)
    receipt = answer.redirect_chain[-1][0]
    assert "/erasures/" in receipt
    assert "hx-trigger" in page_of(answer)
    assert "Look again" in page_of(answer)
    assert WORDS_OF_LEAF not in page_of(member.get(node(memory, memory.leaf_id)))
    drain(memory.workspace)
    done = page_of(member.get(receipt))
    assert "complete" in done
    assert "hx-trigger" not in done
    assert "request 17" in done
    leaf = page_of(member.get(node(memory, memory.leaf_id)))
    assert "Receipt of the erasure" in leaf
    assert "Change this leaf" not in leaf
    assert receipt in leaf


def test_what_was_erased_cannot_be_changed_any_more(member: Client, memory: Memory) -> None:
    member.post(node(memory, memory.leaf_id, "erase/"), {"confirm": "erase"})
    for action in ("correct/", "forget/", "restore/", "move/"):
        data = {"text": "Something else.", "new_name": "Harbor", "new_type": "topic"}
        answer = member.post(node(memory, memory.leaf_id, action), data, follow=True)
        assert answer.status_code == 200
        assert "This leaf was erased meanwhile." in page_of(answer)
        assert "Receipt of the erasure" in page_of(answer)
        assert WORDS_OF_LEAF not in page_of(answer)


CHANGES = ["correct/", "move/", "forget/", "restore/", "erase/"]


@pytest.mark.parametrize("action", CHANGES)
def test_a_viewer_sees_no_form_and_changes_no_leaf(
    viewer: Client, filled: Filled, action: str
) -> None:
    page = page_of(viewer.get(node(filled, filled.leaf_id)))
    assert "Change this leaf" not in page
    assert "<textarea" not in page
    data = {"text": "x", "new_name": "Harbor", "new_type": "topic", "confirm": "erase"}
    assert viewer.post(node(filled, filled.leaf_id, action), data).status_code == 403


@pytest.mark.parametrize("action", CHANGES)
def test_a_leaf_of_another_tenant_is_not_found(
    owner: Client, stranger: Client, filled: Filled, action: str
) -> None:
    data = {"text": "x", "new_name": "Harbor", "new_type": "topic", "confirm": "erase"}
    assert stranger.post(node(filled, filled.leaf_id, action), data).status_code == 404
    assert owner.post(node(filled, uuid4(), action), data).status_code == 404
    assert leaf_of(filled, filled.leaf_id).status == "active"


@pytest.mark.parametrize("action", CHANGES)
def test_a_change_without_its_token_is_refused(filled: Filled, action: str) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(make_person(filled.tenant))
    assert client.post(node(filled, filled.leaf_id, action)).status_code == 403


def test_a_leaf_of_another_workspace_is_not_found_here(
    filled: Filled, workspace: Workspace, tenant: Tenant
) -> None:
    client = signed_in_client(make_person(tenant))
    for action in CHANGES:
        address = f"/w/{tenant.slug}/{workspace.slug}/nodes/{filled.leaf_id}/{action}"
        data = {"text": "x", "new_name": "Harbor", "new_type": "topic", "confirm": "erase"}
        assert client.post(address, data).status_code == 404


def test_a_page_of_changes_speaks_chinese(member: Client, memory: Memory) -> None:
    member.post("/language/", {"language": "zh-hans", "next": "/"})
    page = page_of(member.post(node(memory, memory.leaf_id, "forget/"), follow=True))
    assert "叶子已遗忘" in page
    assert "撤销此更改" in page
    assert "恢复叶子" in page
    again = page_of(member.post(node(memory, memory.leaf_id, "forget/"), follow=True))
    assert "此叶子已被遗忘" in again


def test_a_receipt_is_read_by_a_viewer_and_by_no_stranger(
    viewer: Client, stranger: Client, filled: Filled
) -> None:
    address = filled.address(f"erasures/{filled.erasure_id}/")
    assert "request 17" in page_of(viewer.get(address))
    assert stranger.get(address).status_code == 404
    assert viewer.get(filled.address(f"erasures/{uuid4()}/")).status_code == 404


def test_a_tree_is_rebuilt_from_its_page(member: Client, memory: Memory) -> None:
    tree_id = leaf_of(memory, memory.leaf_id).tree_id
    answer = member.post(memory.address(f"trees/{tree_id}/rebuild/"), follow=True)
    assert "The tree is being rebuilt" in page_of(answer)
    assert "asked to rebuild a tree" in page_of(member.get(memory.address("audit/")))


def test_a_tree_is_rebuilt_by_those_who_may_write(
    owner: Client, viewer: Client, stranger: Client, filled: Filled
) -> None:
    tree = filled.address(f"trees/{filled.tree_id}/")
    assert "Rebuild tree" in page_of(owner.get(tree))
    assert "Rebuild tree" not in page_of(viewer.get(tree))
    assert viewer.post(tree + "rebuild/").status_code == 403
    assert stranger.post(tree + "rebuild/").status_code == 404


def test_past_leaves_of_a_tree_are_hidden_until_asked_for(memory: Memory, member: Client) -> None:
    text = FACTS[0].replace("8443", "9443")
    member.post(node(memory, memory.leaf_id, "correct/"), {"text": text})
    address = memory.address(f"trees/{leaf_of(memory, memory.leaf_id).tree_id}/")
    assert str(memory.leaf_id) not in page_of(member.get(address))
    assert str(memory.leaf_id) in page_of(member.get(address, {"past": "yes"}))
