"""The invariants of the hot layer."""

from collections.abc import Iterator

from agents.hot.history import verify_chain
from workspaces.models.tenancy import Workspace
from workspaces.verify.findings import Check, Severity, Violation, rows
from workspaces.verify.run import register_checks

RESTORE = "Restore a backup: nothing of the application changes these rows."


def _broken_links(workspace: Workspace) -> Iterator[Violation]:
    for link in verify_chain(workspace):
        yield Violation(f"history:{link.entry_id}", f"{link.position} {link.reason}")


CHECKS = (
    Check(
        "L8", "The history is a chain: each entry names the one before it.", _broken_links, RESTORE
    ),
    Check(
        "H1",
        "A text memory says what its newest version says.",
        rows(
            "text_memory",
            "SELECT m.id FROM agents_textmemory AS m LEFT JOIN agents_textmemoryversion AS v"
            " ON v.workspace_id = m.workspace_id AND v.scope_id = m.scope_id AND v.kind = m.kind"
            " AND v.name = m.name AND v.version = m.version"
            " WHERE m.workspace_id = %(workspace)s AND m.version > 0 AND (v.id IS NULL"
            " OR v.content <> m.content OR v.is_deletion <> (m.deleted_at IS NOT NULL)"
            " OR m.byte_len <> octet_length(m.content))",
        ),
        "Save the topic again.",
    ),
    Check(
        "H2",
        "Every topic has its line in the index, and each line its topic.",
        rows(
            "text_memory",
            "SELECT t.id, t.name FROM agents_textmemory AS t LEFT JOIN agents_textmemory AS i"
            " ON i.workspace_id = t.workspace_id AND i.scope_id = t.scope_id AND i.kind = 'index'"
            " WHERE t.workspace_id = %(workspace)s AND t.kind = 'topic' AND t.version > 0"
            " AND (t.deleted_at IS NULL)"
            " <> (coalesce(strpos(i.content, '](topics/' || t.name || '.md)'), 0) > 0)",
        ),
        "Save the topic again, or delete it: its line follows.",
        Severity.WARNING,
    ),
    Check(
        "H3",
        "Every message that is shown is in the search index, and no hidden one.",
        rows(
            "message",
            "SELECT m.id FROM agents_message AS m LEFT JOIN agents_messageentry AS e"
            " ON e.workspace_id = m.workspace_id AND e.message_id = m.id"
            " WHERE m.workspace_id = %(workspace)s AND m.role <> 'system'"
            " AND (m.deleted_at IS NULL AND m.content <> '') > (e.id IS NOT NULL)"
            " OR m.workspace_id = %(workspace)s AND m.deleted_at IS NOT NULL AND e.id IS NOT NULL",
        ),
        "Restore the message's entry from its text.",
    ),
)


def register() -> None:
    """Called once when the app is ready."""
    register_checks(CHECKS)
