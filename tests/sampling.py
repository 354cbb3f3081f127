"""Which cases of a long list the fast suite takes; the slow one takes them all."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def sampled(cases: Iterable[Any], *, fast: Collection[Any]) -> list[Any]:
    """The cases as parameters, those that are not in `fast` marked slow. A name in `fast` that is
    no case is a ValueError, so that a renamed case is not lost to the fast suite."""
    known = list(cases)
    unknown = [case for case in fast if case not in known]
    if unknown:
        raise ValueError(f"no such cases: {unknown}")
    return [pytest.param(case, marks=() if case in fast else pytest.mark.slow) for case in known]
