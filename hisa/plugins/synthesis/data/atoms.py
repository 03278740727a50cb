"""Atoms, the shortest parts of a run between which a look can be taken, and what may be merged.

Two checks tell whether a second action can be decided on the first one's look (OS-Catalyst, 3.2).
Check 1 is "similarity" (the whole pictures) and "rule" (the first action), check 2 "region" (the
second one's target). "gap" is none of them: there is no look, or a tool's call lies between.
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
_SSIM = 0.9  # more is alike; the paper's threshold
_SHIFT = 3.0  # pixels by which a box may jump when it is redrawn with a focus ring; chosen by hand
_LEAVING = frozenset({"link", "page tab", "menu", "combo box", "tree item"})
"""Roles that a click opens or leaves the page by."""
_KEYS = frozenset(  # that scroll, zoom, or lead to another page or window
    {"pageup", "pagedown", "pgup", "pgdn", "f5", "alt+left", "alt+right", "alt+tab", "alt+f4"}
    | {"ctrl+w", "ctrl+t", "ctrl+n", "ctrl+o", "ctrl+r", "ctrl+tab", "ctrl+plus", "ctrl+minus"}
)


@dataclass(frozen=True)
class Atom:
    """An action, or a tool's call that is no action on the screen and joins no sequence.

    ``actions`` are in screen pixels and as many as belong together: a move and its drag, all that
    is done while a key is held. ``before`` and ``after`` are None where nobody looked.
    """

    step: int
    actions: tuple[Action, ...]
    tool: ReplayAct | None = None
    before: Look | None = None
    after: Look | None = None

    @property
    def kind(self) -> str:
        """The last action's ("click", "write", "press", "scroll", …), or the tool's name."""
        return self.tool.tool if self.tool else self.actions[-1].kind

    @property
    def source(self) -> str:
        """The actions as PyAutoGUI source in whole screen pixels; empty for a tool's call."""
        return to_source(self.actions)

    @property
    def target(self) -> Element | None:
        """The element at its last point; without a point, the one that has the keyboard."""
        look, places = self.before, points(self.actions)
        if look is None or self.tool is not None:
            return None
        if places:
            return look.element_at(places[-1])
        focused = [element for element in look.elements if "focused" in element.states]
        in_front = [element for element in focused if element.window in (look.window, "")]
        return min(in_front or focused, key=lambda element: element.box.area, default=None)


def atoms_of(trajectory: Trajectory, run: Run) -> list[Atom]:
    """The atoms of a run in order, acts that failed left out, looks where the log has them.

    Raises: UsageError where the log lacks a part of an input (it was cut, or held a secret).
    """
    point = resume_point(run)
    require_no_secrets(point)
    atoms: list[Atom] = []
    for step in trajectory.steps:
        parts = [part for act in point.acts if act.step == step.number for part in _parts(act)]
        if step.ends:  # its word that the run ends
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
    """Two atoms, the ``first`` by its place in the run, and the checks that say no."""

    first: int
    kinds: tuple[str, str]
    similarity: float | None = None
    refusals: tuple[Refusal, ...] = ()


def check_pairs(atoms: Sequence[Atom]) -> list[Pair]:
    """Make both checks on each atom and the next; ValueError, OSError: a look is damaged."""
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
    """Merge greedily: an atom joins the sequence before it where no check that is on says no.

    ``most`` is K, the longest sequence; ``without`` are the checks that are off.
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
    """Whether what the second action is about was there before the first one.

    What is typed goes to where the first action clicked or typed; its value may be typed by then.
    """
    places, target = points(second.actions), second.target
    if not places:
        goal = target or first.target
        return goal is None or not earlier.elements or _lists(earlier, goal, value=False)
    return target is not None and _lists(earlier, target, value=bool(points(first.actions)))


def _lists(look: Look, target: Element, *, value: bool) -> bool:
    """Whether a look has an element of this role, name, box and, where asked for, value."""
    old, same = target.box, find_similar(target, look.elements)
    return any(
        max(abs(new.left - old.left), abs(new.right - old.right)) <= _SHIFT
        and max(abs(new.top - old.top), abs(new.bottom - old.bottom)) <= _SHIFT
        for new in [element.box for element in same if not value or element.text == target.text]
    )


def find_similar(target: Element, elements: Iterable[Element]) -> list[Element]:
    """The elements of the same role and name that are not said to be hidden."""
    kind, visible_states = (target.role, target.name), {"showing", "visible"}
    same = [element for element in elements if (element.role, element.name) == kind]
    return [element for element in same if not element.states or visible_states & element.states]
