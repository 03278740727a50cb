"""What every environment must do; each subclass brings the fixtures `environment` and `folder`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path, PurePosixPath
from typing import ClassVar

import pytest

from hisa.actions import Click, Hotkey, Move, Press, Write
from hisa.errors import ActionRefused
from hisa.protocols import Environment, FileRefused
from hisa.screen.geometry import Point
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT, Element, Observation

UNICODE = "Grüße, 漢字 <>|@ €  — emoji 🙂"
DOCUMENT = Path(__file__).parent.parent.parent / "docs" / "environments.md"
KNOWN = {"elements", "execute", "hidden", "lies_at", "throw_away", "unchanged"}


def at(x: float, y: float) -> Point:
    return Point(x, y, "screen")


def find_only(observation: Observation, role: str, **attributes: str) -> Element:
    """The one element of that role with those attributes."""
    matches = [
        element
        for element in observation.elements or ()
        if element.role == role and all(getattr(element, k) == v for k, v in attributes.items())
    ]
    assert len(matches) == 1, f"{len(matches)} of role {role!r} with {attributes}"
    return matches[0]


async def observe_until(
    environment: Environment, holds: Callable[[Observation], bool]
) -> Observation:
    """The first of twenty looks of which that holds, else the last: a busy machine is slow."""
    for _ in range(20):
        look = await environment.observe(elements=True, settle=3.0)
        if holds(look):
            break
    return look


def _shows(observation: Observation, role: str, name: str) -> bool:
    return any(e.role == role and e.name == name for e in observation.elements or ())


def _focused_text(observation: Observation) -> Element:
    """The text field that takes what is typed."""
    fields = [
        element
        for element in observation.elements or ()
        if element.role == "text" and {"focused", "editable"} <= element.states
    ]
    assert len(fields) == 1
    return fields[0]


def read_documented_row(environment: str) -> tuple[set[str], set[str], set[str]]:
    """Of docs/environments.md: suites it passes, what it can do, what it can do somewhere."""
    for line in DOCUMENT.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 6 and cells[1] == environment:
            maybe = set(re.findall(r"\(`(\w+)`\)", cells[4]))
            return set(cells[3].split(", ")), set(re.findall(r"`(\w+)`", cells[4])) - maybe, maybe
    raise AssertionError(f"{DOCUMENT.name} has no row {environment!r}")


class Conformance:
    """Looking, acting and files; each subclass also names its row in docs/environments.md."""

    documented: ClassVar[str]

    async def test_is_as_the_documentation_says(self, environment: Environment) -> None:
        suites, surely, maybe = read_documented_row(self.documented)
        assert {name for kind, name in SUITES.items() if isinstance(self, kind)} == suites
        assert surely <= environment.capabilities <= surely | maybe

    async def test_environment_has_name_and_known_capabilities(
        self, environment: Environment
    ) -> None:
        assert environment.name
        assert environment.capabilities <= KNOWN

    async def test_look_fits_the_limit_and_knows_the_screen(self, environment: Environment) -> None:
        look = await environment.observe(settle=1.0)
        assert look.image.width <= DEFAULT_IMAGE_LIMIT.width
        assert look.image.height <= DEFAULT_IMAGE_LIMIT.height
        assert look.screen.width >= look.image.width
        assert look.elements is None

    async def test_a_limit_that_a_load_stretched_far_is_taken(
        self, environment: Environment
    ) -> None:
        look = await environment.observe(settle=10_000.0)
        assert look.image == look.screenshot.size

    async def test_elements_come_only_on_request(self, environment: Environment) -> None:
        look = await environment.observe(elements=True)
        assert (look.elements is not None) == ("elements" in environment.capabilities)

    async def test_complete_elements_are_the_same_in_the_next_look(
        self, environment: Environment
    ) -> None:
        first = await observe_until(environment, lambda look: look.complete)
        assert first.complete
        again = await observe_until(environment, lambda look: look.complete)
        assert first.all_elements == again.all_elements

    async def test_pointer_goes_where_it_is_sent(self, environment: Environment) -> None:
        await environment.act([Move(at(33, 44)), Move(at(211, 122))])
        cursor = (await environment.observe()).cursor
        assert cursor in (None, at(211, 122))

    async def test_unknown_key_is_refused(self, environment: Environment) -> None:
        with pytest.raises(ActionRefused, match="nosuchkey"):
            await environment.act([Press("nosuchkey")])

    async def test_doing_nothing_is_fine(self, environment: Environment) -> None:
        await environment.act([])

    async def test_file_round_trip_makes_folders(
        self, environment: Environment, folder: PurePosixPath
    ) -> None:
        data = bytes(range(256)) * 40
        path = str(folder / "deep" / "er" / "bytes.bin")
        await environment.write_file(path, data)
        await environment.write_file(path, data + b"!")
        assert await environment.read_file(path) == data + b"!"

    async def test_missing_file(self, environment: Environment, folder: PurePosixPath) -> None:
        with pytest.raises(FileNotFoundError):
            await environment.read_file(str(folder / "nothing here"))

    async def test_file_over_the_limit_is_refused(
        self, environment: Environment, folder: PurePosixPath
    ) -> None:
        path = str(folder / "large")
        await environment.write_file(path, b"0123456789")
        with pytest.raises(FileRefused, match="10 bytes; at most 9"):
            await environment.read_file(path, limit=9)
        assert await environment.read_file(path, limit=10) == b"0123456789"

    async def test_fresh_start_forgets(
        self, environment: Environment, folder: PurePosixPath
    ) -> None:
        path = str(folder / "before")
        await environment.write_file(path, b"x")
        await environment.reset()
        if "throw_away" in environment.capabilities:
            with pytest.raises(FileNotFoundError):
                await environment.read_file(path)
        else:
            assert await environment.read_file(path) == b"x"


class CommandConformance:
    """Commands that really run."""

    async def test_exit_code_output_and_error(self, environment: Environment) -> None:
        result = await environment.execute("echo out; echo err >&2; exit 3")
        assert (result.exit_code, result.output, result.error) == (3, "out\n", "err\n")
        assert not result.timed_out

    async def test_words_are_not_read_by_a_shell(self, environment: Environment) -> None:
        result = await environment.execute(["printf", "%s|", "a b", "$HOME", ";"])
        assert result.output == "a b|$HOME|;|"

    async def test_missing_command_fails_without_breaking_the_machine(
        self, environment: Environment
    ) -> None:
        assert (await environment.execute("no-such-command-here")).exit_code == 127
        assert (await environment.execute(["no-such-command-here"])).exit_code != 0

    async def test_time_limit_ends_the_command(self, environment: Environment) -> None:
        result = await environment.execute("echo started; sleep 600", timeout=1.0)
        assert result.timed_out
        assert result.exit_code == 124

    async def test_a_time_limit_that_a_load_stretched_far_is_taken(
        self, environment: Environment
    ) -> None:
        result = await environment.execute("echo here", timeout=10_000.0)
        assert (result.exit_code, result.output.strip()) == (0, "here")

    async def test_output_limit(self, environment: Environment) -> None:
        result = await environment.execute("yes hisa | head -c 3000000", limit=1000)
        assert result.exit_code == 0
        assert len(result.output) == 1000

    async def test_background_program_does_not_hold_the_answer(
        self, environment: Environment
    ) -> None:
        result = await environment.execute("sleep 600 & echo gone on", timeout=30.0)
        assert not result.timed_out
        assert result.output == "gone on\n"

    async def test_file_read_refuses_folders_pipes_and_devices(
        self, environment: Environment, folder: PurePosixPath
    ) -> None:
        await environment.execute(f"mkdir -p {folder}/within && mkfifo {folder}/pipe")
        await environment.execute(
            f"truncate -s 100G {folder}/sparse || truncate -s 1G {folder}/sparse"
        )
        for name, why in (
            ("within", "not a regular file"),
            ("pipe", "not a regular file"),
            ("sparse", "at most"),
        ):
            with pytest.raises(FileRefused, match=why):
                await environment.read_file(str(folder / name))
        with pytest.raises(FileRefused, match="not a regular file"):
            await environment.read_file("/dev/zero")


class EditorConformance:
    """A real text editor, typed into and saved from."""

    @pytest.fixture
    async def editor(
        self, environment: Environment, folder: PurePosixPath
    ) -> AsyncIterator[PurePosixPath]:
        path = folder / "note.txt"
        await environment.write_file(str(path), b"")
        await environment.execute(f"mousepad {path} >/dev/null 2>&1 &")
        while (look := await environment.observe(settle=5.0)).active is None:
            pass
        assert "note.txt" in look.active.title
        yield path
        await environment.execute("pkill -KILL -x mousepad")

    async def test_typed_text_is_saved_byte_for_byte(
        self, environment: Environment, editor: PurePosixPath
    ) -> None:
        look = await environment.observe(elements=True)
        field = next(e for e in look.elements or () if e.role == "text" and "editable" in e.states)
        await environment.act([Click(field.box.centre), Write(f"{UNICODE}\n\tb")])
        await observe_until(environment, lambda look: "*" in look.windows[0].title)  # it was read
        await environment.act([Hotkey(("ctrl", "s"))])
        await observe_until(environment, lambda look: "*" not in look.windows[0].title)
        saved = (await environment.read_file(str(editor))).decode()
        assert saved.rstrip("\n") == f"{UNICODE}\n\tb"

    async def test_dialog_elements_have_places(
        self, environment: Environment, editor: PurePosixPath
    ) -> None:
        await environment.act([Write("kept elsewhere"), Hotkey(("ctrl", "shift", "s"))])
        look = await observe_until(environment, lambda look: _shows(look, "push button", "Save"))
        name = _focused_text(look)
        assert name.label in {"Name:", ""}
        target = editor.with_name("elsewhere.txt")
        await environment.act([Click(name.box.centre), Hotkey(("ctrl", "a")), Write(str(target))])
        look = await observe_until(
            environment, lambda look: _focused_text(look).text == str(target)
        )
        assert _focused_text(look).text == str(target)
        for _ in range(3):  # the dialog may still be looking up the folder that was typed
            await environment.act([Click(find_only(look, "push button", name="Save").box.centre)])
            look = await environment.observe(elements=True, settle=3.0)
            if not _shows(look, "push button", "Save"):
                break
        assert (await environment.read_file(str(target))).startswith(b"kept elsewhere")

    async def test_open_menu_shows_its_items(
        self, environment: Environment, editor: PurePosixPath
    ) -> None:
        before = await environment.observe(elements=True)
        assert not [e for e in before.elements or () if e.role == "menu item"]
        await environment.act([Click(find_only(before, "menu", name="Edit").box.centre)])
        after = await observe_until(environment, lambda look: _shows(look, "menu item", "Undo"))
        assert find_only(after, "menu item", name="Undo").box.top > 0
        await environment.act([Press("esc")])


SUITES: dict[type, str] = {
    Conformance: "basic",
    CommandConformance: "commands",
    EditorConformance: "editor",
}
