"""Sentences that the read side puts into answers, marked for translation."""

from django.utils.translation import gettext_noop

SENTENCES = (
    gettext_noop("Memory speaks of this, but not in the time asked about."),
    gettext_noop("What memory has on this is past the time for which it holds."),
    gettext_noop("What memory has on this was stored with little confidence."),
    gettext_noop("Memory holds nothing about this."),
    gettext_noop("What memory holds is only loosely related to this."),
    gettext_noop("It was said in this session."),
    gettext_noop("Files of the workspace may hold it."),
    gettext_noop("It is public and changes outside of memory."),
    gettext_noop("Nobody has told memory; a person may know."),
    gettext_noop("The fact must be verified before it is used."),
    gettext_noop("Memory does not cover this; ask who may know."),
    gettext_noop("Memory does not cover this; look there."),
    gettext_noop("Some of these facts must be verified first."),
    gettext_noop("The facts above answer the question."),
    gettext_noop("Memory answers a part of this; the rest is elsewhere."),
    gettext_noop("Memory covers the question."),
)
