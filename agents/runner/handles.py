"""A run in the hands of this process."""

import threading
from dataclasses import dataclass, field
from uuid import UUID

from agents.models.conversations import Session
from agents.models.runs import Run
from agents.services.sessions import session_scopes
from agents.services.states import RunLost
from workspaces.models.tenancy import Workspace


class RunCancelled(RuntimeError):
    """Somebody asked for the end of the run."""


@dataclass(slots=True, eq=False)
class RunHandle:
    """`run.lease_token` is ours until `lost`. The flags are set by the keeper's thread."""

    workspace: Workspace
    run: Run
    session: Session
    cancelled: threading.Event = field(default_factory=threading.Event)
    lost: threading.Event = field(default_factory=threading.Event)
    # What memory says to the run's sentence; None before it was asked.
    recall: str | None = None

    @property
    def id(self) -> UUID:
        return self.run.id

    @property
    def scopes(self) -> tuple[UUID, ...]:
        return session_scopes(self.session)

    def is_given_up(self) -> bool:
        return self.cancelled.is_set() or self.lost.is_set()

    def check_lost(self) -> None:
        """Raises RunLost."""
        if self.lost.is_set():
            raise RunLost

    def check(self) -> None:
        """Raises RunLost or RunCancelled."""
        self.check_lost()
        if self.cancelled.is_set():
            raise RunCancelled
