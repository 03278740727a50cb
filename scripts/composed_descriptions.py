"""Plain descriptions made from what a screen tells, so that the ranker never unlearns them.

They go by a name and a kind, by a neighbour, by an order; some are of things that are elsewhere.
"""

from __future__ import annotations

import random
from collections import Counter

import numpy as np

from hisa.plugins.benchmarks.bench.grounding.targets import Region, Screen, Target
from hisa.plugins.matching.description import RelativePosition
from hisa.plugins.reading.layout import measure_distances, orders
from hisa.plugins.reading.scene_table import FAMILIES, Table

__all__ = ["COMPOSED", "compose_descriptions"]

COMPOSED = "made"
"""The kind of these targets."""
_MOST_OF_A_SORT = 8
"""Of each sort, at most, on each screen."""
_KINDS = {
    "push button": "button",
    "toggle button": "button",
    "entry": "field",
    "text": "text field",
    "password text": "field",
    "spin button": "number field",
    "combo box": "drop-down",
    "check box": "checkbox",
    "radio button": "radio button",
    "menu item": "menu item",
    "check menu item": "menu item",
    "menu": "menu",
    "list item": "list entry",
    "tree item": "tree entry",
    "page tab": "tab",
    "link": "link",
    "table cell": "cell",
    "icon": "icon",
    "slider": "slider",
    "static": "text",
    "label": "label",
}
_NAMED = (
    "{name}",
    "'{name}'",
    "the {name} {kind}",
    "'{name}' {kind}",
    "{kind} '{name}'",
    "the {kind} {name}",
)
_BESIDE: dict[RelativePosition, tuple[str, ...]] = {
    "right": ("the {kind} to the right of '{text}'", "{kind} right of {text}"),
    "left": ("the {kind} left of '{text}'", "{kind} to the left of the text {text}"),
    "below": ("the {kind} below '{text}'", "{kind} under the heading {text}"),
    "above": ("the {kind} above '{text}'", "{kind} just above {text}"),
}
_NTH = ("first", "second", "third", "fourth", "fifth")
_STRANGE = ("Images", "Lines", "Backup", "Vendor", "Zoom", "Total", "Weekly", "Sound", "Merge")
_ELSEWHERE = (
    "Invoice archive",
    "Merge layers",
    "Sender address",
    "Night shift",
    "Rotate clockwise",
)


def compose_descriptions(screen: Screen, table: Table) -> list[Target]:
    """Descriptions of things of a screen, the same ones each time."""
    chance = random.Random(screen.name)
    rows = [row for row, thing in enumerate(table.things) if _is_plain(table, row, thing.role)]
    chance.shuffle(rows)
    present = [*_by_name(table, rows, chance), *_by_neighbour(table, rows, chance)]
    present += _by_order(table, rows, chance)
    targets = [
        Target(
            f"made:{screen.name}:{number}", screen, COMPOSED, text, Region(table.things[row].box)
        )
        for number, (text, row) in enumerate(present)
    ]
    partial = [
        Target(f"made:{screen.name}:part {number}", screen, COMPOSED, text, None)
        for number, text in enumerate(_by_a_part(table, rows, chance))
    ]
    absent = [name for name in _ELSEWHERE if name.split()[0].casefold() not in table.index]
    return [*targets, *partial] + [
        Target(f"made:{screen.name}:{name}", screen, COMPOSED, f"the {name} button", None)
        for name in absent[:2]
    ]


def _is_plain(table: Table, row: int, role: str) -> bool:
    return role in _KINDS and table.front[row] > 0.9 and table.width[row] * table.height[row] > 40


def _by_name(table: Table, rows: list[int], chance: random.Random) -> list[tuple[str, int]]:
    names = Counter(thing.element.name.strip().casefold() for thing in table.things)
    texts = Counter(text.casefold() for mine in table.texts for text in mine)
    descriptions = []
    for row in rows:
        name, role = table.things[row].element.name.strip(), table.things[row].role
        alone = names[name.casefold()] == 1 and texts[name.casefold()] <= 1
        if alone and 2 < len(name) < 40 and name.isprintable() and role not in ("static", "label"):
            descriptions.append((chance.choice(_NAMED).format(name=name, kind=_KINDS[role]), row))
    return descriptions[:_MOST_OF_A_SORT]


def _by_a_part(table: Table, rows: list[int], chance: random.Random) -> list[str]:
    """Names of things that are not there, of which one word is."""
    descriptions = []
    for row in rows:
        words = table.things[row].element.name.split()
        strange = [w for w in _STRANGE if w.casefold() not in table.index]
        if 2 <= len(words) <= 4 and strange and all(map(str.isalpha, words)):
            words[chance.randrange(len(words))] = chance.choice(strange)
            kind = _KINDS[table.things[row].role]
            descriptions.append(f"the {' '.join(words)} {kind}")
    return descriptions[: _MOST_OF_A_SORT // 2]


def _by_neighbour(table: Table, rows: list[int], chance: random.Random) -> list[tuple[str, int]]:
    texts = [r for r in rows if table.things[r].role in ("static", "label") and table.texts[r]]
    twins = Counter(text.casefold() for mine in table.texts for text in mine)
    descriptions: list[tuple[str, int]] = []
    for text in texts:
        name = table.texts[text][0]
        relation = chance.choice(list(_BESIDE))
        if len(name) > 40 or twins[name.casefold()] > 2:
            continue
        far = measure_distances(relation, table.box, table.box[text])
        near = [r for r in rows if far[r] < 60 and table.things[r].role not in ("static", "label")]
        if near:
            row = min(near, key=lambda r: far[r])
            kind = _KINDS[table.things[row].role]
            descriptions.append(
                (chance.choice(_BESIDE[relation]).format(kind=kind, text=name), row)
            )
    return descriptions[:_MOST_OF_A_SORT]


def _by_order(table: Table, rows: list[int], chance: random.Random) -> list[tuple[str, int]]:
    members = np.zeros(len(table.things), dtype=bool)
    members[rows] = True
    order = orders(table.box, table.family, members)
    descriptions = []
    for row in rows:
        index, number = order.reading[row]
        if not (2 <= number <= 6 and FAMILIES[table.family[row]] != "text"):
            continue
        kind = _KINDS[table.things[row].role]
        word = "last" if index == number - 1 and chance.random() < 0.5 else _NTH[int(min(index, 4))]
        if index < 5 or word == "last":
            descriptions.append((f"the {word} {kind}", row))
    return descriptions[: _MOST_OF_A_SORT // 2]
