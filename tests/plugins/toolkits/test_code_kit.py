"""The toolkit of Visual Studio Code: its files anywhere, the rest where the editor is installed;
each result is seen in a file, in the window's title, or on the screen."""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import zipfile
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from hypothesis import given
from hypothesis import strategies as st

from hisa.actions import parse, to_space
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.code_editor import CODE
from hisa.plugins.toolkits.guest import code_jsonc
from hisa.plugins.toolkits.guest.files_common import Refused
from tests.plugins.toolkits.using import Using

IS_HERE = shutil.which("code") is not None
with_files = pytest.mark.desktop
with_editor = [
    pytest.mark.desktop,
    pytest.mark.skipif(not IS_HERE, reason="not installed: code"),
]
USER = "/home/user/.config/Code/User"
PROJECT = "/home/user/project"
WRITTEN = """// Mine, "quoted": {
{
    "editor.fontSize": 14, // large, but not
    /* "editor.wordWrap": "on", */
    "files.exclude": { "**/*.pyc": true, },
    "a\\"b // c": "no /* comment */",
}
"""


class TestFilesWithComments:
    PATH = Path("settings.json")

    def test_a_value_is_replaced_and_the_rest_stays(self) -> None:
        text = code_jsonc.with_value(WRITTEN, "editor.fontSize", 20)
        assert text == WRITTEN.replace('Size": 14', 'Size": 20')

    def test_a_value_is_added_behind_the_others(self) -> None:
        text = code_jsonc.with_value(WRITTEN, "new", {"a": [1]})
        assert text.startswith(WRITTEN[:-2])
        assert code_jsonc.parse(text, self.PATH)["new"] == {"a": [1]}
        text = code_jsonc.with_value('{"a": 1 // why\n}', "b", 2)
        assert text == '{"a": 1, // why\n    "b": 2\n}'

    def test_a_member_is_taken_out(self) -> None:
        for key in code_jsonc.parse(WRITTEN, self.PATH):
            text = code_jsonc.without(WRITTEN, code_jsonc.key_number(WRITTEN, key))
            kept = code_jsonc.parse(text, self.PATH)
            assert key not in kept
            assert len(kept) == 2
            assert '// Mine, "quoted": {' in text
            assert '/* "editor.wordWrap": "on", */' in text

    @pytest.mark.parametrize("text", ["", "\n", "// only this", "/* x */\n", "{}", "{ // x\n}"])
    def test_an_empty_file_takes_a_value(self, text: str) -> None:
        made = code_jsonc.with_value(text, "a", "b")
        assert code_jsonc.parse(made, self.PATH) == {"a": "b"}
        assert ("//" in text) == ("//" in made)

    @pytest.mark.parametrize("text", ['{"a": }', "{'a': 1}", '{"a": 1', "{} {}"])
    def test_what_is_no_json_is_refused(self, text: str, tmp_path: Path) -> None:
        file = tmp_path / "settings.json"
        file.write_text(text)
        with pytest.raises(Refused, match="is no JSON with comments"):
            code_jsonc.load(file, dict)

    def test_a_file_is_not_written_if_the_rest_would_change(self, tmp_path: Path) -> None:
        file = tmp_path / "settings.json"
        with pytest.raises(Refused, match="keep the rest"):
            code_jsonc.write(file, '{"a": 1}', {"a": 2})
        assert not file.exists()

    @given(
        st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=8), max_size=4),
        st.text(max_size=5),
        st.text(alphabet='{}[],"/*\\\n ab', max_size=12),
    )
    def test_any_change_does_that_and_no_more(
        self, kept: dict[str, Any], key: str, value: str
    ) -> None:
        text = json.dumps(kept, indent=2)
        made = code_jsonc.with_value(f"/* , }} */ {text} // {{", key, value)
        assert code_jsonc.parse(made, self.PATH) == {**kept, key: value}
        gone = code_jsonc.without(made, code_jsonc.key_number(made, key))
        assert code_jsonc.parse(gone, self.PATH) == {k: v for k, v in kept.items() if k != key}

    @given(st.lists(st.integers() | st.text(max_size=5), max_size=4), st.data())
    def test_lists_grow_and_shrink(self, kept: list[Any], data: st.DataObject) -> None:
        made = code_jsonc.with_element(json.dumps(kept), {"key": "x"})
        assert code_jsonc.parse(made, self.PATH) == [*kept, {"key": "x"}]
        at = data.draw(st.integers(0, len(kept)))
        gone = code_jsonc.parse(code_jsonc.without(made, at), self.PATH)
        assert gone == [each for n, each in enumerate([*kept, {"key": "x"}]) if n != at]


class Editor:
    """The desktop, and the toolkit on it."""

    def __init__(self, machine: DesktopEnvironment) -> None:
        self.machine = machine
        self.use = Using(CODE, machine)

    async def put(self, name: str, text: str) -> None:
        await self.machine.write_file(f"{PROJECT}/{name}", text.encode())

    async def text(self, path: str) -> str:
        return (await self.machine.read_file(path)).decode()

    async def do(self, source: str) -> None:
        seen = await self.machine.observe()
        await self.machine.act(
            to_space(parse(source), "screen", screen=seen.screen, image=seen.screen)
        )

    async def eventually(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(90):
            while True:
                if await holds():
                    return
                await asyncio.sleep(0.3)

    async def titled(self, wanted: str) -> None:
        async def is_so() -> bool:
            look = await self.machine.observe()
            return any(wanted in window.title for window in look.windows)

        await self.eventually(is_so)

    async def has_element(self, wanted: str) -> None:
        async def is_so() -> bool:
            look = await self.machine.observe(elements=True, settle=1.0)
            return any(wanted in f"{e.name}\n{e.text}" for e in look.elements or ())

        await self.eventually(is_so)

    async def brightness(self) -> float:
        pixels = (await self.machine.observe()).screenshot.pixels.convert("L").resize((1, 1))
        return float(pixels.getpixel((0, 0)))  # type: ignore[arg-type]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor() -> AsyncIterator[Editor]:
    async with DesktopEnvironment() as machine:
        found = Editor(machine)
        await found.put("main.py", "import os\n\nprint('colour')\n# Colour: TODO\n")
        await found.put("docs/read.md", "The colour of it, colour.\n")
        await found.put("node_modules/far.py", "colour\n")
        await machine.write_file(f"{PROJECT}/picture.bin", b"\xff\0colour")
        await machine.write_file(f"{USER}/settings.json", b"")
        yield found


@pytest.mark.asyncio(loop_scope="module")
class TestFiles:
    pytestmark = with_files

    async def test_a_folders_settings_are_its_own(self, editor: Editor) -> None:
        path = f"{PROJECT}/.vscode/settings.json"
        await editor.machine.write_file(path, WRITTEN.encode())
        told = await editor.use("setting", name="editor.fontSize", value=30, folder=PROJECT)
        assert told.startswith(f"{path}: editor.fontSize = 30; it was 14. ")
        assert await editor.text(path) == WRITTEN.replace(": 14", ": 30")
        told = await editor.use("settings", words="font", folder=PROJECT)
        assert told == f"{path}:\neditor.fontSize = 30"
        told = await editor.use("unset", name="editor.fontSize", folder=PROJECT)
        assert told.endswith("is not set any more; it was 30")
        assert '"editor.fontSize"' not in await editor.text(path)
        wrong = await editor.use.refused("unset", name="editor.fontSize", folder=PROJECT)
        assert "does not set 'editor.fontSize'; it sets files.exclude" in wrong

    async def test_tasks_and_launches_are_written(self, editor: Editor) -> None:
        for command in ("false", f"touch {PROJECT}/built"):
            await editor.use("task", folder=PROJECT, label="Build", command=command, group="build")
        kept = json.loads(await editor.text(f"{PROJECT}/.vscode/tasks.json"))
        assert kept["version"] == "2.0.0"
        (task,) = kept["tasks"]
        assert (task["label"], task["command"]) == ("Build", f"touch {PROJECT}/built")
        options = {"program": "${file}", "args": ["-v"]}
        await editor.use("launch", folder=PROJECT, name="Run", debugger="debugpy", options=options)
        (run,) = json.loads(await editor.text(f"{PROJECT}/.vscode/launch.json"))["configurations"]
        assert run == {"request": "launch", **options, "name": "Run", "type": "debugpy"}

    async def test_keys_are_written(self, editor: Editor) -> None:
        assert await editor.use("keys") == "no keys of the user's own"
        await editor.use("bind", key="ctrl+alt+b", command="a.b", when="editorFocus", args={"x": 1})
        await editor.use("bind", key="ctrl+alt+c", command="c.d")
        kept = json.loads(await editor.text(f"{USER}/keybindings.json"))
        assert kept[0] == {
            "key": "ctrl+alt+b",
            "command": "a.b",
            "when": "editorFocus",
            "args": {"x": 1},
        }
        assert await editor.use("unbind", key="ctrl+alt+b") == "1 taken out"
        kept = json.loads(await editor.text(f"{USER}/keybindings.json"))
        assert kept == [{"key": "ctrl+alt+c", "command": "c.d"}]
        assert "has no key 'x'" in await editor.use.refused("unbind", key="x")


def vsix() -> bytes:
    """A small extension, whole."""
    manifest = {
        "name": "nothing",
        "publisher": "meadow",
        "version": "1.2.3",
        "engines": {"vscode": "^1.60.0"},
        "contributes": {},
    }
    identity = '<Identity Language="en-US" Id="nothing" Version="1.2.3" Publisher="meadow"/>'
    about = (
        '<?xml version="1.0" encoding="utf-8"?><PackageManifest Version="2.0.0" '
        'xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011"><Metadata>'
        f"{identity}<DisplayName>Nothing</DisplayName></Metadata><Installation>"
        '<InstallationTarget Id="Microsoft.VisualStudio.Code"/></Installation><Dependencies/>'
        '<Assets><Asset Type="Microsoft.VisualStudio.Code.Manifest" '
        'Path="extension/package.json" Addressable="true"/></Assets></PackageManifest>'
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("extension/package.json", json.dumps(manifest))
        archive.writestr("extension.vsixmanifest", about)
    return buffer.getvalue()


@pytest.mark.asyncio(loop_scope="module")
class TestEditor:
    pytestmark = with_editor

    async def test_extensions_come_and_go(self, editor: Editor) -> None:
        await editor.machine.write_file("/home/user/nothing.vsix", vsix())
        assert await editor.use("extensions") == "no extensions"
        told = await editor.use("install", which="~/nothing.vsix")
        assert told == "New: meadow.nothing 1.2.3; 1 extensions"
        folder = await editor.machine.execute("ls /home/user/.vscode/extensions")
        assert "meadow.nothing-1.2.3" in folder.output
        assert await editor.use("extensions") == "meadow.nothing 1.2.3"
        assert "want PUBLISHER.NAME" in await editor.use.refused("install", which="--help")
        told = await editor.use("uninstall", name="meadow.nothing")
        assert told == "meadow.nothing is gone; 0 extensions are left"
        assert "no extension" in await editor.use.refused("uninstall", name="meadow.nothing")

    async def test_files_and_folders_are_shown(self, editor: Editor) -> None:
        await editor.use("setting", name="security.workspace.trust.enabled", value=False)
        told = await editor.use("show", path=PROJECT)
        assert "project" in told
        await editor.use("show", path=f"{PROJECT}/main.py", line=3, column=2)
        await editor.titled("main.py")
        await editor.has_element("Ln 3, Col 2")
        look = await editor.machine.observe()
        assert all(tool.traits.needs.in_front(look) for tool in CODE.tools())
        assert "there is no" in await editor.use.refused("show", path="~/none.py")

    async def test_settings_hold_once_the_window_is_loaded_again(self, editor: Editor) -> None:
        dark = await editor.brightness()
        await editor.use("setting", name="workbench.colorTheme", value="Default Light Modern")
        told = await editor.use("reload")
        assert told.endswith("Visual Studio Code' is loaded again")

        async def is_light() -> bool:
            return await editor.brightness() > dark + 60

        await editor.eventually(is_light)
        assert "Light Modern" in await editor.use("settings", words="theme")
        await editor.use("unset", name="workbench.colorTheme")
        await editor.use("bind", key="ctrl+alt+y", command="workbench.action.files.newUntitledFile")
        await editor.use("reload")

        async def is_dark() -> bool:
            return await editor.brightness() < dark + 20

        await editor.eventually(is_dark)

    async def test_a_default_task_is_run_by_its_key(self, editor: Editor) -> None:
        async def is_built() -> bool:
            done = await editor.machine.execute(["test", "-e", f"{PROJECT}/built"])
            return done.exit_code == 0

        await editor.use("show", path=f"{PROJECT}/main.py")
        await editor.titled("main.py")
        await editor.do("pyautogui.hotkey('ctrl', 'shift', 'b')")
        await editor.eventually(is_built)

    async def test_a_key_does_its_command(self, editor: Editor) -> None:
        await editor.do("pyautogui.hotkey('ctrl', 'alt', 'y')")
        await editor.titled("Untitled-1")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.desktop
async def test_every_function_was_called(editor: Editor) -> None:
    on_the_editor = {"show", "extensions", "install", "uninstall", "reload"}
    missing = editor.use.names - editor.use.called
    assert missing == (set() if IS_HERE else on_the_editor)
