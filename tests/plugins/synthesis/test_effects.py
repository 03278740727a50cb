"""Noise, effects and checks of the screen, from explorations written down by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.distinct_effects import distinct_effects
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.machine_facts import Noise, element_changes
from hisa.plugins.synthesis.records import Act, Change, Differences, ElementChange, Fact, Triple
from hisa.plugins.synthesis.subject import Subject
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot

KEYS = "~/.config/app.conf"


def ini(key: str, after: str, before: str = "0") -> Change:
    return Change(fact=Fact("ini", KEYS, f"[main] {key}"), before=before, after=after)


def click(name: str) -> Act:
    return Act(kind="click", role="menu item", name=name)


def build_exploration(folder: Path, acts: Iterable[tuple[Act, Differences]]) -> Exploration:
    exploration = Exploration(folder, Subject(name="app", title="it", setup=(), main="it"))
    exploration.triples = [
        Triple(
            number=number,
            desktop=0,
            before="a",
            act=act,
            box=None,
            after="b",
            differences=differences,
            seconds=1.0,
        )
        for number, (act, differences) in enumerate(acts)
    ]
    return exploration


def test_change_by_unrelated_acts_counts_as_noise() -> None:
    noise = Noise()
    for name in ("Print", "Find", "Undo"):
        noise.learn(click(name), [ini("counter", name)])
        noise.learn(click("Wrap"), [ini("wrap", "1")])
    for name in ("Word Wrap", "Wrap lines", "Wrap"):
        noise.learn(click(name), [ini("wrap", "1")])
    assert noise.is_noise(ini("counter", "9").fact)
    assert not noise.is_noise(ini("wrap", "1").fact)


def test_book_keeping_is_noise_and_preferences_are_not() -> None:
    noise = Noise()
    view = "org.xfce.mousepad.preferences.view"
    for kind, place, item, expected in (
        ("gsettings", "org.xfce.mousepad.state.application", "session", True),
        ("gsettings", "org.gtk.Settings.FileChooser", "sidebar-width", True),
        ("gsettings", "org.gtk.Settings.FileChooser", "show-hidden", False),
        ("gsettings", view, "show-line-numbers", False),
        ("gsettings", view, "right-margin-position", False),
        ("ini", "~/.config/app.conf", "[view] width", True),
        ("ini", "~/.config/app.conf", "[view] font size", False),
        ("gsettings", "org.xfce.mousepad.preferences.window", "recent-menu-items", False),
        ("text", "~/session", "", False),
    ):
        assert noise.is_noise(Fact(kind, place, item)) is expected, (place, item)  # type: ignore[arg-type]


def test_distinct_set_of_changes_gives_a_single_effect(tmp_path: Path) -> None:
    dialog = ElementChange(what="came", role="dialog", name="Find", window="one")
    button = ElementChange(what="came", role="push button", name="Close", window="one")
    same = dialog.model_copy(update={"window": "two"})
    stamp = ini("time", "1764110000")
    effects = distinct_effects(
        build_exploration(
            tmp_path,
            [
                (click("Wrap"), Differences(facts=(ini("wrap", "1"), stamp), elements=(button,))),
                (click("Find"), Differences(elements=(dialog, button))),
                (click("Wrap lines"), Differences(facts=(ini("wrap", "1"),))),
                (Act(kind="press", keys=("ctrl", "f")), Differences(elements=(same,))),
                (click("Nothing"), Differences()),
            ],
        )
    )
    assert [effect.triples for effect in effects] == [(0, 2), (1, 3)]
    assert effects[0].changes == (ini("wrap", "1"),)
    assert effects[0].elements == ()
    assert check_of(effects[1]) == ({"element": {"role": "dialog", "name": "Find"}},)


def test_a_present_element_is_checked_before_an_absent_one(tmp_path: Path) -> None:
    down, right, clock = (
        ElementChange(what="states", role=role, name=name, before=before, after=after)
        for role, name, before, after in (
            ("radio button", "Down", "checked", ""),
            ("radio button", "Right", "", "checked"),
            ("table cell", "23\u200e∶11", "", "selected"),
        )
    )
    acts = [(click("Right"), Differences(elements=(down, right, clock)))]
    (effect,) = distinct_effects(build_exploration(tmp_path, acts))
    right_is_on = {"role": "radio button", "name": "Right", "state": "checked"}
    assert check_of(effect) == ({"element": right_is_on},)


def test_uncheckable_effect_has_a_reason(tmp_path: Path) -> None:
    long = Change(fact=Fact("text", "~/a.txt"), before="a", after="… 9000 abc")
    blank = Change(fact=Fact("ini", KEYS, "[a] b"), before="true", after="True")
    many = tuple(ini(str(number), "1") for number in range(200))
    for changes in ((long,), (blank,), many):
        triples = [(click("x"), Differences(facts=changes))]
        (effect,) = distinct_effects(build_exploration(tmp_path, triples))
        assert isinstance(check_of(effect), str)


def look(*elements: Element) -> Observation:
    black = Screenshot.from_rgb(Size(1, 1), b"\0\0\0")
    return Observation(screenshot=black, screen=Size(1, 1), elements=elements)


def test_changes_of_elements() -> None:
    def element(role: str, name: str, text: str = "", *states: str) -> Element:
        box = BoundingBox(0, 0, 9, 9, "screen")
        return Element(role, name, box, text=text, states=frozenset({"showing", *states}))

    before = look(
        element("frame", "*a - Editor"),
        element("check box", "Case"),
        element("text", "", "x"),
        element("label", "gone"),
    )
    after = look(
        element("frame", "*a - Editor"),
        element("check box", "Case", "", "checked", "focused"),
        element("text", "", "xy"),
        element("dialog", "Find"),
    )
    assert [(c.what, c.name, c.before, c.after) for c in element_changes(before, after)] == [
        ("states", "Case", "", "checked"),
        ("value", "", "x", "xy"),
        ("came", "Find", "", ""),
        ("went", "gone", "", ""),
    ]


@pytest.mark.parametrize(
    ("change", "is_goal"),
    [
        (ElementChange(what="came", role="alert", name="Error"), False),
        (ElementChange(what="came", role="alert", name="Question"), False),
        (ElementChange(what="came", role="label", name="Saving failed"), False),
        (ElementChange(what="value", role="label", name="Note", after="Saving failed"), False),
        (ElementChange(what="came", role="dialog", name="Find"), True),
        (ElementChange(what="states", role="check box", name="Errors", after="checked"), True),
    ],
)
def test_error_message_does_not_count_as_goal(
    tmp_path: Path, change: ElementChange, is_goal: bool
) -> None:
    acts = [(click("Open"), Differences(elements=(change,)))]
    assert bool(distinct_effects(build_exploration(tmp_path, acts))) is is_goal
