"""Webhooks: who is told what happens in a workspace, and what they were told."""

from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.http.fields import (
    StrictBooleanField,
    StrictChoiceField,
    StrictListField,
    StrictSerializer,
    TextField,
    choices,
)
from holamem.http.openapi import operation
from holamem.outgoing import URL_CHARACTERS
from workspaces.api.base import WorkspaceView
from workspaces.api.pagination import PageQuery, page_answer, page_of, wanted_slice
from workspaces.api.permissions import ADMIN
from workspaces.models.webhooks import Webhook, WebhookDelivery
from workspaces.services.webhooks.hooks import (
    create_webhook,
    delete_webhook,
    get_webhook,
    list_deliveries,
    list_webhooks,
    send_ping,
    update_webhook,
)

EVENT_TYPES = Webhook.EventType.values
URL_WORDS = (
    "http or https, port 80 or 443, no credentials. An address that leads into a private network"
    " is not called, unless the operator allows its host with `HOLAMEM_WEBHOOK_PRIVATE_HOSTS`."
)


def _events_field() -> StrictListField:
    return StrictListField(
        child=StrictChoiceField(choices=choices(EVENT_TYPES)),
        max_length=len(EVENT_TYPES),
        required=False,
        help_text="What it is told of; all of these when empty.",
    )


class NewWebhookSerializer(StrictSerializer):
    url = TextField(max_length=URL_CHARACTERS, help_text=URL_WORDS)
    events = _events_field()


class WebhookChangesSerializer(StrictSerializer):
    url = TextField(max_length=URL_CHARACTERS, required=False, help_text=URL_WORDS)
    events = _events_field()
    enabled = StrictBooleanField(
        required=False, help_text="False: told nothing, and what was pending is cancelled."
    )


class WebhookSerializer(serializers.Serializer[Any]):
    webhook_id = serializers.UUIDField(source="id")
    url = serializers.CharField()
    events = serializers.ListField(child=StrictChoiceField(choices=choices(EVENT_TYPES)))
    enabled = serializers.BooleanField(
        help_text="Also false once a message found nobody there in all its attempts."
    )
    created_at = serializers.DateTimeField()


class CreatedWebhookSerializer(WebhookSerializer):
    """`webhook-signature` of a message is `v1,` and the base64 of an HMAC-SHA256.

    The key is what follows `whsec_` in the secret, decoded from base64; the content is
    `{webhook-id}.{webhook-timestamp}.{body}`.
    """

    secret = serializers.CharField(allow_null=True, help_text="Shown this once.")


class DeliverySerializer(serializers.Serializer[Any]):
    """One message; `webhook-id` of its request is `msg_` and the id without hyphens."""

    delivery_id = serializers.UUIDField(source="id")
    event = serializers.CharField(help_text="An event type, or `ping`.")
    about = serializers.DictField(source="data", help_text="Ids; the `data` of the message.")
    status = StrictChoiceField(source="state", choices=choices(WebhookDelivery.State.values))
    attempts = serializers.IntegerField()
    answer_status = serializers.IntegerField(
        allow_null=True, help_text="HTTP status of the last answer; null without one."
    )
    error = serializers.CharField(
        help_text="refused_address, no_answer or, for a status other than 2xx, answer; else empty."
    )
    created_at = serializers.DateTimeField()
    next_try_at = serializers.DateTimeField()
    delivered_at = serializers.DateTimeField(allow_null=True)


class DeliveryQuery(PageQuery):
    status = StrictChoiceField(
        choices=choices(WebhookDelivery.State.values),
        required=False,
        help_text="Deliveries in this state.",
    )


WebhookPageSerializer = page_of(WebhookSerializer, name="WebhookPage")
DeliveryPageSerializer = page_of(DeliverySerializer, name="DeliveryPage")


class AdminView(WorkspaceView):
    permissions = dict.fromkeys(("GET", "POST", "PATCH", "DELETE"), ADMIN)


class WebhooksView(AdminView):
    shown_once = ("secret",)
    queries = {"GET": PageQuery}
    bodies = {"POST": NewWebhookSerializer}

    @operation("webhooks_list", summary="List webhooks", answers={200: WebhookPageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """Oldest first, without secrets."""
        wanted = wanted_slice(request, params=self.params, owner=self.workspace.id)
        return Response(
            page_answer(
                request,
                listed=list_webhooks(self.workspace, wanted=wanted),
                owner=self.workspace.id,
                show=lambda row: dict(WebhookSerializer(row).data),
            )
        )

    @operation(
        "webhooks_create",
        summary="Have an address told what happens",
        answers={201: CreatedWebhookSerializer},
        problems=(404, 409, 413, 415),
    )
    def post(self, request: Request, ws: str) -> Response:
        """Signed messages with ids, never memory, tried again for two days.

        Each is sent at least once; its `webhook-id` tells a second time.
        """
        body = self.read_body(request)
        made = create_webhook(
            self.workspace,
            principal=self.principal,
            url=body["url"],
            events=body.get("events", []),
        )
        shown = {**WebhookSerializer(made.webhook).data, "secret": made.secret}
        return Response(shown, status=201)


class WebhookView(AdminView):
    bodies = {"PATCH": WebhookChangesSerializer}

    @operation("webhooks_get", summary="Look at one webhook", answers={200: WebhookSerializer})
    def get(self, request: Request, ws: str, webhook_id: UUID) -> Response:
        """Its address, what it is told of, and whether it is switched on."""
        return Response(WebhookSerializer(get_webhook(self.workspace, webhook_id=webhook_id)).data)

    @operation(
        "webhooks_update",
        summary="Change a webhook",
        answers={200: WebhookSerializer},
        problems=(404, 413, 415),
    )
    def patch(self, request: Request, ws: str, webhook_id: UUID) -> Response:
        """Its address, its events, or whether it is switched on. The secret stays."""
        get_webhook(self.workspace, webhook_id=webhook_id)
        changed = update_webhook(
            self.workspace,
            principal=self.principal,
            webhook_id=webhook_id,
            changes=self.read_body(request),
        )
        return Response(WebhookSerializer(changed).data)

    @operation("webhooks_delete", summary="Delete a webhook", answers={204: None})
    def delete(self, request: Request, ws: str, webhook_id: UUID) -> Response:
        """It is told nothing more; what was pending is cancelled."""
        delete_webhook(self.workspace, principal=self.principal, webhook_id=webhook_id)
        return Response(status=204)


class WebhookPingView(AdminView):
    @operation(
        "webhooks_ping",
        summary="Send a webhook a message that says hello",
        answers={202: DeliverySerializer},
        problems=(404, 409, 413, 415),
    )
    def post(self, request: Request, ws: str, webhook_id: UUID) -> Response:
        """What came of it shows in the deliveries."""
        get_webhook(self.workspace, webhook_id=webhook_id)
        self.read_no_body(request)
        delivery = send_ping(self.workspace, webhook_id=webhook_id)
        return Response(DeliverySerializer(delivery).data, status=202)


class DeliveriesView(AdminView):
    queries = {"GET": DeliveryQuery}

    @operation(
        "webhooks_deliveries",
        summary="List what a webhook was told",
        answers={200: DeliveryPageSerializer},
    )
    def get(self, request: Request, ws: str, webhook_id: UUID) -> Response:
        """Newest first; kept for thirty days."""
        listed = list_deliveries(
            self.workspace,
            webhook_id=webhook_id,
            state=self.params.get("status"),
            wanted=wanted_slice(request, params=self.params, owner=self.workspace.id),
        )
        return Response(
            page_answer(
                request,
                listed=listed,
                owner=self.workspace.id,
                show=lambda row: dict(DeliverySerializer(row).data),
            )
        )
