"""The numbered list of the screen for a small model: at most 30 lines, chosen by the task."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hisa.grounder.marks import Marks
from hisa.grounder.matchers import Scenery
from hisa.grounder.row_names import row_names
from hisa.grounder.scenery import open_scenery
from hisa.grounder.thing import SHOWS_TEXT, Thing, overlap
from hisa.grounder.thing_lines import (
    TEXT_CHARS,
    TICKS,
    describe_thing,
    in_windows,
    is_only_text,
    kind_of,
    name_of,
    near_of,
    plain,
    rank_things,
    select_useful,
    states_of,
    value_of,
    words_of,
)
from hisa.models.tokens import estimate_tokens, longest
from hisa.plugins.small.past_steps import Mark
from hisa.protocols import Task
from hisa.screen.observation import Observation
from hisa.screen.roles import FIELDS, MULTI_LINE, PASSWORD
from hisa.text.words import quotes, tokens

__all__ = ["BriefMarks"]

SHORT_MARKS = 30
"""Most entries of a list for a small model."""
_SHORT_NAME = 40
"""Most characters of a name in such a list."""


class BriefMarks(Marks):
    """The numbered list in the form for small models.

    Args:
        most: most entries of a list.
    """

    def __init__(self, *, most: int = SHORT_MARKS) -> None:
        super().__init__()
        self._most = most

    def build_brief(
        self, task: Task, observation: Observation, room: int
    ) -> tuple[tuple[Mark, ...], int]:
        """Returns a list for a small model, and the number of things that it leaves out.

        Things that the task's words name are kept first. Texts that repeat the task come last,
        where they are least likely to be mistaken for targets. Texts that only label a field are
        left out.

        Args:
            task: its words select the entries.
            observation: the look.
            room: most tokens of the list.
        """
        scene = open_scenery(observation)
        repeats = _find_repeating(scene, task)
        worth = [_simplify(thing, repeats) for thing in select_useful(scene.things)]
        labels = {plain(near_of(t) or name_of(t)) for t in worth if t.role in FIELDS | TICKS}
        things = [t for t in worth if not is_only_text(t) or words_of(t) not in labels]
        things = in_windows(things, observation)
        texts = (thing for thing in things if thing.role in SHOWS_TEXT)
        own = {t for t in texts if any(overlap(own.box, t.box) > 0.8 for own in repeats)}
        task_shares = _weigh_task_words(things, task, scene)
        rows = row_names(things, observation, lambda thing: describe_thing(thing, _SHORT_NAME))
        best_first = sorted(
            rank_things(things, task, observation),
            key=lambda t: (t in own, -round(task_shares[t], 3)),
        )

        def pick_best(size: int) -> list[Thing]:
            best = set(map(id, best_first[:size]))
            return sorted((t for t in things if id(t) in best), key=own.__contains__)

        def fits(size: int) -> bool:
            lines = (
                f"{number} {_line(t, t in own, rows)}"
                for number, t in enumerate(pick_best(size), 1)
            )
            return estimate_tokens("\n".join(lines)) <= room

        listed = pick_best(longest(min(len(things), self._most), fits))
        self.number(listed, observation, rows)
        marks = tuple(
            _mark(t, observation, _line(t, t in own, rows), repeats=t in own) for t in listed
        )
        return marks, len(things) - len(listed)


def _find_repeating(scene: Scenery, task: Task) -> list[Thing]:
    """Returns the texts on the screen that repeat the task.

    Quoted and short ones are not among them: they may be the task's target.
    """
    task_text = plain(task.instruction)
    marked = set(map(plain, quotes(task.instruction)))

    def repeats(words: str) -> bool:
        long = len(words.split()) > 2 and 2 * len(words) > len(task_text)
        return long and words in task_text and words not in marked

    return [t for t in scene.things if t.role in SHOWS_TEXT and repeats(words_of(t))]


def _simplify(thing: Thing, repeats: Sequence[Thing]) -> Thing:
    """Returns a thing without labels from the task's own words, named by its text if nameless."""
    texts = list(map(words_of, repeats))
    labels = tuple(
        label
        for label in thing.labels
        if len(label[0].split()) < 2 or not any(plain(label[0]) in text for text in texts)
    )
    if value_of(thing) and thing.role not in FIELDS and not (name_of(thing) or labels):
        thing = replace(thing, element=replace(thing.element, name=value_of(thing)))
    return replace(thing, labels=labels)


def _weigh_task_words(things: Sequence[Thing], task: Task, scene: Scenery) -> Mapping[Thing, float]:
    """Returns the weight of the task's words that each thing has; words around it count half.

    A word weighs more if few things have it.
    """
    task_words = tokens(task.instruction)
    own = {thing: task_words & tokens(describe_thing(thing)[:TEXT_CHARS]) for thing in things}
    near = {thing: (task_words & scene.around(thing)) - own[thing] for thing in things}
    counts = [Counter(w for words in by.values() for w in words) for by in (own, near)]
    return {
        thing: sum(1 / counts[0][word] for word in own[thing])
        + sum(0.5 / counts[1][word] for word in near[thing])
        for thing in things
    }


def _line(thing: Thing, repeats: bool, rows: Mapping[Thing, str]) -> str:
    """Returns an entry for a small model, with marks such as "(empty)" for fields."""
    line = describe_thing(thing, _SHORT_NAME)
    if thing in rows:
        line = f"{line} {rows[thing]}"
    if repeats:
        return f"{line} (the task's own words)"
    if thing.role in FIELDS and not thing.element.text.strip():
        return f"{line} (empty)"
    if thing.role == PASSWORD:
        return f"{line} (filled)"
    folded = thing.element.states & {"expandable", "expanded"} == {"expandable"}
    return f"{line} (collapsed)" if folded else line


def _mark(thing: Thing, observation: Observation, line: str, *, repeats: bool) -> Mark:
    states = set(states_of(thing))
    return Mark(
        line,
        kind_of(thing),
        name_of(thing) or near_of(thing) or (value_of(thing) if thing.role in SHOWS_TEXT else ""),
        value_of(thing),
        observation.convert_box(thing.box, "image"),
        is_text=is_only_text(thing) and not thing.is_made_control,
        takes_text=thing.role in FIELDS | {"table cell"}
        or bool(thing.element.states & (MULTI_LINE | {"editable"})),
        is_line=thing.role in FIELDS - {"terminal"} and not thing.element.states & MULTI_LINE,
        is_filled=bool(thing.element.text.strip()),
        is_off="not checked" in states,
        is_on=bool(states & {"checked", "selected"}),
        repeats_task=repeats,
    )
