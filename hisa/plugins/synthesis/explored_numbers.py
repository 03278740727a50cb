"""Numbers of an exploration, read from what it wrote down."""

from __future__ import annotations

from collections import Counter
from typing import Any

from hisa.plugins.synthesis.doing import called, holders
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.offers import MENU_ITEMS, reason_to_leave

__all__ = ["menu_coverage", "report"]


def report(exploration: Exploration) -> dict[str, Any]:
    """Counts, rates and coverage.

    Returns:
        ``states``, ``screens``, ``transitions``, ``failures`` (acts that could not be done, or lost
        the desktop), ``fresh_desktops`` with at least one transition, ``without_effect`` (share,
        0 to 1, of those done), ``lasting`` (share that changed files or settings, noise counted),
        ``looked_twice``, ``per_minute_and_desktop`` (from the seconds of transitions alone: ways to
        them and set-ups left out), ``unreached`` (states without a way from a fresh start), and
        ``menus``, see `menu_coverage`.

    Raises:
        OSError, ValueError: a file of a state is gone or damaged.
    """
    done = [one for one in exploration.triples if not one.failed]
    seconds = sum(one.seconds for one in exploration.triples)
    count = len(done)
    return {
        "subject": exploration.subject.name,
        "states": len(exploration.states),
        "screens": len({state.screen for state in exploration.states.values()}),
        "transitions": count,
        "failures": len(exploration.triples) - count,
        "fresh_desktops": len({one.desktop for one in exploration.triples}),
        "without_effect": _share(sum(not one.differences for one in done), count),
        "lasting": _share(sum(bool(one.differences.facts) for one in done), count),
        "looked_twice": sum(one.looks > 1 for one in done),
        "per_minute_and_desktop": round(60 * count / seconds, 1) if seconds else None,
        "unreached": sum(exploration.route(one) is None for one in exploration.states),
        "kinds": dict(Counter(one.act.kind for one in done).most_common()),
        "menus": menu_coverage(exploration),
    }


def _share(part: int, whole: int) -> float | None:
    return round(part / whole, 3) if whole else None


def menu_coverage(exploration: Exploration) -> dict[str, dict[str, int]]:
    """Entries of each menu: ``seen``, ``tried``, and ``left`` alone as dangerous.

    A menu inside another has a line of its own, "Edit > Convert". Entries that were grey whenever
    they were seen count as ``grey``.
    """
    entries: dict[tuple[str, ...], dict[str, str]] = {}
    for hashed in {state.elements: state for state in exploration.states.values()}.values():
        elements = exploration.elements(hashed)
        for one in elements:
            menu = holders(one, elements)
            if one.role not in MENU_ITEMS or not called(one) or not menu:
                continue
            if not {"showing", "visible"} & one.states:
                continue
            usable = not {"sensitive", "enabled"}.isdisjoint(one.states)
            sort = "left" if reason_to_leave(one, exploration.subject) else "untried"
            known = entries.setdefault(menu, {}).get(called(one), "grey")
            entries[menu][called(one)] = sort if usable else known
    for triple in exploration.triples:
        if triple.act.role in MENU_ITEMS and triple.act.name in entries.get(triple.act.within, ()):
            entries[triple.act.within][triple.act.name] = "tried"
    numbers = {}
    for menu, names in entries.items():
        sorts = Counter(names.values())
        numbers[" > ".join(menu)] = {"seen": len(names)} | {
            sort: sorts[sort] for sort in ("tried", "left", "grey")
        }
    return numbers
