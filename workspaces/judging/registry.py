"""Which judge this process uses."""

from holamem.providers.registry import chat_model
from workspaces.judging.base import Judge
from workspaces.judging.model import ModelJudge
from workspaces.judging.offline import OfflineJudge


def judge() -> Judge:
    """The model's judgement where a chat model is configured, the offline rules otherwise."""
    model = chat_model()
    return OfflineJudge() if model is None else ModelJudge(model)
