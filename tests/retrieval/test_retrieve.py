from retrieval.definitions import RetrieveRequest
from retrieval.retrieve import retrieve
from tests.retrieval.factories import MemoryMaker


def test_smoke(memory: MemoryMaker) -> None:
    memory.leaf("The Atlas gateway listens on port 8443 in production.", metadata={"n": 1})
    memory.leaf("Maya prefers short answers in the morning.", tree=memory.tree("Maya"))
    memory.leaf("支付网关使用 9000 端口。", tree=memory.tree("支付网关"))
    for query in ["Which port does Atlas listen on?", "支付网关用哪个端口？", "How high is the Eiffel tower?", "what do we know about Maya?"]:
        answer = retrieve(memory.workspace, scopes=None, request=RetrieveRequest(query=query, explain=True)).as_dict()
        import json
        print(json.dumps(answer, ensure_ascii=False, indent=1)[:6000])
