"""The screens of further desktop programs: of Xfce, MATE, GNOME and Qt."""

from __future__ import annotations

import io
import shlex
import zipfile

from PIL import Image, ImageDraw

from benchmarks.grounding.drive import AWAY, await_click, open_program, until
from benchmarks.grounding.recipe import LARGE, UHD, screen
from hisa.actions import Click, Hotkey, Move, Press, Write
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Point

HOME = "/home/user"
MEADOW = Point(900, 330, "screen")
"""The icon of meadow.png; Thunar tells nothing of its icons."""
PACKAGES = {
    "thunar": "thunar",
    "atril": "atril",
    "engrampa": "engrampa",
    "meld": "meld",
    "ristretto": "ristretto",
    "gucharmap": "gucharmap",
    "xfce4-mouse-settings": "xfce4-settings",
    "xfce4-appearance-settings": "xfce4-settings",
    "xfce4-keyboard-settings": "xfce4-settings",
    "xfce4-screenshooter": "xfce4-screenshooter",
    "featherpad": "featherpad",
    "qpdfview": "qpdfview",
    "catfish": "catfish",
    "homebank": "homebank",
    "inkscape": "inkscape",
    "transmission-gtk": "transmission-gtk",
    "xfce4-display-settings": "xfce4-settings",
}
"""Debian's package of each program."""


async def _start(desktop: DesktopEnvironment, command: str, title: str) -> None:
    """Start a program, its name first in the command, and wait for its window.

    Raises:
        RuntimeError: it is not installed; its package is named.
    """
    words = shlex.split(command)
    program = next(word for word in words if word != "env" and "=" not in word)
    if (await desktop.execute(["sh", "-c", f"command -v {program}"])).exit_code:
        raise RuntimeError(f"{program} is not installed; sudo apt-get install {PACKAGES[program]}")
    await open_program(desktop, command, title)


def _drawing(seed: int, size: tuple[int, int] = (900, 600)) -> bytes:
    """A picture of a few flat hills, as PNG."""
    picture = Image.new("RGB", size, (190 + seed * 7 % 50, 215, 240 - seed * 11 % 60))
    pen = ImageDraw.Draw(picture)
    width, height = size
    for layer in range(4):
        top = height * (4 + layer) // 8
        shift = (seed * 131 + layer * 217) % width
        colour = (60 + 30 * layer, 120 - 15 * layer + seed * 5 % 40, 70 + seed * 9 % 60)
        pen.ellipse((shift - width, top, shift + width // 2, height * 2), fill=colour)
        pen.ellipse((shift, top + 40, shift + width, height * 2), fill=colour)
    pen.ellipse((width * 3 // 4, 50, width * 3 // 4 + 90, 140), fill=(250, 225, 120))
    buffer = io.BytesIO()
    picture.save(buffer, "PNG")
    return buffer.getvalue()


def _document(pages: list[tuple[str, list[str]]]) -> bytes:
    """A PDF of plain pages, each a heading and lines, with an outline of the headings."""
    objects = ["<</Type/Catalog/Pages 2 0 R/Outlines 4 0 R/PageMode/UseOutlines>>"]
    count = len(pages)
    kids = " ".join(f"{5 + 3 * n} 0 R" for n in range(count))
    objects.append(f"<</Type/Pages/Count {count}/Kids[{kids}]>>")
    objects.append("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>")
    objects.append(f"<</Type/Outlines/First 7 0 R/Last {4 + 3 * count} 0 R/Count {count}>>")
    for number, (heading, lines) in enumerate(pages):
        first = 5 + 3 * number
        rows = "".join(f"0 -24 Td ({line}) Tj " for line in lines)
        text = f"BT /F 24 Tf 60 760 Td ({heading}) Tj /F 13 Tf 0 -16 Td {rows}ET"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents {first + 1} 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>"
        )
        objects.append(f"<</Length {len(text)}>>stream\n{text}\nendstream")
        near = f"/Prev {first - 1} 0 R" if number else ""
        near += f"/Next {first + 5} 0 R" if number + 1 < count else ""
        objects.append(f"<</Title({heading})/Parent 4 0 R/Dest[{first} 0 R/Fit]{near}>>")
    body, places = "%PDF-1.4\n", []
    for number, entry in enumerate(objects, 1):
        places.append(len(body))
        body += f"{number} 0 obj{entry}endobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    end = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    end += f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>startxref\n{len(body)}\n%%EOF"
    return (body + end).encode("latin-1")


MANUAL = [
    ("Kettle K40", ["Instructions for use", "Keep this booklet.", "", "Model K40, 1.7 litres"]),
    ("Safety", ["Never fill above the mark MAX.", "Unplug before cleaning.", "Mind the steam."]),
    ("First use", ["Boil twice and pour the water away.", "Then the kettle is ready."]),
    ("Descaling", ["Fill half with vinegar.", "Wait for thirty minutes.", "Rinse three times."]),
    ("Guarantee", ["Two years from the day of purchase.", "Keep the receipt."]),
]


async def _workshop(desktop: DesktopEnvironment) -> str:
    """A folder of mixed files and subfolders; its path."""
    folder = f"{HOME}/Workshop"
    names = ("Bookings", "Choir", "Invoices 2025", "Old slides")
    await desktop.execute(["mkdir", "-p", *(f"{folder}/{name}" for name in names)])
    for number, name in enumerate(("harbour.png", "meadow.png", "winter.png")):
        await desktop.write_file(f"{folder}/{name}", _drawing(number + 2))
    await desktop.write_file(f"{folder}/kettle.pdf", _document(MANUAL))
    texts = ("guests.csv", "plan.txt", "song list.txt", "stage.svg.bak", "backup-march.tar.gz")
    for number, name in enumerate(texts):
        await desktop.write_file(f"{folder}/{name}", b"a,b\n" * (40 + 977 * number * number))
    await desktop.execute(f"cd {folder} && touch -d '2025-02-11 09:30' *")
    await desktop.execute(f"cd {folder} && touch -d '2024-08-02 17:45' plan.txt Choir winter.png")
    return folder


@screen(split="train", app="thunar")
async def thunar_icons(desktop: DesktopEnvironment) -> None:
    """Thunar with a folder as icons and the context menu of a picture open."""
    folder = await _workshop(desktop)
    await _start(desktop, f"thunar {folder}", "Workshop")
    await desktop.act([Hotkey(("ctrl", "1"))])
    await desktop.act([Click(MEADOW), Click(MEADOW, button="right")])


@screen(split="train", app="thunar", size=LARGE)
async def thunar_list(desktop: DesktopEnvironment) -> None:
    """Thunar with a folder as a detailed list, in a dark theme, one file selected."""
    folder = await _workshop(desktop)
    await _start(desktop, f"env GTK_THEME=Adwaita:dark thunar {folder}", "Workshop")
    await desktop.act([Hotkey(("ctrl", "2"))])
    await desktop.act([await await_click(desktop, "table cell", "guests.csv"), Move(AWAY)])


@screen(split="train", app="atril")
async def atril_manual(desktop: DesktopEnvironment) -> None:
    """Atril with a manual of five pages, its index beside it and the search bar open."""
    await desktop.write_file(f"{HOME}/kettle.pdf", _document(MANUAL))
    await _start(desktop, f"atril {HOME}/kettle.pdf", "kettle")
    await desktop.execute("wmctrl -r :ACTIVE: -b add,maximized_vert,maximized_horz")
    await desktop.act([Press("f9"), Hotkey(("ctrl", "f")), Write("water"), Move(AWAY)])


@screen(split="train", app="engrampa")
async def engrampa_archive(desktop: DesktopEnvironment) -> None:
    """Engrampa with a ZIP archive, its folders and files as a list."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, name in enumerate(
            (
                "drawings/front.svg",
                "drawings/side.svg",
                "licence.txt",
                "parts/bolt M6.stl",
                "parts/hinge.stl",
                "photo-01.jpg",
                "photo-02.jpg",
                "README",
                "shopping.ods",
            )
        ):
            info = zipfile.ZipInfo(name, (2025, 1, 3 + number, 12, 5 * number, 0))
            archive.writestr(info, b"x" * (700 + 9001 * number))
    await desktop.write_file(f"{HOME}/birdhouse.zip", buffer.getvalue())
    await _start(desktop, f"engrampa {HOME}/birdhouse.zip", "birdhouse")


@screen(split="train", app="meld", size=LARGE)
async def meld_compare(desktop: DesktopEnvironment) -> None:
    """Meld with two versions of a text side by side."""
    old = "Menu of the week\n\nMonday: lentil soup\nTuesday: pasta\nWednesday: closed\n"
    old += "Thursday: fish pie\nFriday: pancakes\n\nPrices from 6 pounds.\n"
    new = old.replace("pasta", "risotto").replace("fish pie", "fish curry")
    new += "Children eat for half.\n"
    await desktop.write_file(f"{HOME}/menu-old.txt", old.encode())
    await desktop.write_file(f"{HOME}/menu-new.txt", new.encode())
    await _start(desktop, f"meld {HOME}/menu-old.txt {HOME}/menu-new.txt", "Meld")
    await desktop.act([Move(AWAY)])


@screen(split="train", app="ristretto")
async def ristretto_picture(desktop: DesktopEnvironment) -> None:
    """Ristretto with a picture and the thumbnails of its folder."""
    for number in range(6):
        await desktop.write_file(f"{HOME}/Trip/day {number + 1}.png", _drawing(number))
    await _start(desktop, f"ristretto '{HOME}/Trip/day 3.png'", "")
    for _ in range(2):  # two warnings that no service draws thumbnails
        await desktop.act([await await_click(desktop, "push button", "OK")])
    await until(
        desktop,
        lambda observation: "day 3" in (observation.active.title if observation.active else ""),
    )
    await desktop.act([Move(AWAY)])


@screen(split="train", app="gucharmap")
async def gucharmap_greek(desktop: DesktopEnvironment) -> None:
    """The character map with the Greek script."""
    await _start(desktop, "gucharmap", "Character Map")
    latin = await await_click(desktop, "table cell", "Latin")
    await desktop.act([latin, Write("Greek"), Press("enter")])


@screen(split="train", app="xfce4-mouse-settings")
async def mouse_settings(desktop: DesktopEnvironment) -> None:
    """Xfce's dialog for mouse and touchpad, its second page."""
    await _start(desktop, "xfce4-mouse-settings", "Mouse")
    await desktop.act([await await_click(desktop, "page tab", "Behavior"), Move(AWAY)])


@screen(split="train", app="xfce4-keyboard-settings")
async def keyboard_settings(desktop: DesktopEnvironment) -> None:
    """Xfce's dialog for the keyboard, its first page."""
    await _start(desktop, "xfce4-keyboard-settings", "Keyboard")
    await desktop.act([Move(AWAY)])


@screen(split="train", app="xfce4-appearance-settings")
async def appearance_fonts(desktop: DesktopEnvironment) -> None:
    """Xfce's dialog for the appearance in a dark theme, its page of fonts."""
    await _start(desktop, "env GTK_THEME=Adwaita:dark xfce4-appearance-settings", "Appearance")
    await desktop.act([await await_click(desktop, "page tab", "Fonts"), Move(AWAY)])


@screen(split="train", app="xfce4-display-settings", size=UHD)
async def display_settings(desktop: DesktopEnvironment) -> None:
    """Xfce's dialog for displays with large letters."""
    await _start(desktop, "env GDK_DPI_SCALE=1.8 xfce4-display-settings", "Display")
    await desktop.act([Move(AWAY)])


@screen(split="train", app="catfish")
async def catfish_search(desktop: DesktopEnvironment) -> None:
    """Catfish, a search for files, in a dark theme with a few words typed."""
    await _workshop(desktop)
    await _start(desktop, f"env GTK_THEME=Adwaita:dark catfish --path={HOME}", "Catfish")
    await desktop.act([Write("song"), Press("enter"), Move(AWAY)])


@screen(split="train", app="xfce4-screenshooter")
async def screenshot_dialog(desktop: DesktopEnvironment) -> None:
    """Xfce's dialog before a screenshot is taken."""
    await _start(desktop, "xfce4-screenshooter", "Screenshot")
    await desktop.act([Move(AWAY)])


@screen(split="train", app="homebank", size=LARGE)
async def homebank_accounts(desktop: DesktopEnvironment) -> None:
    """HomeBank, a program for one's money, before the first account."""
    await _start(desktop, "homebank", "HomeBank")
    await until(desktop, lambda observation: len(observation.windows) > 1)
    await desktop.act([Press("esc"), Move(AWAY)])


@screen(split="train", app="transmission")
async def transmission_preferences(desktop: DesktopEnvironment) -> None:
    """Transmission's preferences over its main window, the page of speeds."""
    await _start(desktop, "transmission-gtk", "")
    await desktop.act([await await_click(desktop, "push button", "I Agree")])
    await desktop.act([await await_click(desktop, "menu", "Edit")])
    await desktop.act([await await_click(desktop, "menu item", "Preferences")])
    await desktop.act([await await_click(desktop, "page tab", "Speed"), Move(AWAY)])


@screen(split="train", app="inkscape", size=LARGE)
async def inkscape_drawing(desktop: DesktopEnvironment) -> None:
    """Inkscape with a small drawing."""
    drawing = '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="200">'
    drawing += '<rect x="20" y="30" width="120" height="80" fill="#c0392b"/>'
    drawing += '<circle cx="210" cy="110" r="60" fill="#2471a3"/></svg>'
    await desktop.write_file(f"{HOME}/sign.svg", drawing.encode())
    await _start(desktop, f"inkscape {HOME}/sign.svg", "sign")
    await desktop.act([Move(AWAY)])


@screen(split="train", app="featherpad")
async def featherpad_replace(desktop: DesktopEnvironment) -> None:
    """FeatherPad, an editor of Qt, with two tabs and its pane for replacing open."""
    code = b"rate = 0.035\nyears = 12\nfor year in range(years):\n    print(year, rate)\n"
    await desktop.write_file(f"{HOME}/loan.py", code)
    await desktop.write_file(f"{HOME}/names.txt", b"Ada\nGrace\nEdsger\n")
    command = f"featherpad --standalone {HOME}/loan.py {HOME}/names.txt"
    await _start(desktop, f"env QT_LINUX_ACCESSIBILITY_ALWAYS_ON=1 {command}", "loan.py")
    await desktop.act([Hotkey(("ctrl", "r")), Move(AWAY)])


@screen(split="train", app="qpdfview")
async def qpdfview_manual(desktop: DesktopEnvironment) -> None:
    """Qpdfview, a viewer of Qt, with a manual and its outline."""
    await desktop.write_file(f"{HOME}/kettle.pdf", _document(MANUAL))
    command = f"qpdfview {HOME}/kettle.pdf"
    await _start(desktop, f"env QT_LINUX_ACCESSIBILITY_ALWAYS_ON=1 {command}", "pdf")
    await desktop.act([Press("f6"), Move(AWAY)])
