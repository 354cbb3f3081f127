"""Why a change was refused, in the person's language.

The domain says it in English, partly with ids for programs. A sentence without any is translated
as it is; the others have one for people here, found by their code.
"""

from django.utils.translation import gettext, gettext_noop
from django.utils.translation import gettext_lazy as _

from holamem.errors import HolamemError

SENTENCES = frozenset(
    {
        gettext_noop("This change was undone already."),
        gettext_noop("This change cannot be undone."),
        gettext_noop("This leaf was forgotten already."),
        gettext_noop("This leaf was forgotten; restore it first."),
        gettext_noop("The text before was forgotten."),
        gettext_noop("This leaf was not forgotten."),
        gettext_noop("The last owner stays."),
        gettext_noop("You are a member already."),
        gettext_noop("This user name is taken."),
        gettext_noop("There are too many open invitations."),
        gettext_noop("There is no such end user."),
        gettext_noop("A key of one end user needs its workspace."),
        gettext_noop("A key ends in the future, within ten years."),
        gettext_noop("Only an active key is rotated."),
        gettext_noop("A tenant has at most 100 active keys."),
        gettext_noop("This leaf is not active."),
        gettext_noop("This leaf changed since."),
        gettext_noop("This leaf changed while it was being corrected."),
        gettext_noop("This leaf changed while it was being restored."),
        gettext_noop("The tree kept changing while this leaf was being moved."),
        gettext_noop("This leaf is in that tree already."),
        gettext_noop("This leaf belongs to its source: change it there, or forget it here."),
        gettext_noop("This text was recalled from memory."),
        gettext_noop(
            "This leaf was deleted at its source; it comes back when the source has it again."
        ),
        gettext_noop("The source of this leaf no longer says it."),
        gettext_noop("A name must not hold a secret."),
        gettext_noop("The text is blank."),
        gettext_noop("This gap is closed already."),
        gettext_noop("This cannot be the name of an entity."),
        gettext_noop("There is no such entity."),
        gettext_noop("The entity has no such alias."),
        gettext_noop("The name itself cannot be removed; rename the entity."),
        gettext_noop("This entity belongs to the system and stays as it is."),
        gettext_noop("An entity of the system is never merged."),
        gettext_noop("An entity cannot be merged into itself, nor into what was merged into it."),
        gettext_noop("An earlier merge is still being undone; try again when it is."),
        gettext_noop("This merge was undone already."),
        gettext_noop("The entity was changed since."),
        gettext_noop("Name one entity, known or new."),
        gettext_noop("There is no such type of entity."),
        gettext_noop("This memory keeps changing; try again."),
        gettext_noop("This account is connected already."),
        gettext_noop("This integration is stopped."),
        gettext_noop("This cannot be part of an address."),
        gettext_noop("An absolute path is expected."),
        gettext_noop("The folder's absolute path is expected."),
        gettext_noop("The folder is under no root that HOLAMEM_CONNECTOR_ROOTS names."),
        gettext_noop("Minutes, up to a month, are expected."),
        gettext_noop("This cannot be the name of a provider."),
        gettext_noop("The disk of the body store is full."),
        gettext_noop("The body store does not take or give files now."),
    }
)
BY_CODE = {
    "leaf_superseded": _("This leaf was superseded; change the newest one of its history."),
    "leaf_moved": _("This leaf was moved; change it in the other tree."),
    "same_text": _("Another leaf of this tree says the same already."),
    "max_length": _("One memory has at most 2,000 characters."),
    "unusable_name": _(
        "A name stands for one particular thing: no generic word, with a letter in it, and short."
    ),
    "name_taken": _("This name belongs to the entity %(slug)s."),
    "too_many": _("An entity has at most 100 aliases."),
    "unknown_entity": _("No entity has this name."),
    "merged": _("This entity was merged into %(slug)s."),
    "several_entities": _("Several entities have this name; write one of these: %(slugs)s"),
}


def refusal(error: HolamemError) -> str:
    """One sentence; the domain's own where none is known here."""
    known = BY_CODE.get(str(error.detail.get("code", "")))
    if error.message in SENTENCES or known is None:
        return gettext(error.message)
    try:
        return str(known) % error.detail
    except KeyError:
        return gettext(error.message)
