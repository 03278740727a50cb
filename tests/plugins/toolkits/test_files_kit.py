"""Files and programs on a private desktop; each result is seen another way."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.files import FILES
from hisa.plugins.toolkits.shell import SHELL
from hisa.tools.base import Tool
from hisa.tools.toolkit import Toolkit
from tests.plugins.toolkits.using import Using, documented

KITS = (FILES, SHELL)
HOSTILE = ("$(touch gone).txt", "; rm -rf ~ #", "a\nb.txt", "-rf", "`id`.txt", "o'n\"e & |.txt")
"""File names that mean something to a shell, or to an option parser."""

pytestmark = pytest.mark.asyncio(loop_scope="module")
desktop = pytest.mark.desktop


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def machine() -> AsyncIterator[DesktopEnvironment]:
    async with DesktopEnvironment() as environment:
        yield environment


@pytest.fixture(scope="module")
def called() -> dict[str, Using]:
    return {}


@pytest.fixture
def use(machine: DesktopEnvironment, called: dict[str, Using]) -> dict[str, Using]:
    for kit in KITS:
        called.setdefault(kit.name, Using(kit, machine))
    return called


@pytest.fixture
def folder() -> str:
    return f"/home/user/{uuid.uuid4().hex}"


async def is_there(machine: DesktopEnvironment, path: str) -> bool:
    return (await machine.execute(["test", "-e", path])).exit_code == 0


@pytest.mark.parametrize(("tool", "example"), documented(*KITS))
async def test_every_example_fits(tool: Tool, example: str) -> None:
    assert tool.arguments(example)
    assert tool.takes_text != example.startswith("{"), "a text alone where there is one argument"


@pytest.mark.parametrize("kit", KITS, ids=lambda kit: kit.name)
async def test_every_tool_has_an_example(kit: Toolkit) -> None:
    assert [tool.name for tool in kit.tools() if not tool.examples] == []


# Files --------------------------------------------------------------------------------------------


@desktop
async def test_a_folder_is_listed(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    for name, data in ((".hidden", b""), ("b.txt", b"12345"), ("Sub/c.txt", b"")):
        await machine.write_file(f"{folder}/{name}", data)
    lines = (await use["files"]("list", folder=folder)).splitlines()
    assert lines[0] == f"{folder}: 2 entries"
    assert lines[1].startswith("Sub | folder, 20")
    assert lines[2].startswith("b.txt | 5 bytes, 20")
    assert ".hidden" in await use["files"]("list", folder=folder, hidden=True)
    said = await use["files"].refused("list", folder=f"{folder}/b.txt")
    assert said == f"'{folder}/b.txt' is no folder"
    assert "there is no" in await use["files"].refused("list", folder=f"{folder}/no")


@desktop
async def test_files_are_found_by_name_content_and_age(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    await machine.write_file(f"{folder}/a/One.TXT", "first\nthe Größe is 5\n".encode())
    await machine.write_file(f"{folder}/a/two.txt", b"nothing")
    await machine.write_file(f"{folder}/b/three.md", "größe".encode("utf-16"))
    await machine.execute(["touch", "-d", "10 days ago", f"{folder}/a/two.txt"])
    find = use["files"]
    by_name = await find("find", folder=folder, name="*.txt")
    assert by_name.startswith("2 found")
    assert "One.TXT" in by_name
    assert "two.txt" in by_name
    by_content = await find("find", folder=folder, contains="größe")
    assert "a/One.TXT" in by_content
    assert "| 2: the Größe is 5" in by_content
    assert "b/three.md" in by_content
    assert by_content.startswith("2 found")
    old = await find("find", folder=folder, older_days=5, kind="file")
    assert old.startswith("1 found")
    assert "two.txt" in old
    new = await find("find", folder=folder, newer_days=5, kind="file")
    assert new.startswith("2 found")
    assert "two.txt" not in new


@desktop
async def test_text_is_read_by_lines_and_in_its_encoding(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    text = "".join(f"line {number} ü\n" for number in range(1, 101))
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        await machine.write_file(f"{folder}/{encoding}.txt", text.encode(encoding))
        said = await use["files"]("read", path=f"{folder}/{encoding}.txt", first=-2)
        head = f"{folder}/{encoding}.txt: lines 99 to 100 of 100, {encoding}"
        assert said == f"{head}\nline 99 ü\nline 100 ü"
    part = await use["files"]("read", path=f"{folder}/utf-8.txt", first=3, last=4)
    assert part.endswith("\nline 3 ü\nline 4 ü")
    await machine.write_file(f"{folder}/long.txt", b"x" * 50_000 + b"\nthe end")
    long = await use["files"]("read", path=f"{folder}/long.txt")
    assert long.endswith("the end")
    assert len(long) < 13_000
    assert "left out" in long
    await machine.write_file(f"{folder}/binary", b"\x7fELF\0\0")
    assert "zero bytes" in await use["files"].refused("read", path=f"{folder}/binary")


@desktop
async def test_what_is_written_reads_back_and_what_was_there_is_in_the_bin(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    path = f"{folder}/new/notes.txt"
    said = await use["files"]("write", path=path, text="ä\nb\n", encoding="latin-1")
    assert said == f"{path} reads back as written: 2 lines, 4 bytes, iso8859-1"
    assert await machine.read_file(path) == "ä\nb\n".encode("latin-1")
    assert "with overwrite" in await use["files"].refused("write", path=path, text="c")
    assert await machine.read_file(path) == "ä\nb\n".encode("latin-1")
    said = await use["files"]("write", path=path, text="c", overwrite=True)
    assert said.endswith("1 line, 1 bytes, utf-8; what was there is in the bin")
    bin_ = "/home/user/.local/share/Trash/files/notes.txt"
    assert await machine.read_file(bin_) == "ä\nb\n".encode("latin-1")
    said = await use["files"].refused("write", path=f"{folder}/x", text="€", encoding="latin-1")
    assert "has no '€'" in said
    assert not await is_there(machine, f"{folder}/x")


@desktop
async def test_lines_are_added_and_replaced_as_the_file_is_written(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    path = f"{folder}/a.txt"
    await machine.write_file(path, "Straße 1\r\nport=80".encode("cp1252"))
    await machine.execute(["chmod", "600", path])
    await use["files"]("append", path=path, text="last\n")
    assert await machine.read_file(path) == "Straße 1\r\nport=80\r\nlast\r\n".encode("cp1252")
    said = await use["files"]("replace", path=path, find="port=80", replacement="port=8080\\1")
    assert said.splitlines()[1] == "2: port=8080\\1"
    said = await use["files"](
        "replace", path=path, find=r"(\w+)e (\d)", replacement=r"\2 \1", regex=True
    )
    assert said.startswith("1 replacement. ")
    wanted = "1 Straß\r\nport=8080\\1\r\nlast\r\n".encode("cp1252")
    assert await machine.read_file(path) == wanted
    mode = await machine.execute(["stat", "-c", "%a", path])
    assert mode.output.strip() == "600"
    said = await use["files"].refused("replace", path=path, find="nowhere", replacement="")
    assert "nothing was changed" in said
    said = await use["files"].refused("replace", path=path, find="(", replacement="", regex=True)
    assert "unterminated" in said
    assert await machine.read_file(path) == wanted


@desktop
async def test_files_are_copied_moved_and_deleted(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    await machine.write_file(f"{folder}/tree/a.txt", b"1")
    await machine.write_file(f"{folder}/tree/deep/b.txt", b"22")
    said = await use["files"]("make_folder", folder=f"{folder}/to/here")
    assert said == f"The folder {folder}/to/here is there now"
    said = await use["files"]("copy", source=f"{folder}/tree", target=f"{folder}/to/here")
    assert said == f"Copied to {folder}/to/here/tree: 2 files, 3 bytes"
    assert await machine.read_file(f"{folder}/to/here/tree/deep/b.txt") == b"22"
    said = await use["files"]("move", source=f"{folder}/tree/a.txt", target=f"{folder}/c.txt")
    assert await machine.read_file(f"{folder}/c.txt") == b"1"
    assert not await is_there(machine, f"{folder}/tree/a.txt")
    await machine.write_file(f"{folder}/d.txt", b"new")
    move = {"source": f"{folder}/d.txt", "target": f"{folder}/c.txt"}
    assert "with overwrite" in await use["files"].refused("move", **move)
    assert await machine.read_file(f"{folder}/c.txt") == b"1"
    assert "in the bin" in await use["files"]("move", **move, overwrite=True)
    assert await machine.read_file(f"{folder}/c.txt") == b"new"
    inside = await use["files"].refused("move", source=folder, target=f"{folder}/to")
    assert "inside of it" in inside
    said = await use["files"]("delete", paths=[f"{folder}/to", f"{folder}/c.txt"])
    assert said.startswith("In the bin now:")
    assert "2 files, 3 bytes" in said
    assert not await is_there(machine, f"{folder}/to")
    assert await is_there(machine, "/home/user/.local/share/Trash/files/to/here/tree/deep/b.txt")
    await use["files"]("delete", paths=[f"{folder}/tree"], for_good=True)
    assert not await is_there(machine, f"{folder}/tree")
    assert not await is_there(machine, "/home/user/.local/share/Trash/files/tree")
    for each in ("/", "~", "/home"):
        assert "holds the home folder" in await use["files"].refused("delete", paths=[each])


@desktop
async def test_many_files_are_renamed_after_a_preview(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    for name in ("IMG_10.png", "IMG_9.png", "other.txt"):
        await machine.write_file(f"{folder}/{name}", name.encode())
    rename = {"folder": folder, "pattern": r"^IMG_\d+(\..*)$", "replacement": r"photo-{n}\1"}
    said = await use["files"]("rename", **rename)
    assert said.startswith("2 of 3 entries would be renamed")
    assert await is_there(machine, f"{folder}/IMG_9.png")
    said = await use["files"]("rename", **rename, preview=False)
    assert said.endswith("IMG_9.png -> photo-1.png\nIMG_10.png -> photo-2.png")
    assert await machine.read_file(f"{folder}/photo-2.png") == b"IMG_10.png"
    both = await use["files"].refused(
        "rename", folder=folder, pattern=r"-\d", replacement="", preview=False
    )
    assert "two entries would be 'photo.png'" in both
    out = await use["files"].refused(
        "rename", folder=folder, pattern="^", replacement="../", preview=False
    )
    assert "is no file name" in out


@desktop
async def test_a_file_is_described(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    await machine.write_file(f"{folder}/a.txt", b"hello\n")
    said = await use["files"]("info", path=f"{folder}/a.txt")
    assert "type: text/plain" in said
    assert "bytes: 6" in said
    assert f"sha256: {hashlib.sha256(b'hello' + bytes([10])).hexdigest()}" in said
    assert "files: 1" in await use["files"]("info", path=folder)


@desktop
async def test_a_file_opens_in_its_application(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    await machine.write_file(f"{folder}/opened here.txt", b"hello\n")
    if not (await machine.execute("xdg-mime query default text/plain")).output.strip():
        refusal = await use["files"].refused("open", path=f"{folder}/opened here.txt")
        assert "mousepad" in refusal.partition("programs that can open it: ")[2]
    default = b"[Default Applications]\ntext/plain=org.xfce.mousepad.desktop\n"
    await machine.write_file("/home/user/.config/mimeapps.list", default)
    said = await use["files"]("open", path=f"{folder}/opened here.txt")
    assert "opened here.txt" in said.partition("New windows: ")[2]
    look = await machine.observe()
    assert any("opened here.txt" in window.title for window in look.windows)
    said = await use["files"].refused("open", path=folder, app="no-such-program")
    assert said == "there is no program 'no-such-program'"


@desktop
@pytest.mark.parametrize("name", HOSTILE)
async def test_no_character_of_a_name_means_anything_but_itself(
    name: str, machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    path = f"{folder}/{name}"
    await use["files"]("write", path=path, text="kept")
    await use["files"]("copy", source=path, target=f"{folder}/to/{name}")
    listed = await use["files"]("list", folder=folder)
    assert len(listed.splitlines()) == 3, "one line for each entry"
    said = await use["shell"]("run", command=["cat", "--", path])
    assert said == "kept"
    await use["files"]("delete", paths=[path])
    assert not await is_there(machine, path)
    assert await machine.read_file(f"{folder}/to/{name}") == b"kept"
    assert not await is_there(machine, "/home/user/gone")


# Programs -----------------------------------------------------------------------------------------


@desktop
async def test_a_program_runs_with_its_input_and_folder(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    await machine.write_file(f"{folder}/a.txt", b"")
    assert await use["shell"]("run", command=["sort", "-u"], stdin="b\na\nb\n") == "a\nb\n"
    assert await use["shell"]("run", command=["ls"], folder=folder) == "a.txt\n"
    assert await use["shell"]("run", command=["echo", "$HOME", "*", "| id"]) == "$HOME * | id\n"
    bad = await use["shell"].outcome("run", {"command": ["ls", "/nowhere"]})
    assert (bad.ok, bad.exit_code) == (False, 2)
    assert "/nowhere" in bad.error
    late = await use["shell"].outcome("run", {"command": ["sleep", "60"], "seconds": 0.5})
    assert not late.ok
    assert late.error == "killed after 0.5 s"
    said = await use["shell"].refused("run", command=["ls -l"])
    assert said == "there is no program 'ls -l'; each word is one item of the list"
    endless = await use["shell"].outcome("run", {"command": ["yes"], "seconds": 0.5})
    assert len(endless.output) < 10_000


@desktop
async def test_a_program_left_in_the_background_is_not_waited_for(
    use: dict[str, Using],
) -> None:
    said = await use["shell"]("run", command=["sh", "-c", "sleep 300 & echo $!"], seconds=30)
    assert await use["shell"]("end", pid=int(said)) == f"process {said.strip()} (sleep) has ended"


@desktop
async def test_a_program_is_started_listed_and_ended(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    name = f"held-{uuid.uuid4().hex}"
    await machine.write_file(
        f"{folder}/{name}", b"#!/bin/sh\ntrap '' TERM\nwhile :; do sleep 1; done"
    )
    await machine.execute(["chmod", "755", f"{folder}/{name}"])
    said = await use["shell"]("start", command=[f"./{name}"], folder=folder, window=False)
    pid = int(said.split()[1])
    assert said.startswith(f"Process {pid} runs; it writes to /tmp/started-")
    listed = await use["shell"]("processes", name=name)
    assert listed.startswith("1 process\n")
    assert f"\n{pid} " in listed
    said = await use["shell"].refused("end", pid=pid, wait=0.5)
    assert "still runs after 0.5 s" in said
    assert "has ended" in await use["shell"]("end", pid=pid, force=True)
    assert not await is_there(machine, f"/proc/{pid}")
    assert (await use["shell"]("processes", name=name)).startswith("0 processes")
    said = await use["shell"].refused("start", command=["ls", "/nowhere"], window=False)
    assert said.startswith("it ended at once, exit status 2")
    assert "/nowhere" in said


@desktop
async def test_a_program_with_a_window_is_started(
    machine: DesktopEnvironment, use: dict[str, Using], folder: str
) -> None:
    await machine.write_file(f"{folder}/in a window.txt", b"")
    said = await use["shell"]("start", command=["mousepad", "in a window.txt"], folder=folder)
    assert "in a window.txt" in said.partition("New windows: ")[2]


@desktop
async def test_what_the_desktop_stands_on_is_not_ended(
    machine: DesktopEnvironment, use: dict[str, Using]
) -> None:
    guest = await machine.execute("ps -o ppid= -p $$")
    said = await use["shell"].refused("end", pid=int(guest.output))
    assert "this desktop stands on" in said
    assert await use["shell"].refused("end", pid=4_000_000) == "there is no process 4000000"


@desktop
async def test_variables_and_programs_are_told(
    machine: DesktopEnvironment, use: dict[str, Using]
) -> None:
    names = await use["shell"]("environment")
    assert "HOME" in names.split(", ")
    assert "/home/user" not in names
    assert await use["shell"]("environment", name="HOME") == "HOME=/home/user"
    assert (await use["shell"]("which", program="sh")).startswith("/usr/bin/sh")
    assert "there is no program 'nothing-of-the-kind'" in await use["shell"](
        "which", program="nothing-of-the-kind"
    )


@desktop
async def test_every_function_was_called(called: dict[str, Using]) -> None:
    assert {kit: using.names - using.called for kit, using in called.items()} == {
        kit.name: set() for kit in KITS
    }
