"""Typed settings from the environment: every variable that an operator may set, in one place."""

from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

PROJECT_DIR = Path(__file__).resolve().parent.parent
SECRET_KEY_FILE = "secret.key"  # noqa: S105 - a file name
DEVELOPMENT_SECRET_KEY = "development-only-not-a-secret-key"  # noqa: S105 - refused in production


class Environment(BaseSettings):
    """Read once at start. A value that cannot be parsed stops the process with its name."""

    model_config = SettingsConfigDict(env_prefix="HOLAMEM_", extra="ignore", populate_by_name=True)

    data_dir: Path = PROJECT_DIR / ".holamem"
    database_url: str = ""
    # For LISTEN, where a transaction pooler is in between; empty: `database_url`.
    direct_database_url: str = ""
    port: int = Field(default=8000, ge=1, le=65535)
    production: bool = False
    debug: bool = False
    secret_key: SecretStr = SecretStr(DEVELOPMENT_SECRET_KEY)
    allowed_hosts: str = "localhost,127.0.0.1,[::1]"
    https: bool = False
    process: Literal["command", "web", "worker", "runner"] = "command"
    web_threads: int = Field(default=32, ge=1, le=256)
    workers: int = Field(default=2, ge=1, le=64)
    prepared_statements: bool = True
    # Folders below which connectors may read, separated by commas; empty: none may.
    connector_roots: str = ""
    # Hosts, or host:port, of webhooks that may be private, separated by commas.
    webhook_private_hosts: str = ""
    # Describes the deployment's own tools, see agents/tools/outside.py; empty: there are none.
    tools_file: str = ""
    # Of an archive of a workspace that is sent to be imported.
    import_max_bytes: int = Field(default=256 * 1024**2, ge=1024, le=4 * 1024**3 - 1)
    # Whoever scrapes `GET /metrics` must have it; empty: open, and in production nobody may.
    metrics_token: SecretStr = SecretStr("")
    fault: str = ""  # a crash point for tests, see holamem/faults.py
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"

    embedding: Literal["local", "openai"] = "local"
    embedding_model: str = "text-embedding-3-small"
    embedding_threads: int = Field(default=1, ge=1, le=64)
    chat_model: str = ""
    chat_deadline_seconds: float = Field(default=60, gt=0, le=600)
    # US dollars for a million tokens of a prompt, and of an answer; unset: the cost is unknown.
    chat_price_in: Decimal | None = Field(default=None, ge=0, le=100_000)
    chat_price_out: Decimal | None = Field(default=None, ge=0, le=100_000)
    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")
    openai_base_url: str | None = Field(default=None, validation_alias="OPENAI_BASE_URL")

    @model_validator(mode="after")
    def secret_of_the_data_dir(self) -> "Environment":
        """An installation's own key, made at its first start, where none is set."""
        path = self.data_dir / SECRET_KEY_FILE
        if self.secret_key.get_secret_value() == DEVELOPMENT_SECRET_KEY and path.is_file():
            self.secret_key = SecretStr(path.read_text().strip())
        return self

    @field_validator(
        "openai_api_key", "openai_base_url", "chat_price_in", "chat_price_out", mode="before"
    )
    @classmethod
    def empty_is_unset(cls, value: object) -> object:
        return value or None

    @model_validator(mode="after")
    def connector_roots_are_absolute(self) -> "Environment":
        if not all(root.rpartition("=")[2].startswith("/") for root in self.connector_root_list):
            raise ValueError("HOLAMEM_CONNECTOR_ROOTS must name absolute paths")
        return self

    @model_validator(mode="after")
    def production_is_safe(self) -> "Environment":
        if not self.production:
            return self
        if self.secret_key.get_secret_value() == DEVELOPMENT_SECRET_KEY:
            raise ValueError("HOLAMEM_SECRET_KEY must be set when HOLAMEM_PRODUCTION is true")
        if self.fault:
            raise ValueError("HOLAMEM_FAULT must be unset when HOLAMEM_PRODUCTION is true")
        if self.debug:
            raise ValueError("HOLAMEM_DEBUG must be false when HOLAMEM_PRODUCTION is true")
        if "*" in self.host_list:
            raise ValueError(
                "HOLAMEM_ALLOWED_HOSTS must name hosts when HOLAMEM_PRODUCTION is true"
            )
        return self

    @property
    def host_list(self) -> list[str]:
        return [host.strip() for host in self.allowed_hosts.split(",") if host.strip()]

    @property
    def connector_root_list(self) -> list[str]:
        """Each `path`, for every tenant, or `tenant=path`, for that one alone."""
        return [entry.strip() for entry in self.connector_roots.split(",") if entry.strip()]

    @property
    def webhook_private_host_list(self) -> list[str]:
        entries = (entry.strip().lower() for entry in self.webhook_private_hosts.split(","))
        return [entry for entry in entries if entry]

    @property
    def bodies_dir(self) -> Path:
        return self.data_dir / "bodies"


@lru_cache(maxsize=1)
def get_environment() -> Environment:
    return Environment()
