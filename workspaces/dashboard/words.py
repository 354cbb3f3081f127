"""The word, glyph and tone that stand for each code; glyphs carry what colour alone would."""

from dataclasses import dataclass

from django.utils.translation import gettext, pgettext_lazy
from django.utils.translation import gettext_lazy as _

from workspaces.dashboard.run_words import (
    CURRENT,
    FAILED,
    GAP,
    PAST,
    RUN_GLYPHS,
    RUN_WORDS,
    STALE,
)

TONES = {CURRENT: "current", STALE: "stale", PAST: "past", GAP: "stale", FAILED: "failed"}

GLYPHS = {
    # leaves
    "active": CURRENT, "superseded": PAST, "inactive": PAST, "erasing": FAILED, "erased": PAST,
    # summaries
    "sealed": CURRENT, "stale": STALE, "quarantined": FAILED, "retired": PAST,
    # events
    "received": STALE, "processing": STALE, "processed": CURRENT, "failed": FAILED, "dead": FAILED,
    # jobs
    "ready": STALE, "running": STALE, "done": CURRENT, "parked": FAILED, "cancelled": PAST,
    # outcomes of a chunk
    "pending": STALE, "rejected": PAST, "created": CURRENT, "superseding": CURRENT,
    "noop_duplicate": PAST,
    # erasures
    "requested": STALE, "complete": CURRENT,
    # merges of entities
    "moving": STALE, "undoing": STALE, "undone": PAST,
    # connectors
    "idle": CURRENT, "queued": STALE,
    # keys
    "key_active": CURRENT, "key_expired": PAST, "key_revoked": PAST,
    # webhooks and what they were told
    "hook_on": CURRENT, "hook_off": PAST, "sent_pending": STALE, "sent_delivered": CURRENT,
    "sent_failed": FAILED, "sent_cancelled": PAST,
    # steps of Connect
    "step_done": CURRENT, "step_open": PAST,
    # gaps
    "open": GAP, "answered": CURRENT, "dismissed": PAST, "missing": GAP, "conflicting": FAILED,
    "low_confidence": GAP, "outside_time_range": GAP,
    # coverage
    "none": GAP, "low": GAP, "medium": STALE, "high": CURRENT,
    # freshness
    "fresh": CURRENT, "recent": CURRENT, "older": PAST,
    **RUN_GLYPHS,
}  # fmt: skip

WORDS = {
    "interaction": _("interaction"),
    "integration": _("integration"),
    "leaf": _("leaf"),
    "summary": _("summary"),
    "active": _("current"),
    "superseded": _("superseded"),
    "inactive": _("forgotten"),
    "erasing": _("being erased"),
    "erased": _("erased"),
    "sealed": _("sealed"),
    "stale": _("stale"),
    "quarantined": _("withheld"),
    "retired": _("replaced"),
    "received": _("received"),
    "processing": _("processing"),
    "processed": _("processed"),
    "failed": _("failed"),
    "dead": _("given up"),
    "ready": _("waiting"),
    "running": _("running"),
    "done": _("done"),
    "parked": _("parked"),
    "cancelled": _("cancelled"),
    "requested": _("requested"),
    "complete": _("complete"),
    "moving": _("moving"),
    "undoing": _("being undone"),
    "undone": _("undone"),
    "idle": _("up to date"),
    "queued": _("queued"),
    "pending": _("not judged yet"),
    "rejected": _("not kept"),
    "created": _("new leaf"),
    "superseding": _("supersedes an older leaf"),
    "noop_duplicate": _("known already"),
    "match_existing": _("matched an existing entity"),
    "create_new": _("made a new entity"),
    "fallback": _("uncategorized"),
    "open": pgettext_lazy("gap", "open"),
    "answered": _("answered"),
    "dismissed": _("dismissed"),
    "missing": _("missing"),
    "conflicting": _("conflicting"),
    "low_confidence": _("low confidence"),
    "outside_time_range": _("outside the time range"),
    "none": pgettext_lazy("coverage", "none"),
    "low": pgettext_lazy("coverage", "low"),
    "medium": pgettext_lazy("coverage", "medium"),
    "high": pgettext_lazy("coverage", "high"),
    "fresh": _("fresh"),
    "recent": _("recent"),
    "older": _("older"),
    # kinds of events
    "user_message": _("user message"),
    "assistant_turn": _("assistant turn"),
    "tool_result": _("tool result"),
    "accepted_preference": _("accepted preference"),
    "accepted_identity": _("accepted identity"),
    "distilled_statement": _("distilled statement"),
    "integration_record": _("integration record"),
    "document_revision": _("document revision"),
    "sync_item": _("sync item"),
    # reasons of an admission
    "durable_fact": _("a durable fact"),
    "failed_execution": _("the execution failed"),
    "accepted": _("vouched for by the caller"),
    "no_execution": _("claims an action without a tool result"),
    "failed_tool": _("the tool call failed"),
    "restated": _("only restates the user"),
    "recalled": _("came out of memory itself"),
    "expired": _("its text was no longer kept"),
    "source_record": _("record of a connected source"),
    "too_vague": _("too vague to keep"),
    "question": _("a question"),
    "acknowledgement": _("an acknowledgement"),
    "small_talk": _("small talk"),
    "plan": _("a plan, not a fact"),
    "hypothetical": _("hypothetical"),
    "request": _("a request"),
    "advice": _("advice"),
    # topics of jobs
    "event.received": _("judge an event"),
    "tree.dirty": _("seal a tree"),
    "node.created": _("index a node"),
    "node.indexed": _("check open gaps"),
    "node.retired": _("remove a node from the index"),
    "entity.changed": _("update an entity"),
    "erase": _("erase"),
    "tree.reindex": _("index a tree again"),
    "entity.names": _("index the names of an entity"),
    "entity.merge": _("merge entities"),
    # what people and keys did
    "leaf.corrected": _("corrected a leaf"),
    "leaf.forgotten": _("forgot a leaf"),
    "leaf.restored": _("restored a leaf"),
    "leaf.moved": _("moved a leaf"),
    "leaf.erased": _("erased a leaf"),
    "key_active": _("valid"),
    "key_expired": _("over"),
    "key_revoked": _("revoked"),
    "user.erased": _("erased an end user"),
    "workspace.created": _("made the workspace"),
    "workspace.changed": _("changed the settings"),
    "workspace.archived": _("archived the workspace"),
    "agent.created": _("made an agent"),
    "agent.changed": _("changed an agent"),
    "member.signed_in": _("signed in"),
    "member.invited": _("invited somebody"),
    "member.joined": _("became a member"),
    "member.role_changed": _("changed a role"),
    "member.removed": _("removed a member"),
    "invitation.revoked": _("revoked an invitation"),
    "owner": _("owner"),
    "admin": _("admin"),
    "member": _("member"),
    "viewer": _("viewer"),
    "key.created": _("created a key"),
    "key.rotated": _("rotated a key"),
    "key.revoked": _("revoked a key"),
    "entity.renamed": _("renamed an entity"),
    "entity.alias_added": _("added an alias"),
    "entity.alias_removed": _("removed an alias"),
    "entity.merged": _("merged entities"),
    "tree.rebuilt": _("asked to rebuild a tree"),
    "entity.described": _("described an entity"),
    "integration.created": _("connected a source"),
    "integration.synced": _("asked for a sync"),
    "integration.synced_with_deletions": _("asked for a sync, with its deletions"),
    "integration.stopped": _("stopped a source"),
    "markdown_folder": _("markdown folder"),
    "connector.sync": _("read a source"),
    "webhook.deliver": _("tell a webhook"),
    "session.distill": _("distil a session"),
    "workspace.export_requested": _("asked for an export"),
    "workspace.import_requested": _("sent an archive to import"),
    "workspace.export": _("export the workspace"),
    "workspace.import": _("import an archive"),
    "approval.approved": _("approved calls of an agent"),
    "approval.denied": _("denied calls of an agent"),
    "webhook.created": _("added a webhook"),
    "webhook.changed": _("changed a webhook"),
    "webhook.deleted": _("deleted a webhook"),
    "hook_on": pgettext_lazy("webhook", "on"),
    "hook_off": _("paused"),
    "sent_pending": _("waiting to be sent"),
    "sent_delivered": _("delivered"),
    "sent_failed": _("not delivered"),
    "sent_cancelled": _("dropped"),
    "sent_refused_address": _("this address is not called"),
    "sent_no_answer": _("no answer"),
    "step_done": _("arrived"),
    "step_open": _("awaited"),
    "optional": _("optional"),
    "required": _("required"),
    "old": _("before"),
    "new": _("after"),
    "alias": _("alias"),
    "name": _("name"),
    "into_name": _("into"),
    "from_tree": _("from"),
    "to_tree": _("to"),
    "tree": _("tree"),
    # counts of a receipt
    "leaves": _("Leaves"),
    "summaries": _("Summaries"),
    "events": _("Events"),
    "chunks": _("Chunks"),
    "bodies_erased": _("Texts on disk"),
    "entries": _("Entries of the search index"),
    "links": _("Links to entities"),
    "entities": _("Entities"),
    "retrievals": _("Questions that quoted it"),
    "memory.read_all_users": _("read everyone's memory"),
    # types of entities
    "person": _("person"),
    "project": _("project"),
    "workflow": _("workflow"),
    "preference": _("preference"),
    "identity": _("identity"),
    "customer": _("customer"),
    "system": _("system"),
    "topic": _("topic"),
    # facts of a node
    "observed_at": _("Observed"),
    "created_at": _("Created"),
    "valid_until": _("Valid until"),
    "confidence": _("Confidence"),
    "verification_policy": _("Verification"),
    "verify_before_use": _("verify before use"),
    "verify_if_stale": _("verify if stale"),
    "staleness_policy": _("Staleness"),
    "stable": _("stable"),
    "decays": _("decays"),
    "stale_after_days": _("Stale after (days)"),
    "trust": _("Trust"),
    "language": _("Language"),
    "origin_kind": _("Origin"),
    "actor": _("Said by"),
    "subject_key": _("Subject"),
    "level": _("Level"),
    "height": _("Height"),
    "leaf_count": _("Leaves"),
    "time_range_start": _("From"),
    "time_range_end": _("To"),
    "sealed_at": _("Sealed"),
    "retired_at": _("Replaced at"),
    "provisional": _("Provisional"),
    "model": _("Model"),
    "body_sha256": _("Body SHA-256"),
    "fingerprint": _("Fingerprint"),
    "child_set_sha256": _("Child set SHA-256"),
    "user": _("user"),
    "assistant": _("assistant"),
    "tool": _("tool"),
    "external": _("outside source"),
    "offline": _("built-in rules"),
    "en": _("English"),
    "zh": _("Chinese"),
    # retrieval
    "fact_lookup": _("look up a fact"),
    "procedure_lookup": _("look up a procedure"),
    "briefing": _("briefing"),
    "planning": _("planning"),
    "delta": _("what changed"),
    "auto": _("automatic"),
    "broad_summary": _("broad summary"),
    "exact_evidence": _("exact evidence"),
    "answer_from_memory": _("answer from memory"),
    "verify_live_state": _("verify the live state"),
    "ask_user": _("ask the user"),
    "search_source": _("search a source"),
    "memory": _("memory"),
    "session": _("session"),
    "local": _("local files"),
    "web": _("web"),
    "lexical": _("words"),
    "vector": _("meaning"),
    "neighbour": _("neighbouring turns"),
    "answers": _("answers what was asked before it"),
    "says_when": _("says when"),
    "branch": _("branch"),
    "in_branch": _("in a chosen branch"),
    "outside_branch": _("outside the chosen branches"),
    "entity": _("entity"),
    "time": _("time"),
    "embedding_pending": _("leaves that wait for their vector"),
    "bodies": _("bodies that could not be read"),
    **RUN_WORDS,
}


@dataclass(frozen=True, slots=True)
class Chip:
    glyph: str
    word: str
    tone: str


UNDONE = ".undone"


def word_for(code: object) -> str:
    """The translated word of a code; an unknown one is shown with spaces for its signs."""
    text = str(code)
    if text.endswith(UNDONE) and text not in WORDS:
        return gettext("undid: %(change)s") % {"change": word_for(text.removesuffix(UNDONE))}
    known = WORDS.get(text)
    return str(known) if known is not None else text.replace("_", " ").replace(".", " ")


def word_of(code: object, kind: str) -> str:
    """The word of a code of one kind, `kind_code`; without one the code as it is read."""
    known = WORDS.get(f"{kind}_{code}")
    return word_for(code) if known is None else str(known)


def chip_for(code: str) -> Chip:
    glyph = GLYPHS.get(code, PAST)
    return Chip(glyph, word_for(code), TONES[glyph])
