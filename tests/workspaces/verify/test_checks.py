"""Every invariant is really checked: damage is found under its code, and a clean memory is clean."""

import os
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

import pytest
from django.db import connection, transaction

from agents import verify as agents_checks
from agents.distill import checks as distill_checks
from agents.hot import checks as hot_checks
from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, eraser_scope, workspace_scope
from retrieval import verify as retrieval_checks
from tests.sampling import sampled
from tests.verification import assert_clean, assert_installation_clean
from tests.workspaces.memory import ATLAS_FACTS, draft, drain, remember
from workspaces.bodies import body_storage
from workspaces.models.tenancy import Workspace
from workspaces.services.tenants import create_tenant, create_workspace
from workspaces.verify.findings import Violation
from workspaces.verify.repair import repair_workspace
from workspaces.verify.run import exit_code, registered_checks, verify_workspace

MONDAY = "The deployment window of the Atlas gateway is Monday from 10:00 to 12:00."
TUESDAY = "The deployment window of the Atlas gateway is now Tuesday from 10:00 to 12:00."
THRESHOLD = 2


class Undo(Exception):
    """Takes the damage back once it has been looked at."""


@pytest.fixture(scope="module")
def memory() -> Workspace:
    """Three levels of summaries, a superseded leaf, a second tree, one leaf in the buffer."""
    tenant = create_tenant(slug=f"t-{uuid4().hex}", name="A tenant")
    workspace = create_workspace(
        tenant, slug="main", name="Main", settings={"seal_threshold": THRESHOLD}
    )
    remember(
        workspace,
        *[draft(text, minutes=n) for n, text in enumerate(ATLAS_FACTS[:5])],
        draft(MONDAY, minutes=20),
        draft("Pavel Orlov prefers tea to coffee.", minutes=21),
        draft("北京办公室的打印机在三楼走廊尽头。", minutes=22, user_id="u-1"),
    )
    remember(workspace, draft(TUESDAY, minutes=60))
    return workspace


def is_found(workspace: Workspace, statement: str, *, code: str) -> bool:
    """Whether the check finds it with this statement applied; it is rolled back afterwards."""
    found: list[Violation] = []
    try:
        with transaction.atomic():
            with eraser_scope(), connection.cursor() as cursor:
                cursor.execute(statement, {"workspace": workspace.pk})
                assert cursor.rowcount > 0, "the statement damaged nothing"
            for check in registered_checks():
                found += check.find(workspace) if check.code == code else ()
            raise Undo
    except Undo:
        pass
    return bool(found)


def test_a_memory_of_several_trees_and_levels_is_clean(memory: Workspace) -> None:
    assert verify_workspace(memory) == []
    assert_installation_clean()


LEAF = "(SELECT id FROM workspaces_sourceleaf WHERE workspace_id = %(workspace)s"
ONE_ACTIVE = f"{LEAF} AND status = 'active' AND parent_id IS NOT NULL LIMIT 1)"
SUMMARY = "(SELECT id FROM workspaces_summarynode WHERE workspace_id = %(workspace)s"
SEALED = f"{SUMMARY} AND status = 'sealed' AND height = 1 LIMIT 1)"
ROOT = f"{SUMMARY} AND status = 'sealed' AND is_root LIMIT 1)"
RETIRED = f"{SUMMARY} AND status = 'retired' LIMIT 1)"
PROCESSED = "(SELECT id FROM workspaces_event WHERE workspace_id = %(workspace)s LIMIT 1)"

NAMED = "workspace_id = %(workspace)s AND NOT is_system"
MERGED_WITHOUT_A_MERGE = (
    "UPDATE workspaces_entity AS e SET merged_into_id = o.id, normalised_names = '{}'"
    " FROM workspaces_entity AS o WHERE e.workspace_id = %(workspace)s AND NOT e.is_system"
    " AND o.workspace_id = %(workspace)s AND NOT o.is_system AND o.scope_id = e.scope_id"
    " AND o.id < e.id"
)
MERGE_WITHOUT_A_JOB = (
    "INSERT INTO workspaces_entitymerge (id, workspace_id, scope_id, source_id, target_id,"
    " audit_id, state, names_added, leaves_total, leaves_done, created_at)"
    " SELECT gen_random_uuid(), workspace_id, scope_id, id, id, id, 'moving', '{}', 0, 0, now()"
    f" FROM workspaces_entity WHERE {NAMED}"
)

DAMAGES = [
    ("B2", f"UPDATE workspaces_sourceleaf SET body_bytes = body_bytes + 1 WHERE id = {ONE_ACTIVE}"),
    ("B1", f"UPDATE workspaces_sourceleaf SET body_path = 'gone.md' WHERE id = {ONE_ACTIVE}"),
    ("B3", f"UPDATE workspaces_summarynode SET body_path = 'gone.md' WHERE id = {SEALED}"),
    ("B4", f"UPDATE workspaces_summarynode SET level = level + 1 WHERE id = {SEALED}"),
    ("B4", f"UPDATE workspaces_summarynode SET body_path = 'x.md' WHERE id = {RETIRED}"),
    (
        "B5",
        "UPDATE workspaces_sourceleaf SET body_path = (SELECT body_path FROM"
        f" workspaces_summarynode WHERE id = {SEALED}) WHERE id = {ONE_ACTIVE}",
    ),
    ("T3", f"UPDATE workspaces_summarynode SET is_root = false WHERE id = {ROOT}"),
    (
        "T4",
        "UPDATE workspaces_sourceleaf SET parent_id = (SELECT s.id FROM workspaces_summarynode s"
        " WHERE s.workspace_id = %(workspace)s AND s.status = 'sealed' AND s.tree_id <>"
        " workspaces_sourceleaf.tree_id LIMIT 1) WHERE workspace_id = %(workspace)s"
        " AND status = 'active'",
    ),
    ("T5", f"UPDATE workspaces_summarynode SET height = 9 WHERE id = {SEALED}"),
    ("T6", f"UPDATE workspaces_summarynode SET child_ids = '{{}}' WHERE id = {SEALED}"),
    (
        "T7",
        "UPDATE workspaces_summarynode SET child_ids = (SELECT child_ids FROM"
        f" workspaces_summarynode WHERE id = {SEALED}) WHERE workspace_id = %(workspace)s"
        " AND status = 'sealed'",
    ),
    ("T8", f"UPDATE workspaces_summarynode SET child_set_sha256 = 'x' WHERE id = {SEALED}"),
    ("T8", f"UPDATE workspaces_sourceleaf SET parent_id = NULL WHERE id = {ONE_ACTIVE}"),
    ("T8", f"UPDATE workspaces_sourceleaf SET status = 'inactive' WHERE id = {ONE_ACTIVE}"),
    ("T9", f"UPDATE workspaces_sourceleaf SET parent_id = {RETIRED} WHERE id = {ONE_ACTIVE}"),
    ("T9", f"UPDATE workspaces_summarynode SET parent_id = NULL WHERE id = {SEALED}"),
    (
        "T10",
        "UPDATE workspaces_sourceleaf SET parent_id = NULL WHERE workspace_id = %(workspace)s",
    ),
    (
        "T11",
        "UPDATE workspaces_summarynode SET time_range_start = time_range_start"
        f" - interval '1 second' WHERE id = {SEALED}",
    ),
    (
        "T12",
        "UPDATE workspaces_sourceleaf SET entity_id = (SELECT e.id FROM workspaces_entity e"
        " WHERE e.workspace_id = %(workspace)s AND e.id <> workspaces_sourceleaf.entity_id"
        f" LIMIT 1) WHERE id = {ONE_ACTIVE}",
    ),
    ("D1", "UPDATE workspaces_tree SET leaf_count = 99 WHERE workspace_id = %(workspace)s"),
    ("D2", "UPDATE workspaces_tree SET height = 7 WHERE workspace_id = %(workspace)s"),
    ("D3", f"UPDATE workspaces_summarynode SET level = level + 1 WHERE id = {SEALED}"),
    ("D4", f"UPDATE workspaces_summarynode SET leaf_count = 99 WHERE id = {ROOT}"),
    (
        "L1",
        "UPDATE workspaces_sourceleaf SET superseded_by_id = NULL"
        " WHERE workspace_id = %(workspace)s AND status = 'superseded'",
    ),
    (
        "L1",
        "UPDATE workspaces_sourceleaf SET status = 'active', superseded_by_id = NULL"
        " WHERE workspace_id = %(workspace)s AND status = 'superseded'",
    ),
    (
        "L2",
        "UPDATE workspaces_sourceleaf SET superseded_by_id = id"
        " WHERE workspace_id = %(workspace)s AND status = 'superseded'",
    ),
    (
        "L4",
        "UPDATE workspaces_sourceleaf SET observed_at = created_at + interval '2 days'"
        f" WHERE id = {ONE_ACTIVE}",
    ),
    ("L5", f"UPDATE workspaces_summarynode SET status = 'stale' WHERE id = {SEALED}"),
    ("L6", f"UPDATE workspaces_summarynode SET is_root = true WHERE id = {RETIRED}"),
    ("L6", f"UPDATE workspaces_summarynode SET status = 'stale' WHERE id = {RETIRED}"),
    (
        "L7",
        "UPDATE workspaces_event SET kind = 'tool_result', succeeded = false WHERE id = "
        f"{PROCESSED}",
    ),
    ("E1", f"DELETE FROM workspaces_vectorentry WHERE node_id = {ONE_ACTIVE}"),
    ("E2", f"UPDATE workspaces_vectorentry SET source_sha256 = 'x' WHERE node_id = {ONE_ACTIVE}"),
    ("E3", f"UPDATE workspaces_sourceleaf SET status = 'inactive' WHERE id = {ONE_ACTIVE}"),
    ("E4", f"UPDATE workspaces_lexemeentry SET status = 'stale' WHERE node_id = {ONE_ACTIVE}"),
    (
        "E5",
        "UPDATE workspaces_vectorentry SET embedding = embedding - embedding"
        f" WHERE node_id = {ONE_ACTIVE}",
    ),
    ("E6", f"DELETE FROM workspaces_lexemeentry WHERE node_id = {ONE_ACTIVE}"),
    ("E6", f"UPDATE workspaces_lexemeentry SET lexemes = 'a' WHERE node_id = {ONE_ACTIVE}"),
    (
        "J2",
        "UPDATE workspaces_job SET state = 'ready', attempts = 3 WHERE id = (SELECT id FROM"
        " workspaces_job WHERE workspace_id = %(workspace)s LIMIT 1)",
    ),
    (
        "J3",
        "UPDATE workspaces_job SET state = 'running', lease_until = now() - interval '1 hour'"
        " WHERE id = (SELECT id FROM workspaces_job WHERE workspace_id = %(workspace)s LIMIT 1)",
    ),
    (
        "J4",
        "UPDATE workspaces_job SET state = 'ready', next_try_at = now() - interval '1 hour'"
        " WHERE id = (SELECT id FROM workspaces_job WHERE workspace_id = %(workspace)s LIMIT 1)",
    ),
    ("J5", f"UPDATE workspaces_event SET status = 'processing' WHERE id = {PROCESSED}"),
    (
        "J5",
        "UPDATE workspaces_chunk SET outcome = 'pending' WHERE workspace_id = %(workspace)s",
    ),
    (
        "J6",
        "WITH gone AS (DELETE FROM workspaces_job WHERE workspace_id = %(workspace)s)"
        " UPDATE workspaces_event SET status = 'received' WHERE workspace_id = %(workspace)s",
    ),
    (
        "C1",
        "UPDATE workspaces_sourceleaf SET status = 'inactive', forgotten_at = now()"
        f" WHERE id = {ONE_ACTIVE}",
    ),
    ("C2", f"UPDATE workspaces_summarynode SET withheld = true WHERE id = {SEALED}"),
    (
        "C3",
        "UPDATE workspaces_sourceleaf AS l SET moved_from_leaf_id = other.id"
        " FROM workspaces_sourceleaf AS other WHERE l.workspace_id = %(workspace)s"
        " AND other.workspace_id = %(workspace)s AND l.status = 'active'"
        " AND other.status = 'active' AND other.id < l.id AND other.scope_id = l.scope_id",
    ),
    (
        "C4",
        "WITH first AS (INSERT INTO workspaces_audit (id, tenant_id, workspace_id, actor, action,"
        " target, detail, at) SELECT gen_random_uuid(), tenant_id, id, 'test', 'leaf.forgotten',"
        " '', '{}', now() FROM workspaces_workspace WHERE id = %(workspace)s"
        " RETURNING id, tenant_id, workspace_id)"
        " INSERT INTO workspaces_audit (id, tenant_id, workspace_id, actor, action, target, detail,"
        " at, undoes_id) SELECT gen_random_uuid(), tenant_id, workspace_id, 'test', 'leaf.moved',"
        " '', '{}', now(), id FROM first",
    ),
    (
        "N1",
        "UPDATE workspaces_entity SET type = 'topic', normalised_names = ARRAY['one name']"
        f" WHERE {NAMED}",
    ),
    ("N2", f"UPDATE workspaces_entity SET normalised_names = '{{}}' WHERE {NAMED}"),
    ("N3", "UPDATE workspaces_tree SET title = 'x' WHERE workspace_id = %(workspace)s"),
    ("N4", MERGED_WITHOUT_A_MERGE),
    ("N5", MERGED_WITHOUT_A_MERGE),
    ("N6", MERGE_WITHOUT_A_JOB),
    ("N7", f"UPDATE workspaces_entity SET names_indexed_to = id WHERE {NAMED}"),
    (
        "N8",
        f"WITH merge AS ({MERGE_WITHOUT_A_JOB} RETURNING id, workspace_id, scope_id, source_id)"
        " INSERT INTO workspaces_mergedleaf (id, workspace_id, scope_id, merge_id, leaf_id,"
        " became_id, kind, is_undone) SELECT gen_random_uuid(), m.workspace_id, m.scope_id, m.id,"
        " l.id, l.id, 'moved', false FROM merge AS m JOIN workspaces_sourceleaf AS l"
        " ON l.entity_id = m.source_id AND l.status = 'active'",
    ),
    (
        "J7",
        "UPDATE workspaces_job SET state = 'parked' WHERE id = (SELECT id FROM workspaces_job"
        " WHERE workspace_id = %(workspace)s LIMIT 1)",
    ),
    (
        "L10",
        "INSERT INTO workspaces_circuit (id, workspace_id, provider, failures, calls, opened_at,"
        " next_probe_at, reason) VALUES (gen_random_uuid(), %(workspace)s, 'p', 3, 3, now(), now(),"
        " '')",
    ),
    (
        "D5",
        "INSERT INTO workspaces_usageday (id, workspace_id, day, purpose, provider, model, calls,"
        " without_answer, input_tokens, output_tokens, cost, without_price) VALUES"
        " (gen_random_uuid(), %(workspace)s, (now() AT TIME ZONE 'UTC')::date, 'summary', 'p', 'm',"
        " 1, 0, 5, 5, 0, 1)",
    ),
    (
        "S4",
        "UPDATE workspaces_event SET payload_text = 'hm_0123456789_' || repeat('a', 64)"
        f" WHERE id = {PROCESSED}",
    ),
    (
        "S8",
        "INSERT INTO workspaces_enduser (id, workspace_id, ref, slug, name, metadata, created_at,"
        " erased_at) VALUES (gen_random_uuid(), %(workspace)s, 'ana', 'ana', '', '{}', now(), now())",
    ),
]


@pytest.mark.parametrize(("code", "statement"), DAMAGES)
def test_damage_is_found_under_its_code(memory: Workspace, code: str, statement: str) -> None:
    assert is_found(memory, statement, code=code)


# The database refuses these outright, so nothing can be damaged.
REFUSED = {"T1", "T2", "L3", "J1"}
ON_DISK = {"B6", "B7", "B9"}
# Their damages need a memory of another kind: `test_integration_checks`, `test_erasure_replay`.
INTEGRATION = {"I1", "I2", "I3", "I4", "I5"}
ERASED = {"S5", "S6"}


def test_every_check_has_a_damage_that_it_finds() -> None:
    above = (retrieval_checks, agents_checks, hot_checks, distill_checks)
    theirs = {check for module in above for check in module.CHECKS}
    ours = {check.code for check in registered_checks() if check not in theirs}
    assert ours == {code for code, _ in DAMAGES} | REFUSED | ON_DISK | INTEGRATION | ERASED


def leaf_file(workspace: Workspace) -> Path:
    with workspace_scope(workspace, ALL_SCOPES):
        leaf = workspace.leaves.filter(status="active").order_by("id")[0]
    return Path(body_storage().path(leaf.body_path))


def codes_while(workspace: Workspace, path: Path, damage: Callable[[Path], object]) -> set[str]:
    before = path.read_bytes()
    try:
        damage(path)
        return {finding.code for finding in verify_workspace(workspace)}
    finally:
        path.unlink(missing_ok=True)
        path.write_bytes(before)
        path.chmod(0o600)


def test_damage_on_disk_is_found(memory: Workspace) -> None:
    path = leaf_file(memory)
    assert codes_while(memory, path, Path.unlink) == {"B1"}
    assert codes_while(memory, path, lambda file: file.write_bytes(b"cut")) == {"B2"}
    assert codes_while(memory, path, lambda file: file.write_bytes(b"\xff\x00")) == {"B2", "B7"}
    assert codes_while(memory, path, lambda file: file.chmod(0o644)) == {"B4"}

    def replace_by_link(file: Path) -> None:
        target = file.with_suffix(".other")
        file.rename(target)
        file.symlink_to(target)

    assert codes_while(memory, path, replace_by_link) == {"B4"}
    path.with_suffix(".other").unlink()
    assert_clean(memory)


def test_only_files_older_than_the_grace_period_are_orphans_and_are_removed(
    memory: Workspace,
) -> None:
    folder = leaf_file(memory).parent
    young, old = folder / f"{uuid4()}.md", folder / "x.md.0.tmp"
    for file in (young, old):
        file.write_text("no row names this")
    an_hour_ago = now().timestamp() - 3700
    os.utime(old, (an_hour_ago, an_hour_ago))
    findings = verify_workspace(memory)
    assert [finding.code for finding in findings] == ["B6"]
    assert exit_code(findings) == 1
    repair_workspace(memory, findings=findings)
    assert (young.exists(), old.exists()) == (True, False)
    young.unlink()
    assert verify_workspace(memory) == []


MENDED = [
    "UPDATE workspaces_tree SET leaf_count = 99 WHERE workspace_id = %(workspace)s",
    f"UPDATE workspaces_summarynode SET leaf_count = 99 WHERE id = {SEALED}",
    "DELETE FROM workspaces_vectorentry WHERE workspace_id = %(workspace)s",
    "UPDATE workspaces_vectorentry SET embedding = embedding - embedding"
    " WHERE workspace_id = %(workspace)s",
    "DELETE FROM workspaces_lexemeentry WHERE workspace_id = %(workspace)s",
    f"UPDATE workspaces_summarynode SET status = 'stale' WHERE id = {SEALED}",
    f"UPDATE workspaces_summarynode SET child_set_sha256 = 'x' WHERE id = {SEALED}",
    "UPDATE workspaces_sourceleaf SET parent_id = (SELECT s.id FROM workspaces_summarynode s"
    " WHERE s.workspace_id = %(workspace)s AND s.status = 'retired'"
    " AND s.tree_id = workspaces_sourceleaf.tree_id LIMIT 1)"
    f" WHERE id = {ONE_ACTIVE}",
    f"UPDATE workspaces_event SET status = 'processing' WHERE id = {PROCESSED}",
]


@pytest.mark.parametrize("statement", sampled(MENDED, fast=(MENDED[0], MENDED[5])))
def test_a_repair_and_the_next_worker_mend_it(memory: Workspace, statement: str) -> None:
    with eraser_scope(), connection.cursor() as cursor:
        cursor.execute(statement, {"workspace": memory.pk})
    findings = verify_workspace(memory)
    assert findings
    repair_workspace(memory, findings=findings)
    drain(memory)
    assert verify_workspace(memory) == []
