"""Lines of real runs that once misled, and do no more."""

from __future__ import annotations

from hisa.actions import parse
from hisa.protocols import GroundedCall, Place, ToolCall
from hisa.screen.geometry import BoundingBox, Point
from hisa.screen.observation import Element, Observation, Window
from hisa.state.changes import describe_changes
from tests.plugins.offline.talk import answer_job
from tests.state.scene import SCREEN, element, look, picture


def acts(source: str, *places: Point) -> GroundedCall:
    call = ToolCall("Go on.", "gui_action", source, actions=parse(source))
    return GroundedCall(call, source, call.actions, tuple(Place("it", at) for at in places))


def describe_step(before: Observation, after: Observation, call: GroundedCall | None = None) -> str:
    """What the state role's rules say of a step between two looks."""
    changes = describe_changes(before, after, BoundingBox(0, 0, 320, 180), call) or ()
    return answer_job("# Step abstraction", action="a", outcome="ok", changes="\n".join(changes))


def make_control(number: int, name: str, *states: str, role: str = "check box") -> Element:
    """One of several controls below each other, 20 image pixels high."""
    top = 40 * number
    return element(role, name, BoundingBox(20, top, 200, top + 40, "screen"), "", *states)


def test_a_title_is_shown_once_and_after_the_typed_text() -> None:
    def editor(title: str, text: str) -> Observation:
        frame = element("frame", title, BoundingBox(0, 0, 640, 360, "screen"), "", "active")
        field = element("text", "", BoundingBox(0, 40, 640, 360, "screen"), text, "focused")
        windows = (Window("1", title, "editor", active=True),)
        return Observation(picture(), SCREEN, windows=windows, elements=(frame, field))

    line = describe_step(editor("a.txt", ""), editor("*a.txt", "hi"), acts("pyautogui.write('hi')"))
    assert line == "Succeeded. Text now reads “hi”. The window in front is now “*a.txt”."


def test_a_title_is_shown_where_no_window_is_known() -> None:
    box = BoundingBox(0, 0, 640, 360, "screen")
    before, after = (look(elements=(element("frame", t, box, "", "active"),)) for t in "AB")
    assert describe_step(before, after) == "Succeeded. The window in front is now “B”."


def test_a_line_break_is_shown_as_one() -> None:
    box = BoundingBox(0, 0, 640, 360, "screen")
    before, after = (look(elements=(element("text", "", box, t),)) for t in ("one", "one\n"))
    assert describe_step(before, after) == "Succeeded. Text now reads “one ⏎”."


def test_a_value_that_is_its_things_name_names_nothing() -> None:
    box = BoundingBox(20, 20, 80, 40, "screen")
    before, after = (look(elements=(element("combo box", "Big", box, t),)) for t in ("Old", "Big"))
    assert describe_step(before, after) == "Succeeded. Combo box now reads “Big”."


def test_the_control_acted_on_comes_first() -> None:
    names = ("Clock", "Price", "Total")
    before = look(elements=tuple(make_control(n, f"{name} 1") for n, name in enumerate(names)))
    after = look(elements=tuple(make_control(n, f"{name} 2") for n, name in enumerate(names)))
    line = describe_step(before, after, acts("pyautogui.click(50, 50)", Point(50, 50)))
    assert line.startswith("Succeeded. Check box “Total 1” now reads “Total 2”.")


def test_line_names_every_box_that_a_call_ticked() -> None:
    names = ("tea", "milk", "salt", "rice")
    before = look(elements=tuple(make_control(n, name) for n, name in enumerate(names)))
    after = look(elements=tuple(make_control(n, name, "checked") for n, name in enumerate(names)))
    source = "; ".join(f"pyautogui.click(50, {20 * n + 10})" for n in range(4))
    assert describe_step(before, after, acts(source)) == (
        "Succeeded. Check box “tea”, check box “milk”, check box “salt” and check box “rice” "
        "are now checked."
    )


def test_objects_inside_a_text_are_not_shown() -> None:
    box = BoundingBox(0, 0, 640, 360, "screen")
    texts = ("\ufffc\ufffc", "\ufffc tea", "tea")
    none, some, plain = (look(elements=(element("paragraph", "", box, t),)) for t in texts)
    assert describe_step(none, some) == "Succeeded. Paragraph now reads “tea”."
    assert describe_changes(some, plain, BoundingBox(0, 0, 320, 180)) == ()
