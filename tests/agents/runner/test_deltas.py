"""Pieces of an answer: the first at once, the others in groups, and no key in any of them."""

import hashlib

from agents.runner import steps
from agents.runner.claiming import claim_run
from agents.runner.deltas import DeltaWriter
from tests.agents.talking import again, events_of, open_session, others, say
from tests.verification import assert_clean
from workspaces.models.tenancy import Workspace


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def written(workspace: Workspace, pieces: list[str], *, every: float) -> list[str]:
    """Texts of the events when a piece comes every so many seconds."""
    session = open_session(workspace)
    run = say(session)
    handle = claim_run(busy=others(workspace))
    assert handle is not None
    steps.open_turn(handle, max_turns=9)
    clock = Clock()
    writer = DeltaWriter(handle, clock=clock)
    for piece in pieces:
        writer.add(piece)
        writer.write_due()
        clock.now += every
        writer.write_due()
    writer.write(is_end=True)
    texts = [e.payload["text"] for e in events_of(session) if e.type == "assistant.delta"]
    assert again(run).streamed_text == "".join(texts)
    handle.run = again(run)
    steps.end_run(handle, steps.COMPLETED)
    assert_clean(workspace)
    return texts


def test_the_first_piece_is_written_at_once_and_the_rest_in_groups(workspace: Workspace) -> None:
    texts = written(workspace, ["One "] + ["more "] * 10, every=0.01)
    assert texts[0] == "One "
    assert "".join(texts) == "One " + "more " * 10
    assert len(texts) <= 4


def test_a_long_answer_is_no_thousands_of_rows(workspace: Workspace) -> None:
    """Ten seconds, ten pieces a second."""
    texts = written(workspace, ["word "] * 100, every=0.1)
    assert "".join(texts) == "word " * 100
    assert len(texts) < 65


def test_a_word_that_may_be_a_key_waits_for_its_end_and_is_masked(workspace: Workspace) -> None:
    key = f"hm_0123456789_{hashlib.sha256(b'key').hexdigest()}"
    texts = written(workspace, ["Key: ", *key, " and on."], every=0.1)
    assert key[:20] not in "".join(texts)
    assert "[masked:" in "".join(texts)
    assert "".join(texts).startswith("Key: ")
    assert "".join(texts).endswith(" and on.")


def test_chinese_is_not_held_back(workspace: Workspace) -> None:
    texts = written(workspace, ["办公室", "在北京", "三楼。"], every=0.1)
    assert texts == ["办公室", "在北京", "三楼。"]
