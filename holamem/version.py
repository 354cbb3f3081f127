"""The release of this code; `pyproject.toml` says the same."""

VERSION = "0.1.0"
