"""What was typed is read back: a difference is unexpected, and silence is no success."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hisa.actions import parse
from hisa.protocols import GroundedCall, ToolCall
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from hisa.state.typed_text import read_back
from tests.state.scene import element
from tests.state.test_verdicts import CHANGE, grounded_act, judge_step, look

BOX = BoundingBox(40, 40, 340, 60, "screen")
CLICK = "pyautogui.click(190, 50); "


def field(text: str = "", role: str = "entry", *states: str) -> Element:
    return element(role, "Name", BOX, text, "focused", "showing", *states)


def looks(old: Element | None, *new: Element) -> tuple[Observation, Observation]:
    return look(elements=() if old is None else (old,)), look(CHANGE, elements=new)


async def line(source: str, before: Observation, after: Observation) -> tuple[str, str]:
    event, _ = await judge_step(
        grounded_act(source), before, after, reply="Succeeded. The name is written."
    )
    return str(event.verdict), event.result


@pytest.mark.parametrize(
    ("typed", "old", "new"),
    [
        ("Sørgård Åsa", "", "Sørgrd Åsa"),
        ("abc", "", "ABd"),
        ("Ann Berg", "Dr. ", "Dr. Ann Brg"),
        ("ann@example.com", "", 'ann"example.com'),
        ("0123456789", "", "01234"),
        ("Ann", "", ""),
    ],
)
async def test_a_field_that_holds_something_else_is_unexpected(
    typed: str, old: str, new: str
) -> None:
    before, after = looks(field(old), field(new))
    verdict, result = await line(f"{CLICK}pyautogui.write({typed!r})", before, after)
    assert verdict == "unexpected"
    assert typed.replace('"', "'") in result.replace('"', "'")
    assert new.replace('"', "'") in result.replace('"', "'")


@pytest.mark.parametrize(
    ("typed", "old", "new"),
    [
        ("Ann", "", "Ann"),
        ("Ann", "Dr. ", "Dr. Ann"),
        ("Ann", "Ann, ", "Ann, Ann"),
        ("Par", "", "Paris"),
        ("5550100", "", "(555) 010-0"),
        ("12.50", "", "1250"),
        ("abcd", "", "AB-CD"),
        ("say 'hi' - now", "", "Say “hi” – now"),
    ],
)
async def test_field_may_reformat_or_extend_the_typed_text(typed: str, old: str, new: str) -> None:
    before, after = looks(field(old), field(new))
    verdict, _ = await line(f"pyautogui.write({typed!r})", before, after)
    assert verdict == "succeeded"


@pytest.mark.parametrize(
    ("source", "old", "new"),
    [
        ("write('Ann')", field(role="password text"), field("•••", "password text")),
        ("write('Ann')", field(role="terminal"), field("$", "terminal")),
        ("write('2024-01-05')", field(role="date editor"), field("01/05/2024", "date editor")),
        ("write('Ann')", None, None),
        ("write('us')", field("Peru", "combo box"), field("Uruguay", "combo box")),
        ("write('x = 1')", field("", "entry", "multi-line"), field("", "entry", "multi-line")),
        ("write('1234')", field(), replace(field("4"), box=BoundingBox(90, 40, 110, 60, "screen"))),
        ("write('{{secret:pin}}')", field(), field("{{secret:pin}}")),
        (
            "write('Ann'); pyautogui.hotkey('ctrl', 'a'); pyautogui.write('Bo')",
            field(),
            field("Bo"),
        ),
        ("write('a' * 300)", field(), field("a" * 200)),
    ],
)
async def test_typed_text_without_a_field_to_read_is_neither_success_nor_surprise(
    source: str, old: Element | None, new: Element | None
) -> None:
    source = source.replace("'a' * 300", repr("a" * 300))
    before, after = looks(old, *([new] if new else []))
    verdict, result = await line(f"pyautogui.{source}", before, after)
    assert verdict == "changed"
    assert "Not known" in result


async def test_text_drawn_beside_its_field_counts_as_typed() -> None:
    """An editor takes keys in a field of its own, and draws them beside it."""
    drawn = element("paragraph", "", BoundingBox(0, 100, 300, 120, "screen"), "x = 1")
    before, after = looks(field("", "entry", "multi-line"), field("", "entry", "multi-line"), drawn)
    assert (await line("pyautogui.write('x = 1')", before, after))[0] == "succeeded"


@pytest.mark.parametrize("end", ["press('enter')", "press('tab')", "press('backspace')"])
def test_a_call_that_does_more_than_type_is_not_read_back(end: str) -> None:
    source = f"pyautogui.write('Ann'); pyautogui.{end}"
    call = ToolCall("", "gui_action", source, actions=parse(source))
    before, after = looks(field(), field())
    assert read_back(GroundedCall(call, source, call.actions), before, after) is None


async def test_several_fields_succeed_only_when_all_have_their_text() -> None:
    other = element("entry", "City", BoundingBox(40, 80, 340, 100, "screen"))
    source = f"{CLICK}pyautogui.write('Ann'); pyautogui.click(190, 90); pyautogui.write('Porto')"
    before = look(elements=(field(), other))
    last = replace(other, text="Porto", states=frozenset({"focused", "showing"}))
    for name, verdict in (("Ann", "succeeded"), ("An", "changed")):
        first = replace(field(name), states=frozenset())
        after = look(CHANGE, elements=(first, last))
        assert (await line(source, before, after))[0] == verdict


async def test_keys_held_down_are_named_by_their_step_and_the_next_ones() -> None:
    free, held = look(elements=(field(),)), look(CHANGE, elements=(field("ABC"),))
    held = replace(held, held=("shift",))
    _, result = await line("pyautogui.keyDown('shift')", free, held)
    assert "shift" in result
    for source in ("write('abc')", "click(190, 50)"):
        _, result = await line(f"pyautogui.{source}", replace(held, held=("shift",)), held)
        assert "shift" in result
    _, result = await line("pyautogui.click(190, 50)", free, look(CHANGE, elements=(field(),)))
    assert "held" not in result
