"""Where to look for what memory does not know, by what the question speaks of."""

from collections.abc import Sequence

from holamem.text.normalise import normalise_name
from retrieval.stages import cues
from retrieval.stages.lookups import stands_in
from retrieval.stages.phrases import phrase
from retrieval.types import Hydrated, Lookups, NextSource


def suggest_source(question: str, *, known: Lookups, evidence: Sequence[Hydrated]) -> NextSource:
    """The narrowest source first: a connected system, local files, the session, the web, a person."""
    provider = _provider_for(question, known=known)
    if provider is not None:
        reason = phrase("provider", asked=question, name=provider)
        return NextSource(f"integration:{provider}", provider, reason)
    for pattern, kind, name in (
        (cues.SESSION_SOURCE, "session", "current session"),
        (cues.LOCAL_SOURCE, "local", "workspace files"),
        (cues.WEB_SOURCE, "web", "web"),
    ):
        if pattern.search(question):
            return NextSource(kind, name, phrase(kind, asked=question))
    return NextSource("person", _person(evidence), phrase("person", asked=question))


def source_of(item: Hydrated, *, asked: str) -> NextSource:
    """Where a fact can be verified: the system it came from, or who said it."""
    if item.row.provider:
        name = item.row.provider
        reason = phrase("fetched", asked=asked, name=name)
        return NextSource(f"integration:{name}", name, reason)
    known = suggest_source(item.row.title, known=Lookups(), evidence=[item])
    return NextSource(known.kind, known.name, phrase("to_verify", asked=asked))


def _provider_for(question: str, *, known: Lookups) -> str | None:
    folded = normalise_name(question)
    names = [item.provider for item in known.providers]
    for name in names:
        if stands_in(normalise_name(name), folded):
            return name
    for pattern, providers in cues.PROVIDER_TOPICS:
        if pattern.search(question):
            return next((name for name in names if name.lower() in providers), None)
    return None


def _person(evidence: Sequence[Hydrated]) -> str:
    """Who spoke of the nearest thing; a plain word when nobody did."""
    actors = (item.row.actor for item in evidence if item.row.actor)
    return next((actor for actor in actors if actor not in ("assistant", "tool")), "user")
