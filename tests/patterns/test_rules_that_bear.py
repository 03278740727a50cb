"""A house rule enters when task or screen has what it speaks of; lessons have their own room."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hisa.config import Settings, StateSettings, load
from hisa.errors import ConfigError
from hisa.events import Event
from hisa.models.tokens import estimate_tokens
from hisa.patterns.memory import PatternMemory, open_memory, open_sops
from hisa.patterns.sops import load_sops
from hisa.patterns.stores.edge import EdgeStore
from hisa.protocols import Pattern, Task
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation, Window
from hisa.state.manager import build_state
from hisa.testing.form import FakeEnvironment
from hisa.testing.scripted import FunctionModel
from hisa.testing.word_embedder import WordEmbedder

LESSONS = (
    "The dialog Sort loses its keys when the sheet changes, so set them last.",
    "Conditional formats are applied to the selection, so select the column before.",
    "A total below a table is kept out of the sort when a blank row is between them.",
    "The file dialog proposes the home folder, so type the folder's whole path.",
    "A red font is chosen by its name in the character dialog, not from the palette.",
)
SORT = (
    "In the sheet Prices, sort the rows by price, mark those above 500 in red, add a total below "
    "the last row and save the file under the name prices_sorted.xlsx in the folder Documents."
)


def memory(tmp_path: Path, events: list[Event], *, own: Path | None = None) -> PatternMemory:
    """A memory with five lessons on sorting, and the rules that ship and a user's."""
    embedder = WordEmbedder()
    store = EdgeStore(tmp_path / "patterns", embedder)
    for number, lesson in enumerate(LESSONS):
        pattern = Pattern(
            id=f"p{number}", kind="failure", lesson=lesson, domain="calc", condition=SORT
        )
        store.put(pattern, embedder.embed([SORT])[0])
    advice = "\n".join(f"- [p{number}] {lesson}" for number, lesson in enumerate(LESSONS, 1))
    settings = Settings.model_validate({"patterns": {"sops": own}} if own else {})
    return PatternMemory(
        store,
        embedder,
        model=FunctionModel(lambda request: advice),
        settings=settings.patterns,
        state=settings.state,
        emit=events.append,
        sops=open_sops(settings.patterns),
    )


def page(*elements: tuple[str, str], title: str = "MiniWoB") -> Observation:
    """A look at a page in a browser without its bars."""
    box = BoundingBox(0, 0, 40, 20, "screen")
    return replace(
        _LOOK,
        windows=(Window("1", title, "chromium", active=True),),
        elements=tuple(Element(role, name, box) for role, name in elements),
    )


_LOOK: Observation


@pytest.fixture(autouse=True)
async def _look() -> None:
    global _LOOK
    _LOOK = await FakeEnvironment().observe()


async def test_advice_holds_five_lessons_beside_the_calc_rules(tmp_path: Path) -> None:
    advice = await memory(tmp_path, []).recall(Task("t", SORT, domain="calc"))
    shown_lessons = [lesson for lesson in LESSONS if lesson in advice.text]
    assert len(shown_lessons) == len(LESSONS), (
        f"only {len(shown_lessons)} of 5 lessons stand in the advice"
    )
    rules = [line for line in advice.text.splitlines() if "MUST" in line]
    assert len(rules) >= 8
    assert estimate_tokens("\n".join(rules)) <= 400


TASKS = (
    'Click on the "Ok" button.',
    "Select the radio button named Kx9 and click Submit.",
    "Enter the name Ada into the text field.",
    "Expand the section below and click its entry.",
    "Choose the third day of the month in the calendar.",
)


@pytest.mark.parametrize(
    ("element", "rule"),
    [
        (("push button", "Accept all cookies"), "cookie"),
        (("heading", "We value your consent"), "cookie"),
        (("text", "Address and search bar"), "address bar"),
        (("push button", "Submit order"), "Never send"),
        (("search box", "Search settings"), "settings page"),
    ],
)
async def test_rule_enters_when_its_subject_is_shown_and_stays(
    tmp_path: Path, element: tuple[str, str], rule: str
) -> None:
    events: list[Event] = []
    state = build_state(
        FunctionModel(lambda request: "x"),
        StateSettings(),
        emit=events.append,
        memory=memory(tmp_path, events),
    )
    await state.recall(Task("t", TASKS[0], domain="browser"))
    before = state.view(page(("push button", "Ok"))).advice
    assert rule not in before
    after = state.view(page(element)).advice
    assert after.startswith(before)
    assert rule in after
    assert state.view(page(("push button", "Ok"))).advice == after
    entered = [event.rule for event in events if event.type == "rule_entered"]
    assert any(rule in entered_rule for entered_rule in entered)
    again = build_state(FunctionModel(lambda r: "x"), StateSettings(), emit=lambda event: None)
    again.restore(events)
    assert again.view().advice == after


@pytest.mark.parametrize(
    ("words", "rule"),
    [
        ("Accept the consent banner and go on.", "cookie"),
        ("Change the default search engine in the preferences.", "settings page"),
        ("Visit the site of the town hall.", "address bar"),
        ("Buy the cheapest ticket.", "Never send"),
    ],
)
async def test_a_rule_enters_by_the_words_of_the_task(
    tmp_path: Path, words: str, rule: str
) -> None:
    advice = await memory(tmp_path, []).recall(Task("t", words, domain="browser"))
    assert rule in advice.text


async def test_binding_rules_of_a_user_enter_whatever_is_on_the_screen(
    tmp_path: Path,
) -> None:
    own = tmp_path / "own"
    own.mkdir()
    rules = [f"MUST keep to rule {n} of the house, as it is written down there." for n in range(9)]
    lines = [f"- {rule}\n  when: zebra" for rule in rules]
    (own / "browser.md").write_text("\n".join(lines) + "\n- Wait here.\n  when: zebra\n")
    advice = await memory(tmp_path, [], own=own).recall(Task("t", TASKS[0], domain="browser"))
    assert all(f"- {rule}" in advice.text.splitlines() for rule in rules)
    assert "Wait here" not in advice.text


def test_conditions_are_read_from_a_file(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("- Save.\n  As it was.\n  when: Save, export\n- Wait.\n")
    (sop,) = load_sops(tmp_path)
    assert (sop.rules, sop.when) == (
        ("Save. As it was.", "Wait."),
        {"Save. As it was.": ("save", "export")},
    )


def test_binding_rules_that_have_no_room_are_refused_with_the_setting_that_helps(
    tmp_path: Path,
) -> None:
    rules = [f"- MUST keep to rule {n} of the house, {'as it is written ' * 9}" for n in range(20)]
    (tmp_path / "browser.md").write_text("\n".join(rules))
    settings = load(overrides={"patterns": {"sops": tmp_path, "path": tmp_path / "p"}}, environ={})
    with pytest.raises(ConfigError, match="marked MUST take") as caught:
        open_memory(
            settings.patterns,
            settings.state,
            FunctionModel(lambda request: "x"),
            lambda event: event,
        )
    lifted = caught.value.fix.removeprefix("--set state.advice_tokens=")
    assert int(lifted) > 400
