"""Tiny runs against a real server; how long anything takes is not asserted."""

import json
import subprocess
import sys

import pytest

from holamem.environment import PROJECT_DIR

pytestmark = pytest.mark.slow


def run(*arguments: str) -> dict[str, float]:
    """Whether a target is met depends on the machine."""
    command = [sys.executable, str(PROJECT_DIR / "manage.py"), "bench", *arguments, "--json"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.stdout, result.stderr
    return {name: item["value"] for name, item in json.loads(result.stdout).items()}


def bench(*arguments: str) -> dict[str, float]:
    command = [sys.executable, str(PROJECT_DIR / "manage.py"), "bench", *arguments, "--json"]
    result = subprocess.run(command, check=False, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return {name: item["value"] for name, item in json.loads(result.stdout).items()}


def test_ingest_counts_what_it_sent_and_found() -> None:
    measured = bench("ingest", "--seconds", "1", "--per-second", "3")
    assert (measured["events"], measured["followed"], measured["not_found"]) == (3, 10, 0)
    assert {"acknowledge_p50", "findable_by_text_p95", "findable_by_vector_p95"} <= set(measured)


def test_retrieve_counts_answers_files_and_statements() -> None:
    measured = bench("retrieve", "--sample", "none", "--questions", "2", "--rounds", "1")
    assert measured["answers"] == 4
    assert measured["files_read_max"] == 0
    assert measured["statements_max"] <= 6
    assert {"retrieve_p95", "retrieve_without_embedding_p95", "stage_embed_p50"} <= set(measured)


def test_up_starts_twice() -> None:
    assert set(bench("up")) == {"first_start", "second_start", "stop"}


def test_write_measures_one_worker_with_and_without_vectors() -> None:
    measured = run("write", "--texts", "8", "--events", "8")
    assert (measured["ingest_unprocessed"], measured["without_vectors_unprocessed"]) == (0, 0)
    assert (measured["ingest_leaves"], measured["without_vectors_leaves"]) == (8, 8)
    assert min(measured["embedder_alone"], measured["ingest"]) > 0


def test_seal_measures_a_tree_of_its_own() -> None:
    measured = run("seal", "--leaves", "10")
    assert measured["nodes_per_leaf_10"] == 0.1


def test_erase_measures_leaves_below_three_levels() -> None:
    measured = run("erase", "--leaves", "30", "--erasures", "2")
    assert (measured["erasures"], measured["read_after_request"]) == (2, 0)
    assert 0 < measured["erase_request_p50"] <= measured["erase_request_p95"]
    assert measured["erase_complete_max"] > 0
