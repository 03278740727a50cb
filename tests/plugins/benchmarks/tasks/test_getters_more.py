"""Getters that read the browser's bar and tables, slides, and settings of programs."""

from __future__ import annotations

import dataclasses
import io
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from pptx import Presentation
from pptx.opc.package import Part
from pptx.opc.packuri import PackURI

from hisa.errors import UsageError
from hisa.protocols import CommandResult
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element, Observation
from tests.plugins.benchmarks.tasks.machine import Machine
from tests.plugins.benchmarks.tasks.test_getters import run_getter

MAIN = "http://schemas.openxmlformats.org/{}/2006/main"
LINKS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"


class Showing(Machine):
    """A machine that shows the elements it is given."""

    def __init__(self, *rows: tuple[str, str, str]) -> None:
        super().__init__()
        box = BoundingBox(0, 0, 100, 20, "screen")
        self._shown_elements = tuple(
            Element(role, name, box, text=text) for role, name, text in rows
        )

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        observation = await super().observe(elements=False, settle=settle)
        return dataclasses.replace(observation, elements=self._shown_elements if elements else None)


def browser(address: str) -> Showing:
    return Showing(("entry", "Address and search bar", address))


@pytest.mark.parametrize(
    ("kind", "config", "expected"),
    [
        ("active_url_from_accessTree", {}, "https://a.org/x/p-1?q=cat&r=1,2"),
        (
            "active_url_from_accessTree",
            {"goto_prefix": "https://www."},
            "https://www.a.org/x/p-1?q=cat&r=1,2",
        ),
        ("active_tab_url_parse", {"parse_keys": ["q", "none"]}, {"q": "cat", "none": ""}),
        ("active_tab_url_parse", {"parse_keys": ["q"], "replace": {"q": "what"}}, {"what": "cat"}),
        ("active_tab_url_parse", {"parse_keys": ["r"], "split_list": True}, {"r": ["1", "2"]}),
        ("url_dashPart", {"partIndex": -1, "needDeleteId": True, "returnType": "string"}, "p-1"),
        ("url_dashPart", {"partIndex": "3", "returnType": "json", "key": "k"}, {"k": "x"}),
        ("url_dashPart", {"partIndex": 9, "returnType": "string"}, None),
    ],
)
async def test_the_address(
    tmp_path: Path, kind: str, config: dict[str, Any], expected: Any
) -> None:
    assert (
        await run_getter(tmp_path, kind, browser("a.org/x/p-1?q=cat&r=1,2"), **config) == expected
    )
    assert await run_getter(tmp_path, kind, browser(""), **config) is None
    assert await run_getter(tmp_path, kind, Showing(), **config) is None


async def test_the_address_where_the_machine_is_slow_with_its_elements(tmp_path: Path) -> None:
    tab_list = '[{"type": "page", "url": "https://a.org/x/"}]'
    machine = Machine({"urllib": CommandResult(0, tab_list)}, windows=["A - Google Chrome"])
    assert await run_getter(tmp_path, "active_url_from_accessTree", machine) == "https://a.org/x"
    silent = Machine({"urllib": CommandResult(1, "", "refused")}, windows=["A - Google Chrome"])
    assert await run_getter(tmp_path, "active_url_from_accessTree", silent) is None


def table(folder: Path, *statements: str) -> bytes:
    path = folder / "made.sqlite"
    path.unlink(missing_ok=True)
    base = sqlite3.connect(path)
    for statement in statements:
        base.execute(statement)
    base.commit()
    base.close()
    return path.read_bytes()


@pytest.mark.process
@pytest.mark.parametrize(
    ("kind", "file", "make", "row"),
    [
        ("cookie_data", "Cookies", "cookies (creation_utc, host_key)", (7, ".amazon.com")),
        ("history", "History", "urls (url, title, last_visit_time)", ("https://a.org", "A", 9)),
    ],
)
async def test_tables_of_chrome(
    tmp_path: Path, kind: str, file: str, make: str, row: tuple[Any, ...]
) -> None:
    machine, place = Machine(), f"~/.config/chromium/Default/{file}"
    assert await run_getter(tmp_path, kind, machine, dest="kept") is None
    values = ", ".join(repr(value) for value in row)
    filled = table(
        tmp_path, f"CREATE TABLE {make}", f"INSERT INTO {make.split()[0]} VALUES ({values})"
    )
    await machine.write_file(place, filled)
    assert await run_getter(tmp_path, kind, machine, dest="kept") == [row]
    for broken in (b"no table", filled[: len(filled) // 3], table(tmp_path, "CREATE TABLE t (x)")):
        await machine.write_file(place, broken)
        assert await run_getter(tmp_path, kind, machine, dest="kept") is None
    with pytest.raises(UsageError, match="plain file name"):
        await run_getter(tmp_path, kind, machine, dest="../kept")


def deck(*, background: bytes = b"", sound: bytes = b"", linked: str = "") -> bytes:
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    if background:
        _, link = slide.part.get_or_add_image_part(io.BytesIO(background))
        slide.background.fill.solid()
        (properties,) = slide.element.iter(f"{{{MAIN.format('presentationml')}}}bgPr")
        blip = f"{{{MAIN.format('drawingml')}}}blip"
        fill = properties.makeelement(f"{blip}Fill")
        fill.append(fill.makeelement(blip, {f"{{{LINKS}}}embed": link}))
        properties.append(fill)
    kind = f"{LINKS}/audio"
    if sound:
        name = PackURI("/ppt/media/media1.wav")
        slide.part.relate_to(Part(name, "audio/wav", slide.part.package, sound), kind)
    if linked:
        slide.part.relate_to(linked, kind, is_external=True)
    file = io.BytesIO()
    presentation.save(file)
    return file.getvalue()


def picture() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(file, "PNG")
    return file.getvalue()


@pytest.mark.process
async def test_slide_getter_returns_background_and_audio(tmp_path: Path) -> None:
    machine = Machine()
    config = {"ppt_file_path": "/deck.pptx", "slide_index": "0", "dest": "kept"}

    async def read_media(kind: str, content: bytes | None, **more: Any) -> bytes | None:
        if content is not None:
            await machine.write_file("/deck.pptx", content)
        path = await run_getter(tmp_path, kind, machine, **{**config, **more})
        data = None if path is None else path.read_bytes()
        (tmp_path / "scratch" / "kept").unlink(missing_ok=True)
        return data

    image, sound = "background_image_in_slide", "audio_in_slide"
    assert await read_media(image, None) is None
    assert await read_media(image, deck()) is None
    assert await read_media(sound, deck()) is None
    assert await read_media(image, deck(background=picture())) == picture()
    assert await read_media(image, deck(background=picture()), slide_index=4) is None
    assert await read_media(sound, deck(background=picture())) is None
    assert await read_media(sound, deck(sound=b"RIFF")) == b"RIFF"
    await machine.write_file("/home/user/a b.mp3", b"ID3")
    assert await read_media(sound, deck(linked="file:///home/user/a%20b.mp3")) == b"ID3"
    assert await read_media(sound, deck(linked="file:///home/user/none.mp3")) is None
    (tmp_path / "scratch" / "kept").write_bytes(b"of another getter")
    assert await read_media(sound, deck()) is None


async def test_vscode_getter_returns_the_file_its_command_writes(tmp_path: Path) -> None:
    class Editor(Machine):
        async def act(self, actions: Sequence[Any], /) -> None:
            typed.extend(actions)
            if typed[-1].kind == "press":
                await self.write_file("/out.txt", typed[-2].text.encode())

    typed: list[Any] = []
    config = {"vscode_extension_command": "Show it", "path": "/out.txt", "dest": "out.txt"}
    path = await run_getter(tmp_path, "vscode_config", Editor(), **config)
    assert path.read_bytes() == b"Show it"
    assert [action.kind for action in typed] == ["hotkey", "write", "press"]
    assert await run_getter(tmp_path, "vscode_config", Machine(), **config) is None


async def test_terminal_getter_returns_the_shown_text(tmp_path: Path) -> None:
    machine = Showing(("terminal", "", "$ ls\n"), ("terminal", "", "$ pwd\n/home/user\n\n"))
    assert await run_getter(tmp_path, "vm_terminal_output", machine) == "$ pwd\n/home/user"
    assert await run_getter(tmp_path, "vm_terminal_output") is None
