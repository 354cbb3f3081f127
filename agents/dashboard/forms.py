"""The forms of the agents' pages: they read what a person typed; the rules are the domain's."""

from typing import Any

from django import forms

from agents.models.conversations import Agent
from workspaces.dashboard.forms import NameField, TextField

MAX_SLUG = 63


class SessionForm(forms.Form):
    """`user` empty: a session of nobody, with the shared memory."""

    agent = forms.SlugField(max_length=MAX_SLUG)
    user = NameField(required=False)
    title = NameField(required=False)
    content = TextField(required=False, strip=False)


class SayForm(forms.Form):
    content = TextField(strip=False)
    interrupt = forms.BooleanField(required=False)


class TitleForm(forms.Form):
    title = NameField(required=False)
    agent = forms.SlugField(max_length=MAX_SLUG, required=False)


class AgentForm(forms.Form):
    """The slug names the agent for good: it is asked for once."""

    name = NameField()
    system_prompt = TextField(required=False, strip=False)
    model_name = NameField(required=False)
    mode = forms.ChoiceField(choices=[(value, value) for value in Agent.Mode.values])
    context_tokens = forms.IntegerField()
    output_tokens = forms.IntegerField()
    tool_calls = forms.IntegerField()
    cost = forms.DecimalField(required=False)
    recall = forms.BooleanField(required=False)
    feeds_memory = forms.BooleanField(required=False)

    def __init__(self, *args: Any, tools: list[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tool_names = tools
        self.fields["tools"] = forms.MultipleChoiceField(
            required=False, choices=[(name, name) for name in tools]
        )
