"""The context of the benchmarks' setup steps and getters: files, password, proxy, programs."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path

from hisa.actions import parse, to_space
from hisa.errors import ActionRefused, EnvironmentFailed, UsageError
from hisa.plugins.benchmarks.tasks.cache import FileCache
from hisa.protocols import CommandResult
from hisa.screen.geometry import Size
from hisa.tasks.limits import ANSWER
from hisa.tasks.missing_programs import fix_for
from hisa.tasks.task_context import Context, quote_word

__all__ = ["OTHER_NAMES", "StepContext", "file_name"]

OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "google-chrome": ("google-chrome-stable", "chromium", "chromium-browser"),
    "chromium": ("google-chrome", "google-chrome-stable", "chromium-browser"),
    "chromium-browser": ("chromium", "google-chrome", "google-chrome-stable"),
    "python": ("python3",),
    "gedit": ("gnome-text-editor", "mousepad"),
    "nautilus": ("thunar", "pcmanfm"),
    "gnome-terminal": ("xfce4-terminal", "xterm"),
}
"""Programs that can replace another one, best first."""


def file_name(name: str) -> str:
    """Returns ``name`` if it is a plain file name.

    Raises:
        UsageError: it has folders in it, or is not a file name.
    """
    if not name or name in (".", "..") or len(name) > 200 or any(c in name for c in "/\\\0"):
        raise UsageError(f"{name[:200]!r} is not a plain file name")
    return name


@dataclass
class StepContext(Context):
    """The preparation or the scoring of a benchmark's task."""

    cache: FileCache = field(default_factory=FileCache)
    """Files from the internet."""
    password: str = "password"
    """The desktop user's password, for a task's command that asks for it."""
    proxy: str = ""
    """Address of the proxy with which the machine's Chrome is started; empty: none."""
    _programs: dict[str, str] = field(default_factory=dict)
    _screen: Size | None = None

    @classmethod
    def of(cls, context: Context, *, proxy: str) -> StepContext:
        """Returns a context with the benchmarks' own parts: the caller's, else the defaults."""
        known = {
            context_field.name: getattr(context, context_field.name)
            for context_field in fields(Context)
        }
        own = {"cache": FileCache.by(context.settings), **context.parts, "proxy": proxy}
        return cls(**known, **own)

    def place(self, name: str) -> Path:
        """Returns the path of the scratch file of that name."""
        return self.scratch / file_name(name)

    async def screen(self) -> Size:
        """Returns the size of the machine's screen, in pixels."""
        if self._screen is None:
            self._screen = (await self.environment.observe()).screen
        return self._screen

    async def fill_placeholders(self, text: str) -> str:
        """Returns a text with ``{CLIENT_PASSWORD}``, ``{SCREEN_WIDTH}`` and so on replaced."""
        text = text.replace("{CLIENT_PASSWORD}", self.password)
        if "{SCREEN_" not in text:
            return text
        screen = await self.screen()
        for name, value in (("WIDTH", screen.width), ("HEIGHT", screen.height)):
            text = text.replace(f"{{SCREEN_{name}}}", str(value))
            text = text.replace(f"{{SCREEN_{name}_HALF}}", str(value // 2))
        return text

    async def program(self, name: str) -> str:
        """Returns the program, or one that can replace it here; empty if there is neither."""
        if name not in self._programs:
            self._programs[name] = ""
            for candidate in (name, *OTHER_NAMES.get(name, ())):
                command = f"command -v {shlex.quote(candidate)}"
                if (await self.environment.execute(command)).exit_code == 0:
                    self._programs[name] = candidate
                    break
        return self._programs[name]

    async def line(self, command: str | Sequence[str], *, shell: bool = False) -> str:
        """Returns the bash line for a command of a task file.

        A string without ``shell`` is split into words. A list with ``shell`` is run by sh, which
        takes the first word as the script, as `subprocess` does.

        Raises:
            UsageError: an empty command or an unclosed quote.
            EnvironmentFailed: the program is not on the machine.
        """
        if isinstance(command, str):
            command = await self.fill_placeholders(command)
            if shell:
                return command
            try:
                words = shlex.split(command)
            except ValueError as error:
                raise UsageError(
                    f"{command[:200]!r} cannot be split into words: {error}"
                ) from error
        else:
            words = [await self.fill_placeholders(word) for word in command]
            if shell:
                return shlex.join(["/bin/sh", "-c", *words])
        if not words:
            raise UsageError("an empty command")
        return " ".join(
            quote_word(word) for word in [await self._require_program(words[0]), *words[1:]]
        )

    async def _require_program(self, name: str) -> str:
        program = await self.program(name)
        if not program:
            raise EnvironmentFailed(
                f"{self.environment.name} has no program {name!r}", fix=fix_for(name)
            )
        return program

    async def run(
        self, command: str | Sequence[str], *, shell: bool = False, timeout: float = 120.0
    ) -> CommandResult:
        """Run a command of a task file and wait for it.

        Python that only presses keys and moves the pointer is done by the environment itself, so
        that the machine needs no PyAutoGUI and the actions happen once.

        Args:
            command: a line or its words.
            shell: whether a shell reads the command, as for `subprocess`.
            timeout: seconds until it must have ended.

        Raises:
            UsageError: not a command.
            EnvironmentFailed: the program is missing, does not end, or the machine is gone.
        """
        if await self._try_actions(command):
            return CommandResult(0, "")
        return await self.run_line(await self.line(command, shell=shell), timeout=timeout)

    async def run_line(self, line: str, *, timeout: float = 120.0) -> CommandResult:
        """Run a bash line and wait for it.

        Raises:
            EnvironmentFailed: it does not end, or the machine is gone.
        """
        result = await self.environment.execute(line, timeout=timeout, limit=ANSWER + 1)
        if result.timed_out:
            raise EnvironmentFailed(f"{line[:200]!r} did not end within {timeout:g} s")
        return result

    async def _try_actions(self, command: str | Sequence[str]) -> bool:
        match command:
            case ["python" | "python3", "-c", str(source)] if "pyautogui" in source:
                pass
            case _:
                return False
        try:
            actions = parse(await self.fill_placeholders(source))
        except ActionRefused:
            return False
        screen = await self.screen()
        await self.environment.act(to_space(actions, "screen", screen=screen, image=screen))
        return True
