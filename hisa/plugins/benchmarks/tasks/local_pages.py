"""Operates pages of the machine's own browser, from inside the machine, through DevTools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from typing import Any, Literal

from hisa.environments.clean_commands import python
from hisa.errors import EnvironmentFailed
from hisa.machine.patience import patience
from hisa.plugins.benchmarks.tasks.step_context import StepContext

__all__ = ["PageStep", "page_driver", "work_page"]

_SECONDS = 30.0
"""Longest wait for an element. The benchmark waits 5 s, on an otherwise idle machine."""
_OPEN_SECONDS = 120.0
"""Longest wait for browser and page: a task's web service takes up to a minute to start."""
_SLACK = 30.0  # for the interpreter, on a busy machine


@dataclass(frozen=True)
class PageStep:
    """Something to do with one element of a page."""

    kind: Literal["see", "click", "check", "uncheck", "fill", "run"]
    css: str = ""
    text: str = ""
    """A part of the element's text, in upper or lower case."""
    value: str = ""
    """What to fill in; for "run": JavaScript."""
    count: int | None = None
    """For "see": the number of such elements that must be there; None: any."""
    seconds: float = _SECONDS
    optional: bool = False
    """Whether the page may lack the element."""


async def work_page(context: StepContext, url: str, steps: Sequence[PageStep]) -> None:
    """Find a page or open it, and do the steps in turn.

    Args:
        context: the task and its machine.
        url: the beginning of the page's address; if no tab has it, the address to open.
        steps: what to do on the page; each waits for its element.

    Raises:
        EnvironmentFailed: no browser, no page, or an element that does not appear.
    """
    step_data: list[dict[str, Any]] = [
        asdict(step) | {"seconds": patience(step.seconds)} for step in steps
    ]
    opening = patience(_OPEN_SECONDS)
    request = json.dumps({"url": url, "seconds": opening, "steps": step_data})
    longest = opening + sum(step["seconds"] for step in step_data) + patience(_SLACK)
    line = python(page_driver(), request)
    result = await context.environment.execute(line, timeout=longest)
    try:
        answer = json.loads(result.output) if result.exit_code == 0 else None
    except ValueError:
        answer = None
    if result.timed_out or not isinstance(answer, dict):
        reason = "no answer in time" if result.timed_out else result.error.strip()[-300:]
        raise EnvironmentFailed(f"{url}: the page cannot be operated: {reason}")
    if "done" not in answer:
        raise _build_failure(url, answer)


def page_driver() -> str:
    """Returns the source of the script that operates pages inside the machine."""
    place = files("hisa.plugins.benchmarks.tasks").joinpath("page_driver.py")
    return place.read_text(encoding="utf-8")


def _build_failure(url: str, answer: dict[str, Any]) -> EnvironmentFailed:
    why = str(answer.get("why"))[:500]
    if answer.get("failed") == -1:
        fix = "the task must start the browser with --remote-debugging-port=1337"
    elif answer.get("failed") == -2:
        fix = "check that the task's own script starts the server of the page"
    else:
        fix = "check that the page is the one that the task was written for"
    return EnvironmentFailed(f"{url}: {why}", fix=fix)
