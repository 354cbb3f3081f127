"""Two gateways and two Chinese systems, and what memory holds of each."""

from uuid import UUID

from holamem.database.scope import ALL_SCOPES, system_scope, workspace_scope
from holamem.text.segment import query_terms
from holamem.text.tsvector import to_tsquery_literal
from tests.workspaces.memory import draft, principal_of, remember
from workspaces.bodies import read_markdown
from workspaces.models.entities import Entity
from workspaces.models.merges import EntityMerge
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import Tree
from workspaces.services.corrections.undo import undo_change
from workspaces.services.entities.changes import EntityChanged, rename_entity
from workspaces.services.entities.merge import merge_entities

ATLAS = "atlas-gateway"
BOREALIS = "borealis-gateway"
ATLAS_TEXTS = (
    "The Atlas gateway listens on port 8443.",
    "The Atlas gateway forwards traces to Tempo.",
)
BOREALIS_TEXTS = (
    "The Borealis gateway writes its access log to /var/log/borealis.log.",
    "The Borealis gateway has a budget of two machines.",
    "The Borealis gateway was rewritten in Go during the winter.",
)
SPEAKS_OF_BOREALIS = "Mara Lindqvist owns the Borealis gateway."
PAYMENT, SETTLEMENT = "zhi-fu-wang-guan", "jie-suan-ping-tai"
PAYMENT_TEXTS = ("支付网关的负责人是李明。", "支付网关每天凌晨两点备份。")
SETTLEMENT_TEXTS = ("结算平台的数据库是 PostgreSQL。", "结算平台每周五发布。")


def remember_gateways(workspace: Workspace, **values: object) -> None:
    texts = [*ATLAS_TEXTS, *BOREALIS_TEXTS, SPEAKS_OF_BOREALIS]
    remember(workspace, *[draft(text, minutes=n, **values) for n, text in enumerate(texts)])


def remember_platforms(workspace: Workspace) -> None:
    texts = [*PAYMENT_TEXTS, *SETTLEMENT_TEXTS]
    remember(workspace, *[draft(text, minutes=n) for n, text in enumerate(texts)])


def rename(workspace: Workspace, slug: str, name: str) -> EntityChanged:
    return rename_entity(
        workspace, principal=principal_of(workspace), scopes=None, slug=slug, name=name
    )


def merge(workspace: Workspace, slug: str, into: str) -> EntityChanged:
    return merge_entities(
        workspace, principal=principal_of(workspace), scopes=None, slug=slug, into=into
    )


def undo(workspace: Workspace, change: EntityChanged) -> UUID:
    assert change.audit_id is not None
    done = undo_change(
        workspace, principal=principal_of(workspace), scopes=None, audit_id=change.audit_id
    )
    return done.audit_id


def entity(workspace: Workspace, slug: str) -> Entity:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.entities.select_related("merged_into").get(slug=slug)


def tree(workspace: Workspace, slug: str) -> Tree:
    with workspace_scope(workspace, ALL_SCOPES):
        return workspace.trees.get(key=f"interaction:{slug}")


def texts_of(workspace: Workspace, slug: str, *, status: str = "active") -> list[str]:
    """What the entity's tree holds, in alphabetical order."""
    with workspace_scope(workspace, ALL_SCOPES):
        paths = workspace.leaves.filter(entity__slug=slug, status=status).values_list("body_path")
        return sorted(read_markdown(path) for (path,) in paths)


def speaking_of(workspace: Workspace, slug: str) -> list[str]:
    """Texts of active leaves with this secondary entity."""
    with workspace_scope(workspace, ALL_SCOPES):
        links = workspace.leaf_entities.filter(entity__slug=slug, leaf__status="active")
        return sorted(read_markdown(link.leaf.body_path) for link in links.select_related("leaf"))


def found_by_words(workspace: Workspace, words: str) -> list[str]:
    """Texts of active leaves whose search entry holds all of these words."""
    terms = query_terms(words)
    query = to_tsquery_literal(terms[:1], all_of=terms[1:])
    with workspace_scope(workspace, ALL_SCOPES):
        entries = workspace.lexeme_entries.filter(kind="leaf", status="active").extra(
            where=["lexemes @@ %s::tsquery"], params=[query]
        )
        leaves = workspace.leaves.filter(id__in=entries.values_list("node_id", flat=True))
        return sorted(read_markdown(leaf.body_path) for leaf in leaves)


def last_merge(workspace: Workspace) -> EntityMerge:
    with system_scope():
        merge_row = EntityMerge.objects.filter(workspace=workspace).order_by("-id").first()
    assert merge_row is not None
    return merge_row
