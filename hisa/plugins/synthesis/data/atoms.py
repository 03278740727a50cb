"""Atoms, the shortest parts of a run between which a look can be taken, and which may be merged.

Two checks decide whether a second action can be chosen on the first one's look (OS-Catalyst, 3.2).
Check 1 is "similarity" (the whole pictures) and "rule" (the first action), check 2 "region" (the
second one's target). "gap" is no check: a look is missing, or a tool's call lies between.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from hisa.actions import Action, Click, Hotkey, Press, Scroll, parse, points, to_source, to_space
from hisa.actions.action_records import split
from hisa.errors import UsageError
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory
from hisa.plugins.synthesis.records import Record
from hisa.runs.resume import ReplayAct, require_no_secrets, resume_point
from hisa.runs.run_reader import Run
from hisa.screen.geometry import Size
from hisa.screen.observation import Element
from hisa.screen.similarity import similarity

__all__ = ["CHECKS", "Atom", "Pair", "Refusal", "atoms_of", "check_pairs", "find_similar", "merge"]

Refusal = Literal["similarity", "rule", "region", "gap"]
CHECKS: tuple[Refusal, ...] = ("similarity", "rule", "region")
_SSIM = 0.9  # pictures above this are alike; the paper's threshold
_SHIFT = 3.0  # pixels by which a box may shift when it gets a focus ring; chosen by hand
_LEAVING = frozenset({"link", "page tab", "menu", "combo box", "tree item"})
"""Roles that open something when clicked, or leave the page."""
_KEYS = frozenset(  # that scroll, zoom, or lead to another page or window
    {"pageup", "pagedown", "pgup", "pgdn", "f5", "alt+left", "alt+right", "alt+tab", "alt+f4"}
    | {"ctrl+w", "ctrl+t", "ctrl+n", "ctrl+o", "ctrl+r", "ctrl+tab", "ctrl+plus", "ctrl+minus"}
)


@dataclass(frozen=True)
class Atom:
    """An action, or a call of a tool that does not act on the screen, which joins no sequence.

    ``actions`` are in screen pixels; there are several if they belong together, such as a move and
    its drag, or all actions while a key is held. ``before`` and ``after`` are None without a look.
    """

    step: int
    actions: tuple[Action, ...]
    tool: ReplayAct | None = None
    before: Look | None = None
    after: Look | None = None

    @property
    def kind(self) -> str:
        """The kind of the last action ("click", "write", "press", …), or the tool's name."""
        return self.tool.tool if self.tool else self.actions[-1].kind

    @property
    def source(self) -> str:
        """The actions as PyAutoGUI source in whole screen pixels; empty for a tool's call."""
        return to_source(self.actions)

    @property
    def target(self) -> Element | None:
        """The element at its last point; without a point, the focused element."""
        look, places = self.before, points(self.actions)
        if look is None or self.tool is not None:
            return None
        if places:
            return look.element_at(places[-1])
        focused = [element for element in look.elements if "focused" in element.states]
        in_front = [element for element in focused if element.window in (look.window, "")]
        return min(in_front or focused, key=lambda element: element.box.area, default=None)


def atoms_of(trajectory: Trajectory, run: Run) -> list[Atom]:
    """Returns the atoms of a run in order, without failed acts, and with the looks in the log.

    Raises: UsageError if the log lacks a part of an input (it was cut, or held a secret).
    """
    point = resume_point(run)
    require_no_secrets(point)
    atoms: list[Atom] = []
    for step in trajectory.steps:
        parts = [part for act in point.acts if act.step == step.number for part in _parts(act)]
        if step.ends:  # the call that ends the run is no atom
            parts = [part for part in parts if part.actions]
        if parts:
            parts[0] = replace(parts[0], before=step.before)
            parts[-1] = replace(parts[-1], after=step.after)
        atoms += parts
    return atoms


def _parts(act: ReplayAct) -> list[Atom]:
    if not act.is_complete or act.redacted:
        raise UsageError("the log lacks a part of its input")
    if act.tool != "gui_action" or not isinstance(act.input, str):
        return [Atom(act.step, (), tool=act)]
    if not act.ok or act.image is None or act.screen is None:
        return []
    image, screen = Size(*act.image), Size(*act.screen)
    actions = to_space(parse(act.input), "screen", image=image, screen=screen)
    return [Atom(act.step, part) for part in split(actions)]


class Pair(Record):
    """Two consecutive atoms, the ``first`` by its index in the run, and the checks that failed."""

    first: int
    kinds: tuple[str, str]
    similarity: float | None = None
    refusals: tuple[Refusal, ...] = ()


def check_pairs(atoms: Sequence[Atom]) -> list[Pair]:
    """Makes both checks on each atom and the next one.

    Raises: ValueError, OSError if a look is damaged.
    """
    pairs: list[Pair] = []
    for number, (first, second) in enumerate(pairwise(atoms)):
        earlier, later, kinds = first.before, second.before, (first.kind, second.kind)
        if earlier is None or later is None or first.tool or second.tool:
            pairs.append(Pair(first=number, kinds=kinds, refusals=("gap",)))
            continue
        ssim = similarity(earlier.screenshot, later.screenshot)
        same = _same_target(first, second, earlier)
        passed = zip(CHECKS, (ssim > _SSIM, not _changes_layout(first), same), strict=True)
        no = tuple(check for check, passes in passed if not passes)
        pairs.append(Pair(first=number, kinds=kinds, similarity=round(ssim, 4), refusals=no))
    return pairs


def merge(
    atoms: Sequence[Atom],
    pairs: Sequence[Pair],
    most: int,
    without: Collection[Refusal] = (),
) -> list[tuple[Atom, ...]]:
    """Merges greedily: an atom joins the sequence before it unless a check failed.

    Args:
        atoms: of one run, in order.
        pairs: their checks, one fewer than atoms; see `check_pairs`.
        most: K of the paper, the atoms of the longest sequence.
        without: checks that are ignored.
    """
    sequences: list[tuple[Atom, ...]] = [(atom,) for atom in atoms[:1]]
    for pair, atom in zip(pairs, atoms[1:], strict=True):
        if len(sequences[-1]) < most and set(pair.refusals) <= set(without):
            sequences[-1] += (atom,)
        else:
            sequences.append((atom,))
    return sequences


def _changes_layout(atom: Atom) -> bool:
    action, target = atom.actions[-1], atom.target
    if isinstance(action, Press | Hotkey):
        keys = (action.key,) if isinstance(action, Press) else action.keys
        return "+".join(keys).lower() in _KEYS
    opens = isinstance(action, Click) and target is not None and target.role in _LEAVING
    return isinstance(action, Scroll) or opens


def _same_target(first: Atom, second: Atom, earlier: Look) -> bool:
    """Whether the second action's target was there before the first action.

    Typed text goes to where the first action clicked or typed, so its value may differ by then.
    """
    places, target = points(second.actions), second.target
    if not places:
        goal = target or first.target
        return goal is None or not earlier.elements or _lists(earlier, goal, value=False)
    return target is not None and _lists(earlier, target, value=bool(points(first.actions)))


def _lists(look: Look, target: Element, *, value: bool) -> bool:
    """Whether a look has an element of this role, name, box and, with ``value``, this value."""
    old, same = target.box, find_similar(target, look.elements)
    return any(
        max(abs(new.left - old.left), abs(new.right - old.right)) <= _SHIFT
        and max(abs(new.top - old.top), abs(new.bottom - old.bottom)) <= _SHIFT
        for new in [element.box for element in same if not value or element.text == target.text]
    )


def find_similar(target: Element, elements: Iterable[Element]) -> list[Element]:
    """Returns the elements of the same role and name, except those marked as hidden."""
    kind, visible_states = (target.role, target.name), {"showing", "visible"}
    same = [element for element in elements if (element.role, element.name) == kind]
    return [element for element in same if not element.states or visible_states & element.states]
