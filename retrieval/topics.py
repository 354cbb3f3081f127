"""The job topics that the read side handles."""


def register() -> None:
    """Called once when the app is ready."""
