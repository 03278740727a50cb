"""How each application is opened, typed into and saved from."""

from __future__ import annotations

import io
import json
import posixpath
import zipfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from benchmarks.machine_apps.hand import TEXT, Failed, Hand
from hisa.actions import Click, Hotkey, Press, Write
from hisa.screen.observation import Element, Observation

__all__ = ["TRIALS", "Trial"]

Step = Callable[[Hand], Awaitable[None]]
_HOME = "/home/user"
_NAME = f"{_HOME}/Größe 漢字"
"""A file's name without its ending; it is typed into the dialogs that save."""


@dataclass(frozen=True)
class Trial:
    """What is tried with one application; a text in place of a step says why it is not tried."""

    window: str
    """Part of the title of its window."""
    types: Step | str
    saves: Step | str
    argument: str = ""
    """What it opens."""
    prepare: Step | None = None


def _expect(data: bytes, begins: bytes) -> None:
    if not data.startswith(begins):
        raise Failed(f"the saved file begins with {data[:12]!r}")


async def _types(hand: Hand) -> None:
    await hand.do(Write(TEXT))
    await hand.reads(TEXT)


async def _saves_text(hand: Hand) -> None:
    await hand.name_file("ctrl", "s", path=f"{_NAME}.txt")
    data = await hand.file(f"{_NAME}.txt")
    if data.decode().strip() != TEXT:
        raise Failed(f"the file holds {data.decode()!r}")


def _saves_office(ending: str) -> Step:
    async def saves(hand: Hand) -> None:
        await hand.name_file("ctrl", "s", path=f"{_NAME}.{ending}")
        data = await hand.file(f"{_NAME}.{ending}")
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            text = archive.read("content.xml").decode()
        if TEXT not in text:
            raise Failed("the saved document does not hold what was typed")

    return saves


async def _types_cell(hand: Hand) -> None:
    await hand.do(Write(TEXT), Press("enter"))
    await hand.reads(TEXT)


async def _types_title(hand: Hand) -> None:
    """A presentation first asks for a template; the title takes text after Ctrl+Enter."""
    await hand.opens("Select a Template")
    await hand.do(Press("esc"), Hotkey(("ctrl", "enter")), Write(TEXT))
    await hand.reads(TEXT)
    await hand.do(Press("esc"))


async def _page(hand: Hand) -> None:
    page = b"<title>Field</title><textarea autofocus rows=8 cols=60></textarea>"
    await hand.desktop.write_file(f"{_HOME}/field.html", page)


async def _saves_page(hand: Hand) -> None:
    await hand.name_file("ctrl", "s", path=f"{_NAME}.html")
    if b"textarea" not in await hand.file(f"{_NAME}.html"):
        raise Failed("the saved page is another")


async def _types_image_name(hand: Hand) -> None:
    """A new image, and its name in the dialog that saves it."""
    await hand.do(Hotkey(("ctrl", "n")))
    await hand.opens("Create a New Image")
    await hand.do(Press("enter"))
    await hand.opens("Untitled")
    await hand.ask("ctrl", "s")
    await hand.do(Hotkey(("ctrl", "a")), Write(f"{_NAME}.xcf"))
    await hand.reads("Größe 漢字.xcf")


async def _saves_image(hand: Hand) -> None:
    await hand.pause(0.6)
    await hand.do(Press("enter"))
    _expect(await hand.file(f"{_NAME}.xcf"), b"gimp xcf")


async def _clip(hand: Hand) -> None:
    made = f"ffmpeg -f lavfi -i testsrc=d=30:s=320x200 -f lavfi -i sine=d=30 {_HOME}/clip.mp4"
    done = await hand.desktop.execute(made)
    if done.exit_code:
        raise Failed(f"ffmpeg: {done.error[-200:]}")


async def _types_address(hand: Hand) -> None:
    await hand.ask("ctrl", "n")
    await hand.do(Write(TEXT))
    await hand.reads(TEXT)
    await hand.do(Press("esc"))


async def _saves_playlist(hand: Hand) -> None:
    await hand.name_file("ctrl", "y", path=f"{_NAME}.xspf")
    if b"clip.mp4" not in await hand.file(f"{_NAME}.xspf"):
        raise Failed("the playlist does not hold the clip")


async def _types_full_name(hand: Hand) -> None:
    """The first field of the account that a fresh profile asks for."""
    await _types(hand)


async def _types_command(hand: Hand) -> None:
    await hand.do(Write(f"echo '{TEXT}' > '{_NAME}.txt'; cat '{_NAME}.txt'"), Press("enter"))
    await hand.reads(TEXT)


async def _saves_by_command(hand: Hand) -> None:
    data = await hand.file(f"{_NAME}.txt")
    if data.decode().strip() != TEXT:
        raise Failed(f"the file holds {data.decode()!r}")


async def _types_folder(hand: Hand) -> None:
    await hand.do(Hotkey(("ctrl", "shift", "n")), Write("Größe 漢字"))
    await hand.pause(0.6)
    await hand.do(Press("enter"))
    await hand.reads("Größe 漢字")


async def _saves_folder(hand: Hand) -> None:
    done = await hand.desktop.execute(["test", "-d", _NAME])
    if done.exit_code:
        raise Failed("the folder was not made")


async def _picture(hand: Hand) -> None:
    done = await hand.desktop.execute(["convert", "-size", "300x200", "xc:red", f"{_HOME}/red.png"])
    if done.exit_code:
        raise Failed(f"convert: {done.error[-200:]}")


async def _types_copy_name(hand: Hand) -> None:
    await hand.ask("ctrl", "shift", "s")
    await hand.do(Hotkey(("ctrl", "a")), Write(f"{_NAME}.png"))
    await hand.reads("Größe 漢字.png")


async def _saves_copy(hand: Hand) -> None:
    await hand.pause(0.6)
    await hand.do(Press("enter"))
    _expect(await hand.file(f"{_NAME}.png"), b"\x89PNG")


async def _document(hand: Hand) -> None:
    await hand.desktop.write_file(f"{_HOME}/page.pdf", _pdf())


def _pdf() -> bytes:
    """A document of one empty page."""
    objects = (
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 200]>>",
    )
    out, places = b"%PDF-1.4\n", []
    for number, text in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj%s endobj\n" % (number, text)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer<</Size 4/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % len(out)
    return out + b"xref\n0 4\n0000000000 65535 f \n" + table + end


async def _types_search(hand: Hand) -> None:
    await hand.do(Hotkey(("ctrl", "f")), Write(TEXT))
    await hand.reads(TEXT)
    await hand.do(Press("esc"))


async def _saves_pdf(hand: Hand) -> None:
    await hand.name_file("ctrl", "s", path=f"{_NAME}.pdf")
    _expect(await hand.file(f"{_NAME}.pdf"), b"%PDF")


async def _types_sum(hand: Hand) -> None:
    """The result says whether the root sign arrived: of nothing else is it 12."""
    await hand.do(Write("√144"), Press("enter"))
    await hand.reads("12")


async def _archive(hand: Hand) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        made.writestr("one.txt", "one")
    await hand.desktop.write_file(f"{_HOME}/one.zip", buffer.getvalue())


async def _saves_archive(hand: Hand) -> None:
    """Its dialog takes a name without a folder and adds the ending."""
    await hand.name_file("ctrl", "shift", "s", path=posixpath.basename(_NAME))
    _expect(await hand.file(f"{_NAME}.tar.gz"), b"\x1f\x8b")


async def _notebook(hand: Hand) -> None:
    cell = {"cell_type": "code", "id": "a", "metadata": {}, "source": "", "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3"}
    made = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernel},
        "cells": [{**cell, "execution_count": None}],
    }
    await hand.desktop.write_file(f"{_HOME}/one.ipynb", json.dumps(made).encode())


async def _types_in_cell(hand: Hand) -> None:
    """The editor of the first cell is the lowest thing on the page that takes text.

    It is typed into once the kernel is idle: before that the page has only the field that filters
    files.
    """

    def cells(seen: Observation) -> list[Element]:
        return [
            each
            for each in seen.elements or ()
            if {"editable", "showing"} <= each.states and each.box.top > _BAR
        ]

    await hand.reads("| Idle")
    seen = await hand.until(lambda seen: bool(cells(seen)), "no cell takes text")
    lowest = max(cells(seen), key=lambda cell: cell.box.top)
    await hand.do(Click(lowest.box.centre), Write(f"print('{TEXT}')"))
    await hand.do(Hotkey(("shift", "enter")))
    await hand.reads(TEXT)


async def _saves_notebook(hand: Hand) -> None:
    """Saves until the output is in the file: the kernel may still start when the cell is run."""
    output = ""
    for _ in range(20):
        await hand.do(Hotkey(("ctrl", "s")))
        await hand.pause(2.0)
        made = json.loads(await hand.file(f"{_HOME}/one.ipynb"))
        outputs = made["cells"][0]["outputs"]
        output = "".join("".join(each.get("text", "")) for each in outputs)
        if output.strip() == TEXT:
            return
    raise Failed(f"the cell's output is {output!r}")


async def _types_in_editor(hand: Hand) -> None:
    """A new file; the window is there before what it shows."""
    await hand.reads("Explorer")
    await hand.do(Hotkey(("ctrl", "n")))
    await hand.reads("Untitled-1")
    await _types(hand)


async def _saves_from_editor(hand: Hand) -> None:
    """Its dialog is a field in the window, which asks on while it looks for the folder."""
    await hand.do(Hotkey(("ctrl", "s")))
    await hand.reads("Save As")
    await hand.do(Hotkey(("ctrl", "a")), Write(f"{_NAME}.txt"))
    for _ in range(2):
        await hand.pause(2.0)
        await hand.do(Press("enter"))
    data = await hand.file(f"{_NAME}.txt")
    if data.decode().strip() != TEXT:
        raise Failed(f"the file holds {data.decode()!r}")


_BAR = 150
"""Above it are the browser's own bars, in pixels of the screen."""
_NOTHING = "not tried: it saves nothing of its own"
TRIALS: Mapping[str, Trial] = {
    "Calc": Trial("Calc", _types_cell, _saves_office("ods")),
    "Writer": Trial("Writer", _types, _saves_office("odt")),
    "Impress": Trial("Impress", _types_title, _saves_office("odp")),
    "Chromium": Trial(
        "Field", _types, _saves_page, argument=f"file://{_HOME}/field.html", prepare=_page
    ),
    "GIMP": Trial("GNU Image Manipulation Program", _types_image_name, _saves_image),
    "VLC": Trial(
        "VLC", _types_address, _saves_playlist, argument=f"{_HOME}/clip.mp4", prepare=_clip
    ),
    "Thunderbird": Trial(
        "Thunderbird", _types_full_name, "not tried: what it saves needs an account"
    ),
    "Terminal": Trial("user@desktop", _types_command, _saves_by_command),
    "Files": Trial("Home", _types_folder, _saves_folder),
    "Image Viewer": Trial(
        "red.png", _types_copy_name, _saves_copy, argument=f"{_HOME}/red.png", prepare=_picture
    ),
    "Document Viewer": Trial(
        "page.pdf", _types_search, _saves_pdf, argument=f"{_HOME}/page.pdf", prepare=_document
    ),
    "Calculator": Trial("Calculator", _types_sum, _NOTHING),
    "gedit": Trial("gedit", _types, _saves_text),
    "Mousepad": Trial("Mousepad", _types, _saves_text),
    "Archive Manager": Trial(
        "one.zip", _types_search, _saves_archive, argument=f"{_HOME}/one.zip", prepare=_archive
    ),
    "Visual Studio Code": Trial("Visual Studio Code", _types_in_editor, _saves_from_editor),
    "JupyterLab": Trial(
        "JupyterLab",
        _types_in_cell,
        _saves_notebook,
        argument=f"{_HOME}/one.ipynb",
        prepare=_notebook,
    ),
    "Settings": Trial("Settings", _types_search, _NOTHING),
}
"""By the application's title."""
