"""A later action is made only where nothing changed but what the earlier ones were about."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import replace

import pytest
from PIL import Image, ImageDraw

from hisa.actions import Action, Click, Hotkey, Press, Write
from hisa.errors import ScreenChanged
from hisa.plugins.guard.acts.sequence_guard import SequenceGuard
from hisa.protocols import ExecutedCall, GroundedCall, Outcome, ToolCall
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window
from hisa.testing.form import FakeEnvironment

SIZE = Size(640, 400)
NAMES = ("Name", "Street", "City", "Phone")
WINDOW = Window("1", "Form", "app", active=True)
USABLE = frozenset({"enabled", "showing"})


def row(number: int) -> BoundingBox:
    """The box of a field; each is 40 pixels below the one before, and looks like it."""
    top = 20 + 40 * number
    return BoundingBox(100, top, 400, top + 30, "screen")


def field(name: str, box: BoundingBox, text: str = "", *states: str) -> Element:
    return Element(
        "text", name, box, text=text, states=USABLE | set(states), window="Form", app="app"
    )


def fields(**texts: str) -> list[Element]:
    return [field(name, row(n), texts.get(name, "")) for n, name in enumerate(NAMES)]


def look(
    elements: Iterable[Element],
    *windows: Window,
    complete: bool = True,
    veil: BoundingBox | None = None,
    frame: BoundingBox | None = None,
) -> Observation:
    """A look that shows the boxes and texts of what it holds, a veil over a part, and a frame."""
    shown = tuple(elements)
    image = Image.new("RGB", (SIZE.width, SIZE.height), "white")
    pen = ImageDraw.Draw(image)
    for element in shown:
        box = element.box
        pen.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline="gray")
        pen.text((box.left + 5, box.top + 8), element.text, fill="black")
    if veil is not None:
        pen.rectangle((veil.left, veil.top, veil.right, veil.bottom), fill="silver")
    if frame is not None:
        sides = frame.left - 1, frame.top - 1, frame.right, frame.bottom
        pen.rectangle(sides, outline="blue", width=3)
    return Observation(
        Screenshot(image), SIZE, windows or (WINDOW,), elements=shown, complete=complete
    )


def call(number: int | None, *actions: Action) -> GroundedCall:
    """A call that clicks a row, or only types."""
    at = () if number is None else (Click(at=Point(250, row(number).top + 15, "image")),)
    return GroundedCall(ToolCall("", "gui_action", ""), "", (*at, *actions))


def past_call(number: int | None, *actions: Action) -> ExecutedCall:
    return ExecutedCall(call(number, *actions), Outcome(ok=True), look(fields()))


class Reader:
    """Reads the elements of a look that is given."""

    def __init__(self, reference: Observation, now: Observation | None = None) -> None:
        self._reference, self._now = reference, now
        self.reads = 0

    async def read(self) -> Observation:
        self.reads += 1
        assert self._now is not None, "read although nothing else changed"
        return self._now

    async def recent(self, observation: Observation) -> Observation:
        return self._reference


async def objection(
    now: Observation,
    following: GroundedCall,
    *,
    before: Observation | None = None,
    first: ExecutedCall | None = None,
    reader: bool = True,
) -> str:
    """Why a call is not made after the first row was filled in; empty where it is."""
    planned = before or look(fields())
    guard = SequenceGuard(Reader(planned, now) if reader else None)
    bare = replace(now, elements=None, complete=True)
    try:
        await guard.allow(
            following, [first or past_call(0, Write("Ada"))], observations=(planned, planned, bare)
        )
    except ScreenChanged as error:
        return str(error)
    return ""


async def test_change_by_the_earlier_action_needs_no_new_reading() -> None:
    planned, now = look(fields()), look(fields(Name="Ada"))
    reader = Reader(planned)
    allowed = await SequenceGuard(reader).allow(
        call(1), [past_call(0, Write("Ada"))], observations=(planned, planned, now)
    )
    assert reader.reads == 0
    assert allowed.precondition is not None
    assert allowed.precondition.look is now
    (box,) = allowed.precondition.boxes
    assert (box.left, box.top, box.right, box.bottom) == (92, 52, 409, 99)


async def test_field_losing_focus_needs_no_new_reading() -> None:
    focused = [field("Name", row(0), "", "focused"), *fields()[1:]]
    plain = [field("Name", row(0), "x"), *fields()[1:]]
    reader = Reader(look(focused))
    guard = SequenceGuard(reader)
    observations = (look(focused), look(focused), look(plain))
    await guard.allow(call(2), [past_call(1)], observations=observations)
    assert reader.reads == 0


async def test_similar_rows_are_distinguished_by_their_elements() -> None:
    shifted = [field(name, row(n + 1)) for n, name in enumerate(NAMES)]
    everywhere = [*shifted, field("Voucher", row(0))]  # where the first one was
    reason = await objection(look(everywhere), call(2))
    assert reason == "at (250, 115) there is now text “Street” in place of text “City”"
    elsewhere = field("Voucher", BoundingBox(450, 300, 600, 330, "screen"))
    assert await objection(look([*fields(), elsewhere]), call(2)) == "", "its place tells"
    typing = call(None, Write("Elm 3"))
    reason = await objection(
        look([*fields(), elsewhere]), typing, first=past_call(None, Press("tab"))
    )
    assert reason == "text “Voucher” came up"
    swapped = [field(n, row(i)) for i, n in enumerate(("Name", "Street", "Phone", "City"))]
    mark = field("Mark", BoundingBox(500, 300, 520, 310, "screen"))
    before, now = look([*fields(), mark]), look([*swapped, replace(mark, text="done")])
    reason = await objection(now, call(2), before=before)
    assert reason == "at (250, 115) there is now text “Phone” in place of text “City”"


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (look(fields(City="Bonn")), "text “City” at (250, 115) now holds “Bonn”"),
        (
            look([*fields()[:2], replace(fields()[2], states=frozenset({"showing"})), fields()[3]]),
            "text “City” at (250, 115) is disabled now",
        ),
        (
            look([*fields(), Element("dialog", "Sure?", BoundingBox(9, 300, 99, 350, "screen"))]),
            "dialog “Sure?” came up",
        ),
        (look(fields(), complete=False), "not all elements could be read"),
    ],
)
async def test_another_element_ends_it(now: Observation, reason: str) -> None:
    # A change elsewhere, so that the elements are read; the region around the target is alike.
    elsewhere = BoundingBox(500, 200, 600, 300, "screen")
    veiled = look(now.elements or (), complete=now.complete, veil=elsewhere)
    assert reason in await objection(veiled, call(2))


async def test_a_region_that_is_covered_ends_it_before_elements_are_read() -> None:
    planned = look(fields())
    now = look(fields(), veil=BoundingBox(90, 80, 300, 200, "screen"))
    reader = Reader(planned)
    with pytest.raises(ScreenChanged, match=r"around \(250, 115\) is no longer as it was"):
        await SequenceGuard(reader).allow(
            call(2), [past_call(0)], observations=(planned, planned, now)
        )
    assert reader.reads == 0


def cells(**texts: str) -> list[Element]:
    """Four cells of a sheet, one below the other without a gap."""
    boxes = [BoundingBox(100, 50 + 20 * n, 170, 70 + 20 * n, "screen") for n in range(4)]
    named = zip("ABCD", boxes, strict=True)
    return [Element("table cell", name, box, text=texts.get(name, "")) for name, box in named]


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (cells(A="5"), ""),
        (cells(A="5", C="6"), "now holds “6”"),
        ([e for e in cells(A="5") if e.name != "C"], "no longer at"),
        ([replace(e, name=e.name.replace("C", "Z")) for e in cells(A="5")], "“Z” in place of"),
    ],
    ids=["same", "other text", "gone", "other name"],
)
@pytest.mark.parametrize("onto", [1, 2, 3])
async def test_a_cell_cursor_around_a_target_does_not_end_it(
    now: list[Element], reason: str, onto: int
) -> None:
    """Enter after the first cell moves the frame below it, or anywhere near the target."""
    first, target = cells()[0].box.centre, cells()[2].box.centre
    planned = look(cells())
    framed = look(now, frame=cells()[onto].box)
    earlier = past_call(
        None, Click(at=Point(first.x, first.y, "image")), Write("5"), Press("enter")
    )
    following = GroundedCall(
        ToolCall("", "gui_action", ""), "", (Click(at=Point(target.x, target.y, "image")),)
    )
    why = await objection(framed, following, before=planned, first=earlier)
    assert reason in why if reason else not why


@pytest.mark.parametrize(
    ("windows", "expected"),
    [
        ((replace(WINDOW, active=False), Window("2", "Ask", "app", active=True)), "“Ask”"),
        ((replace(WINDOW, title="Thank you"),), "now called “Thank you”"),
        ((replace(WINDOW, title="*Form"),), ""),
        ((Window("3", "Other", "x", active=True),), "a window came up: “Other”"),
    ],
)
async def test_another_window_ends_it(windows: tuple[Window, ...], expected: str) -> None:
    reason = await objection(look(fields(Name="Ada"), *windows), call(2))
    assert (expected in reason) if expected else reason == ""


async def test_keys_go_where_the_last_click_put_them() -> None:
    elsewhere = BoundingBox(500, 200, 600, 300, "screen")
    typing = call(None, Write("Elm 3"))
    elements = [fields()[0], field("Street", row(1), "", "focused"), *fields()[2:]]
    assert await objection(look(elements, veil=elsewhere), typing, first=past_call(1)) == ""
    away = [*fields()[:3], field("Phone", row(3), "", "focused")]
    reason = await objection(look(away, veil=elsewhere), typing, first=past_call(1))
    assert reason == "the focus is on text “Phone”"
    moved = past_call(1, Press("tab"))
    assert await objection(look(away, veil=elsewhere), typing, first=moved) == ""


async def test_without_elements_a_wider_region_has_to_be_similar() -> None:
    planned = replace(look(fields()), elements=None)
    now = replace(look(fields(), veil=BoundingBox(100, 50, 400, 100, "screen")), elements=None)
    guard = SequenceGuard(None)
    observations = (planned, planned, now)
    with pytest.raises(ScreenChanged, match="similarity"):
        await guard.allow(call(1), [past_call(0)], observations=observations)
    await guard.allow(call(3), [past_call(0)], observations=observations)


async def test_a_screen_of_another_size_ends_it() -> None:
    planned = look(fields())
    small = replace(planned, screenshot=Screenshot(Image.new("RGB", (320, 200))))
    with pytest.raises(ScreenChanged, match="another size"):
        await SequenceGuard(None).allow(
            call(1), [past_call(0)], observations=(planned, planned, small)
        )


# ---------------------------------------------------------------- where keys go after a click

BUTTON = Element(
    "push button", "Bold", BoundingBox(450, 20, 500, 50, "screen"), states=USABLE, window="Form"
)
PAY = replace(BUTTON, name="Pay", box=BoundingBox(450, 60, 500, 90, "screen"))
VEIL = BoundingBox(520, 200, 600, 300, "screen")
"""A change elsewhere, so that the elements are read."""
TYPING = call(None, Write("x"))


def look_with_focus(*elements: Element, on: str) -> Observation:
    """A look on which one of some elements has the focus, and something elsewhere has changed."""
    marked = (
        replace(e, states=e.states | {"focused"}) if e.name == on else replace(e, parent=-1)
        for e in elements
    )
    return look([replace(e, parent=-1) for e in marked], veil=VEIL)


def past_click(element: Element, target_look: Observation | None = None) -> ExecutedCall:
    """A click in the middle of an element."""
    at = element.box.centre
    click = Click(at=Point(at.x, at.y, "image"))
    grounded = GroundedCall(ToolCall("", "gui_action", ""), "", (click,), target_look=target_look)
    return ExecutedCall(grounded, Outcome(ok=True), look(fields()))


async def keys_refused(now: Observation, *acts: ExecutedCall, on: str = "Name") -> str:
    """Why keys are not typed after some acts on fields and two buttons; empty where they are."""
    elements = [*fields(), BUTTON, PAY]
    planned = replace(look_with_focus(*elements, on=on), screenshot=look(elements).screenshot)
    guard = SequenceGuard(Reader(planned, now))
    bare = replace(now, elements=None, complete=True)
    try:
        await guard.allow(TYPING, acts, observations=(planned, planned, bare))
    except ScreenChanged as error:
        return str(error)
    return ""


@pytest.mark.parametrize("on", ["Name", "Bold", "City"], ids=["stays", "clicked", "answer"])
async def test_keys_after_a_button_follow_the_focus_that_the_application_gives(on: str) -> None:
    pressed = replace(BUTTON, states=BUTTON.states | {"checked"})
    now = look_with_focus(*fields(Name="Ada"), pressed, PAY, on=on)
    assert await keys_refused(now, past_click(BUTTON)) == ""


async def test_keys_after_a_button_do_not_press_another_one() -> None:
    now = look_with_focus(*fields(), BUTTON, PAY, on="Pay")
    assert await keys_refused(now, past_click(BUTTON)) == "the focus is on push button “Pay”"
    new = replace(PAY, name="Buy")
    now = look_with_focus(*fields(), BUTTON, PAY, new, on="Buy")
    assert "“Buy”" in await keys_refused(now, past_click(BUTTON))
    secret = replace(fields()[2], role="password text", name="PIN")
    now = look_with_focus(*fields(), BUTTON, PAY, secret, on="PIN")
    assert "“PIN”" in await keys_refused(now, past_click(BUTTON))


async def test_a_focus_that_is_taken_between_two_keys_ends_them() -> None:
    answer = look_with_focus(*fields(), BUTTON, PAY, on="City")
    typed = ExecutedCall(replace(TYPING, target_look=answer), Outcome(ok=True), answer)
    stays = look_with_focus(*fields(City="x"), BUTTON, PAY, on="City")
    assert await keys_refused(stays, past_click(BUTTON), typed) == ""
    taken = look_with_focus(*fields(City="x"), BUTTON, PAY, on="Phone")
    assert await keys_refused(taken, past_click(BUTTON), typed) == "the focus is on text “Phone”"


async def test_buttons_that_come_up_where_text_is_typed_stop_no_keys() -> None:
    """Calc's input line gets "Cancel" and "Accept" as soon as a cell is typed into."""
    cancel = replace(PAY, name="Cancel", box=BoundingBox(560, 20, 600, 50, "screen"))
    now = look_with_focus(*fields(Name="Ada"), BUTTON, PAY, cancel, on="Name")
    assert await keys_refused(now, past_click(BUTTON)) == ""
    unknown = look([*fields(Name="Ada"), BUTTON, PAY, cancel], veil=VEIL)
    assert await keys_refused(unknown, past_click(BUTTON)) == "push button “Cancel” came up"


async def test_the_text_that_opens_in_a_cell_is_where_keys_go() -> None:
    """A sheet keeps the mark on the button and the cell, and opens a text for what is typed."""
    answer = look_with_focus(*fields(), BUTTON, PAY, on="Name")
    typed = ExecutedCall(replace(TYPING, target_look=answer), Outcome(ok=True), answer)
    editor = Element("paragraph", "text", BoundingBox(500, 20, 540, 40, "screen"), states=USABLE)
    now = look_with_focus(*fields(), BUTTON, PAY, editor, on="text")
    assert await keys_refused(now, past_click(BUTTON), typed) == ""


def _page(*chrome: str) -> list[Element]:
    """A browser's buttons, and a page with two fields of which the first has the focus."""
    page_box = BoundingBox(0, 60, 640, 400, "screen")
    parts = [Element("frame", "Shop", BoundingBox(0, 0, 640, 400, "screen"), parent=-1)]
    for number, name in enumerate(chrome):
        box = BoundingBox(500 + 60 * number, 0, 550 + 60 * number, 18, "screen")
        parts.append(Element("push button", name, box, text=name, parent=0))
    page = len(parts)
    parts.append(Element("document web", "Shop", page_box, parent=0))
    first, second = (
        replace(field(name, row(n), "", *state), parent=page)
        for n, name, state in ((1, "Name", ("focused",)), (2, "Street", ()))
    )
    return [*parts, first, second]


async def test_a_browsers_own_button_stops_no_keys_that_go_into_its_page() -> None:
    before, now = look(_page("Sign in")), look(_page("You"))
    tabbed = past_call(1, Press("tab"))
    typing = call(None, Write("Elm 3"))
    assert await objection(now, typing, before=before, first=tabbed) == ""
    page = [replace(e, states=e.states - {"focused"}) for e in _page("Sign in")]
    pay = replace(field("Pay", row(5), "", "focused"), role="push button", parent=2)
    reason = await objection(look([*page, pay]), typing, before=before, first=tabbed)
    assert reason == "push button “Pay” came up"


async def test_reference_look_is_taken_right_before_the_first_act() -> None:
    planned, now = look(fields()), look([*fields(), field("Voucher", row(6))])
    reader = Reader(planned, now)

    class Machine(FakeEnvironment):
        async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
            return replace(now, elements=None)

    guard = SequenceGuard(reader)
    assert await guard.reference(planned, Machine()) is now, "it came up meanwhile"
    assert reader.reads == 1


def presses_next(
    now: Observation,
    first_call: GroundedCall,
    press: GroundedCall,
    planned: Observation | None = None,
) -> str:
    """Why the next press of a call is not made; empty where it is."""
    planned = planned or look(fields())
    guard = SequenceGuard(Reader(planned, now))
    observations = planned, planned, replace(now, elements=None)
    try:
        before = [ExecutedCall(first_call, Outcome(ok=True), planned)]
        asyncio.run(guard.next_press(press, before, observations=observations))
    except ScreenChanged as error:
        return str(error)
    return ""


def test_enter_after_text_is_stopped_by_a_new_dialog() -> None:
    enter = call(None, Press("enter"))
    dialog = Element("dialog", "Sure?", BoundingBox(9, 300, 99, 350, "screen"), text="Sure?")
    reason = presses_next(look([*fields(Name="Ada"), dialog]), call(0, Write("Ada")), enter)
    assert reason == "dialog “Sure?” came up"
    assert presses_next(look(fields(Name="Ada")), call(0, Write("Ada")), enter) == ""
    opened = call(0, Hotkey(("ctrl", "s")))
    saved = look([*fields(), dialog], replace(WINDOW, active=False), Window("2", "Save", "app"))
    assert presses_next(saved, opened, enter) == "", "the dialog was asked for"


def test_enter_after_text_goes_into_no_menu_that_took_the_keys() -> None:
    entry = replace(field("Pay", row(6), "", "focused"), role="menu item", text="Pay")
    enter = call(None, Press("enter"))
    reason = presses_next(look([*fields(Name="Ada"), entry]), call(0, Write("Ada")), enter)
    assert reason == "the focus is on menu item “Pay”"
    typed = replace(fields(Name="Ada")[0], states=USABLE | {"focused"})
    now = look([typed, *fields()[1:], replace(entry, states=USABLE)])
    assert presses_next(now, call(0, Write("Ada")), enter) == "", "a list of suggestions"


@pytest.mark.parametrize(
    ("role", "at", "text", "pressed"),
    [
        ("paragraph", 2, "1", True),
        ("paragraph", 6, "12", True),  # LibreOffice tells a place of a number that is not its own
        ("paragraph", 6, "", False),
        ("menu item", 2, "12", False),
        ("entry", 2, "99", False),  # a field that came up over the one that was typed into
        ("entry", 6, "12", False),
        ("entry", 2, "12", True),
    ],
)
def test_enter_goes_to_the_text_that_typing_opened_in_place(
    role: str, at: int, text: str, pressed: bool
) -> None:
    """A cell that is typed into gives the keys to a text of its own."""
    cell = replace(field("A1", row(2), "", "focused"), role="table cell")
    states = ["focused", *(["editable"] if role != "menu item" else [])]
    opened = replace(field("", row(at), text, *states), role=role)
    planned = look([*fields(), cell])
    now = look([*fields(), replace(cell, states=USABLE), opened])
    reason = presses_next(now, call(None, Write("12")), call(None, Press("enter")), planned)
    assert (reason == "") == pressed, reason


def test_later_press_of_a_call_is_stopped_if_its_target_changed() -> None:
    swapped = [field(n, row(i)) for i, n in enumerate(("Name", "Street", "Phone", "City"))]
    now = look([replace(e, text="x") for e in swapped])
    reason = presses_next(now, call(0, Write("Ada")), call(2))
    assert reason == "at (250, 115) there is now text “Phone” in place of text “City”"
    assert presses_next(look(fields(Name="Ada")), call(0, Write("Ada")), call(2)) == ""


@pytest.mark.parametrize("beneath", ["City", ""], ids=["over a field", "over nothing"])
def test_an_entry_of_the_menu_that_the_same_call_opened_is_pressed(beneath: str) -> None:
    frame = Element("frame", "Form", BoundingBox(0, 0, 640, 400, "screen"), states=USABLE)
    menu = replace(field("File", row(0)), role="menu")
    entry = replace(field("Save as", row(2)), role="menu item", text="Save as")
    page = [frame, menu, *(e for e in fields()[1:] if e.name != "City" or beneath)]

    def look_with(*more: Element) -> Observation:
        shown = [replace(e, parent=0) for e in (*page, *more)]
        return look([replace(shown[0], parent=-1), *shown[1:]])

    planned = look_with()
    assert presses_next(look_with(entry), call(0), call(2), planned) == ""
    button = replace(entry, role="push button", text="Pay")
    assert presses_next(look_with(button), call(0), call(2), planned) != ""
