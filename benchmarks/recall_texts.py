# ruff: noqa: E501 - each line is a sentence of a step
"""Steps of long runs with ten facts in them, drawn by seed; tuning and reporting never share a text.

The two splits differ in their sentences, not only in what is drawn into them, so that rules which
are made for one are judged by the words of the other.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

__all__ = ["FACTS", "STEPS", "TASK", "Episode", "Split", "count_values", "episode"]

Split = Literal["tune", "report"]
FACTS = 10
STEPS = 99
"""Steps that are done when the prompt of step 100 is made."""
TASK = "Bring the books of the branch in order and send the summary to whoever is in charge of it."

_NAMES = (
    "Marta",
    "Okafor",
    "Lindqvist",
    "Tanaka",
    "Moreau",
    "Szabo",
    "Iyer",
    "Novak",
    "Petrov",
    "Quist",
)
_WORDS = (
    "harbour",
    "ledger",
    "amber",
    "summit",
    "willow",
    "cobalt",
    "meadow",
    "granite",
    "lantern",
    "orchid",
)

_SENTENCES: dict[Split, dict[str, tuple[str, ...]]] = {
    "tune": {
        "path": ("The title bar shows that the file lies at {}.", "The book was saved as {}."),
        "amount": ("The total of the column Net is {}.", "Cell F12 holds {}."),
        "date": ("The invoice is due on {}.", "The newest entry is of {}."),
        "code": ("The order has the number {}.", "The customer's id is {}."),
        "person": ("The owner of the sheet is {}.", "The last author is named {}."),
        "setting": ("The field Separator is set to {}.", "The scheme was changed to {}."),
        "address": ("The shared folder is at {}.", "The page's address is {}."),
        "mail": ("The report goes to {}.", "The contact of the branch is {}."),
        "text": ('The field Subject reads "{}".', 'The tab is named "{}".'),
    },
    "report": {
        "path": (
            "A line at the bottom says that {} was written.",
            "The export went to {}, says the dialog.",
        ),
        "amount": (
            "At the end of the table stands {}.",
            "The balance that is carried over comes to {}.",
        ),
        "date": ("According to the header the quarter ends {}.", "It was last checked {}."),
        "code": ("The ticket that belongs to it: {}.", "Its reference {} stands in the corner."),
        "person": ("In charge of it is {}.", "The signature below the letter is of {}."),
        "setting": ("The drop-down Encoding now shows {}.", "Profile in use: {}."),
        "address": ("The link of the button leads to {}.", "The service answers under {}."),
        "mail": ("Questions are to be sent to {}.", "The reply address given is {}."),
        "text": ('The label of the second tab is "{}".', 'The heading of the page: "{}".'),
    },
}
_NOTES: dict[Split, tuple[str, ...]] = {
    "tune": ("I need this later: {}", "To be kept: {}", "{} I note that."),
    "report": (
        "For the summary: {}",
        "{} That will be wanted at the end.",
        "Worth remembering. {}",
    ),
}
_PLANS: dict[Split, tuple[str, ...]] = {
    "tune": (
        "The menu is open as wanted, its entries are to be seen. Now I choose the one that sorts the rows.",
        "The last click had its effect. Next comes the dialog with the options, which I open by its button.",
        "The list is longer than the window, so I scroll down to see what else there is before I go on.",
        "Row 14 is done, {} more are left. I go on with the next one in the same way.",
    ),
    "report": (
        "That worked. The panel on the right came up, and I use its first control to narrow the list.",
        "Nothing more to be done in this view, so I go back to the overview by the arrow at the top.",
        "The page takes its time. I wait a moment, then look whether the table has been filled.",
        "Of the {} lines on this page the upper ones are checked. I turn to the others below.",
    ),
}
_RESULTS: dict[Split, tuple[str, ...]] = {
    "tune": (
        'Succeeded. The menu "Data" is open with Sort, Filter, Subtotals and {} more.',
        'Succeeded. The dialog "Options" is open; its page General shows four check boxes.',
        "Succeeded. The list was scrolled by {} rows.",
        "No visible change. Only the pointer moved.",
        'Unexpected. "Really leave this page?" asks a dialog with the buttons Stay and Leave.',
        "Succeeded. exit 0 output: {} rows in 0.{} s",
    ),
    "report": (
        'Succeeded. A panel "Filter" appeared on the right with the fields From and To and {} boxes.',
        "Succeeded. The overview is in front again; the second row is selected.",
        "Succeeded. The page is loading, a bar moves at its top.",
        "No visible change. The button is shown pressed.",
        'Failed. A message says: "The list is locked by another user, try again later."',
        "Succeeded. exit 0 output: done, {} of {} items",
    ),
}
_TARGETS = (
    "entry Sort",
    "button Options",
    "arrow of the scroll bar",
    "row in the list",
    "tab General",
)


@dataclass(frozen=True)
class Episode:
    """The lines of a run's steps, and the values in them by the step in which each was seen."""

    lines: tuple[str, ...]
    facts: dict[int, str]


def episode(split: Split, seed: int) -> Episode:
    """A run with ten facts in steps 5 to 90; about half of them the planner notes a step later."""
    draw = random.Random(f"{split} {seed}")
    steps = sorted(draw.sample(range(5, 91), FACTS))
    kinds = [*_SENTENCES[split], draw.choice([*_SENTENCES[split]])]
    draw.shuffle(kinds)
    facts: dict[int, str] = {}
    sentences: dict[int, str] = {}
    noted: dict[int, str] = {}
    for step, kind in zip(steps, kinds, strict=True):
        facts[step] = _value(draw, kind)
        sentences[step] = draw.choice(_SENTENCES[split][kind]).format(facts[step])
        if draw.random() < 0.5:
            noted[step + 1] = draw.choice(_NOTES[split]).format(sentences[step])
    lines = [
        _line(draw, split, step, sentences.get(step, ""), noted.get(step, ""))
        for step in range(1, STEPS + 1)
    ]
    return Episode(tuple(lines), facts)


def _line(draw: random.Random, split: Split, step: int, fact: str, noted: str) -> str:
    thought = _fill_numbers(draw, draw.choice(_PLANS[split]))
    result = _fill_numbers(draw, draw.choice(_RESULTS[split]))
    if fact:
        result = (
            f"Succeeded. {fact}" if draw.random() < 0.5 else f"Succeeded. The page is there. {fact}"
        )
    where = f"({draw.randrange(1280)}, {draw.randrange(720)})"
    return (
        f"Step {step}: gui_action | Thought: {' '.join(filter(None, (noted, thought)))} | Description: "
        f"{draw.choice(_TARGETS)} | Input: pyautogui.click{where} | Result: {result}"
    )


def _fill_numbers(draw: random.Random, text: str) -> str:
    return text.format(*(draw.randrange(2, 400) for _ in range(2)))


def _value(draw: random.Random, kind: str) -> str:
    word, other = draw.sample(_WORDS, 2)
    number = draw.randrange(1000, 99999)
    match kind:
        case "path":
            return f"/home/user/{word}/{other}_{number % 100}.ods"
        case "amount":
            return f"{number:,}.{draw.randrange(10, 99)}"
        case "date":
            return f"2026-{draw.randrange(1, 13):02d}-{draw.randrange(1, 29):02d}"
        case "code":
            return f"{word[:3].upper()}-{number}"
        case "person":
            return " ".join(draw.sample(_NAMES, 2))
        case "setting":
            return f"{word.title()}-{number % 10}"
        case "address":
            return f"https://{word}.example/{other}?v={number}"
        case "mail":
            return f"{word}.{other}@{draw.choice(_NAMES).lower()}.example"
        case _:
            return f"{word.title()} and {other}"


def count_values(values: Sequence[str], text: str) -> int:
    """How many of the values stand in the text."""
    return sum(value in text for value in values)
