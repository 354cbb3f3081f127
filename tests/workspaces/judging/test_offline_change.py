"""What ends an older statement, in both languages, and what stands beside it."""

from datetime import timedelta

import pytest

from tests.workspaces.judging.contexts import NOW, candidate, chunk, leaf
from workspaces.judging.base import Assignment, EntityCandidate
from workspaces.judging.offline import OfflineJudge
from workspaces.judging.relations import relation_in

JUDGE = OfflineJudge()

ENDED = [
    ("I have worked at Google for 5 years.", "I have worked at Google for 6 years."),
    ("I've been at Google for 5 years", "I've been at Google for 6 years now"),
    ("我在谷歌工作了5年。", "我在谷歌工作了6年。"),
    ("我在谷歌工作五年了。", "我在谷歌工作六年了。"),
    ("Ana loves sushi.", "Ana hates sushi."),
    ("I love sushi.", "I hate sushi now."),
    ("I love cilantro.", "I don't like cilantro any more."),
    ("I like coffee.", "I no longer like coffee."),
    ("我喜欢吃香菜。", "我讨厌吃香菜。"),
    ("我喜欢喝咖啡。", "我不喜欢喝咖啡了。"),
    ("李明喜欢加班。", "李明不喜欢加班。"),
    ("Priya moved from Berlin to Munich.", "Priya moved from Munich to Hamburg."),
    ("Priya is assigned to project Falcon.", "Priya is now assigned to project Osprey."),
    ("Priya works on project Falcon.", "Priya is now assigned to project Osprey."),
    ("Tom lives in Berlin.", "Tom moved from Berlin to Paris."),
    ("Tom lives in Berlin.", "Tom now lives in Paris."),
    ("I live in Berlin.", "I moved to Paris last month."),
    ("张伟负责支付项目。", "张伟现在负责订单项目。"),
    ("张伟住在北京。", "张伟搬到上海了。"),
    ("张伟住在北京。", "张伟从北京搬到上海了。"),
    ("支付网关由李雷负责。", "支付网关现在由韩梅梅负责。"),
    ("The Atlas gateway is owned by Priya.", "The Atlas gateway is now owned by Tom."),
    ("The Atlas gateway runs on port 8443.", "The Atlas gateway runs on port 9443."),
    ("Atlas 网关的端口是 8443。", "Atlas 网关的端口改为 9443。"),
    ("The launch of Falcon is on May 5.", "The launch of Falcon is postponed to June 9."),
    ("My favourite color is blue.", "My favourite color is green."),
    ("我最喜欢的颜色是蓝色。", "我最喜欢的颜色是绿色。"),
    ("My phone number is 555-1234.", "My phone number is 555-9876."),
    ("The budget of Falcon is $50,000.", "The budget of Falcon increased to $80,000."),
    ("Falcon 项目的预算是50万。", "Falcon 项目的预算增加到80万。"),
    ("I'm vegetarian.", "I'm no longer vegetarian."),
    ("Tom is the lead of Falcon.", "Tom is no longer the lead of Falcon."),
    ("I am 34 years old.", "I am 35 years old."),
]
BESIDE = [
    ("I love sushi.", "I hate traffic."),
    ("I love sushi.", "I love ramen."),
    ("I love sushi and ramen.", "I hate sushi rolls with mayo."),
    ("Ana loves sushi.", "Tom hates sushi."),
    ("I have worked at Google for 5 years.", "I have lived in Berlin for 6 years."),
    ("I have worked at Google for 5 years.", "I have worked at Meta for 2 years."),
    ("Tom lives in Berlin.", "Tom works in Paris."),
    ("Tom has a dog.", "Tom has two cats."),
    ("Tom's brother lives in Berlin.", "Tom now lives in Paris."),
    ("张伟住在北京。", "张伟在上海出差三天。"),
    ("张伟负责支付项目。", "李雷现在负责订单项目。"),
    ("我喜欢喝咖啡。", "我喜欢喝茶。"),
    ("我喜欢喝咖啡。", "我讨厌下雨。"),
    ("Priya is assigned to project Falcon.", "Priya is allergic to nuts."),
    ("Priya works on project Falcon.", "Priya is now on holiday until June 3."),
    ("The Atlas gateway runs on port 8443.", "The Atlas gateway runs on 4 machines."),
    (
        "The Atlas gateway runs on port 8443 in staging.",
        "The Atlas gateway runs on port 9443 in production.",
    ),
    ("The backup of Atlas runs at 02:00.", "The restore of Atlas now takes 40 minutes."),
    ("I ran 5 km on May 1.", "I ran 10 km on May 8."),
    ("我上周跑了5公里。", "我这周跑了10公里。"),
    ("My sister is 34 years old.", "My brother is 35 years old."),
    ("我弟弟今年34岁。", "我妹妹今年35岁。"),
    ("模型艺术盛宴的持续时间是八个周。", "户外徒步之旅的持续时间是七个周。"),
    ("The rent is 1200 euro.", "The deposit is 2400 euro."),
    ("Ana was born in 1990.", "Ana was married in 2015."),
    ("Falcon was started in 2020.", "Falcon was paused in 2022."),
    ("Tom visited Rome in 2019.", "Tom visited Rome in 2023."),
    ("Priya moved to Berlin in 2019.", "Priya moved her desk to room 4."),
    ("I love my new job.", "I hate my old job."),
    ("王芳是产品经理。", "王芳是两个孩子的妈妈。"),
    ("Sara is a nurse.", "Sara is a mother of two."),
    ("Alice prefers email over phone.", "Alice now prefers meetings before noon."),
    ("Nginx is at version 1.24 on web-01.", "Nginx is at version 1.26 on web-02."),
    ("支付网关的超时是30秒。", "支付网关的重试次数现在是5次。"),
    ("Tom is a member of Falcon.", "Tom is no longer a member of Osprey."),
    ("I don't like coffee.", "I don't like tea."),
    ("Tom works on project Falcon.", "Tom also works on project Osprey now."),
    ("张伟负责支付项目。", "张伟现在也负责订单项目。"),
    ("Tom lives in Paris.", "Tom moved to Berlin in 2019."),
    ("Tom works on project Falcon.", "Tom moved from Osprey to Heron."),
    ("Atlas 网关的端口是 8443。", "The port of the Atlas 网关 is now 9443."),
    ("Sara is a nurse.", "Sara is now a mother."),
]
SAME = [
    ("Tom does not own a car.", "Tom does not own a car!"),
    ("我在谷歌工作了5年。", "我在谷歌工作了五年。"),
    ("The gateway has 4 machines.", "The gateway has 4 machines."),
]


def assigned(text: str, *, known: list[EntityCandidate]) -> Assignment:
    found = JUDGE.assign(chunk(text, actor="Ana"), candidates=known)
    if found.new_entity is not None:
        known.append(candidate(found.new_entity.name, type=found.new_entity.type))
    return found


def relation(old: str, new: str) -> str:
    """As the write path asks: the older text is a leaf by now, the newer came a month later."""
    known: list[EntityCandidate] = []
    older, newer = assigned(old, known=known), assigned(new, known=known)
    found = JUDGE.compare(
        chunk(new, actor="Ana", at=NOW + timedelta(days=30)),
        subject_key=newer.subject_key,
        leaves=[leaf(old, key=older.subject_key)],
    )
    return found.relation


@pytest.mark.parametrize(("old", "new"), ENDED)
def test_a_new_value_of_the_same_thing_ends_the_old_one(old: str, new: str) -> None:
    assert relation(old, new) == "supersedes_existing"


@pytest.mark.parametrize(("old", "new"), BESIDE)
def test_another_thing_ends_nothing(old: str, new: str) -> None:
    assert relation(old, new) == "different"


@pytest.mark.parametrize(("new", "old"), BESIDE[:-6])
def test_another_thing_ends_nothing_the_other_way_round(new: str, old: str) -> None:
    assert relation(old, new) == "different"


@pytest.mark.parametrize(("old", "new"), SAME)
def test_the_same_in_other_signs_is_the_same(old: str, new: str) -> None:
    assert relation(old, new) == "same_memory"


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ("Tom owns a car.", "Tom does not own a car."),
        ("The Atlas gateway supports gRPC.", "The Atlas gateway doesn't support gRPC."),
        ("李明吃肉。", "李明不吃肉。"),
    ],
)
def test_a_denial_is_never_the_same_as_what_it_denies(positive: str, negative: str) -> None:
    assert relation(positive, negative) != "same_memory"
    assert relation(negative, positive) != "same_memory"


@pytest.mark.parametrize(
    "text",
    [
        "Priya moved her desk to room 4.",
        "The deployment window moved to Tuesday at ten.",
        "Priya is on holiday.",
        "网关在凌晨重启。",
        "The moved files are gone.",
    ],
)
def test_what_has_no_home_employer_or_assignment_is_read_as_none(text: str) -> None:
    found = relation_in(text)
    assert found is None or not found.value & {"room", "凌晨"}
