import pytest

from tests.retrieval.factories import MemoryMaker
from workspaces.models.tenancy import Workspace


@pytest.fixture
def memory(workspace: Workspace) -> MemoryMaker:
    return MemoryMaker(workspace)


@pytest.fixture
def words_only(workspace: Workspace) -> MemoryMaker:
    """Memory without vectors: quick, and what is left when embedding is behind."""
    return MemoryMaker(workspace, with_vectors=False)


@pytest.fixture
def team(memory: MemoryMaker) -> MemoryMaker:
    """A small bilingual memory about several things."""
    for text in (
        "The Atlas gateway listens on port 8443 in production.",
        "The Atlas gateway writes its access log to /var/log/atlas/access.log.",
        "Errors of the Atlas gateway carry a code that starts with ATL-.",
        "Only the platform team may restart the Atlas gateway.",
    ):
        memory.leaf(text, tree=memory.tree("Atlas gateway", aliases=["Atlas"]), actor="Maya")
    memory.leaf("Maya Okafor prefers short answers with bullet points.", tree=memory.tree("Maya"))
    memory.leaf("Jonas Weber owns the on-call rota.", tree=memory.tree("Jonas"))
    payments = memory.tree("支付网关")
    for text in (
        "支付网关在生产环境使用 9000 端口。",
        "支付网关的日志保存三十天。",
        "必须由平台组批准才能重启支付网关。",
    ):
        memory.leaf(text, tree=payments, actor="小王")
    memory.leaf("李雷负责值班表。", tree=memory.tree("李雷", type="person"))
    return memory
