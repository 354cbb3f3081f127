"""Where a text names something, and in which role: what a sentence is about comes first."""

from dataclasses import dataclass
from typing import Literal

from workspaces.judging.wordlists import word_set

Role = Literal["subject", "possessor", "object"]
RANK: dict[Role, int] = {"subject": 0, "possessor": 1, "object": 2}


@dataclass(frozen=True, slots=True)
class Mention:
    """`sentence` and `start` order mentions; `confidence` says how surely it is a stable name."""

    name: str
    type: str
    role: Role
    sentence: int
    start: int
    confidence: float

    @property
    def order(self) -> tuple[int, int, int, int]:
        """Earlier sentences, then stronger roles, then earlier places, then longer names."""
        return (self.sentence, RANK[self.role], self.start, -len(self.name))


# What a lower-case word after a proper name makes of it.
HEAD_TYPES: dict[str, str] = {
    **dict.fromkeys(
        word_set(
            "service gateway server cluster database dashboard app application platform system module library repo repository "
            "queue portal bot website store engine scheduler proxy cache warehouse tool backend frontend api broker registry "
            "vault crawler index"
        ),
        "system",
    ),
    **dict.fromkeys(
        word_set("project programme program initiative rollout migration campaign launch"),
        "project",
    ),
    **dict.fromkeys(word_set("pipeline workflow process procedure rota runbook"), "workflow"),
    **dict.fromkeys(word_set("team squad guild department committee"), "topic"),
    **dict.fromkeys(word_set("customer client account"), "customer"),
}
CHINESE_HEAD_TYPES: dict[str, str] = {
    **dict.fromkeys(
        word_set(
            "系统 服务 网关 平台 集群 数据库 看板 应用 模块 仓库 机器人 小程序 网站 中台 组件 接口 后台 引擎 客户端 服务器"
        ),
        "system",
    ),
    **dict.fromkeys(word_set("项目 工程 计划 专项"), "project"),
    **dict.fromkeys(word_set("流程 流水线 管道 规范 机制"), "workflow"),
    **dict.fromkeys(word_set("团队 小组 部门 论坛 展会 大会 招聘会"), "topic"),
}
# A word of two characters before one of these is still a kind of event: 产品发布会, 公司年会.
CHINESE_EVENT_HEADS: dict[str, str] = dict.fromkeys(
    word_set(
        "峰会 研讨会 分享会 交流会 发布会 博览会 音乐会 演唱会 运动会 音乐节 艺术节 电影节 文化节 购物节 马拉松 训练营 夏令营 提升营 "
        "之旅 盛宴 大赛 锦标赛 讲座 沙龙 工作坊 展览 集团 有限公司"
    ),
    "topic",
)
# What kind of event it is, not which one.
EVENT_KINDS: frozenset[str] = frozenset(
    word_set(
        "产品 公司 年度 全国 全球 国际 行业 技术 学术 部门 团队 企业 校园 学校 春季 夏季 秋季 冬季 新年 年终 年中 季度 线上 线下 大型 小型 "
        "摄影 读书 英语 编程 创业 招聘 用户 客户 开发 新品 媒体 城市 社区 员工 新人 亲子 少儿 儿童 青年 学生 老师 艺术 文化 科技 科学 "
        "健康 美食 视觉 听觉 味觉 体育 足球 篮球 羽毛 电竞 舞蹈 歌唱 合唱 书法 绘画 设计 数学 物理 化学 专业 专题 主题 系列 免费 暑期 寒假 "
        "周末 本次 这次 首届 本届 上次 下次 今年 去年 明年"
    )
)
