"""What a person may do to a tree: have its summaries written again."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from holamem.errors import HolamemError
from workspaces import access
from workspaces.dashboard.changing import refused, told
from workspaces.dashboard.page import Place, workspace_action
from workspaces.services.rebuild.trees import rebuild_tree


@workspace_action
def rebuild(request: HttpRequest, place: Place, tree_id: UUID) -> HttpResponse:
    place.require_write()
    tree = access.get_tree(place.workspace, scopes=place.scopes, tree_id=tree_id)
    try:
        rebuild_tree(
            place.workspace, principal=place.principal, scopes=[tree.scope_id], key=tree.key
        )
    except HolamemError as error:
        refused(request, error)
    else:
        told(request, _("The tree is being rebuilt; it stays readable meanwhile."), audit_id=None)
    return redirect(place.address("dashboard_tree", tree_id))
