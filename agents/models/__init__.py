from agents.models.conversations import Agent, Message, MessageEntry, Session
from agents.models.distillation import Distillation, DistillationNight
from agents.models.hot_memory import HistoryEntry, TextMemory, TextMemoryVersion
from agents.models.runs import (
    Approval,
    ApprovalGrant,
    CompactionCheckpoint,
    Run,
    RunEvent,
    ToolCall,
)

__all__ = [
    "Agent",
    "Approval",
    "ApprovalGrant",
    "CompactionCheckpoint",
    "Distillation",
    "DistillationNight",
    "HistoryEntry",
    "Message",
    "MessageEntry",
    "Run",
    "RunEvent",
    "Session",
    "TextMemory",
    "TextMemoryVersion",
    "ToolCall",
]
