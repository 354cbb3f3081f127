"""What all admin pages share: staff see their own tenants, and memory is never edited here."""

from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin
from django.contrib.auth.models import AnonymousUser, User
from django.db.models import ForeignKey, Model, Q, QuerySet
from django.http import HttpRequest

from workspaces.admin.filters import RecentValuesFilter, lists_values
from workspaces.models.tenancy import EndUser, Membership, Tenant, Workspace

# Generic for the type checker only: the classes of Django themselves are not.
if TYPE_CHECKING:
    AnyModelAdmin = admin.ModelAdmin[Any]
    AnyModelForm = forms.ModelForm[Any]
else:
    AnyModelAdmin = admin.ModelAdmin
    AnyModelForm = forms.ModelForm

MAX_SEARCH_WORDS = 8
MAX_RELATED = 500  # rows of a related model that a word of a search may mean

# How rows of each model that a form may point to lead to their tenant.
TENANT_PATHS = {
    "tenant": "pk",
    "workspace": "tenant",
    "end_user": "workspace__tenant",
}
OWNED: dict[str, type[Model]] = {"tenant": Tenant, "workspace": Workspace, "end_user": EndUser}


def tenant_ids(user: User | AnonymousUser) -> list[Any]:
    """Tenants that the person belongs to, in any role."""
    return list(Membership.objects.filter(user_id=user.pk or 0).values_list("tenant_id", flat=True))


def _uuid(text: str) -> UUID | None:
    try:
        return UUID(text)
    except ValueError:
        return None


class TenantAdmin(AnyModelAdmin):
    """Superusers see all rows; other staff see those of the tenants that they belong to.

    `tenant_path` leads from the model to its tenant; empty means installation-wide rows, which
    only superusers see.
    """

    tenant_path: ClassVar[str] = "workspace__tenant"
    list_per_page = 50
    show_full_result_count = False  # a second count over the whole table for each page

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        if request.user.is_superuser:
            return rows
        if not self.tenant_path:
            return rows.none()
        return rows.filter(**{f"{self.tenant_path}__in": tenant_ids(request.user)})

    def get_list_filter(self, request: HttpRequest) -> list[Any]:
        return [
            (name, RecentValuesFilter)
            if isinstance(name, str) and "__" not in name and lists_values(self._field(name))
            else name
            for name in self.list_filter
        ]

    def _field(self, name: str) -> Any:
        return self.model._meta.get_field(name)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Every word has to be found in one of `search_fields`; never with doubled rows.

        Django's own compares ids as upper-cased texts and joins what a row belongs to, which is
        a walk through the whole table. Here `=` names an id, which is looked up by its index,
        and of related rows those that match are found first.
        """
        for word in search_term.split()[:MAX_SEARCH_WORDS]:
            wanted = Q()
            for field in self.search_fields:
                wanted |= self._match(str(field), word)
            queryset = queryset.filter(wanted) if wanted else queryset.none()
        return queryset, False

    def _match(self, field: str, word: str) -> Q:
        """Empty where the field cannot hold the word."""
        if field.startswith("="):
            found = _uuid(word)
            return Q() if found is None else Q(**{field[1:].replace("__id", "_id"): found})
        relation, _separator, name = field.partition("__")
        if not name:
            return Q(**{f"{field}__icontains": word})
        related = self._field(relation).related_model
        rows = related._default_manager.filter(**{f"{name}__icontains": word})
        ids = list(rows.values_list("pk", flat=True)[:MAX_RELATED])
        return Q(**{f"{relation}__in": ids}) if ids else Q()

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Any staff may look, since the queryset holds only what is theirs."""
        user = request.user
        return bool(user.is_active and user.is_staff) and (
            user.is_superuser or bool(self.tenant_path)
        )

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def formfield_for_foreignkey(
        self, db_field: "ForeignKey[Any, Any]", request: HttpRequest, **kwargs: Any
    ) -> Any:
        """A form never offers, nor accepts, what belongs to another tenant."""
        path = TENANT_PATHS.get(db_field.name)
        if path and not request.user.is_superuser:
            rows = OWNED[db_field.name]._default_manager.all()
            kwargs["queryset"] = rows.filter(**{f"{path}__in": tenant_ids(request.user)})
        return super().formfield_for_foreignkey(db_field, request, **kwargs)


class ReadOnlyAdmin(TenantAdmin):
    """For rows that only domain functions write."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
