"""Atoms: the shortest parts of a run between which a look can be taken (OS-Catalyst, 3.2)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from hisa.actions import Action, parse, points, to_source, to_space
from hisa.errors import UsageError
from hisa.plugins.synthesis.data.trajectories import Look, Trajectory
from hisa.runs.read import Run
from hisa.runs.resume import ReplayAct, resume_point, without_secrets
from hisa.screen.geometry import Size
from hisa.screen.observation import Element

__all__ = ["Atom", "atoms_of", "split"]


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

    Raises:
        UsageError: the log lacks a part of an input (it was cut, or held a secret).
    """
    point = resume_point(run)
    without_secrets(point)
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


def split(actions: Iterable[Action]) -> list[tuple[Action, ...]]:
    """Actions in the shortest parts after which no key or button is held."""
    parts: list[tuple[Action, ...]] = [()]
    held = 0
    for action in actions:
        parts[-1] += (action,)
        held += action.kind.endswith("_down") - action.kind.endswith("_up")
        if held <= 0 and action.kind not in ("move", "sleep"):
            parts.append(())
            held = 0
    return [part for part in parts if part]


def _parts(act: ReplayAct) -> list[Atom]:
    if not act.whole or act.redacted:
        raise UsageError("the log lacks a part of its input")
    if act.tool != "gui_action" or not isinstance(act.input, str):
        return [Atom(act.step, (), tool=act)]
    if not act.ok or act.image is None or act.screen is None:
        return []
    image, screen = Size(*act.image), Size(*act.screen)
    actions = to_space(parse(act.input), "screen", image=image, screen=screen)
    return [Atom(act.step, part) for part in split(actions)]
