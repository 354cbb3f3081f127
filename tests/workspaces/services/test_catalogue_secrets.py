"""No secret is stored, wherever in an event it came."""

import json

import pytest
from django.db import connection

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.errors import InvalidInput
from tests.workspaces.memory import draft, principal_of, remember
from workspaces.bodies import read_markdown
from workspaces.models.tenancy import Workspace
from workspaces.services.intake import receive_events
from workspaces.services.listing import Slice, list_events

KEY = "sk-proj-" + "a1B2c3D4e5F6" * 4
TABLES = (
    "workspaces_event",
    "workspaces_chunk",
    "workspaces_sourceleaf",
    "workspaces_entity",
    "workspaces_tree",
    "workspaces_lexemeentry",
    "workspaces_job",
)


def stored(workspace: Workspace) -> str:
    """Everything that the tables and the bodies of this workspace hold."""
    with system_scope(), connection.cursor() as cursor:
        rows = []
        for table in TABLES:
            cursor.execute(
                f"SELECT to_jsonb(t) FROM {table} AS t WHERE workspace_id = %s", [workspace.pk]
            )
            rows += [json.dumps(row, default=str) for row in cursor.fetchall()]
    with workspace_scope(workspace, ALL_SCOPES):
        bodies = [read_markdown(leaf.body_path) for leaf in workspace.leaves.all()]
    return "\n".join([*rows, *bodies])


@pytest.mark.parametrize("field", ["actor", "session", "external_id", "source", "agent", "run"])
def test_a_key_in_a_name_or_an_id_is_not_stored(workspace: Workspace, field: str) -> None:
    values = {"source": "mail", "external_id": "m-1", field: f"x {KEY}"}
    [result] = remember(workspace, draft("The Atlas gateway listens on port 8443.", **values))
    assert result.status == "processed"
    assert KEY[8:24].casefold() not in stored(workspace).casefold()
    with workspace_scope(workspace, ALL_SCOPES):
        assert workspace.events.get().masked_kinds == ["openai_key"]


@pytest.mark.parametrize(
    "text",
    [
        f"The key of the Atlas gateway is {KEY}.",
        f"网关的密钥是{KEY}，请记住这个端口 8443。",
        "网关的密码：ａｂｃ１２３４５，端口是 8443。",
        "数据库地址是 postgres://app:abc12345@db.internal:5432/app。",
    ],
)
def test_a_secret_in_the_text_is_in_no_table_and_no_file(workspace: Workspace, text: str) -> None:
    remember(workspace, draft(text, metadata={"note": text, "password": "abc12345"}))
    told = stored(workspace).casefold()
    assert KEY[8:24].casefold() not in told
    assert "abc12345" not in told
    assert "ａｂｃ１２３４５" not in told


def test_a_source_item_whose_id_holds_a_key_is_still_received_once(workspace: Workspace) -> None:
    first, again, other = (
        draft("The gateway listens on 8443.", source="mail", external_id=f"m?token={KEY}{end}")
        for end in ("", "", "x")
    )
    ids = [
        receive_events(workspace, drafts=[item], principal=principal_of(workspace)).event_ids[0]
        for item in (first, again, other)
    ]
    assert ids[0] == ids[1]
    assert ids[0] != ids[2]


def test_a_session_whose_name_holds_a_key_is_found_by_its_name(workspace: Workspace) -> None:
    names = [f"chat?token={KEY}", f"chat?token={KEY}x", "chat"]
    made = remember(workspace, *[draft(f"Port {n} is open.", session=n) for n in names])
    for name, result in zip(names, made, strict=True):
        listed = list_events(workspace, scopes=None, wanted=Slice(9), session=name)
        assert [line.id for line in listed.rows] == [result.event_id]


@pytest.mark.parametrize("field", ["user_id", "provider", "account"])
def test_a_name_of_a_tree_or_a_person_must_not_hold_a_key(workspace: Workspace, field: str) -> None:
    values = {"kind": "sync_item", "provider": "mail", "account": "a", "external_id": "m-1"}
    kept = {} if field == "user_id" else values
    with pytest.raises(InvalidInput) as refused:
        receive_events(
            workspace,
            drafts=[draft("Port 1 is open.", **{**kept, field: f"x {KEY}"})],
            principal=principal_of(workspace),
        )
    assert refused.value.field == field
    assert KEY not in refused.value.message


def test_the_digest_of_a_text_is_taken_after_masking(workspace: Workspace) -> None:
    """Else who guesses the secret could check the guess."""
    for number in (1, 2):
        remember(workspace, draft(f"The Atlas password is hunter{number}{number}."))
    with workspace_scope(workspace, ALL_SCOPES):
        digests = set(workspace.events.values_list("text_sha256", flat=True))
    assert len(digests) == 1
