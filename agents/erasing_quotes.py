"""Where conversations and the hot layer quote an erased leaf.

A sentence quotes it when it holds one of the leaf's sentences, or most of the words of one, those
among them that nothing in memory says any more. Where one is found, every other sentence of that
conversation with such a word goes as well, since there it is about the same thing; elsewhere a
word of everyday language stays. What goes is covered, character by character.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db import connection

from agents.erasing_names import holds_name, names_that_quote, rename_topics, with_new_names
from agents.hot.message_index import index_message
from agents.hot.topics import line_name, summary_of
from agents.models.hot_memory import TextMemory
from agents.models.runs import RunEvent
from holamem.database.scope import ALL_SCOPES, eraser_scope, workspace_scope
from holamem.text.normalise import normalise
from holamem.text.segment import terms, to_tsquery_literal
from holamem.text.sentences import split_sentences
from retrieval.erasing import lost_terms
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.cleaners import ErasedMemory
from workspaces.services.erasure.redaction import cover_text

DISTILLED = ("statements", "dropped", "summaries")
ERASED_PAYLOAD = {"erased": True}
# Ids and states, which may be everyday words as well; inside of arguments every key is a caller's.
ARGUMENTS = "arguments"
WORDS_OF_OURS = frozenset(
    {
        "id", "message_id", "trigger_message_id", "tool_call_id", "call_id", "approval_id",
        "message_ids", "event_ids", "replaces", "retry_of", "status", "scope", "input_mode",
        "agent", "name", "role", "said_at", "expires_at", "frozen_index_sha256", "stop_reason",
    }
)  # fmt: skip
SHORTEST_QUOTE = 8  # characters of a sentence that is looked for word by word
SAME_WORDS = 0.5  # of an erased sentence's words, in one that says the same
LEAST_WORDS = 2
QUERY_TERMS = 20  # of one sentence; more cost and find no more
BATCH = 200


@dataclass(frozen=True, slots=True)
class _Said:
    """One erased sentence: as it reads, its terms, and those that are lost with it."""

    text: str
    terms: frozenset[str]
    lost: frozenset[str]


@dataclass(frozen=True, slots=True)
class Erased:
    """`names`: of topics that quote the leaf by their name, and what they are called now.

    `about`: names of these and of all others that quote it: what they say is about the same thing.
    """

    sentences: tuple[_Said, ...]
    lost: frozenset[str]
    names: Mapping[str, str] = field(default_factory=dict)
    about: frozenset[str] = frozenset()

    def is_quoted_in(self, sentence: str) -> bool:
        flat, found = normalise(sentence).casefold(), frozenset(terms(sentence))
        return any(_says(said, flat=flat, found=found) for said in self.sentences)

    def covered(self, text: str, *, is_about_it: bool) -> str:
        """The text with what quotes the leaf covered; `is_about_it`: also each lost word."""
        text = with_new_names(text, names=self.names)
        spans = [
            (span.start, span.end)
            for span in split_sentences(text)
            if self._goes(text[span.start : span.end], is_about_it=is_about_it)
        ]
        return cover_text(text, spans=spans)

    def _goes(self, sentence: str, *, is_about_it: bool) -> bool:
        if self.is_quoted_in(sentence) or holds_name(sentence, names=self.names):
            return True
        return is_about_it and not self.lost.isdisjoint(terms(sentence))

    def quotes(self, text: str) -> bool:
        return self.covered(text, is_about_it=False) != text

    def covered_index(self, content: str) -> str:
        """Line by line: a topic keeps its line, whatever goes from what it says."""
        return "".join(map(self._covered_line, content.splitlines(keepends=True)))

    def _covered_line(self, line: str) -> str:
        name = line_name(line)
        said = line if name is None else summary_of(line)
        head = with_new_names(line.removesuffix(said), names=self.names)
        return head + self.covered(said, is_about_it=name in self.about or self.quotes(said))

    def covered_json(self, value: Any, *, is_free: bool) -> Any:
        """Every string of it, in something that is about the leaf; `is_free`: whatever its key."""
        if isinstance(value, str):
            return self.names.get(value) or self.covered(value, is_about_it=True)
        if isinstance(value, list):
            return [self.covered_json(item, is_free=is_free) for item in value]
        if isinstance(value, dict):
            return {
                self.names.get(key, key): self.covered_json(
                    item, is_free=is_free or key == ARGUMENTS
                )
                if is_free or key not in WORDS_OF_OURS
                else item
                for key, item in value.items()
            }
        return value


def _says(said: _Said, *, flat: str, found: frozenset[str]) -> bool:
    if len(said.text) >= SHORTEST_QUOTE and said.text in flat:
        return True
    common = said.terms & found
    is_about = bool(said.lost & found)
    return is_about and len(common) >= max(LEAST_WORDS, SAME_WORDS * len(said.terms))


def cover_quotes(workspace: Workspace, *, memory: ErasedMemory) -> int:
    """Returns how many rows lost words; may run again."""
    with workspace_scope(workspace, ALL_SCOPES):
        erased = _erased(workspace, memory=memory)
        sessions = _candidates(workspace, memory=memory, erased=erased)
    count = sum(_cover_session(workspace, session_id=one, erased=erased) for one in sessions)
    with workspace_scope(workspace, ALL_SCOPES), eraser_scope():
        count += _cover_hot_layer(workspace, memory=memory, erased=erased)
        return count + rename_topics(workspace, memory=memory, names=erased.names)


def _erased(workspace: Workspace, *, memory: ErasedMemory) -> Erased:
    sentences = [
        text[span.start : span.end] for text in memory.texts for span in split_sentences(text)
    ]
    spoken = {term for sentence in sentences for term in terms(sentence)}
    lost = lost_terms(workspace, memory=memory, spoken=spoken)
    said = []
    for sentence in sentences:
        found = frozenset(terms(sentence))
        said.append(_Said(normalise(sentence).casefold(), found, found & lost))
    spoken_together = frozenset(one.terms for one in said)
    names = names_that_quote(workspace, memory=memory, lost=lost, said=spoken_together)
    erased = Erased(tuple(said), lost, names)
    return replace(erased, about=_topics_about(workspace, memory=memory, erased=erased))


def _topics_about(workspace: Workspace, *, memory: ErasedMemory, erased: Erased) -> frozenset[str]:
    """Also by what an older version of them said."""
    rows = workspace.text_memory_versions.filter(kind=TextMemory.Kind.TOPIC)
    if memory.scope_id != workspace.pk:
        rows = rows.filter(scope_id=memory.scope_id)
    found = rows.values_list("name", "content").iterator(chunk_size=BATCH)
    return frozenset(erased.names) | {name for name, said in found if erased.quotes(said)}


_CANDIDATES = """
SELECT DISTINCT session_id FROM agents_messageentry
 WHERE workspace_id = %(workspace)s AND (%(shared)s OR scope_id = %(scope)s)
   AND lexemes @@ ANY(%(queries)s::tsquery[])
UNION
SELECT r.session_id FROM agents_toolcall AS c
  JOIN agents_run AS r ON r.workspace_id = c.workspace_id AND r.id = c.run_id
 WHERE c.workspace_id = %(workspace)s AND (%(shared)s OR c.scope_id = %(scope)s)
   AND c.arguments::text ILIKE ANY(%(patterns)s::text[])
UNION
SELECT session_id FROM agents_approval
 WHERE workspace_id = %(workspace)s AND (%(shared)s OR scope_id = %(scope)s)
   AND decisions::text ILIKE ANY(%(patterns)s::text[])
"""


def _candidates(workspace: Workspace, *, memory: ErasedMemory, erased: Erased) -> list[UUID]:
    """Sessions with a message that holds a lost word, or all words of an erased sentence.

    Arguments and reasons are in no index: they are looked through.
    """
    queries = [to_tsquery_literal([term]) for term in sorted(erased.lost)]
    queries += [_all_of(said.terms) for said in erased.sentences if said.terms]
    values: dict[str, Any] = {
        "workspace": workspace.pk,
        # Shared memory may be quoted to anybody, a person's to that person only.
        "shared": memory.scope_id == workspace.pk,
        "scope": memory.scope_id,
        "queries": [query for query in queries if query],
        "patterns": [f"%{_literal(text)}%" for text in _looked_for(erased)],
    }
    with connection.cursor() as cursor:
        cursor.execute(_CANDIDATES, values)
        return [row[0] for row in cursor.fetchall()]


def _looked_for(erased: Erased) -> list[str]:
    return [*sorted(erased.lost), *(said.text for said in erased.sentences)]


def _literal(text: str) -> str:
    return re.sub(r"([\\%_])", r"\\\1", json.dumps(text, ensure_ascii=False)[1:-1])


def _all_of(words: Iterable[str]) -> str:
    literals = (to_tsquery_literal([word]) for word in sorted(words)[:QUERY_TERMS])
    return " & ".join(f"({literal})" for literal in literals if literal)


def _cover_session(workspace: Workspace, *, session_id: UUID, erased: Erased) -> int:
    """Nothing in a session that does not quote the leaf."""
    with workspace_scope(workspace, ALL_SCOPES), eraser_scope():
        messages = list(workspace.messages.filter(session_id=session_id))
        said = [message.content for message in messages]
        said += _strings_beside(workspace, session_id=session_id)
        if not any(map(erased.quotes, said)):
            return 0
        count = 0
        for message in messages:
            if _changed(message, ("content",), ("attachments", "tool_calls"), erased=erased):
                if message.deleted_at is None:
                    index_message(workspace, message=message)
                count += 1
        return count + _cover_beside(workspace, session_id=session_id, erased=erased)


def _strings_beside(workspace: Workspace, *, session_id: UUID) -> list[str]:
    calls = workspace.tool_calls.filter(run__session_id=session_id)
    decided = workspace.approvals.filter(session_id=session_id)
    documents = [
        *calls.values_list("arguments", flat=True),
        *decided.values_list("decisions", flat=True),
    ]
    return [text for document in documents for text in _strings(document)]


def _cover_beside(workspace: Workspace, *, session_id: UUID, erased: Erased) -> int:
    runs = workspace.runs.filter(session_id=session_id)
    others: list[tuple[Iterable[Any], Sequence[str], Sequence[str]]] = [
        (workspace.sessions.filter(id=session_id), ("title",), ()),
        (runs, ("error", "streamed_text"), ()),
        (workspace.tool_calls.filter(run__in=runs), ("reason", "result"), ("arguments",)),
        (workspace.approvals.filter(session_id=session_id), (), ("decisions",)),
        (workspace.compaction_checkpoints.filter(session_id=session_id), ("summary",), ()),
        (workspace.distillations.filter(session_id=session_id), (), DISTILLED),
    ]
    events = workspace.run_events.filter(session_id=session_id)
    # A word may be split between two pieces of a stream.
    pieces = events.filter(type=RunEvent.Type.ASSISTANT_DELTA).exclude(payload=ERASED_PAYLOAD)
    count = pieces.update(payload=ERASED_PAYLOAD)
    others.append((events.exclude(type=RunEvent.Type.ASSISTANT_DELTA), (), ("payload",)))
    for rows, texts, documents in others:
        count += sum(_changed(row, texts, documents, erased=erased) for row in rows)
    return count


def _changed(row: Any, texts: Sequence[str], documents: Sequence[str], *, erased: Erased) -> bool:
    """Covers the row's columns and saves it when one of them changed."""
    new = {name: erased.covered(getattr(row, name), is_about_it=True) for name in texts}
    new |= {
        name: erased.covered_json(getattr(row, name), is_free=name == ARGUMENTS)
        for name in documents
    }
    fields = {name: value for name, value in new.items() if value != getattr(row, name)}
    for name, value in fields.items():
        setattr(row, name, value)
    if fields:
        row.save(update_fields=list(fields))
    return bool(fields)


def _cover_hot_layer(workspace: Workspace, *, memory: ErasedMemory, erased: Erased) -> int:
    count = 0
    for rows in (workspace.text_memories, workspace.text_memory_versions):
        found = rows.exclude(content="")
        if memory.scope_id != workspace.pk:
            found = found.filter(scope_id=memory.scope_id)
        for row in found.iterator(chunk_size=BATCH):
            content = _covered_content(row, erased=erased)
            if content == row.content:
                continue
            changed: dict[str, Any] = {"content": content}
            if hasattr(row, "byte_len"):
                changed["byte_len"] = len(content.encode())
            count += rows.filter(id=row.id).update(**changed)
    count += _empty_frozen_indexes(workspace, memory=memory, erased=erased)
    return count + _redact_history(workspace, memory=memory, erased=erased)


def _covered_content(row: Any, *, erased: Erased) -> str:
    content: str = row.content
    if row.kind == TextMemory.Kind.INDEX:
        return erased.covered_index(content)
    return erased.covered(content, is_about_it=True) if row.name in erased.about else content


def _empty_frozen_indexes(workspace: Workspace, *, memory: ErasedMemory, erased: Erased) -> int:
    """Whole, both of them: the session keeps the hash of what stood there until a compaction."""
    rows = workspace.sessions.exclude(frozen_user_index="", frozen_workspace_index="")
    if memory.scope_id != workspace.pk:
        rows = rows.filter(scope_id=memory.scope_id)
    said = ("id", "frozen_user_index", "frozen_workspace_index")
    gone = [
        session_id
        for session_id, *indexes in rows.values_list(*said).iterator(chunk_size=BATCH)
        if any(erased.covered_index(index) != index for index in indexes)
    ]
    empty = {"frozen_user_index": "", "frozen_workspace_index": ""}
    return workspace.sessions.filter(id__in=gone).update(**empty)


def _redact_history(workspace: Workspace, *, memory: ErasedMemory, erased: Erased) -> int:
    """Whole entries: the hash of what they said keeps their place in the chain."""
    rows = workspace.history_entries.filter(is_erased=False)
    if memory.scope_id != workspace.pk:
        rows = rows.filter(scope_id=memory.scope_id)
    gone = [
        entry.id
        for entry in rows.iterator(chunk_size=BATCH)
        if any(erased.quotes(text) for text in _strings(entry.payload))
    ]
    return workspace.history_entries.filter(id__in=gone).update(payload={}, is_erased=True)


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for item in items for text in _strings(item)]
