"""The frame of views about sessions: whose they are, and which one the address names."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from agents.api.serializers import SessionSerializer
from agents.models.conversations import Session
from agents.services.pages import names_of
from agents.services.sessions import get_session
from holamem.database.scope import ALL_SCOPES
from workspaces.api.base import WorkspaceView
from workspaces.models.tenancy import ApiKey

RUN = str(ApiKey.Permission.AGENTS_RUN)


class ConversationView(WorkspaceView):
    """Conversations are not shared as memory is: a key of one end user sees that one's alone."""

    @property
    def own_scopes(self) -> Sequence[UUID] | str:
        """For an address that holds an id. A tenant's own key may name any end user's."""
        bound = self.principal.end_user_id
        return ALL_SCOPES if bound is None else (bound,)

    def listed_scopes(self) -> Sequence[UUID] | str:
        """For lists with `?user_id=`: that end user's, nobody's without one, everyone's for `*`.

        Nothing for an end user who is not known.
        """
        selected = self.selection()
        if selected.scopes == ALL_SCOPES:
            return ALL_SCOPES
        is_unknown = selected.user_ref is not None and selected.write_scope == self.workspace.id
        return () if is_unknown else (selected.write_scope,)

    def shown(self, session: Session) -> dict[str, Any]:
        names = names_of(self.workspace, scope_ids=[session.scope_id])
        return dict(SessionSerializer(session, context={"names": names}).data)


class SessionView(ConversationView):
    """Below a session: it must exist before anything else of the request is looked at."""

    session: Session

    def find_owner(self, **kwargs: Any) -> None:
        super().find_owner(**kwargs)
        self.session = get_session(
            self.workspace, scopes=self.own_scopes, session_id=kwargs["session_id"]
        )
