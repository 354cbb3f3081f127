"""The names under which an operator sets the fields of the environment."""

from pydantic_settings import BaseSettings


def variables(settings: type[BaseSettings]) -> set[str]:
    return set(variable_names(settings))


def variable_names(settings: type[BaseSettings]) -> dict[str, str]:
    """Variable to field, in the order of the fields."""
    prefix = settings.model_config.get("env_prefix", "")
    return {
        str(field.validation_alias or f"{prefix}{name}".upper()): name
        for name, field in settings.model_fields.items()
    }
