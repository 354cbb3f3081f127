"""A database URL as Django's DATABASES entry."""

from typing import Any

from psycopg.conninfo import conninfo_to_dict

WORKER_CONNECTION_SECONDS = 60  # reconnecting on every broker call cost 19 ms each


def database_settings(url: str, *, process: str, pool_size: int) -> dict[str, Any]:
    """The web process pools (opened lazily, after the fork); others keep one connection.

    A pool opened before a fork returned other processes' rows, so workers never have one.
    """
    info = {key: value for key, value in conninfo_to_dict(url).items() if value is not None}
    settings: dict[str, Any] = {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": info.pop("dbname", "holamem"),
        "USER": info.pop("user", ""),
        "PASSWORD": info.pop("password", ""),
        "HOST": info.pop("host", ""),
        "PORT": str(info.pop("port", "")),
        "OPTIONS": info,
        "CONN_HEALTH_CHECKS": True,
        "CONN_MAX_AGE": WORKER_CONNECTION_SECONDS,
    }
    if process == "web":
        settings["CONN_MAX_AGE"] = 0
        settings["OPTIONS"] = info | {"pool": {"min_size": 2, "max_size": pool_size, "timeout": 5}}
    return settings
