"""What the API tells of conversations, runs and the hot memory."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from agents.models.conversations import Agent, Message, Session
from agents.models.hot_memory import TextMemory
from agents.models.runs import Approval, Run, ToolCall
from holamem.http.fields import StrictChoiceField, choices
from workspaces.api.pagination import link_field, page_of


class AgentSerializer(serializers.Serializer[Any]):
    slug = serializers.CharField()
    name = serializers.CharField()
    system_prompt = serializers.CharField()
    model = serializers.CharField(
        source="model_name", help_text="Empty: the chat model of the installation."
    )
    tools = serializers.ListField(child=serializers.CharField())
    mode = StrictChoiceField(choices=choices(Agent.Mode.values))
    context_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    tool_calls = serializers.IntegerField(help_text="Most calls of one run.")
    cost = serializers.FloatField(
        allow_null=True, help_text="US dollars that a run may cost; null: no limit of its own."
    )
    recall = serializers.BooleanField(help_text="A run begins with what memory knows about it.")
    feeds_memory = serializers.BooleanField(
        help_text="User messages and results of tools become events of the workspace."
    )
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)


class SessionSerializer(serializers.Serializer[Any]):
    session_id = serializers.UUIDField(source="id")
    agent = serializers.CharField(source="agent.slug")
    user_id = serializers.SerializerMethodField()
    title = serializers.CharField()
    status = StrictChoiceField(choices=choices(Session.Status.values))
    active_run_id = serializers.UUIDField(allow_null=True)
    last_event_seq = serializers.IntegerField(help_text="Number of its newest event; 0: none.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()
    archived_at = serializers.DateTimeField(allow_null=True)

    def get_user_id(self, session: Session) -> str | None:
        name: str | None = self.context["names"].get(session.scope_id)
        return name


class AskedCallSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The model's own id of the call.")
    name = serializers.CharField()
    arguments = serializers.JSONField()


class SessionMessageSerializer(serializers.Serializer[Any]):
    message_id = serializers.UUIDField(source="id")
    role = StrictChoiceField(choices=choices(Message.Role.values))
    content = serializers.CharField()
    tool_calls = AskedCallSerializer(many=True, help_text="What an assistant's message asks for.")
    tool_call_id = serializers.CharField(help_text="Of a tool's message; else empty.")
    is_partial = serializers.BooleanField(help_text="An answer that was cut short.")
    run_id = serializers.UUIDField(allow_null=True)
    turn_id = serializers.UUIDField(allow_null=True)
    event_seq = serializers.IntegerField(help_text="Number of the event that told of it.")
    created_at = serializers.DateTimeField()


class SessionMessagePageSerializer(serializers.Serializer[Any]):
    results = SessionMessageSerializer(many=True)
    next = link_field()
    previous = link_field()
    as_of_event_seq = serializers.IntegerField(
        help_text="Later messages are in the stream of events after this number."
    )


class MessageHitSerializer(serializers.Serializer[Any]):
    message_id = serializers.UUIDField()
    session_id = serializers.UUIDField()
    role = StrictChoiceField(choices=choices(Message.Role.values))
    text = serializers.CharField()
    created_at = serializers.DateTimeField()
    score = serializers.FloatField()


class MessageHitsSerializer(serializers.Serializer[Any]):
    results = MessageHitSerializer(many=True, help_text="The best match first.")


class RunSerializer(serializers.Serializer[Any]):
    run_id = serializers.UUIDField(source="id")
    session_id = serializers.UUIDField()
    status = StrictChoiceField(choices=choices(Run.Status.values))
    stop_reason = serializers.CharField(
        help_text="Why it ended, as a stable word such as `worker_lost`; empty before."
    )
    error = serializers.CharField(help_text="What went wrong, in words; else empty.")
    agent = serializers.CharField(source="config.agent")
    input_mode = StrictChoiceField(choices=choices(Run.InputMode.values))
    trigger_message_id = serializers.UUIDField()
    retry_of = serializers.UUIDField(source="retry_of_id", allow_null=True)
    cancel_requested = serializers.BooleanField()
    turns = serializers.IntegerField(help_text="Calls of the model so far.")
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class CallStateSerializer(serializers.Serializer[Any]):
    tool_call_id = serializers.UUIDField(source="id")
    call_id = serializers.CharField(help_text="The model's own id of the call.")
    name = serializers.CharField()
    status = StrictChoiceField(choices=choices(ToolCall.Status.values))
    needs_approval = serializers.BooleanField()
    reason = serializers.CharField(help_text="Why it was denied or failed; else empty.")
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)


class ToolCallSerializer(CallStateSerializer):
    arguments = serializers.JSONField()


class WithCallsSerializer(serializers.Serializer[Any]):
    """The calls are read apart, and come in the context."""

    tool_calls = serializers.SerializerMethodField(help_text="In the order of their asking.")

    @extend_schema_field(ToolCallSerializer(many=True))
    def get_tool_calls(self, row: object) -> Any:
        return ToolCallSerializer(self.context["tool_calls"], many=True).data


class RunDetailSerializer(WithCallsSerializer, RunSerializer):
    pass


class DecisionSerializer(serializers.Serializer[Any]):
    tool_call_id = serializers.UUIDField()
    status = StrictChoiceField(choices=choices(["approved", "denied"]))
    reason = serializers.CharField()


class ApprovalSerializer(serializers.Serializer[Any]):
    approval_id = serializers.UUIDField(source="id")
    session_id = serializers.UUIDField()
    run_id = serializers.UUIDField()
    status = StrictChoiceField(
        choices=choices(Approval.Status.values),
        help_text="Approved when any call of it is; denied when none.",
    )
    scope = StrictChoiceField(choices=choices(Approval.Scope.values))
    tool_call_ids = serializers.ListField(child=serializers.UUIDField())
    decisions = DecisionSerializer(many=True, help_text="Empty while it is pending.")
    decided_by = serializers.CharField(help_text="Empty when nobody decided.")
    created_at = serializers.DateTimeField()
    expires_at = serializers.DateTimeField()
    decided_at = serializers.DateTimeField(allow_null=True)


class ApprovalDetailSerializer(WithCallsSerializer, ApprovalSerializer):
    pass


LISTED_CHARACTERS = 2_000  # of one text among the arguments of a list: an approval has all of it


class ListedCallSerializer(CallStateSerializer):
    arguments = serializers.SerializerMethodField()
    arguments_cut = serializers.SerializerMethodField(
        help_text="Whether a long text among them was cut; the approval itself has it whole."
    )

    @extend_schema_field(serializers.JSONField())
    def get_arguments(self, call: ToolCall) -> Any:
        return shortened(call.arguments)

    def get_arguments_cut(self, call: ToolCall) -> bool:
        return bool(shortened(call.arguments) != call.arguments)


def shortened(value: Any) -> Any:
    """The same value with its long texts cut, with a sign of it."""
    if isinstance(value, str):
        return value if len(value) <= LISTED_CHARACTERS else f"{value[:LISTED_CHARACTERS]}…"
    if isinstance(value, dict):
        return {key: shortened(item) for key, item in value.items()}
    return [shortened(item) for item in value] if isinstance(value, list) else value


class ListedApprovalSerializer(ApprovalSerializer):
    """What is asked for stands beside it: a person decides by names and arguments, not by ids."""

    tool_calls = serializers.SerializerMethodField(help_text="In the order of their asking.")

    @extend_schema_field(ListedCallSerializer(many=True))
    def get_tool_calls(self, row: Approval) -> Any:
        return ListedCallSerializer(self.context["tool_calls"][row.id], many=True).data


class TextMemoryLineSerializer(serializers.Serializer[Any]):
    """`bytes` of UTF-8."""

    scope = serializers.SerializerMethodField()
    user_id = serializers.SerializerMethodField()
    kind = StrictChoiceField(choices=choices(TextMemory.Kind.values))
    name = serializers.CharField()
    bytes = serializers.IntegerField(source="byte_len")
    over_budget = serializers.BooleanField(
        help_text="An index beyond 200 lines or 25 KB; it is stored whole."
    )
    version = serializers.IntegerField()
    updated_at = serializers.DateTimeField()

    def get_scope(self, row: TextMemory) -> str:
        return "workspace" if row.scope_id == row.workspace_id else "user"

    def get_user_id(self, row: TextMemory) -> str | None:
        name: str | None = self.context["names"].get(row.scope_id)
        return name


class TextMemorySerializer(TextMemoryLineSerializer):
    content = serializers.CharField(help_text="Markdown.")


class HistoryEntrySerializer(serializers.Serializer[Any]):
    """`sha256` is of the entry with `prev_sha256`, so that a change of an older one shows."""

    entry_id = serializers.UUIDField(source="id")
    position = serializers.IntegerField(help_text="1, 2, 3, … of the workspace.")
    kind = serializers.CharField()
    payload = serializers.DictField(help_text="Empty once it was erased.")
    is_erased = serializers.BooleanField()
    prev_sha256 = serializers.CharField()
    sha256 = serializers.CharField()
    created_at = serializers.DateTimeField()


AgentPageSerializer = page_of(AgentSerializer, name="AgentPage")
SessionPageSerializer = page_of(SessionSerializer, name="SessionPage")
RunPageSerializer = page_of(RunSerializer, name="RunPage")
ApprovalPageSerializer = page_of(ListedApprovalSerializer, name="ApprovalPage")
TextMemoryPageSerializer = page_of(TextMemoryLineSerializer, name="TextMemoryPage")
HistoryPageSerializer = page_of(HistoryEntrySerializer, name="HistoryPage")
