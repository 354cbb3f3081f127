"""What the forms on the page of a leaf hold: its text and choices, or what was typed and refused."""

from dataclasses import dataclass

from workspaces.dashboard.forms import entity_types
from workspaces.dashboard.page import Place
from workspaces.services.entity_view import EntityChoice
from workspaces.services.leaf_options import leaf_options
from workspaces.services.node_view import NodeView


@dataclass(frozen=True, slots=True)
class Typed:
    """A form that was refused: which one, why, and what stood in it."""

    form: str
    problem: str
    text: str = ""
    entity: str = ""
    new_name: str = ""
    new_type: str = ""


@dataclass(frozen=True, slots=True)
class Editing:
    """`typed.form` names the form that is open; it is empty when none was refused.

    `text` begins with the line end that HTML takes away at the start of a text area.
    A refused form is shown even where it no longer applies, so that nothing typed is lost.
    """

    can_correct: bool
    can_move: bool
    can_forget: bool
    can_restore: bool
    can_erase: bool
    choices: list[EntityChoice]
    types: list[tuple[str, str]]
    text: str
    typed: Typed


def editing_of(place: Place, view: NodeView, *, typed: Typed | None) -> Editing | None:
    """None for summaries, for those who may not write, and where nothing can be done any more."""
    if view.node.kind != "leaf" or not place.can_write:
        return None
    options = leaf_options(place.workspace, scopes=place.scopes, leaf_id=view.node.id)
    if not options.can_erase:
        return None
    typed = typed or Typed("", "")
    return Editing(
        can_correct=options.can_correct or typed.form == "correct",
        can_move=options.can_move or typed.form == "move",
        can_forget=options.can_forget,
        can_restore=options.can_restore,
        can_erase=options.can_erase,
        choices=options.choices,
        types=entity_types(),
        text="\n" + (typed.text if typed.form == "correct" else view.body or ""),
        typed=typed,
    )
