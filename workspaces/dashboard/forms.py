"""The forms of the dashboard: they read what a person typed; the rules are the domain's."""

import unicodedata

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from holamem.http.fields import DIRECTION_CONTROLS
from holamem.text.normalise import find_forbidden, is_blank
from workspaces.dashboard.words import word_for
from workspaces.models.entities import Entity

MAX_NAME = 200
MAX_REASON = 500
MAX_PATH = 500
INTERVALS = (15, 60, 1440)  # minutes
ERASE_WORDS = ("erase", "抹除")  # either language's, whichever the page was read in


def refuse_unstorable(text: str) -> None:
    if find_forbidden(text) is not None:
        raise ValidationError(_("The text holds a character that cannot be stored."))


def refuse_unprintable(name: str) -> None:
    """The rule that the API has for names: one line, and nothing that turns its direction."""
    if any(c in DIRECTION_CONTROLS or unicodedata.category(c) in ("Cc", "Zl") for c in name):
        raise ValidationError(_("A name holds no control or direction characters."))
    refuse_unstorable(name)


class TextField(forms.CharField):
    """Several lines as they were before the browser sent them: HTML forms make them CRLF."""

    widget = forms.Textarea
    default_validators = [refuse_unstorable]

    def to_python(self, value: object) -> str:
        return str(super().to_python(value) or "").replace("\r\n", "\n")


class NameField(forms.CharField):
    default_validators = [refuse_unprintable]

    def __init__(self, *, required: bool = True) -> None:
        super().__init__(required=required, max_length=MAX_NAME)


class CorrectForm(forms.Form):
    text = TextField(strip=False)

    def clean_text(self) -> str:
        text = str(self.cleaned_data["text"])
        if is_blank(text):
            raise ValidationError(_("The text is blank."))
        return text


class MoveForm(forms.Form):
    """Into a known entity, or into a new one; not both."""

    entity = NameField(required=False)
    new_name = NameField(required=False)
    new_type = forms.ChoiceField(
        required=False, choices=[(value, value) for value in Entity.Type.values]
    )

    def clean(self) -> dict[str, object]:
        data = super().clean() or self.cleaned_data
        known, new = data.get("entity"), data.get("new_name")
        if not self.errors and bool(known) == bool(new):
            raise ValidationError(_("Name one entity: a known one or a new one."))
        if new and not data.get("new_type"):
            self.add_error("new_type", _("Choose the type of the new entity."))
        return data


class EraseForm(forms.Form):
    reason = forms.CharField(required=False, max_length=MAX_REASON, validators=[refuse_unprintable])
    only_this = forms.BooleanField(required=False)
    confirm = forms.CharField(required=False, max_length=MAX_NAME)

    def clean_confirm(self) -> str:
        typed = str(self.cleaned_data["confirm"]).strip().casefold()
        if typed not in ERASE_WORDS:
            raise ValidationError(_("Type the word to confirm that the text goes for good."))
        return typed


class NameForm(forms.Form):
    """The new name of an entity, or one alias of it."""

    name = NameField()


class MergeForm(forms.Form):
    into = NameField()


class FolderForm(forms.Form):
    """A folder of markdown files on the machine of the server."""

    account = NameField()
    path = forms.CharField(max_length=MAX_PATH, validators=[refuse_unprintable])
    interval = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        choices=[(str(minutes), str(minutes)) for minutes in INTERVALS],
    )


def entity_types() -> list[tuple[str, str]]:
    """Each type with its word in the person's language."""
    return [(value, word_for(value)) for value in Entity.Type.values]


def sync_intervals() -> list[tuple[str, str]]:
    """Minutes, and the same in words."""
    words = (_("every 15 minutes"), _("every hour"), _("every day"))
    return [(str(minutes), str(word)) for minutes, word in zip(INTERVALS, words, strict=True)]
