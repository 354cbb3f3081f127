"""Tenants and what they own: the isolation boundary."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

from holamem.ids import new_id
from workspaces.settings import TenantQuotas, WorkspaceSettings


class Tenant(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(max_length=63, unique=True)
    name = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    suspended_at = models.DateTimeField(null=True, blank=True)
    settings = models.JSONField(default=dict, blank=True)
    # As `TenantQuotas` has them.
    quotas = models.JSONField(default=dict, blank=True)

    def __str__(self) -> str:
        return self.slug

    @property
    def limits(self) -> TenantQuotas:
        """The stored quotas as a validated object; None for what was never set."""
        return TenantQuotas.model_validate(self.quotas)


class Membership(models.Model):
    class Role(models.TextChoices):
        OWNER = "owner"
        ADMIN = "admin"
        MEMBER = "member"
        VIEWER = "viewer"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=10, choices=Role)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="membership_once"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} {self.role}"


class Invitation(models.Model):
    """A link by which one person may become a member, once and for a few days.

    The token is in the link only; the row has its hash.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="invitations")
    role = models.CharField(max_length=10, choices=Membership.Role)
    token_sha256 = models.CharField(max_length=64, unique=True)
    invited_by = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True, blank=True)
    accepted_by = models.CharField(max_length=200, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.role} by {self.invited_by}"


class Workspace(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="workspaces")
    slug = models.SlugField(max_length=63)
    name = models.CharField(max_length=200)
    settings = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "slug"], name="workspace_slug_in_tenant"),
        ]

    def __str__(self) -> str:
        return self.slug

    @property
    def preferences(self) -> WorkspaceSettings:
        """The stored settings as a validated object; defaults for what was never set."""
        return WorkspaceSettings.model_validate(self.settings)


class EndUser(models.Model):
    """A person that the tenant's agents talk to; its id is the scope of its private memory."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    workspace = models.ForeignKey(Workspace, on_delete=models.PROTECT, related_name="end_users")
    ref = models.CharField(max_length=200)
    slug = models.SlugField(max_length=80)
    name = models.CharField(max_length=200, blank=True)
    metadata = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    erased_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "ref"], name="end_user_ref"),
            models.UniqueConstraint(fields=["workspace", "slug"], name="end_user_slug"),
            models.UniqueConstraint(fields=["workspace", "id"], name="end_user_in_workspace"),
        ]

    def __str__(self) -> str:
        return self.ref


class ApiKey(models.Model):
    class Permission(models.TextChoices):
        MEMORY_READ = "memory:read"
        MEMORY_WRITE = "memory:write"
        MEMORY_ALL_USERS = "memory:all_users"
        AGENTS_RUN = "agents:run"
        ADMIN = "admin"

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="api_keys")
    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.PROTECT, related_name="api_keys"
    )
    end_user = models.ForeignKey(
        EndUser,
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="api_keys",
        db_constraint=False,
    )
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=12, unique=True)
    secret_sha256 = models.CharField(max_length=64)
    permissions = ArrayField(models.CharField(max_length=30, choices=Permission), default=list)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.name} (hm_{self.prefix}_…)"


class Audit(models.Model):
    """Who did what to which object; rows are only ever added."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="audit_entries")
    workspace = models.ForeignKey(
        Workspace, null=True, blank=True, on_delete=models.PROTECT, related_name="audit_entries"
    )
    actor = models.CharField(max_length=200)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=200, blank=True)
    detail = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    # The memory that changed; null where an entry is about no scope or about all of them.
    scope_id = models.UUIDField(null=True, blank=True)
    undoes = models.OneToOneField(
        "self",
        null=True,
        blank=True,
        on_delete=models.PROTECT,
        related_name="undone_by",
        db_constraint=False,
    )

    class Meta:
        verbose_name_plural = "audit entries"
        constraints = [
            models.UniqueConstraint(fields=["workspace", "id"], name="audit_in_workspace"),
        ]
        indexes = [
            # A workspace's entries, newest first.
            models.Index(fields=["workspace", "-id"], name="audit_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.target}"
