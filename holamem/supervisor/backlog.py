"""Whether the worker cluster still works: a killed worker can freeze all of it."""

from django.db import connection

from holamem.database.scope import system_scope

STUCK_SECONDS = 180

# One aggregate over two partial indexes; the ORM would need three queries.
_IS_STUCK = """
SELECT EXISTS (SELECT 1 FROM workspaces_job WHERE state = 'ready'
                AND next_try_at < now() - make_interval(secs => %(limit)s))
   AND NOT EXISTS (SELECT 1 FROM workspaces_job WHERE state = 'running' AND lease_until > now())
   AND NOT EXISTS (SELECT 1 FROM workspaces_job
                    WHERE done_at > now() - make_interval(secs => %(limit)s))
"""


def is_stuck(limit_seconds: float = STUCK_SECONDS) -> bool:
    """Work has been due for so long, while nothing was held or finished.

    Age alone would be wrong: a large import keeps old work waiting behind a busy worker.
    """
    with system_scope(), connection.cursor() as cursor:
        cursor.execute(_IS_STUCK, {"limit": limit_seconds})
        row = cursor.fetchone()
    return bool(row and row[0])
