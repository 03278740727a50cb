"""Answers that fit every job of the agent and never end a run, for the fake server."""

from __future__ import annotations

import json
import re

from hisa.testing.scripted import tool_call

__all__ = ["never_terminate"]

_KEYS = ("down", "up", "left", "right", "home", "end", "pagedown", "pageup")
"""Pressed in turn: no two steps in a row are the same, so no loop is seen."""


def _plan(step: int) -> str:
    key = _KEYS[step % len(_KEYS)]
    thought = f"The task is not done yet, so I press {key} and look at the screen again."
    return tool_call("gui_action", f"pyautogui.press('{key}')", thought=thought)


def _refine(user: str) -> str:
    numbers = [int(number) for number in re.findall(r"^Step (\d+)", user, re.MULTILINE)]
    last = max(numbers, default=1)
    return (
        f"Steps 1~{last}: keys were pressed one after another and nothing else happened. "
        "Suggestion: go on."
    )


def never_terminate(job: str, step: int, user: str) -> str:
    """A valid answer that never ends the run.

    Args:
        job: first line of the system prompt, such as "# Global planner".
        step: the step the request belongs to.
        user: text of the user's messages.
    """
    match job.removeprefix("#").strip().lower():
        case "step abstraction":
            return "Succeeded. The key was pressed and the screen shows the same window."
        case "context refinement":
            return _refine(user)
        case "pattern induction":
            return json.dumps({"patterns": []})
        case "pattern synthesis":
            return "- Look at the whole screen before acting."
        case "judge":
            return json.dumps({"explaining": "It goes on.", "index": 1})
        case "element locator":
            return "(640,360)"
        case "best run":
            return json.dumps({"explaining": "The first one is as good as any.", "index": 1})
        case _:
            return _plan(step)
