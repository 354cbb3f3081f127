"""Every list page is asked for, and costs the same number of statements when the memory grows."""

import pytest

from agents.bench.pages import PAGES, SMALL, measure_pages


@pytest.mark.slow
def test_each_page_is_measured_and_needs_no_more_statements_for_more_leaves() -> None:
    measures = {measure.name: measure for measure in measure_pages(leaves=2 * SMALL, rounds=1)}
    assert {f"{name}_p95" for name in PAGES} <= set(measures)
    assert "admin-sourceleaf-search_p95" in measures
    grown = [name for name in measures if name.endswith("_more_statements")]
    assert len(grown) == len(PAGES)
    assert [name for name in grown if measures[name].is_missed] == []
