"""Desktops that MCP clients look and act on themselves; each has a run log of what was done."""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Annotated

from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import ImageContent, TextContent
from pydantic import Field

from hisa.actions import parse, slots, to_source
from hisa.config import Settings
from hisa.environments.open_environment import open_environment
from hisa.errors import ActionRefused, EnvironmentFailed, NotFound
from hisa.events import Acted, Observed, RunFinished, RunStarted, StepFinished
from hisa.grounder.marks import Marks
from hisa.hooks import Hooks, Run, Step, name_of
from hisa.plugins.mcp.mcp_allowed import said, to_client
from hisa.protocols import Emit, Environment, GroundedCall, Outcome, StateView, Task, ToolCall
from hisa.runs.log import RunLog
from hisa.screen.observation import Observation
from hisa.sequence import make_calls
from hisa.tools.registry import ToolRegistry
from hisa.wiring.base import HookParts
from hisa.wiring.border import with_border
from hisa.wiring.hook_list import NEEDED, applied_hooks, in_order, open_hooks
from hisa.wiring.tool_parts import allowed_tools

__all__ = ["ActOutcome", "KeptDesktops", "OpenedDesktop"]

_MOST = 4
"""Desktops at once; one may take 4 GB. Chosen by hand."""
_WORDS = "(an MCP client looks and acts)"
"""The instruction in the log of a desktop that has no task."""
_NUMBERED = re.compile(r"(\d+) ")

DesktopId = Annotated[str, Field(description="As open_desktop named it.")]


@dataclass(frozen=True)
class OpenedDesktop:
    """A desktop, and the run whose log has all that is done on it."""

    desktop: str
    environment: str
    width: int
    """Pixels of its pictures, in which act takes its points."""
    height: int
    run: str


@dataclass(frozen=True)
class ActOutcome:
    """What was done, and whether the picture is another than before."""

    ok: bool
    done: str
    """The actions as they were understood."""
    error: str
    changed: bool


@dataclass
class _Desktop:
    environment: Environment
    machine: Environment
    """The environment as secrets and questions let others see it."""
    run: Run
    log: RunLog
    emit: Emit
    settle: float
    look: Observation
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def see(self, *, elements: bool = False) -> Observation:
        """Look, and write the look down."""
        started = time.monotonic()
        look = await self.machine.observe(elements=elements, settle=self.settle)
        kept = await self.log.keep(look)
        self.emit(Observed.of(look, kept=kept, seconds=time.monotonic() - started))
        self.look = look
        return look

    async def act(self, call: GroundedCall) -> Outcome:
        """Act, where the rules allow it; what is refused is a failed outcome, and logged too."""
        try:
            step = Step(self.log.step, self.run, self.look, StateView(), grounded=call)
            return await make_calls(step, settle=self.settle)
        except (ActionRefused, NotFound) as error:
            self.emit(Acted(tool=call.call.tool, input=call.input, ok=False, error=str(error)))
            return Outcome(ok=False, error=str(error))

    async def close(self, message: str) -> None:
        """End it, and its log."""
        try:
            await self.environment.__aexit__(None, None, None)
        finally:
            self.log.emit(RunFinished(exit_status="stopped", message=message))
            self.log.close()


class KeptDesktops:
    """The desktops that clients have open.

    Args:
        choose: gives the settings of one, as `hisa.plugins.mcp.mcp_allowed.chosen`.
    """

    def __init__(self, choose: Callable[..., Settings]) -> None:
        self._choose = choose
        self._open: dict[str, _Desktop] = {}

    async def open_desktop(
        self,
        env: Annotated[
            str, Field(description="Such as desktop or desktop:PROFILE; empty: as configured.")
        ] = "",
    ) -> OpenedDesktop:
        """Open a desktop to look and act on. It stays until close_desktop."""
        settings = self._choose(env=env)
        if len(self._open) >= _MOST:
            raise ToolError(f"{_MOST} desktops are open; close one")
        name = secrets.token_hex(8)  # who was not told it cannot guess it
        with to_client():
            self._open[name] = desktop = await _opened(settings)
        size = desktop.look.image
        return OpenedDesktop(
            name, desktop.environment.name, size.width, size.height, desktop.log.id
        )

    async def look(
        self,
        desktop: DesktopId,
        about: Annotated[
            str, Field(description="What you look for: its words come first in the list.")
        ] = "",
    ) -> list[ImageContent | TextContent]:
        """Look: the picture, and a list of what is on it with the points to click."""
        async with self._used(desktop) as used:
            look = await used.see(elements="elements" in used.machine.capabilities)
        png = await asyncio.to_thread(lambda: look.screenshot.png)
        picture = base64.b64encode(png).decode("ascii")
        return [
            ImageContent(type="image", data=picture, mime_type="image/png"),
            TextContent(type="text", text=said(_listed(look, about))),
        ]

    async def act(
        self,
        desktop: DesktopId,
        code: Annotated[
            str,
            Field(
                description="PyAutoGUI calls with literal arguments, points in pixels of the "
                "picture: pyautogui.click(10, 20); pyautogui.write('hi')"
            ),
        ],
    ) -> ActOutcome:
        """Act with pointer and keyboard: click, write, press, hotkey, scroll and the like."""
        with to_client():
            actions = parse(code)
            if slots(actions):
                raise ActionRefused("give points as plain numbers: nobody finds places here")
            source = to_source(actions)
        async with self._used(desktop) as used:
            used.log.step += 1
            before = used.look
            call = ToolCall("", "gui_action", source, actions=actions)
            outcome = await used.act(GroundedCall(call, source, actions))
            after = await used.see()
            used.emit(StepFinished(seconds={"act": outcome.seconds}))
        changed = before.screenshot.sha256 != after.screenshot.sha256
        return ActOutcome(outcome.ok, said(source), said(outcome.error), changed)

    async def close_desktop(self, desktop: DesktopId) -> str:
        """End a desktop; everything on it is gone, and the log of what was done stays."""
        async with self._used(desktop) as used:
            del self._open[desktop]
            await used.close("closed by the client")
        return f"closed; the log of what was done is in {used.log.folder}"

    async def close(self) -> None:
        """End all of them; one that cannot be ended keeps no other one up."""
        ending = [desktop.close("the server has ended") for desktop in self._open.values()]
        self._open.clear()
        await asyncio.gather(*ending, return_exceptions=True)

    @asynccontextmanager
    async def _used(self, name: str) -> AsyncIterator[_Desktop]:
        """The desktop of a name, for one client at a time; one that broke is gone."""
        desktop = self._open.get(name)
        if desktop is None:
            raise ToolError(f"no desktop {said(name)[:40]!r} is open; open_desktop opens one")
        async with desktop.lock:
            with to_client():
                try:
                    yield desktop
                except EnvironmentFailed:
                    self._open.pop(name, None)
                    await desktop.close("the desktop broke")
                    raise


async def _opened(settings: Settings) -> _Desktop:
    """Start a desktop, with a log and the tools that rules and secrets stand before.

    Raises:
        ToolError: each act on it is to be asked for, and nobody can be.
        OperatorError: it cannot be started.
    """
    environment = open_environment(settings.environment, settings.run.image_limit)
    await environment.__aenter__()
    try:
        asks = "throw_away" not in environment.capabilities and settings.run.confirm == "auto"
        if asks or settings.run.confirm == "always":
            raise ToolError(
                f"run.confirm = {settings.run.confirm!r} asks a person before each act on "
                f"{environment.name}, and nobody can be asked"
            )
        await environment.reset()
        return await _with_log(settings, environment)
    except BaseException:
        await environment.__aexit__(None, None, None)
        raise


async def _with_log(settings: Settings, environment: Environment) -> _Desktop:
    task = Task("mcp-desktop", _WORDS)
    log = RunLog.create(
        settings.run.folder,
        task,
        settings=settings.model_dump(mode="json"),
        environment=environment.name,
        seed=settings.run.seed,
    )
    try:
        emit = log.emit
        emit(
            RunStarted(
                task=task.id, instruction=_WORDS, domain=task.domain, environment=environment.name
            )
        )
        announced = open_hooks(HookParts(settings, log, emit))
        applied = applied_hooks(announced, settings, environment)
        machine = with_border(environment, applied)
        registry = ToolRegistry(allowed_tools(settings.tools), capabilities=machine.capabilities)
        settle = settings.environment.settle
        needed = [hook for hook in applied if name_of(hook) in NEEDED]
        hooks = Hooks(in_order(needed), emit=emit)
        run = Run(task, machine, registry, log, hooks)
        await hooks.call("on_start", run)
        look = await machine.observe(settle=settle)
        desktop = _Desktop(environment, machine, run, log, emit, settle, look)
        await desktop.see()
    except BaseException:
        log.close()
        raise
    return desktop


def _listed(look: Observation, about: str) -> str:
    """The list that a planner without eyes reads, with the point of each thing."""
    if look.elements is None:
        return "no list of what is on the screen can be had here; the picture is all there is"
    marks = Marks()
    lines = marks.listed(Task("look", about), look).splitlines()
    return "\n".join(_with_point(line, marks) for line in lines) or "nothing with words is there"


def _with_point(line: str, marks: Marks) -> str:
    number = _NUMBERED.match(line)
    if number is None:
        return line
    try:
        place = marks.find(f"element: {number[1]}")
    except NotFound:
        return line
    return line if place is None else f"{line} at ({place.point.x:.0f}, {place.point.y:.0f})"
