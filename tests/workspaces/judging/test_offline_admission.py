"""Admission by rules on labelled sentences of both languages, none of them from the sample."""

import pytest

from tests.workspaces.judging.contexts import chunk
from workspaces.judging.offline_admission import admit, claims_execution

DURABLE = [
    "Our staging database moved to pg-stage-3 last Friday.",
    "I am allergic to peanuts.",
    "My sister Clara lives in Porto and teaches chemistry.",
    "From now on, please answer me in German.",
    "The API rate limit is 60 requests per minute.",
    "We use trunk-based development.",
    "Remember that the VPN certificate expires on 1 September.",
    "Never deploy without a second pair of eyes.",
    "The quarterly review takes place on 12 May at 10:00.",
    "I went hiking in the Dolomites last summer with my brother.",
    "Our CI costs about $1,200 a month.",
    "Anna leads the data team.",
    "We agreed to drop support for Python 3.9.",
    "If the import fails, run the repair script before anything else.",
    "I've been a nurse for seven years.",
    "The root password policy requires 16 characters.",
    "I hate meetings before 9 am.",
    "Yesterday our dog Bruno had surgery on his leg.",
    "The new office is at 14 Mill Lane, third floor.",
    "Hey! Just a heads-up: the payments team has merged with billing.",
    "My favorite editor is Helix.",
    "The customer wants all invoices as PDF.",
    "Orders over 500 euros ship for free.",
    "The build was broken because the lockfile was out of date.",
    "I'm vegan.",
    "We will move the warehouse to Leipzig on 1 July.",
    "Pavel will take over support from next Monday.",
    "Logs are kept for 90 days.",
    "Ruby 3.2 is our minimum version.",
    "The feature flag new_checkout is enabled for 10% of users.",
    "Nina's birthday is on 4 November.",
    "I moved here from Sweden four years ago.",
    "I decided to accept the offer from Orbit Labs.",
    "I painted that lake sunrise last year!",
    "我对花生过敏。",
    "我妹妹在厦门当老师。",
    "以后请用英文回答我。",
    "接口限流是每分钟 60 次。",
    "我们的代码托管在自建的 GitLab 上。",
    "记住，VPN 证书9月1日到期。",
    "没有复核的改动一律不准上线。",
    "季度评审定在5月12日上午十点。",
    "去年夏天我和弟弟去了青海湖。",
    "每个月的云费用大约八千元。",
    "李娜负责数据组。",
    "我们商定不再支持安卓 8。",
    "导入失败时要先跑修复脚本。",
    "我在银行做了七年柜员。",
    "我最讨厌九点以前开会。",
    "我家的狗叫豆豆，昨天做了手术。",
    "新办公室在滨江路 14 号三楼。",
    "满五百元的订单包邮。",
    "构建失败是因为锁文件过期了。",
    "我吃素。",
    "仓库7月1日搬到无锡。",
    "下周一起由王磊接手客服。",
    "日志保留九十天。",
    "我表弟的学历是硕士。",
    "金融论坛的地点在北京国家会议中心。",
    "我老婆的生日是11月4日。",
    "我决定接受那家公司的邀请。",
    "客户要求所有发票用 PDF 发送。",
    "我的邮箱是 zhao@example.com。",
    "我住的小区叫翠湖花园。",
    "我将要参加五月的马拉松比赛。",
    "把 staging 的 Redis 升级到 7.2 了，端口还是 6379。",
    "Hi 晓雯，the deploy freeze starts on 20 December.",
    "我们用 Kubernetes 1.29，集群叫 blue-01。",
]

PASSING = [
    "Hi there!",
    "Thanks a million!",
    "What's the port of the search service?",
    "Can you look at the logs?",
    "I'm going to try the new compiler tomorrow.",
    "Maybe we could use Kafka for that.",
    "Sounds good to me.",
    "That's really cool!",
    "lol that is hilarious",
    "I'm so tired today.",
    "Let me check and get back to you.",
    "Run the tests again.",
    "Hmm, not sure about that.",
    "I'd like to learn Spanish one day.",
    "Wow, that sounds amazing, congratulations!",
    "Give me a summary of last week.",
    "What if we moved everything to one region?",
    "I was thinking about buying a bike.",
    "You're the best!",
    "We haven't decided on a name yet.",
    "Do you remember where I parked?",
    "Tell me everything you know about the billing service.",
    "Please restart the worker.",
    "I plan to refactor the parser next sprint.",
    "It's cold outside.",
    "Have a great weekend!",
    "Great, go ahead.",
    "We should probably talk about it.",
    "Never mind.",
    "Could be a network issue.",
    "I hope the demo goes well.",
    "One moment please.",
    "你好！",
    "非常感谢！",
    "搜索服务的端口是多少？",
    "你能看一下日志吗？",
    "我打算明天试试新编译器。",
    "也许可以用消息队列来做。",
    "听起来不错。",
    "太酷了！",
    "哈哈笑死我了",
    "今天好累啊。",
    "我先查一下，回头告诉你。",
    "再跑一遍测试。",
    "嗯，不太确定。",
    "我想学西班牙语。",
    "哇，恭喜恭喜！",
    "给我总结一下上周的工作。",
    "要是都放到一个机房会怎样呢",
    "最近在考虑买辆自行车。",
    "名字还没定下来。",
    "你还记得我把车停哪儿了吗？",
    "说说你知道的计费服务的情况。",
    "请重启一下工作进程。",
    "下个迭代我计划重构解析器。",
    "外面真冷。",
    "周末愉快！",
    "好，你去弄吧。",
    "我们大概得聊聊这个。",
    "算了。",
    "可能是网络问题。",
    "希望演示顺利。",
    "稍等一下。",
    "OK，收到 thanks!",
    "帮我 check 一下 staging 的 log",
    "Maybe 我们可以试试 gRPC",
]

REASONS = [
    ("What's the port of the search service?", "question"),
    ("你还记得我把车停哪儿了吗？", "question"),
    ("I'm going to try the new compiler tomorrow.", "plan"),
    ("我打算明天试试新编译器。", "plan"),
    ("Maybe we could use Kafka for that.", "hypothetical"),
    ("也许可以用消息队列来做。", "hypothetical"),
    ("Please restart the worker.", "request"),
    ("请重启一下工作进程。", "request"),
    ("Thanks a million!", "acknowledgement"),
    ("非常感谢！", "acknowledgement"),
    ("Have a great weekend!", "small_talk"),
    ("周末愉快！", "small_talk"),
    ("We haven't decided on a name yet.", "plan"),
]


@pytest.mark.parametrize("text", DURABLE)
def test_a_lasting_statement_is_admitted(text: str) -> None:
    assert admit(chunk(text)).confidence >= 0.5


@pytest.mark.parametrize("text", PASSING)
def test_what_passes_by_is_not_admitted(text: str) -> None:
    assert admit(chunk(text)).confidence < 0.5


@pytest.mark.parametrize(("text", "reason"), REASONS)
def test_a_rejection_names_its_reason(text: str, reason: str) -> None:
    assert admit(chunk(text)).reason == reason


def test_one_lasting_sentence_admits_a_chunk_of_small_talk() -> None:
    text = "Hey, good to see you! My sister Clara moved to Porto in May. How are you?"
    assert admit(chunk(text)).confidence >= 0.5


@pytest.mark.parametrize("kind", ["accepted_preference", "accepted_identity"])
def test_an_accepted_statement_is_certain(kind: str) -> None:
    assert admit(chunk("ok", kind=kind)).confidence == 1.0


def test_a_decided_date_is_admitted_and_a_personal_intention_is_not() -> None:
    assert admit(chunk("We decided to move the launch to 3 June.")).confidence >= 0.5
    assert admit(chunk("周五18点后不再发布。")).confidence >= 0.5
    assert admit(chunk("I want to move the launch at some point.")).confidence < 0.5


@pytest.mark.parametrize(
    "text",
    [
        "I restarted the search service.",
        "I've sent the invoice to Anna.",
        "The migration has been completed.",
        "I'll update the firewall rules.",
        "Done, the new build is deployed.",
        "我已经重启了搜索服务。",
        "已为你创建新的仓库。",
        "备份完成了。",
        "我会更新防火墙规则。",
    ],
)
class TestExecution:
    def test_a_claim_without_evidence_is_rejected(self, text: str) -> None:
        assert admit(chunk(text, kind="assistant_turn")).reason == "no_execution"

    def test_the_name_of_the_assistant_changes_nothing(self, text: str) -> None:
        named = chunk(text, kind="assistant_turn", actor="Ana Costa")
        assert admit(named).reason == "no_execution"

    def test_a_claim_of_a_user_is_not_an_execution_claim(self, text: str) -> None:
        assert admit(chunk(text)).reason != "no_execution"


def test_a_proved_execution_is_admitted() -> None:
    text = "I restarted the search service on node 4."
    assert admit(chunk(text, kind="assistant_turn", has_evidence=True)).confidence >= 0.5


def test_a_failed_tool_result_is_never_admitted() -> None:
    text = "Backup of db-7 completed: 84 GB."
    assert admit(chunk(text, kind="tool_result", succeeded=False)).confidence == 0.0
    assert admit(chunk(text, kind="tool_result", succeeded=True)).confidence >= 0.5


def test_a_tool_result_of_unknown_outcome_proves_nothing() -> None:
    assert admit(chunk("Backup of db-7 completed.", kind="tool_result")).reason == "no_execution"


@pytest.mark.parametrize(
    ("said", "repeated"),
    [
        ("The import job runs at 02:15 UTC.", "So the import job runs at 02:15 UTC."),
        ("导入任务每天 2:15 运行。", "也就是说，导入任务每天 2:15 运行。"),
    ],
)
def test_an_assistant_that_repeats_the_user_adds_nothing(said: str, repeated: str) -> None:
    context = chunk(repeated, kind="assistant_turn", earlier=(said,))
    assert admit(context).reason == "restated"
    assert admit(chunk(repeated, kind="assistant_turn")).reason != "restated"


@pytest.mark.parametrize("text", ["From memory: the port is 9000.", "根据记忆，端口是 9000。"])
def test_recalled_text_is_recognised(text: str) -> None:
    assert admit(chunk(text, kind="assistant_turn")).reason == "recalled"


def test_an_empty_text_is_too_vague() -> None:
    assert admit(chunk("")).reason == "too_vague"
    assert admit(chunk("  \n ")).confidence == 0.0


def test_a_question_of_an_assistant_claims_nothing() -> None:
    text = "Would you like me to check that the queue was emptied?"
    assert not claims_execution(chunk(text, kind="assistant_turn"))
