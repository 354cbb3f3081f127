"""Imported once, by the process that the others are forked from."""

from tests.faults import child

child.load()
