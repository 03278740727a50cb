"""Ways to the end of a triple: the triples from a fresh start that matter, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from hisa.plugins.synthesis.doing import called, holders
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Act, Triple

__all__ = ["acts_of", "on_look", "way_to"]


def way_to(exploration: Exploration, triple: Triple) -> tuple[Triple, ...] | None:
    """The fewest triples from a fresh start that lead to a triple, and itself; None: no way.

    They lead over screens, which hold values and selections, and not over states: what another act
    set meanwhile is no part of the way. That the rest leads there is a guess, which the proof
    settles. ``saved`` is left where a document changed.
    """
    if triple.failed:
        return None
    screen = {state.id: state.screen for state in exploration.states.values()}
    start, end = screen[exploration.root], screen[triple.before]
    came: dict[str, tuple[Triple, ...]] = {start: ()}
    queue = deque([start])
    while queue and end not in came:
        here = queue.popleft()
        for step in exploration.triples:
            if not step.failed and screen[step.before] == here and screen[step.after] not in came:
                came[screen[step.after]] = (*came[here], step)
                queue.append(screen[step.after])
    if end not in came:
        return None
    way = [triple]
    for step in reversed(came[end]):
        if not (_aside(step) and on_look(exploration, way[0].act, step.before)):
            way.insert(0, step)
    documents = set(exploration.subject.documents)
    return tuple(
        step
        if documents & {change.fact.place for change in step.differences.facts}
        else step.model_copy(update={"saved": False})
        for step in way
    )


def _aside(step: Triple) -> bool:
    """Whether what follows may do without a step: it was done with, or only opened something."""
    act = step.act
    opens = act.role.endswith("menu item") or act.kind == "right_click" or act.keys == ("escape",)
    kept = any(
        change.what in ("value", "states") and not change.role.endswith(("menu", "menu item"))
        for change in step.differences.elements
    )
    return bool(step.differences.facts) or act.role == "menu" or (opens and not kept)


def on_look(exploration: Exploration, act: Act, state: str) -> bool:
    """Whether a state shows what an act is about."""
    elements = exploration.elements(exploration.states[state])
    alike = [
        one
        for one in elements
        if (one.role, called(one)) == (act.role, act.name)
        and {"showing", "visible"} & one.states
        and holders(one, elements) == act.within
    ]
    return not act.role or len(alike) > act.nth


def acts_of(exploration: Exploration, way: Sequence[Triple]) -> tuple[Act, ...]:
    """The acts of a way, saves included."""
    save = Act(kind="press", keys=exploration.subject.save)
    return tuple(act for one in way for act in ((one.act, save) if one.saved else (one.act,)))
