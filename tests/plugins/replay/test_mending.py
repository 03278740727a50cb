"""A program that cannot go on is mended by a planner for one step, or handed on to it for good."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import hisa
from hisa.config import Settings
from hisa.events import ModelCalled
from hisa.plugins.replay.compiling import compile_run
from hisa.plugins.replay.playing import Played, play, play_and_mend
from hisa.plugins.replay.program_records import read_program, write_program
from hisa.plugins.replay.proving import prove
from hisa.protocols import ModelRequest
from hisa.runs.read import Run, load_run
from hisa.tasks.hisa_format import OWN
from hisa.testing.scripted import FunctionModel, tool_call

pytestmark = [
    pytest.mark.desktop,
    pytest.mark.skipif(
        not Path("/usr/lib/python3/dist-packages/gi").exists(), reason="no GTK for Python"
    ),
]
_FORM = """
import os, sys, gi
gi.require_version("Gtk", "3.0")
from gi.repository import Gtk
window, box = Gtk.Window(title="Note"), Gtk.Box(spacing=20, margin=40)
entry, save, back = Gtk.Entry(), Gtk.Button(label=sys.argv[1]), Gtk.Button(label="Back")
label, said = Gtk.Label(label="Note", mnemonic_widget=entry), Gtk.Label(label="")
def write(_):
    open(os.path.expanduser("~/note.txt"), "w").write(entry.get_text())
    said.set_text("Saved.")
save.connect("clicked", write)
back.connect("clicked", lambda _: said.set_text("Saved."))
for part in (label, entry, save, back, said):
    box.pack_start(part, False, False, 0)
window.add(box)
window.connect("destroy", Gtk.main_quit)
window.show_all()
Gtk.main()
"""
"""A form, whose second button says that it saved and does not."""
_TEXT = "Leave it at the door"
_INSTRUCTION = f"Type “{_TEXT}” and save it."
_RULES = FunctionModel(lambda _: "Succeeded.")
Answering = Callable[[ModelRequest], str]


def _tree(button: str = "Save") -> dict[str, object]:
    """A form whose button has another name from time to time, and which writes what was typed."""
    return {
        "id": "a-note", "instruction": _INSTRUCTION, "domain": "general",
        "setup": [
            {"write": {"path": "~/form.py", "text": _FORM}},
            {"run": f"setsid -f /usr/bin/python3 ~/form.py {button} >/dev/null 2>&1"},
            {"wait_window": {"title": "Note", "seconds": 30}},
        ],
        "check": [{"file": "~/note.txt", "equals": _TEXT}],
    }  # fmt: skip


def _click(name: str, kind: str = "button") -> str:
    return tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", f"{name} {kind}")


def _settings(folder: Path) -> Settings:
    roles = {"planner": {"model": "gpt-5"}, "state": {"model": "offline"}}
    return Settings.model_validate({
        "run": {"folder": folder / "runs"}, "models": roles, "patterns": {"enabled": False},
        "grounder": {"kind": "elements"},
    })  # fmt: skip


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A proved program of two steps: a text is typed, and saved by a button."""
    folder = tmp_path_factory.mktemp("mending")
    return asyncio.run(_stored(folder))


async def _stored(folder: Path) -> Path:
    settings, place = _settings(folder), folder / "programs" / "note"
    answers = iter([
        tool_call("wait", {"seconds": 1}), _click("Note", "field"),
        tool_call("gui_action", f"pyautogui.write({_TEXT!r})"),
        _click("Save"), tool_call("termination", "Saved."),
    ])  # fmt: skip
    shown = await hisa.run(
        OWN.read(folder / "task.yaml", _tree()), settings=settings,
        model={"planner": FunctionModel(lambda _: next(answers)), "state": _RULES},
    )  # fmt: skip
    assert shown.success, shown.message
    write_program(compile_run(load_run(shown.folder), "note", place), place)
    program = read_program(place)
    program = await prove(program, place, settings, agree=lambda _: False, take=True)
    write_program(program, place)
    return place


def _renamed(stored: Path, folder: Path) -> Path:
    """The program where its button is called Store by now."""
    place = folder / "programs" / "note"
    shutil.copytree(stored, place)
    program = read_program(place)
    task = {**program.task, "setup": _tree("Store")["setup"]}
    write_program(program.model_copy(update={"task": task}), place)
    return place


def _calls(run: Run) -> int:
    return sum(isinstance(e, ModelCalled) and not e.model.startswith("offline") for e in run.events)


async def _mended(
    place: Path, answers: Answering, **more: object
) -> tuple[Played, bool, str, list[str]]:
    lines: list[str] = []
    requests: list[str] = []

    def answered(request: ModelRequest) -> str:
        requests.append(request.text)
        return answers(request)

    played, kept = await play_and_mend(
        place, _settings(place.parent), values={}, tell=lambda line: lines.append(str(line)),
        models={"planner": FunctionModel(answered), "state": _RULES}, **more,
    )  # type: ignore[arg-type]  # fmt: skip
    return played, kept, "\n".join(lines), requests


async def test_a_renamed_button_is_mended_by_one_call_and_then_by_none(
    stored: Path, tmp_path: Path
) -> None:
    place = _renamed(stored, tmp_path)
    before = (place / "program.yaml").read_text()
    played, kept, lines, requests = await _mended(place, lambda _: _click("Store"))
    assert (played.outcome, kept, len(requests)) == ("verified", True, 1), (played.reason, lines)
    assert "push button “Save” is not there" in requests[0]
    assert "-    name: Save\n+    name: Store" in lines
    program = read_program(place)
    assert played.folder.name in program.repaired[0]
    (name,) = program.parameters
    assert f"{{{{{name}}}}}" in str(program.steps), "a mended program still takes other values"
    assert (place / "program.yaml.1").read_text() == before, "nothing is lost"
    other = await play(program, place, _settings(tmp_path), values={name: "Ring twice"})
    assert (other.outcome, _calls(load_run(other.folder))) == ("verified", 0), other.reason
