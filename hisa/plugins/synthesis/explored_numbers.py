"""Numbers of an exploration, read from what it wrote down."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from hisa.plugins.synthesis.doing import called, holders
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.offers import MENU_ITEMS, is_left_alone

__all__ = ["report"]


def report(exploration: Exploration) -> dict[str, Any]:
    """Counts, rates and coverage.

    Returns:
        ``without_effect`` and ``lasting`` (files or settings changed, noise counted) are shares of
        the acts done, 0 to 1; ``per_minute_and_desktop`` leaves out set-ups; ``menus`` counts
        entries, ``left`` ones as dangerous.

    Raises:
        OSError, ValueError: a file of a state is gone or damaged.
    """
    done = [one for one in exploration.triples if not one.failed]
    seconds, count = sum(one.seconds for one in exploration.triples), max(1, len(done))
    return {
        "subject": exploration.subject.name,
        "states": len(exploration.states),
        "screens": len({state.screen for state in exploration.states.values()}),
        "transitions": len(done),
        "failures": len(exploration.triples) - len(done),
        "fresh_desktops": len({one.desktop for one in exploration.triples}),
        "without_effect": round(sum(not one.differences for one in done) / count, 3),
        "lasting": round(sum(bool(one.differences.facts) for one in done) / count, 3),
        "per_minute_and_desktop": round(60 * len(done) / max(1.0, seconds), 1),
        "kinds": dict(Counter(one.act.kind for one in done).most_common()),
        "menus": _menus(exploration),
    }


def _menus(exploration: Exploration) -> dict[str, dict[str, int]]:
    entries: dict[tuple[str, ...], dict[str, bool]] = defaultdict(dict)
    for state in exploration.states.values():
        elements = exploration.elements(state)
        for one in elements:
            menu = holders(one, elements) if one.role in MENU_ITEMS and called(one) else ()
            if menu and {"showing", "visible"} & one.states:
                entries[menu][called(one)] = is_left_alone(one, exploration.subject)
    tried = {(one.act.within, one.act.name) for one in exploration.triples}
    return {
        " > ".join(menu): {
            "seen": len(names),
            "tried": sum((menu, name) in tried for name in names),
            "left": sum(names.values()),
        }
        for menu, names in entries.items()
    }
