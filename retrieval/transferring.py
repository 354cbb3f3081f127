"""What the read side keeps of a workspace, for its archive."""

from retrieval.models import Gap, RetrievalLog
from workspaces.services.transfer.tables import ExportTable, register_tables


def register() -> None:
    """Called once when the app is ready."""
    register_tables([ExportTable(Gap), ExportTable(RetrievalLog, may_be_there=True)])
