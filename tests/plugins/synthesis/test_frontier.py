"""The frontier and the offers of hand-made looks."""

from __future__ import annotations

import pytest

from hisa.plugins.synthesis.frontier import Frontier, screen_id, state_id
from hisa.plugins.synthesis.offers import ESCAPE, at_rest, is_left_alone, offered_keys, offers
from hisa.plugins.synthesis.records import Act, Change, Fact
from hisa.plugins.synthesis.subject import Subject
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Element, Observation, Screenshot, Window

PAD = Subject(
    name="pad", title="the pad", setup=(), main="Pad", words=("Berlin", "42"), leave=("Wipe",)
)
STATES = frozenset({"showing", "visible", "enabled", "sensitive"})


def element(
    role: str,
    name: str,
    row: int,
    parent: int,
    *states: str,
    window: str = "notes - Pad",
    text: str = "",
    label: str = "",
    app: str = "pad",
    column: int = 0,
) -> Element:
    box = BoundingBox(10 + column, 20 * row, 90 + column, 20 * row + 18, "screen")
    return Element(
        role,
        name,
        box,
        text=text,
        label=label,
        states=STATES | set(states),
        app=app,
        window=window,
        parent=parent,
    )


def look(
    *elements: Element, front: str = "notes - Pad", behind: tuple[str, ...] = ()
) -> Observation:
    windows = tuple(
        Window(title, title, "pad", active=title == front) for title in (*behind, front)
    )
    size = Size(640, 480)
    return Observation(Screenshot.from_rgb(size, bytes(3 * 640 * 480)), size, windows, elements)


FRAME = Element(
    "frame",
    "notes - Pad",
    BoundingBox(0, 0, 640, 480, "screen"),
    states=STATES | {"active"},
    window="notes - Pad",
    parent=-1,
)
BAR = element("menu bar", "", 0, 0)
PLAIN = look(
    FRAME,
    BAR,
    element("menu", "File", 0, 1),
    element("menu", "View", 0, 1, column=100),
    element("text", "", 5, 0, "editable", "multi-line"),
)
OPEN = look(
    FRAME,
    BAR,
    element("menu", "File", 0, 1),
    element("menu", "View", 0, 1, column=100),
    element("check menu item", "Ruler", 2, 3, column=100),
    element("menu item", "Print...", 3, 3, column=100),
    element("text", "", 5, 0, "editable", "multi-line"),
)


def list_kinds_and_names(acts: list[Act]) -> list[tuple[str, str]]:
    return [(act.kind, act.name or act.text) for act in acts]


def test_a_window_at_rest_offers_menus_texts_and_one_menu_of_a_kind() -> None:
    assert at_rest(PLAIN)
    assert list_kinds_and_names(offers(PLAIN, PAD)) == [
        ("type", "Berlin"),
        ("type", "42"),
        ("click", "File"),
        ("click", "View"),
        ("right_click", ""),
    ]
    assert len(set(offered_keys(PLAIN, PAD))) == 4  # texts of one field are one act


def test_an_open_menu_offers_its_entries_and_the_bar_and_nothing_below() -> None:
    assert not at_rest(OPEN)
    assert list_kinds_and_names(offers(OPEN, PAD)) == [("click", "File"), ("click", "Ruler")]
    assert ESCAPE.key in offered_keys(OPEN, PAD)


def test_frontier_offers_only_controls_of_the_front_window() -> None:
    dialog = "Settings"
    observation = look(
        *PLAIN.elements or (),
        element("dialog", dialog, 9, -1, "active", window=dialog, column=220),
        element("check box", "Wrap", 10, 5, window=dialog, column=220),
        element("text", "", 12, 5, "editable", window=dialog, label="E-mail:", column=220),
        element("push button", "Close", 14, 5, window=dialog, column=220),
        front=dialog,
        behind=("notes - Pad",),
    )
    assert not at_rest(observation)
    assert list_kinds_and_names(offers(observation, PAD)) == [
        ("type", "Berlin"),
        ("type", "42"),
        ("click", "Wrap"),
        ("click", "Close"),
    ]


def test_a_window_of_another_program_offers_nothing() -> None:
    folder = element("icon", "march.txt", 10, 5, window="Files", app="files")
    top = element("frame", "Files", 9, -1, "active", window="Files", app="files")
    observation = look(*PLAIN.elements or (), top, folder, front="Files", behind=("notes - Pad",))
    assert offers(observation, PAD) == []
    assert not at_rest(observation)


@pytest.mark.parametrize(
    ("role", "name", "left"),
    [
        ("menu item", "Quit", True),
        ("menu item", "Print…", True),
        ("menu item", "About Pad", True),
        ("menu item", "Close Window", True),
        ("push button", "Send", True),
        ("menu item", "Wipe", True),
        ("menu item", "Delete Line", False),
        ("menu item", "Format Disk…", True),
        ("menu", "Format", False),
        ("menu item", "Format Cells...", False),
        ("menu item", "Closed captions", False),
        ("menu item", "Printable area", False),
        ("menu", "Help", True),
        ("check box", "Highlight current line", False),
    ],
)
def test_dangerous_controls_are_left_alone(role: str, name: str, left: bool) -> None:
    assert is_left_alone(element(role, name, 1, 0), PAD) is left


def test_a_page_of_this_machine_may_be_submitted() -> None:
    launch = ({"launch": "chromium --app=http://127.0.0.1:8123/"},)
    page = PAD.model_copy(update={"domain": "browser", "setup": launch})
    away = page.model_copy(update={"setup": ({"launch": "chromium http://example.org/"},)})
    for name in ("Submit", "Send"):
        assert not is_left_alone(element("push button", name, 1, 0), page)
        assert is_left_alone(element("push button", name, 1, 0), away)


def test_cells_of_a_sheet_take_a_text_and_enter_and_only_some_are_tried() -> None:
    sheet = PAD.model_copy(update={"documents": ("~/a.ods",)})
    cells = [element("table cell", f"A{row}", row, 1) for row in range(1, 20)]
    observation = look(FRAME, element("table", "Sheet", 0, 0), *cells)
    acts = offers(observation, sheet)
    typed = [act for act in acts if act.kind == "type"]
    assert {act.name for act in typed} == {"A1", "A2", "A3", "A4"}
    assert {act.keys for act in typed} == {("enter",)}


def test_state_id_depends_only_on_screen_and_changes() -> None:
    marked = look(*PLAIN.elements or (), front="*notes - Pad")
    assert screen_id(marked) == screen_id(PLAIN)
    assert screen_id(OPEN) != screen_id(PLAIN)
    change = Change(fact=Fact("gsettings", "org.pad", "ruler"), before="false", after="true")
    assert state_id("a", [change]) != state_id("a", [])
    assert state_id("a", [change, change.model_copy(update={"before": "x"})]) == state_id(
        "a", [change, change]
    )


def test_the_least_visited_act_comes_first_also_behind_a_known_way() -> None:
    frontier, plain, opened = Frontier(), offers(PLAIN, PAD), offers(OPEN, PAD)
    view = next(act for act in plain if act.name == "View")
    for act in plain:
        frontier.begin("plain", act.key)
    frontier.learn(view.key, [act.key for act in opened])
    choice = frontier.choose(0, "plain", plain)
    assert choice is not None
    ruler = opened[1].key
    assert (choice.act.name, choice.then, choice.tries) == ("View", ruler, 0)
    frontier.root = frozenset(act.key for act in plain)
    other = frontier.choose(1, "other", plain)
    assert other is not None
    assert other.then != ruler  # the first worker is on its way there
    assert frontier.choose(0, "other", plain[:1]) is not None  # the first one goes elsewhere
    assert frontier.untried_from_root()
    frontier.forget(view.key, ruler)
    assert not frontier.untried_from_root()
    assert frontier.choose(0, "plain", plain) is None  # all was tried here, and no way leads on
