"""Text files on a private desktop; each result is seen another way."""

from __future__ import annotations

import uuid

import pytest

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.files import FILES
from tests.plugins.toolkits.using import KitCaller

HOSTILE = ("$(touch gone).txt", "a\nb.txt", "-rf", "o'n\"e & |; #.txt")
"""File names that mean something to a shell, or to an option parser."""

pytestmark = pytest.mark.asyncio(loop_scope="module")
desktop = pytest.mark.desktop


@pytest.fixture(scope="module")
def use(machine: DesktopEnvironment) -> KitCaller:
    return KitCaller(FILES, machine)


@pytest.fixture
def folder() -> str:
    return f"/home/user/{uuid.uuid4().hex}"


async def is_there(machine: DesktopEnvironment, path: str) -> bool:
    return (await machine.execute(["test", "-e", path])).exit_code == 0


@desktop
async def test_text_is_read_by_lines_and_in_its_encoding(
    machine: DesktopEnvironment, use: KitCaller, folder: str
) -> None:
    text = "".join(f"line {number} ü\n" for number in range(1, 101))
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "cp1252"):
        await machine.write_file(f"{folder}/{encoding}.txt", text.encode(encoding))
        output = await use("read", path=f"{folder}/{encoding}.txt", first=-2)
        head = f"{folder}/{encoding}.txt: lines 99 to 100 of 100, {encoding}"
        assert output == f"{head}\nline 99 ü\nline 100 ü"
    part = await use("read", path=f"{folder}/utf-8.txt", first=3, last=4)
    assert part.endswith("\nline 3 ü\nline 4 ü")
    await machine.write_file(f"{folder}/long.txt", b"x" * 50_000 + b"\nthe end")
    long = await use("read", path=f"{folder}/long.txt")
    assert long.endswith("the end")
    assert len(long) < 13_000
    assert "left out" in long
    await machine.write_file(f"{folder}/binary", b"\x7fELF\0\0")
    assert "zero bytes" in await use.expect_refusal("read", path=f"{folder}/binary")


@desktop
async def test_written_file_reads_back_and_the_old_file_is_in_the_bin(
    machine: DesktopEnvironment, use: KitCaller, folder: str
) -> None:
    path = f"{folder}/new/notes.txt"
    output = await use("write", path=path, text="ä\nb\n", encoding="latin-1")
    assert output == f"{path} reads back as written: 2 lines, 4 bytes, iso8859-1"
    assert await machine.read_file(path) == "ä\nb\n".encode("latin-1")
    assert "with overwrite" in await use.expect_refusal("write", path=path, text="c")
    assert await machine.read_file(path) == "ä\nb\n".encode("latin-1")
    output = await use("write", path=path, text="c", overwrite=True)
    assert output.endswith("1 line, 1 bytes, utf-8; the earlier file is in the bin")
    bin_ = "/home/user/.local/share/Trash/files/notes.txt"
    assert await machine.read_file(bin_) == "ä\nb\n".encode("latin-1")
    output = await use.expect_refusal("write", path=f"{folder}/x", text="€", encoding="latin-1")
    assert "has no '€'" in output
    assert not await is_there(machine, f"{folder}/x")


@desktop
async def test_lines_are_replaced_as_the_file_is_written(
    machine: DesktopEnvironment, use: KitCaller, folder: str
) -> None:
    path = f"{folder}/a.txt"
    await machine.write_file(path, "Straße 1\r\nport=80\r\nlast\r\n".encode("cp1252"))
    await machine.execute(["chmod", "600", path])
    output = await use("replace", path=path, find="port=80", replacement="port=8080\\1")
    assert output.splitlines()[1] == "2: port=8080\\1"
    output = await use("replace", path=path, find=r"(\w+)e (\d)", replacement=r"\2 \1", regex=True)
    assert output.startswith("1 replacement. ")
    expected = "1 Straß\r\nport=8080\\1\r\nlast\r\n".encode("cp1252")
    assert await machine.read_file(path) == expected
    mode = await machine.execute(["stat", "-c", "%a", path])
    assert mode.output.strip() == "600"
    output = await use.expect_refusal("replace", path=path, find="nowhere", replacement="")
    assert "nothing was changed" in output
    output = await use.expect_refusal("replace", path=path, find="(", replacement="", regex=True)
    assert "unterminated" in output
    assert await machine.read_file(path) == expected


@desktop
@pytest.mark.parametrize("name", HOSTILE)
async def test_no_character_of_a_name_means_anything_but_itself(
    name: str, machine: DesktopEnvironment, use: KitCaller, folder: str
) -> None:
    path = f"{folder}/{name}"
    await use("write", path=path, text="kept")
    assert (await machine.execute(["cat", "--", path])).output == "kept"
    assert (await use("read", path=path)).endswith("\nkept")
    await use("replace", path=path, find="kept", replacement="new")
    assert (await machine.execute(["cat", "--", path])).output == "new"
    assert not await is_there(machine, "/home/user/gone")


@desktop
async def test_every_function_was_called(use: KitCaller) -> None:
    assert use.names - use.called == set()
