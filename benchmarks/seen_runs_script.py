"""Reads and follows the scripts of `benchmarks.seen_runs`; the file's head has their format."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, model_validator

from hisa.errors import UsageError
from hisa.events import Acted, Event, GroundingFailed
from hisa.protocols import ModelRequest, Place
from hisa.screen.geometry import Point
from hisa.screen.observation import Observation
from hisa.testing.scripted import tool_call
from hisa.text.yaml_text import read_yaml

__all__ = ["CLICK", "SCRIPTS", "Script", "ScriptStep", "read_scripts"]

SCRIPTS = Path(__file__).with_name("seen_runs_scripts.yaml")
_SLOT = "X_COORD, Y_COORD"
CLICK = f"pyautogui.click({_SLOT})"
_TRIES = 3
"""Most tries of a step whose place was found; chosen by hand, as many as the offline model's."""


class ScriptStep(BaseModel):
    """One call of a script."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    describe: str | tuple[str, ...] = Field("", min_length=1)
    at: tuple[int, int] | None = None
    do: str = CLICK
    tool: str = "gui_action"

    @model_validator(mode="after")
    def _check(self) -> ScriptStep:
        if len({bool(self.describe), self.at is not None, _SLOT in self.do}) != 1:
            raise ValueError(f"'describe', 'at' and {_SLOT} go together")
        return self

    @property
    def descriptions(self) -> tuple[str, ...]:
        """What is said of the place, in the order in which it is said; one may be empty."""
        return (self.describe,) if isinstance(self.describe, str) else self.describe

    def write_call(self, refused: int, *, by_points: bool) -> str:
        """Returns the planner's reply for this step.

        Args:
            refused: how many of its descriptions were refused; the next one is used.
            by_points: whether the place is given as its point, without a description.
        """
        if by_points and self.at is not None:
            return tool_call(self.tool, self.do.replace(_SLOT, "{}, {}".format(*self.at)))
        return tool_call(self.tool, self.do, self.descriptions[refused])


def read_scripts(file: Path, tasks: Collection[str]) -> Mapping[str, Sequence[ScriptStep]]:
    """Returns the scripts of a file by the ids of their tasks.

    Raises:
        UsageError: a script is of an unknown task, or a step is wrong; names it.
    """
    try:
        form = TypeAdapter(dict[str, tuple[ScriptStep, ...]])
        scripts = form.validate_python(read_yaml(file.read_text("utf-8")) or {})
    except (ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{file}: {error}") from error
    if unknown := sorted(set(scripts) - set(tasks)):
        known = ", ".join(tasks)
        raise UsageError(f"{file}: no tasks {', '.join(unknown)}; there are {known}")
    return scripts


class Script:
    """Answers as a planner's model, and hears events: a step comes again if it was not done.

    Args:
        steps: the calls of the task; after the last one the run ends as done.
        by_points: whether places are given as points, without descriptions.
    """

    def __init__(self, steps: Sequence[ScriptStep], *, by_points: bool = False) -> None:
        self._steps, self._by_points = steps, by_points
        self._number = self._tries = self._refused = 0

    async def find_target_point(self, place: Place, tree: Observation) -> Point | None:
        """Returns the point that the present step means."""
        at = self._steps[self._number].at if self._number < len(self._steps) else None
        return None if at is None else Point(*at, "image")

    def hear(self, event: Event) -> None:
        """Go on after a call that was done; count a try of one that was not."""
        if isinstance(event, GroundingFailed):
            self._refused += 1
        elif isinstance(event, Acted) and event.ok:
            self._number, self._tries, self._refused = self._number + 1, 0, 0
        elif isinstance(event, Acted):
            self._tries += 1

    def reply(self, request: ModelRequest) -> str:
        """Returns the planner's next call."""
        if self._number >= len(self._steps):
            return tool_call("termination", "The script is done.")
        step = self._steps[self._number]
        if self._tries - self._refused >= _TRIES or self._refused >= len(step.descriptions):
            return tool_call("infeasible", f"Step {self._number + 1} could not be done.")
        return step.write_call(self._refused, by_points=self._by_points)
