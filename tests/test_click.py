"""What one click by name passes, from the planner's reply to the act on the machine."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from types import FrameType
from typing import Any

import hisa
from hisa.protocols import ModelReply, ModelRequest
from hisa.testing import FunctionModel, ScriptedModel, tool_call
from hisa.testing.form import FakeEnvironment

ROOT = f"{Path(hisa.__file__).parent}/"
CLICK = tool_call("gui_action", "pyautogui.click(X_COORD, Y_COORD)", 'the "Save" button')


class Calls:
    """Every call of a function of HiSA: its file, its name and its object's class."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, str, str]] = []

    def hear(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(ROOT) and code.co_name != "<module>":
            own = frame.f_locals.get("self")
            owner = "" if own is None else type(own).__name__
            self.entries.append((code.co_filename[len(ROOT) :], code.co_qualname, owner))


class Planner(ScriptedModel):
    """Notes how many calls were made when it answers."""

    def __init__(self, calls: Calls, replies: list[Any]) -> None:
        super().__init__(replies)
        self.calls, self.answered = calls, list[int]()

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        reply = await super().complete(request)
        self.answered.append(len(self.calls.entries))
        return reply


def click_path(folder: Path) -> list[tuple[str, str, str]]:
    """The calls from the second reply of a planner to the act that it asks for."""
    calls = Calls()
    planner = Planner(calls, [CLICK, CLICK, tool_call("termination", "ok")])
    settings = {"patterns": {"enabled": False}, "run": {"folder": str(folder)}}
    threading.setprofile(calls.hear)
    sys.setprofile(calls.hear)
    try:
        result = hisa.run_sync(
            "Save it.",
            environment=FakeEnvironment(),
            settings=hisa.Settings.model_validate(settings),
            model={"planner": planner, "state": FunctionModel(lambda _: "Succeeded. ok.")},
        )
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # as its page says
    assert result.status == "succeeded"
    start, end = planner.answered[1:3]
    step = calls.entries[start:end]
    acts = [at for at, (_, name, _) in enumerate(step) if name == "FakeEnvironment.act"]
    return step[: acts[-1] + 1]


def test_a_click_by_name_passes_few_parts(tmp_path: Path) -> None:
    calls = click_path(tmp_path)
    files = {file for file, _, _ in calls}
    assert len(files) <= 60
    assert len({(file, owner) for file, _, owner in calls if owner}) <= 32
    assert len({(file, name) for file, name, _ in calls}) <= 320
    assert len(calls) <= 1_500
    plugins = {file for file in files if file.startswith("plugins/")}
    assert {file.split("/")[1] for file in plugins} <= {"guard", "matching"}
    assert not {file for file in plugins if file.startswith("plugins/guard/policy")}
    assert not plugins & {
        f"plugins/matching/{name}.py" for name in ("description", "scene", "pick")
    }
