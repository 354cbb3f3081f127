"""Topics whose name itself quotes an erased leaf: they get another name, wherever the old one is.

A name stands in the index, in every version of it, in the indexes that sessions have taken, in
arguments and in the history. The topic stays, with what else it says.
"""

from collections.abc import Mapping

from agents.models.hot_memory import TextMemory
from holamem.ids import new_id
from holamem.text.normalise import normalise
from holamem.text.segment import terms
from workspaces.models.tenancy import Workspace
from workspaces.services.erasure.cleaners import ErasedMemory

ALIAS = "erased"
ALIAS_DIGITS = 8
LEAST_TERMS = 2  # of one erased sentence, in a name of a topic that does not quote it elsewhere


def names_that_quote(
    workspace: Workspace,
    *,
    memory: ErasedMemory,
    lost: frozenset[str],
    said: frozenset[frozenset[str]],
) -> dict[str, str]:
    """The new name of each such topic. Inside a step of all scopes; may run again.

    `lost`: words that nothing in memory says any more; `said`: the words of each erased sentence.
    A name with a lost word is taken where it is rare, or has more of the sentence.
    """
    rows = workspace.text_memory_versions.filter(kind=TextMemory.Kind.TOPIC)
    if memory.scope_id != workspace.pk:
        rows = rows.filter(scope_id=memory.scope_id)
    names = rows.order_by("name").values_list("name", flat=True).distinct()
    return {name: _alias() for name in names if _quotes(name, lost=lost, said=said)}


def _quotes(name: str, *, lost: frozenset[str], said: frozenset[frozenset[str]]) -> bool:
    found = frozenset(terms(name))
    if lost.isdisjoint(found):
        return False
    return found <= lost or any(len(found & words) >= LEAST_TERMS for words in said)


def _alias() -> str:
    return f"{ALIAS}-{new_id().hex[-ALIAS_DIGITS:]}"


def rename_topics(workspace: Workspace, *, memory: ErasedMemory, names: Mapping[str, str]) -> int:
    """As the eraser: the rows of both tables, and the names in texts that hold them as marks."""
    count = 0
    for rows in (workspace.text_memories, workspace.text_memory_versions):
        found = rows.filter(kind=TextMemory.Kind.TOPIC, name__in=list(names))
        if memory.scope_id != workspace.pk:
            found = found.filter(scope_id=memory.scope_id)
        for old, new in names.items():
            count += found.filter(name=old).update(name=new)
    return count


def with_new_names(text: str, *, names: Mapping[str, str]) -> str:
    """Index lines of these topics under their new names."""
    for old, new in names.items():
        text = text.replace(f"[{old}](topics/{old}.md)", f"[{new}](topics/{new}.md)")
    return text


def holds_name(text: str, *, names: Mapping[str, str]) -> bool:
    if not names:
        return False
    flat = normalise(text).casefold()
    return any(name in flat for name in names)
