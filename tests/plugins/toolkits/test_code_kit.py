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

import pytest
import pytest_asyncio

from hisa.actions import parse, to_space
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.toolkits.code_editor import CODE
from hisa.plugins.toolkits.guest import code_program
from hisa.plugins.toolkits.guest.files_common import Refused
from tests.plugins.toolkits.using import KitCaller

IS_HERE = shutil.which("code") is not None
with_files = pytest.mark.desktop
with_editor = [
    pytest.mark.desktop,
    pytest.mark.skipif(not IS_HERE, reason="not installed: code"),
]
USER = "/home/user/.config/Code/User"
PROJECT = "/home/user/project"
WRITTEN = '{"editor.fontSize": 14, "files.exclude": {"**/*.pyc": true}}'


@pytest.mark.parametrize("text", ["// mine\n{}", '{"a": }', "{} {}", "[1]"])
def test_a_file_with_comments_is_left_to_the_editor(text: str, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(text)
    with pytest.raises(Refused):
        code_program.load(file, dict)
    assert file.read_text() == text


class Editor:
    """The desktop, and the toolkit on it."""

    def __init__(self, machine: DesktopEnvironment) -> None:
        self.machine = machine
        self.use = KitCaller(CODE, machine)

    async def put(self, name: str, text: str) -> None:
        await self.machine.write_file(f"{PROJECT}/{name}", text.encode())

    async def text(self, path: str) -> str:
        return (await self.machine.read_file(path)).decode()

    async def act(self, source: str) -> None:
        observation = await self.machine.observe()
        await self.machine.act(
            to_space(parse(source), "screen", screen=observation.screen, image=observation.screen)
        )

    async def wait_until(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(90):
            while True:
                if await holds():
                    return
                await asyncio.sleep(0.3)

    async def wait_for_title(self, title: str) -> None:
        async def has_title() -> bool:
            observation = await self.machine.observe()
            return any(title in window.title for window in observation.windows)

        await self.wait_until(has_title)

    async def wait_for_element(self, text: str) -> None:
        async def is_shown() -> bool:
            observation = await self.machine.observe(elements=True, settle=1.0)
            return any(text in f"{e.name}\n{e.text}" for e in observation.elements or ())

        await self.wait_until(is_shown)

    async def brightness(self) -> float:
        pixels = (await self.machine.observe()).screenshot.pixels.convert("L").resize((1, 1))
        return float(pixels.getpixel((0, 0)))  # type: ignore[arg-type]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def editor() -> AsyncIterator[Editor]:
    async with DesktopEnvironment() as machine:
        editor = Editor(machine)
        await editor.put("main.py", "import os\n\nprint('colour')\n# Colour: TODO\n")
        await machine.write_file(f"{USER}/settings.json", b"")
        yield editor


@pytest.mark.asyncio(loop_scope="module")
class TestFiles:
    pytestmark = with_files

    async def test_a_folders_settings_are_its_own(self, editor: Editor) -> None:
        path = f"{PROJECT}/.vscode/settings.json"
        await editor.machine.write_file(path, WRITTEN.encode())
        output = await editor.use("setting", name="editor.fontSize", value=30, folder=PROJECT)
        assert output.startswith(f"{path}: editor.fontSize = 30; it was 14. ")
        assert json.loads(await editor.text(path)) == json.loads(WRITTEN.replace(": 14", ": 30"))
        output = await editor.use("settings", words="font", folder=PROJECT)
        assert output == f"{path}:\neditor.fontSize = 30"
        output = await editor.use("unset", name="editor.fontSize", folder=PROJECT)
        assert output.endswith("is not set any more; it was 30")
        assert '"editor.fontSize"' not in await editor.text(path)
        wrong = await editor.use.expect_refusal("unset", name="editor.fontSize", folder=PROJECT)
        assert "does not set 'editor.fontSize'; it sets files.exclude" in wrong

    async def test_tasks_and_launches_are_written(self, editor: Editor) -> None:
        for command in ("false", f"touch {PROJECT}/built"):
            await editor.use("task", folder=PROJECT, label="Build", command=command, group="build")
        stored = json.loads(await editor.text(f"{PROJECT}/.vscode/tasks.json"))
        assert stored["version"] == "2.0.0"
        (task,) = stored["tasks"]
        assert (task["label"], task["command"]) == ("Build", f"touch {PROJECT}/built")
        options = {"program": "${file}", "args": ["-v"]}
        await editor.use("launch", folder=PROJECT, name="Run", debugger="debugpy", options=options)
        (run,) = json.loads(await editor.text(f"{PROJECT}/.vscode/launch.json"))["configurations"]
        assert run == {"request": "launch", **options, "name": "Run", "type": "debugpy"}

    async def test_keys_are_written(self, editor: Editor) -> None:
        assert await editor.use("keys") == "no keys of the user's own"
        await editor.use("bind", key="ctrl+alt+b", command="a.b", when="editorFocus", args={"x": 1})
        await editor.use("bind", key="ctrl+alt+c", command="c.d")
        bindings = json.loads(await editor.text(f"{USER}/keybindings.json"))
        assert bindings[0] == {
            "key": "ctrl+alt+b",
            "command": "a.b",
            "when": "editorFocus",
            "args": {"x": 1},
        }
        assert await editor.use("unbind", key="ctrl+alt+b") == "1 removed"
        bindings = json.loads(await editor.text(f"{USER}/keybindings.json"))
        assert bindings == [{"key": "ctrl+alt+c", "command": "c.d"}]
        assert "has no key 'x'" in await editor.use.expect_refusal("unbind", key="x")


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
        output = await editor.use("install", which="~/nothing.vsix")
        assert output == "New: meadow.nothing 1.2.3; 1 extensions"
        folder = await editor.machine.execute("ls /home/user/.vscode/extensions")
        assert "meadow.nothing-1.2.3" in folder.output
        assert await editor.use("extensions") == "meadow.nothing 1.2.3"
        assert "expected PUBLISHER.NAME" in await editor.use.expect_refusal(
            "install", which="--help"
        )
        output = await editor.use("uninstall", name="meadow.nothing")
        assert output == "meadow.nothing is gone; 0 extensions are left"
        assert "no extension" in await editor.use.expect_refusal("uninstall", name="meadow.nothing")

    async def test_files_and_folders_are_shown(self, editor: Editor) -> None:
        await editor.use("setting", name="security.workspace.trust.enabled", value=False)
        output = await editor.use("show", path=PROJECT)
        assert "project" in output
        await editor.use("show", path=f"{PROJECT}/main.py", line=3, column=2)
        await editor.wait_for_title("main.py")
        await editor.wait_for_element("Ln 3, Col 2")
        observation = await editor.machine.observe()
        assert all(tool.traits.needs.in_front(observation) for tool in CODE.tools())
        assert "there is no" in await editor.use.expect_refusal("show", path="~/none.py")

    async def test_settings_hold_once_the_window_is_loaded_again(self, editor: Editor) -> None:
        dark = await editor.brightness()
        await editor.use("setting", name="workbench.colorTheme", value="Default Light Modern")
        output = await editor.use("reload")
        assert output.endswith("Visual Studio Code' is reloaded")

        async def is_light() -> bool:
            return await editor.brightness() > dark + 60

        await editor.wait_until(is_light)
        assert "Light Modern" in await editor.use("settings", words="theme")
        await editor.use("unset", name="workbench.colorTheme")
        await editor.use("bind", key="ctrl+alt+y", command="workbench.action.files.newUntitledFile")
        await editor.use("reload")

        async def is_dark() -> bool:
            return await editor.brightness() < dark + 20

        await editor.wait_until(is_dark)

    async def test_a_default_task_is_run_by_its_key(self, editor: Editor) -> None:
        async def is_built() -> bool:
            result = await editor.machine.execute(["test", "-e", f"{PROJECT}/built"])
            return result.exit_code == 0

        await editor.use("show", path=f"{PROJECT}/main.py")
        await editor.wait_for_title("main.py")
        await editor.act("pyautogui.hotkey('ctrl', 'shift', 'b')")
        await editor.wait_until(is_built)

    async def test_a_key_does_its_command(self, editor: Editor) -> None:
        await editor.act("pyautogui.hotkey('ctrl', 'alt', 'y')")
        await editor.wait_for_title("Untitled-1")


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.desktop
async def test_every_function_was_called(editor: Editor) -> None:
    on_the_editor = {"show", "extensions", "install", "uninstall", "reload"}
    missing = editor.use.names - editor.use.called
    assert missing == (set() if IS_HERE else on_the_editor)
