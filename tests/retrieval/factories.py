"""Nodes put straight into memory, so that a test decides every field of them."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.ids import new_id
from holamem.providers.registry import embedder
from holamem.text.languages import language_of
from holamem.text.normalise import fingerprint, normalise_name
from workspaces.bodies import write_body
from workspaces.index.embedding import current_model, passage_text
from workspaces.index.entries import put_leaf_lexemes, put_summary_lexemes, put_vector
from workspaces.models.entities import Entity
from workspaces.models.log import Chunk, Event
from workspaces.models.tenancy import EndUser, Workspace
from workspaces.models.trees import LeafEntity, LeafSource, SourceLeaf, SummaryNode, Tree

DAY = datetime(2026, 5, 20, 9, 30, tzinfo=UTC)


@dataclass
class MemoryMaker:
    """Makes trees, leaves and summaries of one workspace; `scope_id` None is the shared scope."""

    workspace: Workspace
    with_vectors: bool = True
    trees: dict[tuple[UUID, str], Tree] = field(default_factory=dict)

    def end_user(self, ref: str) -> UUID:
        with workspace_scope(self.workspace, ALL_SCOPES):
            return EndUser.objects.create(workspace=self.workspace, ref=ref, slug=ref).id

    def tree(self, name: str = "Atlas", *, scope_id: UUID | None = None, **values: Any) -> Tree:
        """The interaction tree of the entity of that name, made on first use."""
        scope = scope_id or self.workspace.pk
        if (scope, name) not in self.trees:
            self.trees[scope, name] = self._make_tree(name, scope, values)
        return self.trees[scope, name]

    def _make_tree(self, name: str, scope: UUID, values: dict[str, Any]) -> Tree:
        with workspace_scope(self.workspace, ALL_SCOPES):
            entity = Entity.objects.create(
                workspace=self.workspace,
                scope_id=scope,
                type=values.get("type", "project"),
                slug=f"e{new_id().hex[-12:]}",
                name=name,
                normalised_name=normalise_name(name),
                normalised_names=[
                    normalise_name(known) for known in (name, *values.get("aliases", []))
                ],
                aliases=values.get("aliases", []),
            )
            return Tree.objects.create(
                workspace=self.workspace,
                scope_id=scope,
                category="interaction",
                key=f"interaction:{entity.slug}",
                title=name,
                entity=entity,
            )

    def integration_tree(self, provider: str, account: str) -> Tree:
        with workspace_scope(self.workspace, ALL_SCOPES):
            return Tree.objects.create(
                workspace=self.workspace,
                scope_id=self.workspace.pk,
                category="integration",
                key=f"{provider}:{account}",
                title=account,
                provider=provider,
                account=account,
            )

    def leaf(self, text: str, *, tree: Tree | None = None, **values: Any) -> SourceLeaf:
        """A committed leaf with its event, file and index entries. Keywords are its fields."""
        tree = tree or self.tree()
        leaf_id = new_id()
        secondary: Sequence[Entity] = values.pop("secondary", ())
        metadata = values.pop("metadata", {})
        session = values.pop("session", "")
        values.setdefault("observed_at", DAY)
        values.setdefault("confidence", 0.9)
        values.setdefault("title", text[:80])
        path = f"t/{self.workspace.slug}/leaves/{leaf_id}.md"
        body = write_body(path, front_matter={"id": str(leaf_id)}, markdown=text)
        with workspace_scope(self.workspace, ALL_SCOPES):
            chunk = self._chunk(text, tree, session=session, metadata=metadata, values=values)
            leaf = SourceLeaf.objects.create(
                id=leaf_id,
                workspace=self.workspace,
                scope_id=tree.scope_id,
                category=tree.category,
                tree=tree,
                entity_id=tree.entity_id,
                chunk=chunk,
                origin_kind="user_message",
                session_ref=session,
                summary=text[:200],
                body_path=path,
                body_sha256=body.sha256,
                body_bytes=body.size,
                fingerprint=fingerprint(text),
                language=language_of(text),
                **values,
            )
            LeafSource.objects.create(
                workspace=self.workspace,
                scope_id=tree.scope_id,
                leaf=leaf,
                event=chunk.event,
                is_creator=True,
            )
            for entity in secondary:
                LeafEntity.objects.create(
                    workspace=self.workspace, scope_id=tree.scope_id, leaf=leaf, entity=entity
                )
            names = [tree.entity.name] if tree.entity else []
            put_leaf_lexemes(self.workspace, leaf=leaf, text=text, entity_names=names)
        self._embed(leaf, passage_text(text=text, actor=leaf.actor))
        return leaf

    def _chunk(
        self, text: str, tree: Tree, *, session: str, metadata: dict[str, Any], values: Any
    ) -> Chunk:
        event = Event.objects.create(
            workspace=self.workspace,
            scope_id=tree.scope_id,
            kind="user_message",
            category=tree.category,
            session_ref=session,
            actor=values.get("actor", ""),
            payload_text=text,
            text_sha256=hashlib.sha256(text.encode()).hexdigest(),
            metadata=metadata,
            occurred_at=values["observed_at"],
            received_at=values["observed_at"],
            status="processed",
        )
        return Chunk.objects.create(
            workspace=self.workspace,
            scope_id=tree.scope_id,
            event=event,
            position=0,
            start=0,
            end=len(text),
            fingerprint=fingerprint(text),
            outcome="created",
        )

    def summary(self, text: str, *, children: Sequence[SourceLeaf], **values: Any) -> SummaryNode:
        """A sealed root over these leaves; each line of the text cites its child in order."""
        tree = children[0].tree
        node_id = new_id()
        lines = [
            f"- {line} [{children[min(i, len(children) - 1)].id}]"
            for i, line in enumerate(text.splitlines())
        ]
        path = f"t/{self.workspace.slug}/summaries/{node_id}.md"
        body = write_body(path, front_matter={"id": str(node_id)}, markdown="\n".join(lines))
        times = [leaf.observed_at for leaf in children]
        with workspace_scope(self.workspace, ALL_SCOPES):
            node = SummaryNode.objects.create(
                id=node_id,
                workspace=self.workspace,
                scope_id=tree.scope_id,
                category=tree.category,
                tree=tree,
                height=1,
                level=1,
                is_root=True,
                title=values.pop("title", f"About {tree.title}"),
                summary=text,
                body_path=path,
                body_sha256=body.sha256,
                body_bytes=body.size,
                child_kind="leaf",
                child_ids=[leaf.id for leaf in children],
                child_set_sha256="0" * 64,
                leaf_count=len(children),
                observed_at=max(times),
                time_range_start=min(times),
                time_range_end=max(times),
                model="test",
                sealed_at=max(times),
                **values,
            )
            SourceLeaf.objects.filter(id__in=node.child_ids).update(parent=node)
            Tree.objects.filter(id=tree.id).update(root=node, height=1)
            put_summary_lexemes(self.workspace, node=node, text=text)
        self._embed(node, f"{node.title}\n{text}")
        return node

    def _embed(self, node: SourceLeaf | SummaryNode, text: str) -> None:
        if not self.with_vectors:
            return
        vector = embedder().embed_passages([text])[0]
        model = current_model()
        with workspace_scope(self.workspace, ALL_SCOPES):
            put_vector(self.workspace, node=node, model=model, vector=vector)
