"""Django admin of agents; importing this package registers every model."""

from agents.admin import conversations, distillation, hot_memory, runs

__all__ = ["conversations", "distillation", "hot_memory", "runs"]
