"""Webhooks are told of gaps, as of leaves and jobs."""

from django.db import migrations

NOT_LOADED = "current_user <> 'holamem_owner'"
TRIGGERS = [
    # name, when, condition, arguments
    ("tell_gap_opened", "INSERT", "NEW.status = 'open'", "'gap.opened', 'gap_id', 'id'"),
    (
        "tell_gap_reopened",
        "UPDATE OF status",
        "NEW.status = 'open' AND OLD.status <> 'open'",
        "'gap.opened', 'gap_id', 'id'",
    ),
    (
        "tell_gap_closed",
        "UPDATE OF status",
        "NEW.status <> 'open' AND OLD.status = 'open'",
        "'gap.closed', 'gap_id', 'id', 'status', 'status', 'answered_by', 'answered_by_id'",
    ),
]


def trigger_sql(name: str, when: str, condition: str, arguments: str) -> tuple[str, str]:
    return (
        f"CREATE TRIGGER {name} AFTER {when} ON retrieval_gap FOR EACH ROW"
        f" WHEN ({NOT_LOADED} AND {condition})"
        f" EXECUTE FUNCTION holamem_tell_webhooks({arguments});",
        f"DROP TRIGGER {name} ON retrieval_gap;",
    )


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0002_isolation"), ("workspaces", "0012_webhooks")]

    operations = [migrations.RunSQL(*trigger_sql(*trigger)) for trigger in TRIGGERS]
