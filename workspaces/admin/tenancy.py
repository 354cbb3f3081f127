"""Tenants, members, workspaces, end users, keys and the audit log."""

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from holamem.errors import InvalidInput
from workspaces.admin.base import AnyModelForm, ReadOnlyAdmin, TenantAdmin
from workspaces.models.tenancy import (
    ApiKey,
    Audit,
    EndUser,
    Invitation,
    Membership,
    Tenant,
    Workspace,
)
from workspaces.services.api_keys import issue_key, revoke_key
from workspaces.services.quotas import set_quotas, validate_quotas
from workspaces.services.tenants import validate_settings


class TenantForm(AnyModelForm):
    def clean_quotas(self) -> dict[str, object]:
        try:
            return validate_quotas(self.cleaned_data["quotas"] or {})
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.field}: {error.message}") from error


@admin.register(Tenant)
class TenantPage(TenantAdmin):
    tenant_path = "pk"
    form = TenantForm
    list_display = ("slug", "name", "created_at", "suspended_at")
    list_filter = ("suspended_at",)
    search_fields = ("slug", "name")

    def get_readonly_fields(self, request: HttpRequest, obj: Tenant | None = None) -> list[str]:
        return ["slug", "created_at"] if obj else ["created_at"]

    def save_model(self, request: HttpRequest, obj: Tenant, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if "quotas" in form.changed_data:
            set_quotas(obj, quotas=obj.quotas)


@admin.register(Membership)
class MembershipPage(TenantAdmin):
    tenant_path = "tenant"
    list_display = ("user", "tenant", "role")
    list_filter = ("role",)
    search_fields = ("user__username", "tenant__slug")
    list_select_related = ("user", "tenant")
    autocomplete_fields = ("user",)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return bool(request.user.is_superuser)


@admin.register(Invitation)
class InvitationPage(ReadOnlyAdmin):
    tenant_path = "tenant"
    exclude = ("token_sha256",)
    list_display = ("tenant", "role", "invited_by", "expires_at", "accepted_by", "revoked_at")
    list_filter = ("role", "accepted_at", "revoked_at")
    search_fields = ("invited_by", "accepted_by", "tenant__slug")
    list_select_related = ("tenant",)


class WorkspaceForm(AnyModelForm):
    def clean_settings(self) -> dict[str, object]:
        try:
            return validate_settings(self.cleaned_data["settings"] or {})
        except InvalidInput as error:
            raise forms.ValidationError(f"{error.field}: {error.message}") from error


@admin.register(Workspace)
class WorkspacePage(TenantAdmin):
    tenant_path = "tenant"
    form = WorkspaceForm
    list_display = ("slug", "name", "tenant", "created_at", "archived_at")
    list_filter = ("archived_at",)
    search_fields = ("slug", "name", "tenant__slug")
    list_select_related = ("tenant",)

    def get_readonly_fields(self, request: HttpRequest, obj: Workspace | None = None) -> list[str]:
        return ["tenant", "slug", "created_at"] if obj else ["created_at"]


@admin.register(EndUser)
class EndUserPage(ReadOnlyAdmin):
    list_display = ("ref", "name", "workspace", "created_at", "erased_at")
    list_filter = ("erased_at",)
    search_fields = ("ref", "name", "workspace__slug")
    list_select_related = ("workspace",)


class KeyForm(AnyModelForm):
    permissions = forms.MultipleChoiceField(
        choices=ApiKey.Permission.choices, widget=forms.CheckboxSelectMultiple
    )

    def clean(self) -> dict[str, Any]:
        """The same binding rules as issue_key, told beside the field."""
        data = super().clean() or self.cleaned_data
        tenant, workspace = data.get("tenant"), data.get("workspace")
        end_user = data.get("end_user")
        if workspace is not None and tenant is not None and workspace.tenant_id != tenant.id:
            self.add_error("workspace", _("The workspace is not the tenant's."))
        if end_user is not None and (workspace is None or end_user.workspace_id != workspace.id):
            self.add_error("end_user", _("The end user is not in the workspace."))
        return data


@admin.register(ApiKey)
class KeyPage(TenantAdmin):
    """A key is issued and revoked, never edited; its secret is shown on one page, once."""

    tenant_path = "tenant"
    form = KeyForm
    fields = ("tenant", "workspace", "end_user", "name", "permissions", "expires_at")
    list_display = (
        "name", "prefix", "tenant", "workspace", "created_at", "expires_at", "revoked_at",
        "last_used_at",
    )  # fmt: skip
    list_filter = ("revoked_at",)
    search_fields = ("name", "prefix", "tenant__slug")
    list_select_related = ("tenant", "workspace")
    actions = ("revoke",)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_fields(self, request: HttpRequest, obj: ApiKey | None = None) -> tuple[str, ...]:
        extra = ("prefix", "created_at", "revoked_at", "last_used_at") if obj else ()
        return (*self.fields, *extra)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        """Django's own right to change keys; the form for it does not exist."""
        return request.user.has_perm("workspaces.change_apikey")

    def save_model(
        self, request: HttpRequest, obj: ApiKey, form: AnyModelForm, change: bool
    ) -> None:
        issued = issue_key(
            obj.tenant,
            name=obj.name,
            permissions=obj.permissions,
            workspace=obj.workspace,
            end_user=obj.end_user,
            expires_at=obj.expires_at,
        )
        obj.__dict__.update(issued.key.__dict__)
        request.issued_token = issued.token  # type: ignore[attr-defined]

    def response_add(
        self, request: HttpRequest, obj: ApiKey, post_url_continue: str | None = None
    ) -> HttpResponse:
        """A page instead of a message: messages travel through a cookie or the session table."""
        context = {
            **self.admin_site.each_context(request),
            "title": _("The new key"),
            "key": obj,
            "token": request.issued_token,  # type: ignore[attr-defined]
            "opts": self.opts,
        }
        response = TemplateResponse(request, "admin/workspaces/apikey/issued.html", context)
        response["Cache-Control"] = "no-store"
        return response

    @admin.action(description=_("Revoke the selected keys"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, rows: QuerySet[ApiKey]) -> None:
        keys = list(rows.filter(revoked_at=None))
        for key in keys:
            revoke_key(key)
        count = len(keys)
        self.message_user(
            request, ngettext("%d key is revoked.", "%d keys are revoked.", count) % count
        )


@admin.register(Audit)
class AuditPage(ReadOnlyAdmin):
    tenant_path = "tenant"
    list_display = ("at", "actor", "action", "target", "tenant", "workspace")
    list_filter = ("action",)
    search_fields = ("actor", "target", "tenant__slug")
    list_select_related = ("tenant", "workspace")
    date_hierarchy = "at"
