"""Joins the names that icon sets share into meanings: names that are drawn alike are synonyms."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
from PIL import Image

from hisa.plugins.eyes.training.icon_sets import Icon

__all__ = ["Meaning", "choose_rare", "join_names", "name_key"]

LEAST_SETS = 4
"""Sets that must have a meaning: fewer teach how one designer draws it."""
_LOOK_SIDE = 16
_JOIN_SHARE = 0.5
"""Of the pairs of sets that draw one name and lack the other, the share in which the drawings are
nearest to one another, from which two names are one meaning. Halved for each set that lists one
name among the other's tags, doubled where most sets that draw one name draw the other too. By
looking at 300 pairs in order of the share."""
_DOUBT = 4
"""Pairs of sets without likeness added to those counted: two or three alike may be chance."""
_WITNESSES = 3
"""Sets that draw two names which are not alike, from which the names are never one meaning."""
_SAME_LOOK = 0.85
"""Likeness of looks from which two drawings may well be of one thing."""
_MOST_WORDS = 8


Link = tuple[str, str, str, str]
"""A set, a name's key in it, another set, and the key of the nearest drawing there."""


@dataclass(frozen=True)
class Meaning:
    """What an icon stands for: ``name`` is the commonest of its ``keys``."""

    name: str
    words: tuple[str, ...]
    keys: frozenset[str]


def name_key(name: str) -> str:
    """Returns a name with its words in order of the alphabet: "plus circle" is "circle plus"."""
    return " ".join(sorted(name.split()))


def describe_look(ink: npt.NDArray[np.uint8]) -> npt.NDArray[np.float32]:
    """Returns an icon's drawing as a vector of length 1, whatever its size and place."""
    rows, columns = np.nonzero(ink > 40)
    centre = (columns.min() + columns.max() + 1) / 2, (rows.min() + rows.max() + 1) / 2
    reach = max(np.ptp(columns) + 1, np.ptp(rows) + 1) / 2
    box = (centre[0] - reach, centre[1] - reach, centre[0] + reach, centre[1] + reach)
    picture = Image.fromarray(ink).transform(
        (4 * _LOOK_SIDE, 4 * _LOOK_SIDE), Image.Transform.EXTENT, box, Image.Resampling.BILINEAR
    )
    small = picture.resize((_LOOK_SIDE, _LOOK_SIDE), Image.Resampling.LANCZOS)
    look = np.asarray(small, dtype=np.float32).ravel()
    look = look - look.mean()
    return np.asarray(look / (np.linalg.norm(look) + 1e-6), dtype=np.float32)


def join_names(icons: Sequence[Icon], tags: Iterable[Mapping[str, set[str]]]) -> list[Meaning]:
    """Returns the meanings that enough sets draw, the commonest first.

    Args:
        icons: the drawings of all sets that may be learned from.
        tags: further words for the names of a set, for some sets.
    """
    sets: dict[str, set[str]] = defaultdict(set)
    for icon in icons:
        sets[name_key(icon.name)].add(icon.set_title)
    tags = list(tags)
    shared = [icon for icon in icons if len(sets[name_key(icon.name)]) > 1]
    groups = _join(_find_links(shared), sets, _count_tags(tags))
    spelled = Counter(icon.name for icon in shared)
    common = {name_key(name): name for name, _ in reversed(spelled.most_common())}
    meanings = []
    for keys in groups:
        together = set().union(*(sets[key] for key in keys))
        if len(together) >= LEAST_SETS:
            order = sorted(keys, key=lambda key: (-len(sets[key]), key))
            names = [common[key] for key in order]
            words = dict.fromkeys((*names, *_agreed_tags(keys, tags)))
            meanings.append((len(together), Meaning(names[0], tuple(words)[:_MOST_WORDS], keys)))
    return [meaning for _, meaning in sorted(meanings, key=lambda row: (-row[0], row[1].name))]


def choose_rare(
    icons: Sequence[Icon], meanings: Sequence[Meaning], most: int, random: np.random.Generator
) -> list[Icon]:
    """Returns icons of no meaning that look like none of a meaning either.

    Args:
        icons: the drawings of all sets that may be learned from.
        meanings: as `join_names` returns them.
        most: how many at most are tried.
        random: chooses those.
    """
    keys = frozenset[str]().union(*(meaning.keys for meaning in meanings))
    known = np.stack([describe_look(icon.ink) for icon in icons if name_key(icon.name) in keys])
    others = [icon for icon in icons if name_key(icon.name) not in keys]
    tried = [others[at] for at in random.permutation(len(others))[:most]]
    return [icon for icon in tried if (known @ describe_look(icon.ink)).max() < _SAME_LOOK]


def _find_links(icons: Sequence[Icon]) -> set[Link]:
    """Pairs of names whose drawings in two sets are each the nearest to the other, and near.

    Near is what nearly all such pairs of one name are.
    """
    looks = np.stack([describe_look(icon.ink) for icon in icons])
    keys = [name_key(icon.name) for icon in icons]
    by_set: dict[str, list[int]] = defaultdict(list)
    for index, icon in enumerate(icons):
        by_set[icon.set_title].append(index)
    rows = []
    for title, other in combinations(by_set, 2):
        likeness = looks[by_set[title]] @ looks[by_set[other]].T
        forth, back = likeness.argmax(axis=1), likeness.argmax(axis=0)
        for at in np.flatnonzero(back[forth] == np.arange(len(forth))):
            ends = keys[by_set[title][at]], keys[by_set[other][forth[at]]]
            rows.append((float(likeness[at, forth[at]]), (title, ends[0], other, ends[1])))
    least = np.quantile([near for near, (_, key, _, same) in rows if key == same], 0.05)
    return {link for near, link in rows if near >= least}


def _join(
    links: set[Link],
    sets: Mapping[str, set[str]],
    tagged: Mapping[tuple[str, str], int],
) -> list[frozenset[str]]:
    pairs: Counter[tuple[str, str]] = Counter()
    for title, key, other, near in links:
        if other not in sets[key] or title not in sets[near]:
            pairs[min(key, near), max(key, near)] += key != near
    shares = []
    for (key, near), count in pairs.items():
        lacking = {(a, b) for a in sets[key] for b in sets[near] - sets[key] if a != b}
        lacking |= {(a, b) for a in sets[key] - sets[near] for b in sets[near] if a != b}
        both = len(sets[key] & sets[near])
        share = count / (len(lacking) + both + _DOUBT)
        is_rival = 2 * both > min(len(sets[key]), len(sets[near]))
        least = _JOIN_SHARE * (1 + is_rival) / 2 ** tagged.get((key, near), 0)
        if share >= least:
            shares.append((share / least, key, near))
    groups = {key: frozenset({key}) for key in sets}
    linked = {frozenset(pair[1:]) for pair in shares}
    for _, key, near in sorted(shares, reverse=True):
        left, right = groups[key], groups[near]
        across = [(frozenset((a, b)) in linked, sets[a] & sets[b]) for a in left for b in right]
        is_refused = any(not link and len(both) >= _WITNESSES for link, both in across)
        if left != right and not is_refused and sum(link for link, _ in across) * 2 >= len(across):
            groups.update(dict.fromkeys(left | right, left | right))
    return list(dict.fromkeys(groups.values()))


def _count_tags(tags: Iterable[Mapping[str, set[str]]]) -> Counter[tuple[str, str]]:
    """In how many sets a name, or its tag, has the other as a tag; in order of the alphabet."""
    counts: Counter[tuple[str, str]] = Counter()
    for table in tags:
        pairs = {(name_key(name), name_key(tag)) for name, words in table.items() for tag in words}
        counts.update({(min(pair), max(pair)) for pair in pairs})
    return counts


def _agreed_tags(keys: frozenset[str], tags: Iterable[Mapping[str, set[str]]]) -> list[str]:
    """The tags that two sets or more give a meaning."""
    votes: Counter[str] = Counter()
    for table in tags:
        votes.update(set().union(*(table[name] for name in table if name_key(name) in keys)))
    return [tag for tag, count in votes.most_common() if count > 1]
