"""Judges the clicks of `benchmarks.seen_runs` by the tree that HiSA is not shown, and counts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass

from benchmarks.seen_runs_script import CLICK
from hisa.actions import parse
from hisa.environments.guest_environment import GuestEnvironment
from hisa.errors import NotFound
from hisa.events import Acted, Event, Grounded, GroundingFailed, Noted
from hisa.grounder.matchers import FinderParts, find_matcher
from hisa.hooks import Hook, Step, StepAction
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.replay.program_records import Program
from hisa.plugins.replay.target_ladder import TargetMatch, find_target
from hisa.protocols import Place, ToolCall
from hisa.runs.run_reader import Run
from hisa.screen.geometry import Point
from hisa.screen.hit_test import element_at
from hisa.screen.observation import Element, Observation
from hisa.screen.roles import CONTAINERS, LAYOUT

__all__ = ["FIGURES", "Judge", "JudgedPlace", "Meaning", "Targets", "TreeDesktop", "TreeMachine"]
__all__ += ["count_run", "find_by_matcher", "list_report_lines"]

Meaning = Callable[[Place, Observation], Awaitable[Point | None]]
"""Returns the point on a look with the tree that is meant by a place; None: not known."""

FIGURES = (
    *(
        "tasks",
        "solved",
        "not scored",
        "steps",
        "asked",
        "resolved",
        "by eyes",
        "refused",
        "right",
        "wrong",
    ),
    *("not judged", "acted wrong", "held"),
)
"""What is counted: "asked" are descriptions, also those asked again; "held" are clicks and keys
that HiSA itself did not do for another reason: the screen had changed, or it repeated a failure."""
_REACTIONS = frozenset({"checked", "selected", "focused", "pressed", "expanded"})
"""States that a click gives to a control, or takes from it, wherever it met it."""
_SETTLE = 1.0
"""Seconds that a control may need to show its reaction; chosen by hand."""


class TreeMachine(GuestEnvironment):
    """A machine whose tree the benchmark can read, whatever HiSA is shown."""

    async def look_at_tree(self, settle: float = 0.0) -> Observation:
        """Take a look with the accessibility tree."""
        return await self._fit_picture(await self._transport.look(elements=True, settle=settle))


class TreeDesktop(TreeMachine, DesktopEnvironment):
    """A private desktop whose tree the benchmark can read."""


@dataclass(eq=False)
class JudgedPlace:
    """A place that was about to be acted at: what is there, and what was meant; None: unknown."""

    action: StepAction
    description: str
    met: Element | None
    target: Element | None
    right: bool
    acted: bool = False

    @property
    def wrong(self) -> bool:
        """Whether something else is there than what was meant."""
        return not (self.right or self.met is None or self.target is None)

    def __str__(self) -> str:
        return f"{self.description}: {_show(self.met)} in place of {_show(self.target)}"


class Judge(Hook):
    """Compares what is at the place of each click with what was meant; see `benchmarks.seen_runs`.

    Args:
        machine: that of the run.
        find_target_point: returns the point of the tree that is meant; None: nothing can be judged.
    """

    name = "judge"

    def __init__(self, machine: TreeMachine, find_target_point: Meaning | None) -> None:
        self.places: list[JudgedPlace] = []
        self._machine, self._find_target_point = machine, find_target_point

    async def before_action(self, step: Step, action: StepAction) -> None:
        """Look up what is at the places of an action; see `Hook`."""
        if not action.call.places:
            return
        tree = await self._machine.look_at_tree()
        for place in action.call.places:
            at = (
                await self._find_target_point(place, tree)
                if self._find_target_point is not None
                else None
            )
            met, target = _find_control(place.point, tree), _find_control(at, tree)
            right = met is target is not None
            self.places.append(JudgedPlace(action, place.description, met, target, right))

    async def after_action(self, step: Step, action: StepAction) -> None:
        """See whether what was meant reacted, where something else was met; see `Hook`."""
        places = [place for place in self.places if place.action is action]
        if not action.executed or action.outcome is None or not action.outcome.ok or not places:
            return
        tree = await self._machine.look_at_tree(_SETTLE)
        for place in places:
            place.acted = True
            place.right = place.right or _has_reacted(place.target, tree)


async def find_by_matcher(place: Place, tree: Observation) -> Point | None:
    """Returns the point that HiSA's matcher finds in the tree for a place's description."""
    if (matcher := find_matcher()) is None:
        return None
    call = ToolCall("", "gui_action", CLICK, place.description, actions=parse(CLICK))
    try:
        grounded = await matcher.open_grounder(FinderParts(lambda _: None)).resolve(call, tree)
    except NotFound:
        return None
    return grounded.places[0].point


class Targets:
    """Knows what the steps of a program act on, and hears which step is played."""

    def __init__(self, program: Program) -> None:
        self._steps, self._number = program.steps, 0

    def hear(self, event: Event) -> None:
        """Take the number of a step from a note such as "step 3 of 7"."""
        if isinstance(event, Noted) and (step := re.fullmatch(r"step (\d+) of \d+", event.text)):
            self._number = int(step[1])

    async def find_target_point(self, place: Place, tree: Observation) -> Point | None:
        """Returns the point in the tree of the recorded target of the present step."""
        targets = self._steps[self._number - 1].targets if self._number else ()
        match = find_target(targets[0], tree, None, lax=True) if len(targets) == 1 else None
        return match.point if isinstance(match, TargetMatch) else None


def _find_control(point: Point | None, tree: Observation) -> Element | None:
    """Returns the innermost element at a point; None if that holds others, which may be meant."""
    if point is None:
        return None
    element, elements = element_at(point, tree), tree.elements or ()
    if element is None or not (_is_container(element) or element.role.startswith("document")):
        return element
    at = tree.convert(point, "screen")
    inner = min(
        (number for number, other in enumerate(elements) if other.box.contains(at)),
        key=lambda number: elements[number].box.area,
    )
    return None if any(other.parent == inner for other in elements) else elements[inner]


def _is_container(element: Element) -> bool:
    return element.role in CONTAINERS | LAYOUT


def _has_reacted(target: Element | None, tree: Observation) -> bool:
    """Whether a control got the focus or another state: a click on its caption is one on it."""
    for element in tree.elements or ():
        if target is not None and (element.role, element.box) == (target.role, target.box):
            changed = (element.states ^ target.states) & _REACTIONS
            return bool(changed & element.states or "checked" in changed)
    return False


def _show(element: Element | None) -> str:
    if element is None:
        return "unknown"
    return f'{element.role} "{(element.name or element.label or element.text)[:40]}"'


def count_run(run: Run, judge: Judge) -> Counter[str]:
    """Returns the figures of a run that has ended, by the names in `FIGURES`."""
    places = [p for event in run.events if isinstance(event, Grounded) for p in event.places]
    refused = [event.step for event in run.events if isinstance(event, GroundingFailed)]
    acts = [e for e in run.events if isinstance(e, Acted) and e.tool == "gui_action" and not e.ok]
    right = sum(place.right for place in judge.places)
    wrong = sum(place.wrong for place in judge.places)
    return Counter(
        {
            "tasks": 1,
            "solved": int(run.score == 1),
            "not scored": int(run.score is None),
            "steps": run.totals.steps,
            "asked": len(places) + len(refused),
            "resolved": len(places),
            "by eyes": sum(place.source == "eyes" for place in places),
            "refused": len(refused),
            "right": right,
            "wrong": wrong,
            "not judged": len(places) - right - wrong,
            "acted wrong": sum(place.wrong and place.acted for place in judge.places),
            "held": sum(event.step not in refused for event in acts),
        }
    )


def list_report_lines(rows: Sequence[tuple[str, Counter[str]]]) -> Iterator[str]:
    """Yields a table of the sums of all figures, a row a half, and the share that is solved."""
    yield f"| {'half':7} | " + " | ".join(FIGURES) + " |"
    yield "|---" * (1 + len(FIGURES)) + "|"
    for half in dict.fromkeys(half for half, _ in rows):
        counts = [row for other, row in rows if other == half]
        cells = (f"{sum(row[name] for row in counts):>{len(name)}}" for name in FIGURES)
        yield f"| {half:7} | " + " | ".join(cells) + " |"
    tasks, solved = (sum(row[name] for _, row in rows) for name in ("tasks", "solved"))
    low, high = wilson(solved, tasks)
    yield f"solved {solved} of {tasks}: {low:.0%} to {high:.0%} with 95% confidence"
