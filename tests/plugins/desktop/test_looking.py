"""Reading the elements of real applications: whole or said not to be, where they are, unharmed."""

from __future__ import annotations

import shutil
from collections.abc import AsyncIterator
from dataclasses import replace
from functools import partial

import pytest
import pytest_asyncio

from hisa.actions import Click, Hotkey, MouseDown, MouseUp, Move, Press, Scroll, Sleep, Write
from hisa.environments.transport import GuestClient, HisaTransport
from hisa.machine.patience import patience
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime import Handle
from hisa.plugins.matching.scene import Scene
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import Element, Observation
from hisa.state.roi import roi_pair
from tests.environments.conformance import find_only, observe_until

pytestmark = [pytest.mark.desktop, pytest.mark.asyncio(loop_scope="module")]
needs_calc = pytest.mark.skipif(
    not shutil.which("soffice"), reason="needs LibreOffice: scripts/install-system.sh"
)
needs_chromium = pytest.mark.skipif(
    not shutil.which("chromium"), reason="needs Chromium: scripts/install-system.sh"
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def office() -> AsyncIterator[DesktopEnvironment]:
    """On a desktop of its own: an office that was killed starts another way the next time."""
    async with DesktopEnvironment() as desktop:
        await desktop.execute("soffice --calc --norestore >/dev/null 2>&1 &")
        for _ in range(120):
            look = await desktop.observe(settle=2.0)
            if _title(look).endswith("LibreOffice Calc"):
                break
        await observe_until(
            desktop, lambda look: bool(_list_elements(look, "table cell")) and look.complete
        )
        yield desktop


@pytest_asyncio.fixture(loop_scope="module")
async def calc(office: DesktopEnvironment) -> DesktopEnvironment:
    """An office's first cell has the cursor, and no cell holds anything."""
    await office.act([Hotkey(("ctrl", "a")), Press("delete"), Hotkey(("ctrl", "home"))])
    await observe_until(
        office, lambda look: any(c.name == "A1" for c in _list_elements(look, "table cell"))
    )
    return office


def _title(look: Observation) -> str:
    return look.active.title if look.active else ""


def _list_elements(look: Observation, role: str) -> list[Element]:
    return [element for element in look.elements or () if element.role == role]


async def _is_alive(desktop: DesktopEnvironment) -> bool:
    return (await desktop.execute("pgrep -x soffice.bin")).exit_code == 0


@needs_calc
async def test_elements_read_at_each_look_end_no_office(calc: DesktopEnvironment) -> None:
    """Dialogs that are looked at while they open, are filled in and close."""
    for code in ("0.00", "#,##0.00", "0.0%"):
        await calc.act([Write("12.5"), Press("enter"), Press("up")])
        await calc.observe(elements=True)
        await calc.act([Hotkey(("ctrl", "1"))])
        look = await observe_until(calc, lambda look: "Format Cells" in _title(look))
        await calc.act([Hotkey(("alt", "f")), Hotkey(("ctrl", "a")), Write(code)])
        look = await calc.observe(elements=True)
        await calc.act([Click(find_only(look, "push button", name="OK").box.centre)])
        look = await observe_until(calc, lambda look: "Format Cells" not in _title(look))
        assert await _is_alive(calc)
        assert "Calc" in _title(look)


@needs_calc
async def test_click_in_a_spreadsheet_hits_its_target(
    calc: DesktopEnvironment,
) -> None:
    """Parts that the toolkit draws inside LibreOffice's own are told where they are."""
    look = await calc.observe(elements=True)
    for element in look.elements or ():
        assert element.role == "frame" or element.box.bottom <= look.screen.height

    add = find_only(look, "push button", name="Add")
    # The button wants a press that lasts, and repeats itself while it does.
    await calc.act([MouseDown(add.box.centre), Sleep(patience(0.1)), MouseUp()])
    look = await observe_until(calc, lambda look: len(_list_elements(look, "page tab")) > 1)
    assert [tab.name for tab in _list_elements(look, "page tab")][:2] == ["Sheet1", "Sheet2"]
    await calc.act([Click(_list_elements(look, "page tab")[0].box.centre)])
    # The sheet takes the focus a moment after the click, as a run's look after each act awaits.
    look = await calc.observe(elements=True, settle=patience(5.0))

    name_box = next(field for field in _list_elements(look, "text") if field.text == "A1")
    await calc.act([Click(name_box.box.centre)])
    look = await observe_until(calc, lambda look: _find_focused_box(look) == name_box.box)
    assert _find_focused_box(look) == name_box.box
    await calc.act([Hotkey(("ctrl", "a")), Write("C7"), Press("enter")])
    look = await observe_until(
        calc, lambda look: any(f.text == "C7" for f in _list_elements(look, "text"))
    )
    assert any(field.text == "C7" for field in _list_elements(look, "text"))

    for texts in (("Liberation Sans", "DejaVu Sans"), ("10 pt",)):  # by the fonts that are here
        look = await observe_until(calc, partial(_shows, texts=texts))
        font = next(field for field in _list_elements(look, "text") if field.text in texts)
        await calc.act([Click(font.box.centre)])
        look = await observe_until(calc, lambda look, box=font.box: _find_focused_box(look) == box)  # type: ignore[misc]
        assert _find_focused_box(look) == font.box
        await calc.act([Press("esc")])
        await calc.observe(settle=patience(5.0))


def _shows(look: Observation, texts: tuple[str, ...]) -> bool:
    return any(field.text in texts for field in _list_elements(look, "text"))


def _find_focused_box(look: Observation) -> object:
    boxes = (field.box for field in _list_elements(look, "text") if "focused" in field.states)
    return next(boxes, None)


def _cell(look: Observation, name: str) -> Element:
    return find_only(look, "table cell", name=name)


@needs_calc
async def test_reused_cell_is_as_new_as_the_screen(calc: DesktopEnvironment) -> None:
    """Cells are kept between readings only where nothing changed; scrolled ones are others."""
    first = await calc.observe(elements=True)
    await calc.act([Write("one"), Press("enter"), Write("two"), Press("enter")])
    look = await observe_until(calc, lambda look: _cell(look, "A2").text == "two")
    assert (_cell(look, "A1").text, _cell(look, "A2").text) == ("one", "two")
    assert _cell(look, "F5") == _cell(first, "F5")
    assert look.complete
    await calc.act([Press("pagedown")])
    look = await observe_until(
        calc, lambda look: not any(c.name == "A1" for c in _list_elements(look, "table cell"))
    )
    names = {cell.name for cell in _list_elements(look, "table cell")}
    assert "A1" not in names
    assert len(names) == len(_list_elements(look, "table cell")) > 300


@needs_calc
async def test_hanging_application_gives_an_incomplete_look(calc: DesktopEnvironment) -> None:
    full_look = await calc.observe(elements=True)
    assert full_look.complete
    handle = Handle.from_json(calc.handle)
    guest = GuestClient("guest", socket=handle.socket, token=handle.token)
    await calc.execute("pkill -STOP -x soffice.bin")
    try:
        look = await HisaTransport(guest).look(elements=True, settle=0.0, longer=0.2)
    finally:
        await calc.execute("pkill -CONT -x soffice.bin")
        await guest.close()
    assert not look.complete
    later_look = await observe_until(calc, lambda look: look.complete)
    assert len(later_look.elements or ()) == len(full_look.elements or ())


MUTE = """
from Xlib.display import Display
display = Display()
screen = display.screen()
window = screen.root.create_window(0, 0, 200, 100, 0, screen.root_depth)
window.set_wm_name("Mute")
window.map()
display.sync()
while True:
    display.next_event()
"""


async def test_silent_new_window_leaves_the_look_incomplete(
    desktop: DesktopEnvironment,
) -> None:
    """As an office that starts does: its window shows before the bus knows of it."""
    assert (await desktop.observe(elements=True)).complete
    await desktop.write_file("/home/user/mute.py", MUTE.encode())
    await desktop.execute("/usr/bin/python3 ~/mute.py >/dev/null 2>&1 &")
    observations: list[Observation] = []
    while not (observations and observations[-1].windows and observations[-1].complete):
        observations.append(await desktop.observe(elements=True))
    shown = [observation for observation in observations if observation.windows]
    assert [window.title for window in shown[0].windows] == ["Mute"]
    assert not shown[0].complete
    assert shown[-1].elements == ()


LATE = MUTE.replace(
    """while True:
    display.next_event()
""",
    """import pathlib, time
while not pathlib.Path("/home/user/paint").exists():
    time.sleep(0.05)
pen = window.create_gc(foreground=screen.white_pixel)
while True:
    window.fill_rectangle(pen, 20, 20, 50, 50)
    display.sync()
    time.sleep(0.05)
""",
)


async def test_a_window_that_is_not_drawn_in_time_is_named_until_it_is(
    desktop: DesktopEnvironment,
) -> None:
    await desktop.write_file("/home/user/late.py", LATE.encode())
    await desktop.execute("/usr/bin/python3 ~/late.py >/dev/null 2>&1 &")
    look = await observe_until(desktop, lambda look: bool(look.windows))
    named = [(await desktop.observe(settle=1.0)).undrawn for _ in range(3)]
    assert {*look.undrawn, *(name for names in named for name in names)} == {'window "Mute"'}
    assert named[1:] == [('window "Mute"',)] * 2
    await desktop.execute("touch ~/paint")
    look = await observe_until(desktop, lambda look: not look.undrawn)
    assert look.windows


async def test_a_window_that_shows_is_among_complete_elements(desktop: DesktopEnvironment) -> None:
    for _ in range(4):
        await desktop.execute("mousepad ~/note.txt >/dev/null 2>&1 &")
        observations: list[Observation] = []
        while not (observations and observations[-1].elements):
            observations.append(await desktop.observe(elements=True))
        wrong = [
            observation
            for observation in observations
            if observation.windows and observation.complete and not observation.elements
        ]
        assert wrong == []
        await desktop.execute("pkill -KILL -x mousepad")
        while (await desktop.observe()).windows:
            pass


def _page(number: int, link: str) -> bytes:
    rows = "".join(
        f"<tr><td>row {row}</td><td><button>Buy {row}</button></td></tr>" for row in range(9)
    )
    head = f"<title>Page {number}</title><h1>Page {number}</h1>{link}"
    table = f"<table border=1><tr><th>what</th><th>do</th></tr>{rows}</table>"
    return f"{head}{table}".encode()


@needs_chromium
@pytest.mark.browser
async def test_second_page_has_its_tables_too(desktop: DesktopEnvironment) -> None:
    await desktop.write_file("/home/user/1.html", _page(1, '<a href="2.html">next</a>'))
    await desktop.write_file("/home/user/2.html", _page(2, ""))
    await desktop.execute("chromium file:///home/user/1.html >/dev/null 2>&1 &")
    look = await _until(desktop, "Page 1")
    assert len([e for e in _list_elements(look, "push button") if e.name.startswith("Buy")]) == 9
    await desktop.act([Click(find_only(look, "link", name="next").box.centre)])
    look = await _until(desktop, "Page 2")
    assert len([e for e in _list_elements(look, "push button") if e.name.startswith("Buy")]) == 9
    assert len(_list_elements(look, "table cell")) == 18


@needs_chromium
@pytest.mark.browser
async def test_closed_list_of_a_page_has_its_chosen_value(desktop: DesktopEnvironment) -> None:
    options = "<option>None<option selected>Network<option>Software"
    lists = f"<label>Category <select>{options}</select></label><select></select>"
    page = f"<h1>Form</h1>{lists}<table><tr><td>1</table>".encode()
    await desktop.write_file("/home/user/form.html", page)
    await desktop.execute("chromium file:///home/user/form.html >/dev/null 2>&1 &")
    look = await _until(desktop, "Form")
    named, empty = _list_elements(look, "combo box")
    assert (named.name, named.text, empty.text) == ("Category", "Network", "")
    await desktop.act([Click(named.box.centre), Press("down"), Press("enter")])
    await desktop.observe(settle=2.0)
    look = await desktop.observe(elements=True, settle=2.0)
    assert find_only(look, "combo box", name="Category").text == "Software"


@needs_chromium
@pytest.mark.browser
async def test_entries_of_a_list_that_scrolled_are_as_new_as_the_picture(
    desktop: DesktopEnvironment,
) -> None:
    options = "".join(f"<option>Town {number}" for number in range(400))
    page = f"<h1>Towns</h1><select size=6 aria-label=Towns>{options}</select>".encode()
    await desktop.write_file("/home/user/towns.html", page)
    await desktop.execute("chromium file:///home/user/towns.html >/dev/null 2>&1 &")
    look = await _until(desktop, "Towns")
    at = find_only(look, "list box").box.centre
    for _ in range(6):
        before = {element.name for element in _list_elements(look, "list item")}
        await desktop.act([Scroll(-2, at=at)])
        look = await desktop.observe(elements=True, settle=2.0)
        assert {element.name for element in _list_elements(look, "list item")} != before


async def _until(desktop: DesktopEnvironment, heading: str) -> Observation:
    """The first look with that heading and a table whose rows are there."""
    for _ in range(60):
        look = await desktop.observe(elements=True, settle=2.0)
        if any(e.name == heading for e in _list_elements(look, "heading")) and look.complete:
            break
    return look


CODE_PAGE = b"""<!doctype html><title>Code</title><style>p { margin: 0 }</style><h1>Code</h1>
<div role="textbox" aria-multiline="true" aria-label="first" contenteditable="true"
 ><p><span>table</span><span>[</span><span>'sale'</span>]</p><p><b>table</b>.sum()</p></div>
<div role="textbox" aria-multiline="true" contenteditable="true"><p>other</p></div>
<div tabindex="0" aria-label="Markdown Cell Content"><h2>Totals</h2></div>
<section tabindex="0" aria-label="Code Cell Content"><input aria-label="in" value="1 + 1"></section>
<div title="Save it" style="display: inline-block"><button><svg width="20" height="20"
 ><circle cx="10" cy="10" r="8"/></svg></button></div>"""


@needs_chromium
@pytest.mark.browser
async def test_page_has_editor_lines_cells_and_button_tips(
    desktop: DesktopEnvironment,
) -> None:
    """As JupyterLab's cells are: each line is an object of its own, of coloured pieces."""
    await desktop.write_file("/home/user/code.html", CODE_PAGE)
    await desktop.execute("chromium file:///home/user/code.html >/dev/null 2>&1 &")
    look = await _until(desktop, "Code")
    fields = [e for e in look.elements or () if "multi-line" in e.states]
    assert [field.text for field in fields] == ["table['sale']\ntable.sum()", "other"]
    things = Scene(look).things
    below = next(thing for thing in things if thing.element == fields[1])
    assert not any("table" in text for text, _ in below.labels)
    buttons = [t.element.name for t in things if t.role == "push button"]
    assert "Save it" in buttons, "the tip of what holds it alone"
    cells = [(t.element.name, t.element.text) for t in things if t.role == "cell"]
    assert cells == [("Markdown", "Totals"), ("Code", "1 + 1")]


_FORM = """
import gi, sys
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window, said = Gtk.Window(title=sys.argv[1]), Gtk.Label()
window.move(int(sys.argv[2]), 20)
def say(thing, text):
    said.set_text("did " + text)
column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
bar, top, choices = Gtk.MenuBar(), Gtk.MenuItem(label="File"), Gtk.Menu()
for text in ("Open", "Save"):
    choice = Gtk.MenuItem(label=text)
    choice.connect("activate", say, text)
    choices.append(choice)
top.set_submenu(choices)
bar.append(top)
combo = Gtk.ComboBoxText()
for text in ("red", "green"):
    combo.append_text(text)
combo.connect("changed", lambda combo: say(combo, combo.get_active_text()))
rows = Gtk.ListStore(str)
for number in range(4):
    rows.append([f"row {number}"])
table = Gtk.TreeView(model=rows)
table.append_column(Gtk.TreeViewColumn("Name", Gtk.CellRendererText(), text=0))
table.connect("cursor-changed", lambda _: say(_, rows[table.get_cursor()[0]][0]))
button = Gtk.Button(label="Press")
button.connect("clicked", say, "Press")
for part in (bar, said, button, combo, table):
    column.add(part)
window.add(column)
window.show_all()
Gtk.main()
"""


def _parts(look: Observation, window: str, role: str, name: str) -> list[Element]:
    return [e for e in _list_elements(look, role) if e.name == name and e.window in (window, "")]


_CLICKED = (
    (("push button", "Press"),),
    (("menu", "File"), ("menu item", "Save")),
    (("combo box", ""), ("menu item", "green")),
    (("table cell", "row 2"),),
)


async def test_scaled_window_is_clicked_where_it_is(
    desktop: DesktopEnvironment,
) -> None:
    """GTK tells a window at GDK_SCALE=2 at half its place; one beside it is where it is told."""
    await desktop.write_file("/tmp/form.py", _FORM.encode())
    for scale, title, left in ((1, "Plain", 20), (2, "Fine", 300)):
        start = f"GDK_SCALE={scale} /usr/bin/python3 /tmp/form.py {title} {left}"
        await desktop.execute(f"{start} >/dev/null 2>&1 &")
        await observe_until(desktop, lambda look, title=title: _title(look) == title)  # type: ignore[misc]
    for window in ("Fine", "Plain"):
        for parts in _CLICKED:
            await _click_through(desktop, window, parts)
            text = f"did {parts[-1][1]}"
            look = await observe_until(
                desktop,
                lambda look, at=(window, "label", text): bool(_parts(look, *at)),  # type: ignore[misc]
            )
            assert _parts(look, window, "label", text)
            assert look.complete


async def _click_through(
    desktop: DesktopEnvironment, window: str, parts: tuple[tuple[str, str], ...]
) -> None:
    for part in parts:
        look = await observe_until(
            desktop,
            lambda look, part=part: bool(_parts(look, window, *part)),  # type: ignore[misc]
        )
        await desktop.act([Click(_parts(look, window, *part)[0].box.centre)])


_ICONS = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import GdkPixbuf, Gtk
window, pane = Gtk.Window(title="Icons"), Gtk.ScrolledWindow()
window.set_default_size(300, 300)
picture = GdkPixbuf.Pixbuf.new(GdkPixbuf.Colorspace.RGB, False, 8, 64, 64)
rows = Gtk.ListStore(str, GdkPixbuf.Pixbuf)
for number in range(30):
    rows.append([f"icon {number}", picture])
view = Gtk.IconView(model=rows, text_column=0, pixbuf_column=1, columns=2)
said = Gtk.Label()
def say(view):
    said.set_text("did " + ", ".join(rows[path][0] for path in view.get_selected_items()))
view.connect("selection-changed", say)
pane.add(view)
column = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
column.pack_start(pane, True, True, 0)
column.add(said)
window.add(column)
window.show_all()
Gtk.main()
"""


@pytest.mark.parametrize("scale", [1, 2])
async def test_a_scrolled_icon_is_clicked_where_it_is(
    desktop: DesktopEnvironment, scale: int
) -> None:
    """GTK tells icons where they would be if nothing was scrolled."""
    await desktop.write_file("/tmp/icons.py", _ICONS.encode())
    await desktop.execute(f"GDK_SCALE={scale} /usr/bin/python3 /tmp/icons.py >/dev/null 2>&1 &")
    look = await observe_until(desktop, lambda look: bool(_list_elements(look, "icon")))
    pane = find_only(look, "layered pane").box
    for _ in range(2):
        await desktop.act([Scroll(dy=-3, at=pane.centre)])
        look = await observe_until(desktop, lambda look: bool(_list_elements(look, "icon")))
        inside = [e for e in _list_elements(look, "icon") if _is_inside(e.box, pane)]
        assert inside
        await desktop.act([Click(inside[0].box.centre)])
        text = f"did {inside[0].text}"
        look = await observe_until(
            desktop,
            lambda look, text=text: bool(_parts(look, "Icons", "label", text)),  # type: ignore[misc]
        )
        assert _parts(look, "Icons", "label", text)


def _is_inside(box: BoundingBox, other: BoundingBox) -> bool:
    return box.top >= other.top and box.bottom <= other.bottom


_POPOVER = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window = Gtk.Window(title="Pane")
window.set_default_size(400, 200)
pane = Gtk.ScrolledWindow()
pane.set_size_request(300, 80)
rows = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
more, popover = Gtk.MenuButton(label="More"), Gtk.Popover()
entries = Gtk.Box(orientation=Gtk.Orientation.VERTICAL)
choices = Gtk.ComboBoxText()
for number in range(8):
    entries.add(Gtk.Button(label=f"Entry {number}"))
    choices.append_text(f"Choice {number}")
entries.show_all()
popover.add(entries)
more.set_popover(popover)
for part in (more, choices, *(Gtk.Label(label=f"Row {number}") for number in range(10))):
    rows.add(part)
pane.add(rows)
window.add(pane)
window.show_all()
Gtk.main()
"""


async def test_popup_out_of_a_pane_is_read_in_full(desktop: DesktopEnvironment) -> None:
    """GTK 3's viewports end what is seen of their parts, but not a popover or a list of choices."""
    await desktop.write_file("/tmp/popover.py", _POPOVER.encode())
    await desktop.execute("/usr/bin/python3 /tmp/popover.py >/dev/null 2>&1 &")
    look = await observe_until(desktop, lambda look: bool(_list_elements(look, "toggle button")))
    assert "Row 9" not in {element.name for element in look.elements or ()}
    choices = find_only(look, "combo box").box
    await desktop.act([Click(find_only(look, "toggle button", name="More").box.centre)])
    look = await observe_until(desktop, lambda look: "Entry 7" in _names(look))
    assert {f"Entry {number}" for number in range(8)} <= _names(look)
    await desktop.act([Press("esc")])
    await observe_until(desktop, lambda look: "Entry 7" not in _names(look))
    await desktop.act([Click(choices.centre)])
    look = await observe_until(desktop, lambda look: "Choice 7" in _names(look))
    assert {f"Choice {number}" for number in range(8)} <= _names(look)


_ROWS = """
import gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window = Gtk.Window(title="Orders")
window.set_default_size(600, 300)
pane, rows = Gtk.ScrolledWindow(), Gtk.ListBox()
for number in range(40):
    rows.add(Gtk.Button(label=f"Ship {number}"))
pane.add(rows)
window.add(pane)
window.show_all()
Gtk.main()
"""


async def test_a_list_that_is_scrolled_by_more_than_its_height_is_still_read(
    desktop: DesktopEnvironment,
) -> None:
    await desktop.write_file("/tmp/rows.py", _ROWS.encode())
    await desktop.execute("/usr/bin/python3 /tmp/rows.py >/dev/null 2>&1 &")
    look = await observe_until(desktop, lambda look: "Ship 0" in _names(look))
    for _ in range(30):
        await desktop.act([Scroll(-3, at=Point(640, 360, "screen"))])
        look = await desktop.observe(elements=True, settle=1.0)
        if "Ship 39" in _names(look):
            break
    assert "Ship 39" in _names(look)


def _names(look: Observation) -> set[str]:
    return {element.name for element in look.elements or ()}


@pytest.mark.skipif(not shutil.which("featherpad"), reason="needs Qt 5: featherpad")
async def test_a_program_of_qt_is_read_and_outlives_it(desktop: DesktopEnvironment) -> None:
    """Qt 5 ends when it is asked for all properties of an element at once."""
    start = "QT_LINUX_ACCESSIBILITY_ALWAYS_ON=1 featherpad --standalone /etc/hostname"
    await desktop.execute(f"{start} >/dev/null 2>&1 &")
    look = await observe_until(desktop, lambda look: bool(_list_elements(look, "page tab")))
    names = [element.name for element in _list_elements(look, "push button")]
    assert {"New", "Open", "Reload"} <= set(names)
    again = await desktop.observe(elements=True)
    assert _list_elements(again, "page tab")
    assert (await desktop.execute("pgrep -x featherpad")).exit_code == 0


async def test_pointer_shape_over_a_field_does_not_count_as_change() -> None:
    size = Size(1920, 1080)
    async with DesktopEnvironment(size) as desktop:
        await desktop.act([Move(Point(size.width - 5, size.height - 5, "screen"))])
        await desktop.execute("mousepad ~/note.txt >/dev/null 2>&1 &")
        look = await observe_until(
            desktop, lambda look: bool(_list_elements(look, "text")) and look.complete
        )
        before = await desktop.observe(settle=2.0)
        await desktop.act([Move(find_only(look, "text").box.centre)])
        after = await desktop.observe(settle=2.0)
    assert before.under_pointer is not None
    assert after.under_pointer is not None
    arrow, beam = (
        observation.screenshot.crop(observation.under_pointer.box).sha256
        for observation in (before, after)
        if observation.under_pointer
    )
    assert arrow != beam
    assert roi_pair(before, after) is None
    bare = [replace(observation, under_pointer=None) for observation in (before, after)]
    assert roi_pair(*bare) is not None, "which a guest that tells nothing cannot know"
