"""An empty database and the body files give the same memory back.

Tree by tree, each in one transaction: a run that stopped goes on where it was. The workspace
is hidden until all is there. Files that cannot be trusted are left out and named.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import UUID

from django.core.files.base import ContentFile
from django.db import DataError, IntegrityError

from holamem.clock import now
from holamem.database.scope import ALL_SCOPES, workspace_scope
from holamem.errors import InvalidInput
from workspaces.bodies import body_storage, copy_body, read_bytes
from workspaces.body_paths import tree_directory
from workspaces.models.tenancy import Workspace
from workspaces.models.trees import RetiredBody, Tree
from workspaces.services.erasure.journal import replay_erasures
from workspaces.services.rebuild.derive import derived_sidecar
from workspaces.services.rebuild.documents import Refused
from workspaces.services.rebuild.found import (
    Problem,
    read_document,
    read_tree,
    tree_directories,
)
from workspaces.services.rebuild.heads import Sidecar
from workspaces.services.rebuild.owners import (
    hide_workspace,
    open_workspace,
    show_workspace,
    write_end_users,
    write_entities,
)
from workspaces.services.rebuild.plan import TreePlan, plan_tree
from workspaces.services.rebuild.rest import Rest, write_rest
from workspaces.services.rebuild.rows import write_tree
from workspaces.services.rebuild.sidecar import sidecar_path
from workspaces.services.rebuild.workspace_files import Source, workspace_file
from workspaces.services.reindexing import reindex_workspace

RETIRED_HOURS = 24
KEPT_FILE = "tree.before-rebuild.yaml"
Progress = Callable[[str, int, int], None]


@dataclass(slots=True)
class Rebuilt:
    """What is in the database now; `already` trees were there from an earlier run."""

    tenant: str
    workspace: str
    trees: int = 0
    already: int = 0
    leaves: int = 0
    summaries: int = 0
    entities: int = 0
    indexed: int = 0
    erased_again: int = 0
    problems: list[Problem] = field(default_factory=list)


def rebuild_workspace(
    source: Source, *, without_sidecars: bool = False, on_progress: Progress = lambda *_: None
) -> Rebuilt:
    """Raises Conflict when the workspace holds other memory, InvalidInput when nothing names it.

    `without_sidecars`: trees whose sidecar is lost come back as their leaves tell it, with what
    was forgotten or erased since.
    """
    report = Rebuilt(source.tenant, source.slug)
    directories = tree_directories(source.base)
    file = workspace_file(source, directories=directories, problems=report.problems)
    target = open_workspace(file)
    hide_workspace(target)
    sidecars = _sidecars(
        target.workspace, directories=directories, derive=without_sidecars, report=report
    )
    entities = _write_owners(target.workspace, sidecars=list(sidecars.values()), report=report)
    rest = Rest()
    for number, (directory, sidecar) in enumerate(sidecars.items(), 1):
        found = read_tree(directory, workspace_id=target.workspace.pk)
        plan = plan_tree(found, sidecar=sidecar)
        write_plan(target.workspace, plan=plan, entities=entities, report=report)
        rest.add(plan)
        on_progress("trees", number, len(sidecars))
    write_rest(target.workspace, rest=rest)
    report.erased_again = _replay(target.workspace)
    report.indexed = reindex_workspace(
        target.workspace, on_batch=lambda done: on_progress("search entries", done, 0)
    )
    show_workspace(target, file=file)
    return report


def _replay(workspace: Workspace) -> int:
    """What the erasures recorded beside the bodies name does not come back, sidecar or not."""
    try:
        return replay_erasures(workspace)
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidInput(
            "An erasure that is recorded beside the bodies cannot be read; the workspace stays"
            " hidden until it can."
        ) from error


def _sidecars(
    workspace: Workspace, *, directories: Sequence[str], derive: bool, report: Rebuilt
) -> dict[str, Sidecar]:
    """By folder. A tree without one is left out, since what was forgotten would come back."""
    found: dict[str, Sidecar] = {}
    for directory in directories:
        sidecar, reason = _readable_sidecar(workspace, directory=directory)
        if sidecar is None and derive:
            tree = read_tree(directory, workspace_id=workspace.pk)
            sidecar = derived_sidecar(tree, workspace_id=workspace.pk)
        if sidecar is None:
            report.problems.append(Problem(sidecar_path(directory), f"{reason}: tree left out"))
        elif not _is_in_place(workspace, sidecar=sidecar, directory=directory):
            report.problems.append(Problem(sidecar_path(directory), "it is of another folder"))
        else:
            found[directory] = sidecar
    return found


def _readable_sidecar(workspace: Workspace, *, directory: str) -> tuple[Sidecar | None, str]:
    try:
        sidecar = read_document(sidecar_path(directory), kind=Sidecar)
    except Refused as error:
        return None, str(error)
    if sidecar.workspace != workspace.pk:
        return None, "it is of another workspace"
    return sidecar, ""


def _is_in_place(workspace: Workspace, *, sidecar: Sidecar, directory: str) -> bool:
    """The folder follows from the tree; its scope is the workspace or the end user it names."""
    head, user = sidecar.tree, sidecar.end_user
    if head.scope != (user.id if user else workspace.pk):
        return False
    tree = Tree(
        id=head.id,
        category=head.category,
        key=head.key,
        provider=head.provider,
        account=head.account,
    )
    slug = user.slug if user else None
    return tree_directory(workspace, tree=tree, user_slug=slug) == directory


def _write_owners(
    workspace: Workspace, *, sidecars: Sequence[Sidecar], report: Rebuilt
) -> dict[UUID, UUID]:
    write_end_users(workspace, heads=[s.end_user for s in sidecars if s.end_user])
    entities = write_entities(
        workspace,
        heads=[(sidecar.tree.scope, sidecar.entity) for sidecar in sidecars if sidecar.entity],
        problems=report.problems,
    )
    report.entities = len(entities)
    return entities


def write_plan(
    workspace: Workspace, *, plan: TreePlan, entities: Mapping[UUID, UUID], report: Rebuilt
) -> None:
    """Files first, then all rows of the tree in one transaction."""
    report.problems += plan.problems
    moment = now()
    with workspace_scope(workspace, ALL_SCOPES):
        is_there = workspace.trees.filter(id=plan.sidecar.tree.id).exists()
    if is_there:
        report.already += 1
        return
    spare = _place_files(plan)
    try:
        with workspace_scope(workspace, ALL_SCOPES):
            write_tree(workspace, plan=plan, entities=entities, moment=moment)
            _give_up(workspace, plan=plan, spare=spare, moment=moment)
    except (IntegrityError, DataError):
        path = sidecar_path(plan.directory)
        report.problems.append(Problem(path, "its rows contradict others: tree left out"))
        return
    report.trees += 1
    report.leaves += len(plan.leaves)
    report.summaries += len(plan.summaries)


def _place_files(plan: TreePlan) -> list[str]:
    """Copies where a level changed; returns the paths that no row will name.

    What could not be taken in may be needed to look for the rest, so its sidecar is kept too.
    """
    spare: list[str] = []
    for node in plan.summaries.values():
        path = plan.path_of(node)
        if path not in node.file.paths:
            copy_body(node.file.paths[0], path)
        spare += [other for other in node.file.paths if other != path]
    if plan.problems:
        _keep_sidecar(plan.directory)
    return spare


def _keep_sidecar(directory: str) -> None:
    path = sidecar_path(directory)
    if body_storage().exists(path):
        body_storage().save(f"{directory}/{KEPT_FILE}", ContentFile(read_bytes(path)))


def _give_up(
    workspace: Workspace, *, plan: TreePlan, spare: Sequence[str], moment: datetime
) -> None:
    """Retired files expire as usual, what is left of an erased leaf at once."""
    RetiredBody.objects.bulk_create(
        RetiredBody(
            workspace=workspace,
            scope_id=plan.sidecar.tree.scope,
            path=path,
            expires_at=moment if "/leaves/" in path else moment + timedelta(hours=RETIRED_HOURS),
        )
        for path in (*plan.given_up, *spare)
    )
