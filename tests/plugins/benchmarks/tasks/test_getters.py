"""Every getter: what it gives, and what it gives where nothing is there."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.benchmarks.tasks.getters import GETTERS
from hisa.plugins.benchmarks.tasks.getters.chrome_state import PREFERENCES
from hisa.plugins.benchmarks.tasks.metric import Unreadable
from hisa.protocols import CommandResult
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation
from tests.plugins.benchmarks.tasks.machine import Machine, context


async def run_getter(folder: Path, kind: str, machine: Machine | None = None, **config: Any) -> Any:
    known = GETTERS.get(kind)
    assert known is not None
    where = context(folder, machine, "score")
    return await known.run(where, known.model.model_validate({"type": kind, **config}))


async def test_files_of_the_machine(tmp_path: Path) -> None:
    machine = Machine()
    await machine.write_file("/a.txt", b"A")
    today = datetime.now().strftime("%Y_%m_%d")
    await machine.write_file(f"/log{today}.txt", b"L")
    stored = await run_getter(tmp_path, "vm_file", machine, path="/a.txt", dest="kept.txt")
    assert stored.name == "kept.txt"
    assert stored.read_bytes() == b"A"
    assert await run_getter(tmp_path, "vm_file", machine, path="/b.txt", dest="b.txt") is None
    dated = await run_getter(tmp_path, "vm_file", machine, path="/log.txt", time_suffix=True)
    assert dated.read_bytes() == b"L"
    several = {"path": ["/a.txt", "/b.txt"], "dest": ["a", "b"], "multi": True}
    assert (await run_getter(tmp_path, "vm_file", machine, **several)).name == "a"
    paths = await run_getter(tmp_path, "vm_file", machine, **several, gives=[0, 1])
    assert [path and path.name for path in paths] == ["a", None]
    with pytest.raises(UsageError, match="plain file name"):
        await run_getter(tmp_path, "vm_file", machine, path="/a.txt", dest="../../a.txt")


async def test_a_file_named_like_the_agents_does_not_take_its_place(tmp_path: Path) -> None:
    machine = Machine()
    await machine.write_file("/a.png", b"A")
    context(tmp_path)
    (tmp_path / "task" / "gold.png").write_bytes(b"G")
    left = await run_getter(tmp_path, "vm_file", machine, path="/a.png", dest="a.png")
    expected = await run_getter(tmp_path, "local_file", path="gold.png", dest="a.png")
    assert (left.read_bytes(), expected.read_bytes()) == (b"A", b"G")
    assert await run_getter(tmp_path, "vm_file", machine, path="/a.png", dest="a.png") == left
    more: dict[str, Any] = {
        "path": ["gold.png", "gold.png"],
        "dest": ["b.png", "a.png"],
        "multi": True,
    }
    paths = await run_getter(tmp_path, "local_file", **more, gives=[0, 1])
    assert paths[0].parent == paths[1].parent != left.parent


async def test_command_getter_returns_output_and_errors(tmp_path: Path) -> None:
    machine = Machine({"which": CommandResult(1, "out", "err")}, programs="which")
    for kind, output in (("vm_command_line", "out"), ("vm_command_error", "err")):
        assert await run_getter(tmp_path, kind, machine, command=["which", "x"]) == output
        assert await run_getter(tmp_path, kind, machine, command="which x") == output
        assert (
            await run_getter(tmp_path, kind, machine, command="which x | cat", shell=True) == output
        )
        with pytest.raises(EnvironmentFailed, match="no program 'spotify'"):
            await run_getter(tmp_path, kind, machine, command=["spotify", "--version"])
    with pytest.raises(EnvironmentFailed):
        await run_getter(tmp_path, "vm_command_line", Machine(dead=True), command=["which", "x"])


async def test_command_output_is_read_in_full_or_not_at_all(tmp_path: Path) -> None:
    machine = Machine({"cat": CommandResult(0, "x" * 1_000_001, "x" * 1_000_001)}, programs="cat")
    for kind in ("vm_command_line", "vm_command_error"):
        with pytest.raises(Unreadable, match="printed more than 1,000,000 bytes"):
            await run_getter(tmp_path, kind, machine, command=["cat", "x"])


async def test_script_getter_returns_the_output(tmp_path: Path) -> None:
    context(tmp_path)
    (tmp_path / "task" / "eval.sh").write_text("echo yes")
    machine = Machine({"bash": CommandResult(0, "yes\n")})
    config = {"src": "eval.sh", "dest": "/tmp/eval.sh"}
    assert await run_getter(tmp_path, "vm_script_output", machine, **config) == "yes\n"
    broken = Machine({"bash": CommandResult(127, "", "no bash")})
    with pytest.raises(EnvironmentFailed, match="cannot run"):
        await run_getter(tmp_path, "vm_script_output", broken, **config)


async def test_parts_of_the_address_that_a_script_of_the_task_prints(tmp_path: Path) -> None:
    tab = {"type": "page", "url": "http://localhost:3000/runs/at=2024-05-01T10%3A00%2B00"}
    answers = {
        "json/list": CommandResult(0, json.dumps([tab])),
        "/bin/bash": CommandResult(0, "runs, 2024-05-01T10:00+00,assets\n"),
    }
    where = {"src": "eval.sh", "dest": "/home/user/eval.sh", "goto_prefix": "http://"}
    context(tmp_path)
    (tmp_path / "task" / "eval.sh").write_text("echo")
    machine = Machine(answers, windows=["Runs - Chromium"])
    expected = "runs check succeed;2024-05-01T10:00+00 check succeed;assets check failed;"
    assert await run_getter(tmp_path, "validate_correct_url", machine, **where) == expected
    assert await run_getter(tmp_path, "validate_correct_url", Machine(answers), **where) is None


class Stock(Machine):
    """A machine that knows the sizes of windows alone, or nothing of windows at all."""

    def __init__(self, *, knows_windows: bool = True) -> None:
        super().__init__(windows=["Doc - Writer"])
        self._knows_windows = knows_windows

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        observation = await super().observe(elements=elements, settle=settle)
        sized = tuple(
            replace(window, box=None, size=Size(300, 200)) for window in observation.windows
        )
        return replace(
            observation,
            windows=sized if self._knows_windows else (),
            windows_known=self._knows_windows,
        )


async def test_unknown_windows_are_no_missing_windows(tmp_path: Path) -> None:
    config = {"app_class_name": "writer"}
    size = await run_getter(tmp_path, "vm_window_size", Stock(), **config)
    assert size == {"width": 300, "height": 200}
    with pytest.raises(EnvironmentFailed, match="which windows are open"):
        await run_getter(tmp_path, "vm_window_size", Stock(knows_windows=False), **config)


async def test_a_folder_as_a_tree(tmp_path: Path) -> None:
    listing = "d\t\0f\tb.txt\0d\tsub\0f\tsub/c.txt\0"
    tree = await run_getter(
        tmp_path,
        "list_directory",
        Machine({"find": CommandResult(0, listing)}),
        path="/home/user/x",
    )
    assert tree == {
        "type": "directory",
        "name": "x",
        "children": [
            {"type": "directory", "name": "sub", "children": [{"type": "file", "name": "c.txt"}]},
            {"type": "file", "name": "b.txt"},
        ],
    }
    none = Machine({"find": CommandResult(1, "", "no such file")})
    assert await run_getter(tmp_path, "list_directory", none, path="/none") is None


async def test_tabs(tmp_path: Path) -> None:
    entries = [
        {"type": "page", "title": "A", "url": "https://a.org", "id": "1"},
        {"type": "iframe"},
    ]
    machine = Machine({"urllib": CommandResult(0, json.dumps(entries))})
    tab = {"title": "A", "url": "https://a.org"}
    assert await run_getter(tmp_path, "open_tabs_info", machine) == [tab]
    assert await run_getter(tmp_path, "active_tab_info", machine) == tab
    closed = Machine({"urllib": CommandResult(1, "", "refused")})
    assert await run_getter(tmp_path, "open_tabs_info", closed) is None
    assert await run_getter(tmp_path, "active_tab_info", closed) is None
    for broken in (
        Machine({"urllib": CommandResult(127, "", "python3: not found")}),
        Machine({"urllib": CommandResult(0, '[{"type":')}),
        Machine({"urllib": CommandResult(0, "{}")}),
    ):
        with pytest.raises(EnvironmentFailed):
            await run_getter(tmp_path, "open_tabs_info", broken)


SETTINGS: dict[str, tuple[Any, Any, Any]] = {
    "bookmarks": ({"roots": {"bookmark_bar": 1}}, {"bookmark_bar": 1}, {}),
    "chrome_font_size": (
        {"webkit": {"webprefs": {"default_font_size": 20}}},
        {"default_font_size": 20},
        {"default_fixed_font_size": 13, "default_font_size": 16, "minimum_font_size": 13},
    ),
    "default_search_engine": (
        {"default_search_provider_data": {"template_url_data": {"short_name": "Bing"}}},
        "Bing",
        "Google",
    ),
    "enable_do_not_track": ({"enable_do_not_track": True}, "true", "false"),
    "enable_safe_browsing": ({"safebrowsing": {"enabled": True}}, "true", "false"),
    "enable_enhanced_safety_browsing": ({"safebrowsing": {"enhanced": True}}, "true", "false"),
    "chrome_language": ({"intl": {"app_locale": "de"}}, "de", "en-US"),
    "enabled_experiments": ({"browser": {"enabled_labs_experiments": ["a@1"]}}, ["a@1"], []),
    "profile_name": ({"profile": {"name": "Me"}}, "Me", None),
    "data_delete_automacally": (
        {"profile": {"default_content_setting_values": {"cookies": 4}}},
        "true",
        "false",
    ),
    "find_installed_extension_name": (
        {"extensions": {"settings": {"a": {"manifest": {"name": "Dark"}}, "b": {}}}},
        ["Dark"],
        [],
    ),
    "find_unpacked_extension_path": (
        {"extensions": {"settings": {"a": {"path": "/home/user/ext"}}}},
        ["/home/user/ext"],
        [],
    ),
    "new_startup_page": ({"session": {"restore_on_startup": 1}}, "false", "true"),
}


UNWRITTEN = (
    "chrome_font_size", "chrome_language", "default_search_engine", "enable_do_not_track",
    "enable_safe_browsing", "enabled_experiments",
)  # fmt: skip
"""Settings with a default before the browser has written its file, as in the benchmark."""


@pytest.mark.parametrize("name", sorted(PREFERENCES))
async def test_settings_of_chrome(tmp_path: Path, name: str) -> None:
    tree, value, default = SETTINGS[name]
    for folder, content, expected in (
        ("google-chrome", json.dumps(tree).encode(), value),
        ("chromium", b"{}", default),
        ("chromium", b"{cut", None),
        ("other", b"{}", default if name in UNWRITTEN else None),
    ):
        machine = Machine()
        await machine.write_file(f"~/.config/{folder}/{PREFERENCES[name][0]}", content)
        assert await run_getter(tmp_path, name, machine) == expected
