"""Whose clock the times of a page follow: the viewer's, which the browser told, else the
workspace's.
"""

from zoneinfo import ZoneInfo

from django.http import HttpRequest

from holamem.clock import is_known_zone
from workspaces.models.tenancy import Workspace

COOKIE = "holamem_zone"


def zone_of(request: HttpRequest, workspace: Workspace) -> ZoneInfo:
    """A name that is no zone counts as none."""
    name = request.COOKIES.get(COOKIE, "")
    if name and is_known_zone(name):
        return ZoneInfo(name)
    return workspace.preferences.zone
