"""A small exploration of a real text editor, made by hand on a private desktop, and candidates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.synthesis.doing import act_on, replay
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Act, Change, Differences, Fact, State, Triple
from hisa.plugins.synthesis.subject import Subject, load_subject
from hisa.plugins.synthesis.task_records import Candidate
from hisa.plugins.synthesis.ways_there import acts_of
from hisa.screen.observation import Observation
from hisa.tasks.scorer import TaskScorer

VIEW = "org.xfce.mousepad.preferences.view"
LINE_NUMBERS = Change(
    fact=Fact("gsettings", VIEW, "show-line-numbers"), before="false", after="true"
)
BEFORE = "Meet Ana at nine\nbuy milk and bread\ncall the bank\n"
TYPED = Change(fact=Fact("text", "~/Documents/notes.txt"), before=BEFORE, after=f"{BEFORE}Call Ana")
SAVE = Act(kind="press", keys=("ctrl", "s"))


async def explore_by_hand(folder: Path, subject: Subject | None = None) -> Exploration:
    """Open the editor and its View menu, click Line Numbers, and type; four states, three acts."""
    exploration = Exploration.create(folder, subject or load_subject("mousepad"))
    async with DesktopEnvironment() as desktop:
        await TaskScorer().prepare(exploration.subject.task(), desktop)
        first = await desktop.observe(elements=True, settle=1.0)
        root = await _add(exploration, first, "root")
        text = act_on(_element(first, "text", ""), first, "type", text="Call Ana")
        view = act_on(_element(first, "menu", "View"), first, "click")
        opened = await replay(desktop, [view])
        menu = await _add(exploration, opened, "menu")
        numbers = act_on(_element(opened, "menu item", "Line Numbers"), opened, "click")
        numbered = await _add(exploration, await replay(desktop, [numbers]), "numbers")
        typed = await _add(exploration, await replay(desktop, [text, SAVE]), "typed")
    for at, (before, act, after, facts) in enumerate(
        [
            (root, view, menu, ()),
            (menu, numbers, numbered, (LINE_NUMBERS,)),
            (root, text, typed, (TYPED,)),
        ]
    ):
        exploration.add(
            Triple(
                number=at,
                desktop=0,
                before=before,
                act=act,
                box=None,
                after=after,
                differences=Differences(facts=facts),
                saved=bool(facts) and act is text,
                seconds=1.0,
            )
        )
    exploration.close()
    return exploration


def _element(look: Observation, role: str, name: str) -> Any:
    return next(one for one in look.elements or () if one.role == role and one.name == name)


async def _add(exploration: Exploration, look: Observation, name: str) -> str:
    image, elements = await exploration.keep(look)
    titles = tuple(window.title for window in look.windows)
    exploration.add_state(
        State(id=name, screen=name, windows=titles, image=image, elements=elements)
    )
    return name


def route_acts(exploration: Exploration, number: int) -> tuple[Act, ...]:
    """The acts from a fresh start to the end of a triple."""
    triple = exploration.triples[number]
    return acts_of(exploration, [*(exploration.route(triple.before) or ()), triple])


def line_numbers(exploration: Exploration, **other: Any) -> Candidate:
    """Turn line numbers on; the check reads the setting."""
    return Candidate.model_validate(
        {
            "id": "line-numbers",
            "subject": "mousepad",
            "effects": ("one",),
            "triples": (1,),
            "instruction": "Turn on line numbers in the text editor.",
            "writer": "rules",
            "acts": route_acts(exploration, 1),
            "check": ({"command": f"gsettings get {VIEW} show-line-numbers", "equals": "true"},),
            "changes": (LINE_NUMBERS,),
        }
        | other
    )


def typed(exploration: Exploration, **other: Any) -> Candidate:
    """Type at the end of the document and save it; the check reads the whole file."""
    return Candidate.model_validate(
        {
            "id": "typed",
            "subject": "mousepad",
            "effects": ("two",),
            "triples": (2,),
            "instruction": 'Type "Call Ana" at the end of notes.txt and save it.',
            "writer": "rules",
            "acts": route_acts(exploration, 2),
            "check": ({"file": "~/Documents/notes.txt", "equals": TYPED.after},),
            "changes": (TYPED,),
        }
        | other
    )
