"""What a long conversation showed: what is kept of it, and under whose name."""

import pytest

from tests.workspaces.judging.contexts import candidate, chunk
from workspaces.judging.leaf_words import summary_of, title_of
from workspaces.judging.offline import OfflineJudge
from workspaces.judging.relations_told import is_relation

KEPT = [
    "Yeah, I made this bowl in my class.",
    "I'm a big fan of pottery - the creativity and skill is awesome.",
    "Next month I'm having an art show with my paintings - can't wait!",
    "We're hosting a street party on 4 July.",
    "Seeing my mentee's face light up when they saw the support was the best!",
    "Pottery is a huge part of my life, not just a hobby.",
    "下周六我们要参加城市马拉松。",
]
LEFT_OUT = [
    "I totally agree, Melanie. Taking care of ourselves is important - even if it's not always easy.",
    "Your kind words really mean a lot. I'll do my best to make sure that everybody is safe.",
    "Painting looks like a great outlet for expressing yourself.",
    "Woah, it sounds like you're doing some impressive work.",
    "Family moments like that are so special.",
    "We can tackle life's challenges together! We got this!",
    "Our friends make it all worth it.",
    "I'm planning an art show, maybe.",
    "I might be having a party next month.",
]


@pytest.mark.parametrize("text", KEPT)
def test_what_somebody_did_likes_or_has_arranged_is_kept(text: str) -> None:
    assert OfflineJudge().admit(chunk(text, actor="Melanie")).confidence >= 0.5


@pytest.mark.parametrize("text", LEFT_OUT)
def test_praise_agreement_and_general_wisdom_are_not(text: str) -> None:
    assert OfflineJudge().admit(chunk(text, actor="Melanie")).confidence < 0.5


@pytest.mark.parametrize(
    ("text", "name", "aliases"),
    [
        ("我的上司名叫赵雅琳。", "赵雅琳", ("我的上司", "我上司")),
        ("我表弟叫张伟。", "张伟", ("我的表弟", "我表弟")),
        ("My sister is called Anna.", "Anna", ("my sister",)),
        ("My boss's name is Priya Nair.", "Priya Nair", ("my boss",)),
        ("趣跑购物节的规模是五千人。", "趣跑购物节", ()),
        ("摄影盛宴·友聚光影的地点是广东深圳。", "摄影盛宴·友聚光影", ()),
        ("玛丽·居里住在巴黎。", "玛丽·居里", ()),
        ("我住的那个小区叫绿洲家园。", "绿洲家园", ()),
        ("我用的手机是苹果iPhone13。", "苹果iPhone13", ()),
        ("我参观的地方是海滨公园。", "海滨公园", ()),
        ("我刚刚路过的那个公园是莲花山公园。", "莲花山公园", ()),
    ],
)
def test_what_something_is_called_makes_an_entity(
    text: str, name: str, aliases: tuple[str, ...]
) -> None:
    made = OfflineJudge().assign(chunk(text), candidates=[]).new_entity
    assert made is not None
    assert (made.name, made.aliases) == (name, aliases)


@pytest.mark.parametrize(
    "text",
    [
        "我的上司是深圳人。",
        "我同事叫我去开会。",
        "我的上司叫大家明天早点来。",
        "我住的小区是新的。",
        "我用的手机是新买的。",
        "我叔叔工作的地方是江苏南京。",
        "我去的是一家口腔医院。",
        "产品发布会的时间是下周三。",
        "参加春茗·夜话的人不多。",
        "今天·明天都可以。",
        "公司年会的地点是上海。",
        "My boss is called to the office.",
        "My sister is called every Sunday.",
    ],
)
def test_what_names_nothing_makes_none(text: str) -> None:
    assert OfflineJudge().assign(chunk(text), candidates=[]).new_entity is None


def test_my_is_the_speakers_own_where_speakers_have_names() -> None:
    said = chunk("My sister is called Anna.", actor="Melanie")
    made = OfflineJudge().assign(said, candidates=[]).new_entity
    assert made is not None
    assert (made.name, made.aliases) == ("Anna", ())


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("我的上司在深圳上班。", candidate("赵雅琳", aliases=("我的上司", "我上司"))),
        ("我上司都44岁了。", candidate("赵雅琳", aliases=("我的上司", "我上司"))),
        ("My sister moved to Lisbon.", candidate("Anna", aliases=("my sister",))),
        ("苹果的iPhone13拍照真不错。", candidate("苹果iPhone13")),
    ],
)
def test_another_way_to_say_it_belongs_to_the_same(text: str, known: object) -> None:
    found = OfflineJudge().assign(chunk(text), candidates=[known])  # type: ignore[list-item]
    assert found.entity_id == known.entity_id  # type: ignore[attr-defined]


def test_a_relation_is_nothing_but_itself() -> None:
    assert is_relation("我的上司")
    assert is_relation("my sister")
    assert not is_relation("上司")
    assert not is_relation("我的上司赵雅琳")
    assert not is_relation("my project")


@pytest.mark.parametrize(
    ("text", "known"),
    [
        ("我表弟叫李强。", candidate("张伟", aliases=("我的表弟", "我表弟"))),
        ("我表弟李强在杭州工作。", candidate("张伟", aliases=("我的表弟", "我表弟"))),
        ("My sister Clara moved to Lisbon.", candidate("Anna", aliases=("my sister",))),
        ("My sister is called Clara.", candidate("Anna", aliases=("my sister",))),
    ],
)
def test_another_one_of_the_kind_is_not_the_known_one(text: str, known: object) -> None:
    found = OfflineJudge().assign(chunk(text), candidates=[known])  # type: ignore[list-item]
    assert found.entity_id is None


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Thanks, Mel! Yeah, I made this bowl in my class.", "Yeah, I made this bowl in my class"),
        ("Wow, that's great! My sister moved to Lisbon.", "My sister moved to Lisbon"),
        ("好的，谢谢！我的上司名叫赵雅琳。", "我的上司名叫赵雅琳"),
        ("# Leave\n\n25 days a year.", "Leave"),
        ("Port 1.", "Port 1"),
        ("Thanks, Mel!", "Thanks, Mel!"),
    ],
)
def test_a_title_is_what_is_said_and_no_greeting(text: str, title: str) -> None:
    assert title_of(text) == title
    assert summary_of(text).lstrip("# ").startswith(title)
