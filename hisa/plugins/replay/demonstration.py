"""Reads a person's demonstration from a run's log: acts, each with the look it was decided on.

Each act of a person who had the machine is logged after the look that it was decided on. Text that
was typed into one field is one act; two clicks in a row at one place are one double click.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hisa.actions import Action, Click, parse
from hisa.actions.action_records import split
from hisa.config import GrounderKind, PlannerSettings
from hisa.events import Event, Observed, PersonActed
from hisa.models.profile import Profile
from hisa.planner.planner import build_planned_event
from hisa.plugins.synthesis.data.atoms import Atom
from hisa.plugins.synthesis.data.trajectories import Look, look_of
from hisa.plugins.synthesis.silent_model import SilentModel, silent_profile
from hisa.protocols import Emit, Planner, StateView, Task, ToolCall
from hisa.runs.run_reader import Run
from hisa.screen.observation import Observation
from hisa.wiring.planner_kind import PlannerKind, PlannerParts

__all__ = ["PERSON", "PersonModel", "has_person", "read_demonstration"]


def has_person(run: Run) -> bool:
    """Whether a person acted in a run."""
    return any(isinstance(e, PersonActed) and e.did == "acted" for e in run.events)


def read_demonstration(run: Run) -> list[Atom]:
    """Returns a person's acts in a run, in order, without those that were refused."""
    atoms: list[Atom] = []
    for before, actions, after in _acts(run, run.events):
        parts = split(actions)
        for at, part in enumerate(parts):
            last = at + 1 == len(parts)
            atom = Atom(0, part, before=before, after=after if last else None)
            if atoms and (double := _double(atoms[-1], atom)) is not None:
                atoms[-1] = double
            else:
                atoms.append(atom)
    return atoms


def _acts(
    run: Run, events: Sequence[Event]
) -> Iterator[tuple[Look | None, tuple[Action, ...], Look | None]]:
    looks = [
        (n, look)
        for n, e in enumerate(events)
        if isinstance(e, Observed)
        if (look := look_of(run, e)) is not None
    ]
    for number, event in enumerate(events):
        if isinstance(event, PersonActed) and event.did == "acted" and not event.error:
            if "pyautogui" not in event.text:  # hidden text, of which only the length is logged
                continue
            before = next((look for n, look in reversed(looks) if n < number), None)
            after = next((look for n, look in looks if n > number), None)
            yield before, parse(event.text), after


def _double(first: Atom, second: Atom) -> Atom | None:
    """Two clicks of one button at one place as a double click; None if they are two acts."""
    if len(first.actions) != 1 or len(second.actions) != 1:
        return None
    first_click, second_click = first.actions[0], second.actions[0]
    if (
        not (isinstance(first_click, Click) and isinstance(second_click, Click))
        or first_click.count + second_click.count > 2
    ):
        return None
    if (first_click.at, first_click.button) != (
        second_click.at,
        second_click.button,
    ) or first.before is None:
        return None
    same = second.before is not None and first.before.elements == second.before.elements
    return (
        replace(first, actions=(replace(first_click, count=2),), after=second.after)
        if same
        else None
    )


# ---------------------------------------------------------------- the run of a demonstration


class PersonModel(SilentModel):
    """The model ``person``: it selects the planner that waits for a person, and never answers."""

    profile = silent_profile("person")


class _Watcher:
    """A planner that waits until a person had the machine, and then ends the run as done."""

    _has_waited = False

    def __init__(self, emit: Emit) -> None:
        self._emit = emit

    async def plan(self, task: Task, observation: Observation, view: StateView) -> ToolCall:
        """Returns a wait once a person takes the machine over, which ends the plan; then the end.

        Args:
            task: the task of the run, which is not read.
            observation: the newest look, which is not read.
            view: its notice says whether a person had the machine.
        """
        if not self._has_waited and "a person had the machine" not in view.notice:
            self._has_waited = True
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError as error:
                if not error.args:  # the run is stopped: a take-over gives a reason
                    raise
                wait = ToolCall("A person shows how it is done.", "wait", {"seconds": 1})
                return self._emit_plan(wait)
        summary = "A person showed how it is done."
        return self._emit_plan(ToolCall(summary, "termination", {"summary": summary}))

    def _emit_plan(self, call: ToolCall) -> ToolCall:
        self._emit(build_planned_event(call))
        return call


class PersonKind(PlannerKind):
    """``planner.kind = "person"``: the machine waits to be taken over on the live page."""

    grounder: GrounderKind | None = "elements"

    def fit_settings(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, is_named: bool
    ) -> PlannerSettings:
        """Returns the settings with elements as the way to see; see `PlannerKind`.

        Args:
            settings: the section of the settings.
            profile: the profile of the model, which is not read.
            lists: whether the planner would get a numbered list; not read.
            is_named: whether the settings name this kind; not read.
        """
        return settings.model_copy(update={"sees": "elements"})

    def open(self, parts: PlannerParts) -> Planner:
        """Returns a watcher for one run."""
        return _Watcher(parts.emit)


PERSON = PersonKind()
