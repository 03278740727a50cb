"""What belongs to what: to a menu, a heading, a row's name, or both a row and a column."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hisa.plugins.reading.features import Evidence
from hisa.plugins.reading.scene_table import FAMILIES, Floats, Ints, Table
from hisa.text.words import tokens

__all__ = ["Mentions", "find_mentions", "rate_belonging", "rate_crossing"]

_MENUS = frozenset({"menu item", "check menu item", "radio menu item", "menu", "popup menu"})
_OPENERS = frozenset({"menu", "push button", "toggle button", "push button menu", "combo box"})
_HEAD = 60.0
"""Pixels of the screen that a heading or the name of a row is high, at most."""
_MENTIONS = 24
"""Texts of the screen that stand in a description, at most."""


def rate_belonging(table: Table, at: int) -> Floats:
    """Rate how surely each thing lies in one, under it, or in its row, 0..1."""
    box, holder = table.box, table.box[at]
    left, top, right, bottom = holder
    x, y = table.x, table.y
    smaller = table.width * table.height < (right - left) * (bottom - top)
    inside = (x >= left) & (x <= right) & (y >= top) & (y <= bottom) & smaller
    fit = np.where(inside, 1.0, 0.0)
    if table.things[at].role in _OPENERS:
        entries = _find_menu_entries(table, at)
        if entries.any():
            return entries
    if bottom - top < _HEAD:
        shared = np.minimum(box[:, 3], bottom) - np.maximum(box[:, 1], top)
        level = shared > 0.5 * np.minimum(table.height, bottom - top)
        short = table.height <= 3 * (bottom - top) + 10
        beside = level & short & (box[:, 0] >= right - 6)
        fit = np.maximum(fit, np.where(beside, 0.75 / (1 + (box[:, 0] - right) / 2000), 0.0))
        before = level & short & (box[:, 2] <= left + 6)
        fit = np.maximum(fit, np.where(before, 0.5, 0.0))
        fit = np.maximum(fit, 0.7 * _rate_under_heading(table, at))
    fit[at] = 0.0
    return np.asarray(fit)


def _find_menu_entries(table: Table, at: int) -> Floats:
    """Whether each is an entry of the menu that hangs from a thing."""
    left, top, right, bottom = table.box[at]
    fit = np.zeros(len(table.things))
    rows = [i for i, t in enumerate(table.things) if t.role in _MENUS and i != at]
    if not rows:
        return fit
    items = np.array(rows, dtype=int)
    below = (np.abs(table.box[items, 1] - bottom) < 16) & (np.abs(table.box[items, 0] - left) < 24)
    aside = (np.abs(table.box[items, 0] - right) < 16) & (np.abs(table.box[items, 1] - top) < 16)
    starts = items[below] if below.any() else items[aside]
    for start in starts:
        same = np.abs(table.box[items, 0] - table.box[start, 0]) < 4
        under = table.box[items, 1] >= table.box[start, 1] - 1
        fit[items[same & under]] = 1.0
    return fit


def _rate_under_heading(table: Table, at: int) -> Floats:
    """Rate how surely each stands under a heading, with no other of its sort between."""
    box = table.box
    left, top, right, bottom = box[at]
    under = (box[:, 1] >= bottom - 2) & ~(box[:, 0] >= right + 1200)
    role = table.things[at].role
    similar = np.array([t.role == role for t in table.things], dtype=bool)
    similar &= np.abs(table.height - (bottom - top)) <= 2
    similar[at] = False
    peers = similar & (np.abs(table.y - (top + bottom) / 2) < 0.5 * (bottom - top))
    fit = np.where(under, 1.0 / (1 + np.maximum(box[:, 1] - bottom, 0) / 500), 0.0)
    if peers.any():
        fit = fit * _own_column(table, at, np.flatnonzero(peers))
    else:
        fit = np.where(box[:, 2] >= left - 30, fit, 0.3 * fit)
        wide = np.abs(table.x - (left + right) / 2) > 600
        fit = np.where(wide, 0.7 * fit, fit)
    later = similar & (box[:, 1] > bottom) & (np.abs(box[:, 0] - left) <= 3)
    next_one = box[later, 1].min() if later.any() else bottom
    if next_one > bottom + 0.8 * (bottom - top):  # else it is an entry among entries
        fit = np.where(table.y > next_one, 0.4 * fit, fit)
    return np.asarray(np.clip(fit, 0, 1))


def _own_column(table: Table, at: int, peers: Ints) -> Floats:
    """Of headings side by side, whether this is the one that a thing stands under."""
    heads = np.append(peers, at)
    starts = table.box[heads, 0]
    begun = np.where(starts[None, :] <= table.box[:, 0, None] + 12, starts[None, :], -np.inf)
    by_left = heads[np.argmax(begun, axis=1)] == at
    middles = np.abs(table.x[:, None] - table.x[None, heads])
    by_middle = heads[np.argmin(middles, axis=1)] == at
    return np.where(by_left & by_middle, 1.0, np.where(by_left | by_middle, 0.75, 0.15))


class Mentions:
    """Texts of the screen that stand in a description: their rows, and how much they say."""

    def __init__(self, rows: Ints, weight: Floats, words: list[frozenset[str]]) -> None:
        self.rows = rows
        self.weight = weight
        self.words = words


def find_mentions(evidence: Evidence) -> Mentions:
    """The things whose text a description holds, the telling ones first."""
    table, hints = evidence.table, evidence.hints
    mentions: list[tuple[float, int, frozenset[str]]] = []
    telling = hints.telling | hints.numbers
    for quote in evidence.query.literals:
        telling |= tokens(quote) & hints.words
    candidates = {int(i) for w in telling for i in table.index.get(w, ())}
    holder = FAMILIES.index("holder")
    for row in candidates:
        if table.family[row] == holder or not table.has_short_text[row]:
            continue
        best = max(
            (_share_words(text, hints.words) for text in table.texts[row]), key=lambda b: b[0]
        )
        if best[0] >= 0.5:
            rare = sum(table.rarity.get(w, 0.0) ** 0.5 for w in best[1]) / max(len(best[1]), 1)
            mentions.append((best[0] * (0.3 + 0.7 * rare), row, best[1]))
    mentions.sort(key=lambda f: (-f[0], f[1]))
    mentions = mentions[:_MENTIONS]
    return Mentions(
        np.array([row for _, row, _ in mentions], dtype=int),
        np.array([weight for weight, _, _ in mentions]),
        [words for _, _, words in mentions],
    )


def _share_words(text: str, words: frozenset[str]) -> tuple[float, frozenset[str]]:
    """The share of a text's words that stand in a description, and which."""
    mine = tokens(text)
    common = mine & words
    return len(common) / max(len(mine), 1), common


def rate_crossing(evidence: Evidence, mentions: Mentions) -> tuple[Floats, Floats, Floats]:
    """Rate each by the texts mentioned over it, on its line, and crossing at it."""
    table = evidence.table
    count = len(table.things)
    rows = mentions.rows
    if not len(rows):
        return np.zeros(count), np.zeros(count), np.zeros(count)
    over = _over(table, rows) * mentions.weight[None, :]
    level = _level(table, rows) * mentions.weight[None, :]
    cross = np.zeros(count)
    for first in range(len(rows)):
        for second in range(len(rows)):
            if mentions.words[first] & mentions.words[second]:
                continue
            above = table.box[rows[first], 3] <= table.y[rows[second]]
            if first != second and above:
                cross = np.maximum(cross, np.minimum(over[:, first], level[:, second]))
    return over.max(axis=1), level.max(axis=1), cross


def _over(table: Table, rows: Ints) -> Floats:
    box = table.box
    beneath = box[:, 1, None] >= box[None, rows, 3] - 3
    inside = (table.x[:, None] >= box[None, rows, 0] - 2) & (
        table.x[:, None] <= box[None, rows, 2] + 2
    )
    begins = np.abs(box[:, 0, None] - box[None, rows, 0]) < 8
    ends = np.abs(box[:, 2, None] - box[None, rows, 2]) < 8
    return (beneath & (inside | begins | ends)).astype(float)


def _level(table: Table, rows: Ints) -> Floats:
    box = table.box
    shared = np.minimum(box[:, 3, None], box[None, rows, 3]) - np.maximum(
        box[:, 1, None], box[None, rows, 1]
    )
    least = np.minimum(table.height[:, None], table.height[None, rows])
    short = (table.height[:, None] <= 3 * table.height[None, rows] + 10) & (
        table.height[None, rows] <= 3 * table.height[:, None] + 10
    )
    apart: NDArray[np.bool_] = (box[:, 0, None] >= box[None, rows, 2] - 6) | (
        box[:, 2, None] <= box[None, rows, 0] + 6
    )
    return ((shared > 0.5 * least) & short & apart).astype(float)
