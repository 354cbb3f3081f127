"""Webhooks are told of runs that ended, and of approvals that wait for a person."""

from django.db import migrations

NOT_LOADED = "current_user <> 'holamem_owner'"
RUN = "'run_id', 'run_id', 'session_id', 'session_id', 'seq', 'seq'"
APPROVAL = "'approval_id', 'id', 'run_id', 'run_id', 'session_id', 'session_id'"
TRIGGERS = [
    # name, table, condition, arguments
    *[
        (
            f"tell_run_{ending}",
            "agents_runevent",
            f"NEW.type = 'run.{ending}'",
            f"'run.{ending}', {RUN}",
        )
        for ending in ("completed", "failed", "cancelled")
    ],
    (
        "tell_approval_required",
        "agents_approval",
        "NEW.status = 'pending'",
        f"'approval.required', {APPROVAL}",
    ),
]


def trigger_sql(name: str, table: str, condition: str, arguments: str) -> tuple[str, str]:
    return (
        f"CREATE TRIGGER {name} AFTER INSERT ON {table} FOR EACH ROW"
        f" WHEN ({NOT_LOADED} AND {condition})"
        f" EXECUTE FUNCTION holamem_tell_webhooks({arguments});",
        f"DROP TRIGGER {name} ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("agents", "0003_distillation"), ("workspaces", "0012_webhooks")]

    operations = [migrations.RunSQL(*trigger_sql(*trigger)) for trigger in TRIGGERS]
