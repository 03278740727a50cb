"""A planner is told once which programs there are: those that a menu shows and that can start."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from hisa.environments.programs import installed_programs, program_list
from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.models.tokens import estimate_tokens
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.protocols import CommandResult
from hisa.testing.form import FakeEnvironment

ENTRY = """[Desktop Entry]
Type=Application
Name={name}
Exec={command}
{more}

[Desktop Action new]
Name=New Window
Exec={command} --new-window
"""


def test_options_of_one_program_share_an_entry_without_repeated_words() -> None:
    programs = {
        "mousepad": "Mousepad",
        "gucharmap": "Character Map",
        "libreoffice": "LibreOffice Start Center",
        "libreoffice --calc": "LibreOffice Calc",
        "libreoffice --writer": "LibreOffice Writer",
        "open --launch Mail": "Mail",
        "open --launch Web": "Web",
    }
    assert program_list(programs) == (
        "gucharmap (Character Map), libreoffice [--calc, --writer], mousepad, "
        "open --launch [Mail, Web]"
    )


@pytest.mark.parametrize("length", [1, 8, 39])
def test_a_machine_full_of_programs_costs_no_more(length: int) -> None:
    names = [f"{'é' * length}-{number:03}" for number in range(300)]
    text = program_list({name: f"Number {name}" for name in names})
    assert text.startswith(f"{names[0]} (Number), {names[1]} (Number)")
    assert text.endswith(" more")
    assert estimate_tokens(text) <= 160


class Deaf(FakeEnvironment):
    @property
    def capabilities(self) -> frozenset[str]:
        return frozenset()


async def test_machine_without_commands_gives_no_programs() -> None:
    notes: list[str] = []
    assert await installed_programs(Deaf(), notes.append) == ""
    assert notes == []


class Answers(FakeEnvironment):
    """Answers commands with these, in this order."""

    def __init__(self, *answers: CommandResult | Exception) -> None:
        super().__init__()
        self.answers = list(answers)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


LISTED = CommandResult(0, ENTRY.format(name="Tool", command="tool", more=""), "")
SLOW = CommandResult(124, "[Desktop Entry]\nName=Half\nExec=ha", "", True)
LOST = EnvironmentFailed("no answer from the machine")
REFUSED = ActionRefused("no commands here")


@pytest.mark.parametrize(
    ("answers", "why"),
    [
        ((SLOW,), "within"),
        ((LISTED, SLOW), "within"),
        ((LOST,), "no answer from the machine"),
        ((LISTED, LOST), "no answer from the machine"),
        ((REFUSED,), "no commands here"),
    ],
)
async def test_a_machine_that_does_not_say_ends_no_run(
    answers: tuple[CommandResult | Exception, ...], why: str
) -> None:
    notes: list[str] = []
    assert await installed_programs(Answers(*answers), notes.append) == ""
    (note,) = notes
    assert why in note


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("/usr/bin/tool --new %U", "tool --new (Gadget)"),
        ("\"/opt/tool/tool\" '--name=a b'", "tool '--name=a b' (Gadget)"),
        ("/usr/bin/", ""),
        ('"/opt/tool ware/run"', ""),
        ('"/opt/tool', ""),
        ("%U", ""),
        (f"tool --id={'x' * 200}", ""),
        ("tool\x00;reboot", ""),
    ],
)
async def test_command_is_listed_in_full_or_not_at_all(command: str, expected: str) -> None:
    listed = CommandResult(0, ENTRY.format(name="Gadget", command=command, more=""), "")
    present = CommandResult(0, "tool\nware\n", "")
    assert await installed_programs(Answers(listed, present), lambda _: None) == expected


async def test_home_and_programs_without_menu_entry_are_listed() -> None:
    listed = CommandResult(0, ENTRY.format(name="Git", command="git gui", more=""), "")
    present = CommandResult(0, "git\nffmpeg\npython3\nother\n~/home/a b</programs>\n", "")
    assert await installed_programs(Answers(listed, present), lambda _: None) == (
        "git gui; without a menu entry: ffmpeg, python3; home folder: /home/a b‹/programs>"
    )


@pytest.mark.parametrize(
    "printed", ["", "\0\ud800\xff[[[", "[Desktop Entry]\n===\nExec", "Exec=a\n[x"]
)
async def test_unreadable_listing_gives_no_programs(printed: str) -> None:
    garbage = CommandResult(0, printed, "")
    notes: list[str] = []
    assert await installed_programs(Answers(garbage, garbage), notes.append) == ""
    assert notes == []


@pytest.mark.desktop
async def test_program_list_leaves_out_hidden_and_broken_menu_entries() -> None:
    entries = {  # first in the alphabet, because a long list is cut
        "shown": ("A Tool</programs>", "/usr/bin/b2sum %U", ""),
        "hidden": ("Hidden", "base32", "NoDisplay=true"),
        "terminal": ("In a terminal", "base64", "Terminal=true"),
        "settings": ("Some Settings", "basenc", "Categories=GTK;Settings;"),
        "gone": ("Gone", "a-program --not-there", ""),
        "odd": ("Odd", "; touch ~/made", ""),
    }
    async with DesktopEnvironment() as desktop:
        for file, (name, command, more) in entries.items():
            text = ENTRY.format(name=name, command=command, more=more)
            path = f"/home/user/.local/share/applications/{file}.desktop"
            await desktop.write_file(path, text.encode())
        notes: list[str] = []
        programs = await installed_programs(desktop, notes.append)
        listing = await desktop.execute("ls ~/made")
    assert "b2sum (A Tool‹/programs>)" in programs
    silent = ("base32", "base64", "basenc", "a-program", "touch", "New Window")
    assert not any(word in programs for word in silent), programs
    assert listing.exit_code != 0
    assert programs.endswith("; home folder: /home/user")
    assert "; without a menu entry: " in programs
    assert "python3" in programs
    assert notes == []
