"""Pages of the machine's own browser, worked from inside the machine through its DevTools."""

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
"""Longest wait for an element. The benchmark waits 5 s, on a machine that does nothing else."""
_OPEN_SECONDS = 120.0
"""Longest wait for the browser and the page: a web service of a task starts in up to a minute."""
_SLACK = 30.0  # for the interpreter, on a busy machine


@dataclass(frozen=True)
class PageStep:
    """Something to do with one element of a page."""

    kind: Literal["see", "click", "check", "uncheck", "fill", "run"]
    css: str = ""
    text: str = ""
    """What the element holds, as a part and whatever its case."""
    value: str = ""
    """What to fill in; of "run": JavaScript."""
    count: int | None = None
    """Of "see": how many such elements there are."""
    seconds: float = _SECONDS
    optional: bool = False
    """The page may lack it."""


async def work_page(context: StepContext, url: str, steps: Sequence[PageStep]) -> None:
    """Find the page whose address begins so, or open it, and do the steps in turn.

    Raises:
        EnvironmentFailed: no browser, no page, or an element that does not come.
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
        raise EnvironmentFailed(f"{url}: the page cannot be worked: {reason}")
    if "done" not in answer:
        raise _build_failure(url, answer)


def page_driver() -> str:
    """Returns the source of the script that works pages inside the machine."""
    place = files("hisa.plugins.benchmarks.tasks").joinpath("page_driver.py")
    return place.read_text(encoding="utf-8")


def _build_failure(url: str, answer: dict[str, Any]) -> EnvironmentFailed:
    why = str(answer.get("why"))[:500]
    if answer.get("failed") == -1:
        fix = "the task must start the browser with --remote-debugging-port=1337"
    elif answer.get("failed") == -2:
        fix = "see whether the task's own script starts what serves the page"
    else:
        fix = "the page is another than the one that the task was written for"
    return EnvironmentFailed(f"{url}: {why}", fix=fix)
