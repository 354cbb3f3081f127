"""Word lists are written as running text; this reads them."""


def word_set(text: str) -> frozenset[str]:
    """The white-space separated words of a list."""
    return frozenset(text.split())
