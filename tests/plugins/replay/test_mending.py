"""A program that cannot go on is repaired for one step by a planner, or handed over to it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import hisa
from hisa.cli import cli
from hisa.config import Settings
from hisa.errors import ConfigError, UsageError
from hisa.events import ModelCalled
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.replay import program_planners, program_player
from hisa.plugins.replay.program_records import Proof, read_program, write_program
from hisa.plugins.replay.program_runs import PlayResult, play_and_repair
from hisa.plugins.replay.run_compiler import compile_run
from hisa.protocols import ModelRequest
from hisa.runs.report import render_report
from hisa.runs.run_reader import Run, load_run
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
Answering = Callable[[ModelRequest], str | Awaitable[str]]


def _tree(button: str = "Save") -> dict[str, object]:
    """A form whose button has another name from time to time, and which writes what was typed."""
    return {
        "id": "a-note",
        "instruction": _INSTRUCTION,
        "domain": "general",
        "setup": [
            {"write": {"path": "~/form.py", "text": _FORM}},
            {"run": f"setsid -f /usr/bin/python3 ~/form.py {button} >/dev/null 2>&1"},
            {"wait_window": {"title": "Note", "seconds": 30}},
        ],
        "check": [{"file": "~/note.txt", "equals": _TEXT}],
    }


def _click(name: str, kind: str = "button") -> str:
    return tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", f"{name} {kind}")


def _settings(folder: Path) -> Settings:
    roles = {"planner": {"model": "gpt-5"}, "state": {"model": "offline"}}
    return Settings.model_validate(
        {
            "run": {"folder": folder / "runs"},
            "models": roles,
            "patterns": {"enabled": False},
            "grounder": {"kind": "elements"},
        }
    )


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is missing here never comes."""
    for module in (program_player, program_planners):
        monkeypatch.setattr(module, "_WAITS", 2)


@pytest.fixture(scope="module")
def stored_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A proved program of two steps: a text is typed, and saved by a button."""
    folder = tmp_path_factory.mktemp("mending")
    return asyncio.run(_store_program(folder))


async def _store_program(folder: Path) -> Path:
    settings, place = _settings(folder), folder / "programs" / "note"
    answers = iter(
        [
            tool_call("wait", {"seconds": 1}),
            _click("Note", "field"),
            tool_call("gui_action", f"pyautogui.write({_TEXT!r})"),
            _click("Save"),
            tool_call("termination", "Saved."),
        ]
    )
    shown = await hisa.run(
        OWN.read(folder / "task.yaml", _tree()),
        settings=settings,
        model={"planner": FunctionModel(lambda _: next(answers)), "state": _RULES},
    )
    assert shown.success, shown.message
    program = compile_run(load_run(shown.folder), "note")
    proof = Proof(run=shown.folder.name, by="check", at="2026-11-28")
    write_program(program.model_copy(update={"proof": proof}), place)
    return place


def _rename_button(stored: Path, folder: Path, button: str = "Store") -> Path:
    """The program where its button is called Store by now."""
    place = folder / "programs" / "note"
    shutil.copytree(stored, place)
    program = read_program(place)
    task = {**program.task, "setup": _tree(button)["setup"]}
    write_program(program.model_copy(update={"task": task}), place)
    return place


def _names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def _calls(run: Run) -> int:
    return sum(isinstance(e, ModelCalled) and not e.model.startswith("offline") for e in run.events)


async def _repair_and_replay(
    place: Path, answers: Answering, **more: Any
) -> tuple[PlayResult, bool, str, list[str]]:
    lines: list[str] = []
    requests: list[str] = []

    def record_request(request: ModelRequest) -> str | Awaitable[str]:
        requests.append(request.text)
        return answers(request)

    played, is_stored = await play_and_repair(
        place,
        _settings(place.parent),
        tell=lambda line: lines.append(str(line)),
        models={"planner": FunctionModel(record_request), "state": _RULES},
        **more,
    )
    return played, is_stored, "\n".join(lines), requests


async def test_a_renamed_button_is_repaired_by_one_call_and_then_by_none(
    stored_program: Path, tmp_path: Path
) -> None:
    place = _rename_button(stored_program, tmp_path)
    before = (place / "program.yaml").read_text()
    played, is_stored, lines, requests = await _repair_and_replay(place, lambda _: _click("Store"))
    assert (played.outcome, is_stored, len(requests)) == ("verified", True, 1), (
        played.reason,
        lines,
    )
    assert "push button “Save” is not there" in requests[0]
    assert "-    name: Save\n+    name: Store" in lines
    program = read_program(place)
    assert played.folder.name in program.repaired[0]
    assert (place / "program.yaml.1").read_text() == before, "nothing is lost"
    assert program.proof is not None
    assert program.proof.run != played.folder.name
    assert _calls(load_run(program.proof.run, played.folder.parent)) == 0


async def test_a_wrong_repair_is_not_stored(stored_program: Path, tmp_path: Path) -> None:
    place = _rename_button(stored_program, tmp_path)
    before = (place / "program.yaml").read_text()
    played, is_stored, _, requests = await _repair_and_replay(place, lambda _: _click("Back"))
    assert played.outcome == "done unverified", "it says that it saved, and did not"
    assert not is_stored
    assert len(requests) <= 2
    assert _names(place.parent) == ["note", "runs"]
    assert (place / "program.yaml").read_text() == before


async def test_a_planner_that_finds_nothing_halts_it(stored_program: Path, tmp_path: Path) -> None:
    place = _rename_button(stored_program, tmp_path)
    answer = tool_call("infeasible", "there is no such button")
    played, is_stored, _, requests = await _repair_and_replay(place, lambda _: answer)
    assert (played.outcome, is_stored, len(requests)) == ("halted before effect", False, 1)
    assert "there is no such button" in played.reason


async def _run_with_program(
    task: Mapping[str, object], programs: Path, folder: Path, answers: Answering, leads: str = ""
) -> tuple[hisa.RunResult, Run, list[str]]:
    """A run of a task with stored programs before its planner; and what that was asked."""
    requests: list[str] = []

    def record_request(request: ModelRequest) -> str | Awaitable[str]:
        requests.append(request.text)
        return answers(request)

    settings = _settings(folder)
    planner = settings.planner.model_copy(update={"leads": leads or f"program:{programs}"})
    result = await hisa.run(
        OWN.read(folder / "task.yaml", task),
        settings=settings.model_copy(update={"planner": planner}),
        model={"planner": FunctionModel(record_request), "state": _RULES},
    )
    return result, load_run(result.folder), requests


async def test_a_program_that_fits_does_a_task_without_any_call(
    stored_program: Path, tmp_path: Path
) -> None:
    result, run, requests = await _run_with_program(
        _tree(), stored_program.parent, tmp_path, lambda _: ""
    )
    assert result.success, result.message
    assert not requests
    assert not [event for event in run.events if isinstance(event, ModelCalled)]
    assert "<dt>planner.leads</dt><dd>program:" in render_report(run)


@pytest.mark.parametrize(
    ("leads", "message"),
    [
        ("nobody:x", r"planner.leads = 'nobody:x'.*announced: .*program"),
        ("short:x", r"planner.leads = 'short:x': this planner cannot lead"),
    ],
)
async def test_planner_that_cannot_lead_is_refused(
    tmp_path: Path, leads: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        await _run_with_program(_tree(), tmp_path, tmp_path, lambda _: "", leads=leads)
    assert not _names(tmp_path), "nothing was begun"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--repair"], "'offline' follows rules"),
        (["--model", "gpt-5"], "--repair"),
    ],
)
def test_a_repair_without_a_model_says_so(
    stored_program: Path, options: list[str], message: str
) -> None:
    ran = CliRunner().invoke(cli, ["replay", str(stored_program), *options])
    assert isinstance(ran.exception, UsageError)
    assert message in str(ran.exception)


async def test_a_repair_that_does_not_play_again_is_not_stored(
    stored_program: Path, tmp_path: Path
) -> None:
    place = _rename_button(stored_program, tmp_path, button="Store-$(date +%s%N)")
    before = (place / "program.yaml").read_text()
    async with DesktopEnvironment() as desktop:

        async def answers(_: ModelRequest) -> str:
            observation = await desktop.observe(elements=True)
            button = next(e for e in observation.elements or () if e.name.startswith("Store-"))
            x, y = observation.convert(button.box.centre, "image").to_pixels()
            return tool_call("gui_action", f"pyautogui.click({x}, {y})")

        played, is_stored, lines, requests = await _repair_and_replay(
            place, answers, environment=desktop
        )
    assert (played.outcome, is_stored, len(requests)) == ("verified", False, 1), played.reason
    assert "not kept: played once more, it is halted before effect" in lines
    assert (place / "program.yaml").read_text() == before
