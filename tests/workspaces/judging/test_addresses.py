"""A name that calls somebody is not what the text is about."""

import pytest

from tests.workspaces.judging.contexts import candidate, chunk
from workspaces.judging.addresses import is_address, without_calls
from workspaces.judging.offline import OfflineJudge
from workspaces.judging.reading import is_chinese

CALLS = [
    ("Hey Caroline, since we last chatted", "Caroline"),
    ("Thanks, Mel!", "Mel"),
    ("It was amazing, Caroline.", "Caroline"),
    ("I totally agree, Melanie.", "Melanie"),
    ("Wow, Caroline, that's gorgeous", "Caroline"),
    ("Woah, Caroline, it sounds", "Caroline"),
    ("Caroline, so glad you got the support!", "Caroline"),
    ("Caroline, those lessons are great", "Caroline"),
    ("Yeah, Caroline!", "Caroline"),
    ("Your art's amazing, Caroline.", "Caroline"),
    ("Good morning Priya!", "Priya"),
    ("I'm always here for you, Mel!", "Mel"),
    ("Priya, can you check the port?", "Priya"),
    ("李明，你昨天说的端口改了。", "李明"),
    ("李明，我搬到上海了。", "李明"),
    ("谢谢，李明！你真好", "李明"),
    ("你好，李明，我换工作了", "李明"),
]
SUBJECTS = [
    ("Priya, our lead, works from Berlin.", "Priya"),
    ("Priya, Tom and Ana joined the team.", "Priya"),
    ("Priya leads the Falcon project.", "Priya"),
    ("I met my sister, Anna.", "Anna"),
    ("Yesterday our lead, Priya, said no.", "Priya"),
    ("The owners are Ana, Tom, and Priya.", "Priya"),
    ("The owner is Priya.", "Priya"),
    ("We talked to Priya.", "Priya"),
    ("In Berlin, Priya works at Acme.", "Priya"),
    ("Our customers are Acme, Globex.", "Globex"),
    ("李明，男，35岁。", "李明"),
    ("李明负责支付，王芳负责订单。", "李明"),
    ("张伟，我们的组长，下周休假。", "张伟"),
    ("Atlas, the gateway, listens on 8443.", "Atlas"),
    ("Yes, Atlas listens on 8443.", "Atlas"),
    ("Falcon - our main project - starts in May.", "Falcon"),
]


def calls(text: str, name: str) -> bool:
    start = text.index(name)
    return is_address(text, start=start, end=start + len(name), chinese=is_chinese(text))


@pytest.mark.parametrize(("text", "name"), CALLS)
def test_a_name_set_off_as_a_call_is_one(text: str, name: str) -> None:
    assert calls(text, name)


@pytest.mark.parametrize(("text", "name"), SUBJECTS)
def test_a_subject_an_apposition_and_a_list_are_no_calls(text: str, name: str) -> None:
    assert not calls(text, name)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Wow, Mel, the view was great!", "Wow, the view was great!"),
        ("It was fun, Caroline!", "It was fun!"),
        ("Atlas listens on 8443, Redis on 6379.", "Atlas listens on 8443, Redis on 6379."),
    ],
)
def test_calls_are_taken_out_and_nothing_else(text: str, left: str) -> None:
    assert without_calls(text) == left


@pytest.mark.parametrize(
    ("text", "actor", "other", "owner"),
    [
        (
            "Hey Caroline! Last week I took my kids to the beach.",
            "Melanie",
            "Caroline",
            "id-Melanie",
        ),
        ("It was a great day, Caroline. My husband cooked.", "Melanie", "Caroline", "id-Melanie"),
        ("李明，我上周搬到上海了。", "王芳", "李明", "id-王芳"),
        ("Caroline works at a school.", "Melanie", "Caroline", "id-Caroline"),
    ],
)
def test_what_is_said_to_somebody_belongs_to_who_it_is_about(
    text: str, actor: str, other: str, owner: str
) -> None:
    known = [candidate(name, type="person") for name in (actor, other)]
    assert OfflineJudge().assign(chunk(text, actor=actor), candidates=known).entity_id == owner
