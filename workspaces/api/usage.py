"""What calls of chat models took, how far quotas are used up, and which services are let alone."""

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from holamem.errors import PermissionDenied
from holamem.http.fields import DayField, QuerySerializer
from holamem.http.openapi import operation
from workspaces.api.base import ApiView, WorkspaceView
from workspaces.api.permissions import ADMIN
from workspaces.services.circuits import circuits_of
from workspaces.services.quotas import quota_uses
from workspaces.services.usage import tenant_usage, usage_by_day


class UsageQuery(QuerySerializer):
    since = DayField(required=False, help_text="First day (UTC); 30 days without it.")
    until = DayField(required=False, help_text="Last day (UTC), included; today without it.")


class TakenSerializer(serializers.Serializer[Any]):
    calls = serializers.IntegerField()
    without_answer = serializers.IntegerField(
        help_text="Of the calls: failed, cancelled, or answered with nothing of use."
    )
    input_tokens = serializers.IntegerField()
    output_tokens = serializers.IntegerField()
    cost = serializers.FloatField(
        allow_null=True, help_text="US dollars; null while no price is set."
    )
    without_price = serializers.IntegerField(help_text="Calls that `cost` leaves out.")


class DayOfUsageSerializer(serializers.Serializer[Any]):
    day = serializers.DateField()
    purpose = serializers.CharField()
    calls = serializers.IntegerField(source="taken.calls")
    without_answer = serializers.IntegerField(source="taken.without_answer")
    input_tokens = serializers.IntegerField(source="taken.input_tokens")
    output_tokens = serializers.IntegerField(source="taken.output_tokens")
    cost = serializers.FloatField(source="taken.cost", allow_null=True)
    without_price = serializers.IntegerField(source="taken.without_price")


class QuotaSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="leaves, bytes, tokens_per_day or cost_per_day.")
    limit = serializers.FloatField(allow_null=True, help_text="Null: none.")
    used = serializers.FloatField()
    reached = serializers.BooleanField(source="is_reached")


class UsageSerializer(serializers.Serializer[Any]):
    since = serializers.DateField()
    until = serializers.DateField()
    total = TakenSerializer()
    days = DayOfUsageSerializer(many=True, help_text="By day and purpose.")


class TenantUsageSerializer(UsageSerializer):
    quotas = QuotaSerializer(many=True)


class CircuitSerializer(serializers.Serializer[Any]):
    provider = serializers.CharField(help_text="The host that answers chat calls.")
    state = serializers.ChoiceField(choices=["closed", "open", "probing"])
    failures = serializers.IntegerField(help_text="In a row, up to now.")
    reason = serializers.CharField(help_text="One word about the last failure.")
    opened_at = serializers.DateTimeField(allow_null=True)
    next_probe_at = serializers.DateTimeField(allow_null=True)
    last_failure_at = serializers.DateTimeField(allow_null=True)


class CircuitsSerializer(serializers.Serializer[Any]):
    results = CircuitSerializer(many=True)


class UsageView(WorkspaceView):
    permissions = {"GET": ADMIN}
    queries = {"GET": UsageQuery}

    @operation("usage_get", summary="What model calls took", answers={200: UsageSerializer})
    def get(self, request: Request, ws: str) -> Response:
        """Calls, tokens and cost of this workspace by day (UTC) and purpose; at most 366 days."""
        report = usage_by_day(
            self.workspace, since=self.params.get("since"), until=self.params.get("until")
        )
        return Response(UsageSerializer(report).data)


class TenantUsageView(ApiView):
    permissions = {"GET": ADMIN}
    queries = {"GET": UsageQuery}

    @operation(
        "usage_get_of_tenant",
        summary="What model calls of all workspaces took",
        answers={200: TenantUsageSerializer},
        problems=(),
    )
    def get(self, request: Request) -> Response:
        """Also how much of each quota is used. Needs a key of the whole tenant."""
        if self.principal.workspace_id is not None:
            raise PermissionDenied("A key of one workspace reads that one's usage.")
        tenant_id = self.principal.tenant_id
        report = tenant_usage(
            tenant_id, since=self.params.get("since"), until=self.params.get("until")
        )
        shown = UsageSerializer(report).data
        return Response({**shown, "quotas": QuotaSerializer(quota_uses(tenant_id), many=True).data})


class CircuitsView(WorkspaceView):
    @operation(
        "circuits_list",
        summary="Which model services are let alone",
        answers={200: CircuitsSerializer},
    )
    def get(self, request: Request, ws: str) -> Response:
        """An open circuit: the service failed three times in a row, so it is only tried now and
        then, by one call at a time, until it answers.
        """
        return Response(CircuitsSerializer({"results": circuits_of(self.workspace)}).data)
