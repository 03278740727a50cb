"""A task of BrowserGym as an environment: its page is the screen.

BrowserGym (MiniWoB++, WebArena, VisualWebArena, WorkArena, AssistantBench, …) opens a page, sets
the task up and rewards it. HiSA acts through BrowserGym's published actions with coordinates, and
reads its published observations: screenshot, accessibility tree and properties of each element.
"""

from __future__ import annotations

import asyncio
import atexit
import functools
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hisa.actions import Action
from hisa.actions.held_keys import held_after
from hisa.config import EnvironmentSettings
from hisa.errors import ActionRefused, EnvironmentFailed, UsageError
from hisa.machine.parts import install_command
from hisa.machine.patience import Deadline
from hisa.plugins.gym.browser_gym_actions import as_source
from hisa.plugins.gym.browser_gym_looks import read_look
from hisa.plugins.gym.gym_suites import suite_of, suite_tasks
from hisa.protocols import CommandResult, ExitStatus
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT, Observation

__all__ = ["BrowserGymEnvironment", "open_browser_gym"]

_T = TypeVar("_T")
_BROWSERS = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
_PLACE = "PLAYWRIGHT_BROWSERS_PATH"
_LOOK = "noop(0)"
_DELAY = 0.1
"""Seconds that BrowserGym waits before it observes; HiSA itself waits for the page to settle."""


class BrowserGymEnvironment:
    """A browser that BrowserGym starts for the task that is staged in it.

    Args:
        image_limit: the largest screenshot that models see, in pixels.
        headless: whether the browser runs without a window.
    """

    def __init__(self, *, image_limit: Size = DEFAULT_IMAGE_LIMIT, headless: bool = True) -> None:
        self._image_limit = image_limit
        self._headless = headless
        self._thread: ThreadPoolExecutor | None = None
        self._gym: Any = None
        self._reward = 0.0
        self._over = ""
        self._pointer: Point | None = None
        self._held: tuple[str, ...] = ()
        self._observation: Mapping[str, Any] = {}

    @property
    def name(self) -> str:
        """The environment's name as printed."""
        return "browsergym"

    @property
    def capabilities(self) -> frozenset[str]:
        """Elements, and that nothing stays after a reset; no commands."""
        return frozenset({"elements", "throw_away"})

    @property
    def over(self) -> str:
        """The reason why the episode is over; empty while it goes on."""
        return self._over

    async def __aenter__(self) -> BrowserGymEnvironment:
        """Take the thread that drives browsers; BrowserGym needs the same one always.

        Raises:
            EnvironmentFailed: BrowserGym is not installed.
        """
        self._thread = _browsers_thread()
        try:
            await self._do(_import_gym)
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *exc: object) -> None:
        """End the browser."""
        if self._thread is None:
            return
        await self._do(self._close)
        self._thread = None

    async def reset(self) -> None:
        """Closes the page; the task is staged anew."""
        await self._do(self._close)

    async def stage(self, task: str, options: Mapping[str, Any], seed: int) -> str:
        """Opens a task and returns its goal.

        Args:
            task: its name without ``browsergym/``: "miniwob.click-test".
            options: parameters of the task, such as ``start_url`` of "openended".
            seed: for the task's random choices.

        Raises:
            UsageError: no such task; nothing was started.
            EnvironmentFailed: the task cannot be set up.
        """
        await self._do(self._close)
        return await self._do(lambda: self._stage_task(task, options, seed))

    async def reward(self) -> tuple[float, str]:
        """Returns the present reward, or the one that ended the episode, and why it is over."""
        await self._do(lambda: self._step(_LOOK))
        return self._reward, self._over

    async def conclude(self, status: ExitStatus, message: str) -> None:
        """Sends the run's last message to BrowserGym's chat, where some tasks expect an answer."""
        call = "report_infeasible" if status == "infeasible" else "send_msg_to_user"
        if message.strip() and self._gym is not None and not self._over:
            await self._do(lambda: self._step(f"{call}({message!r})"))

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """See `hisa.protocols.Environment`."""
        observation = await self._do(lambda: self._wait_until_still(settle))
        look = read_look(observation, elements=elements, image_limit=self._image_limit)
        return replace(look, cursor=self._pointer, held=self._held)

    async def act(self, actions: Sequence[Action], /) -> None:
        """Does the actions as one step of BrowserGym.

        Raises:
            ActionRefused: the page's browser cannot do one of them.
        """
        written = as_source(actions, self._pointer)
        if not written.lines:
            return
        await self._do(lambda: self._step(written.source))
        self._pointer, self._held = written.pointer, held_after(actions, self._held)
        if why := str(self._observation.get("last_action_error") or ""):
            raise ActionRefused(f"the page did not accept it: {why[:500]}")

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Refuses every command with exit status 127: a page runs none.

        Args:
            command: ignored.
            timeout: ignored.
            limit: ignored.
        """
        return CommandResult(127, "", "browsergym: a page runs no commands")

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Raises FileNotFoundError: a page has no files."""
        raise FileNotFoundError(f"{path}: a page has no files")

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Raises EnvironmentFailed: a page has no files."""
        raise EnvironmentFailed(f"{path}: a page has no files", fix="--env desktop")

    # ---------------------------------------------------------------- in the browser's thread

    async def _do(self, work: Callable[[], _T]) -> _T:
        if self._thread is None:
            raise EnvironmentFailed(
                f"{self.name}: not started", fix="use `async with environment:`"
            )
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _close(self) -> None:
        gym, self._gym = self._gym, None
        self._reward, self._over, self._observation, self._pointer = 0.0, "", {}, None
        if gym is not None:
            gym.close()

    def _stage_task(self, task: str, options: Mapping[str, Any], seed: int) -> str:
        gymnasium, spoken = _import_gym()
        name = _find_task(task)
        self._gym = gymnasium.make(
            name,
            task_kwargs=dict(options),
            headless=self._headless,
            action_mapping=spoken,
            pre_observation_delay=_DELAY,
            disable_env_checker=True,
            pw_chromium_kwargs=_own_browser(),
        )
        try:
            self._observation, _ = self._gym.reset(seed=seed)
        except Exception as error:  # another package and the browser may raise anything
            self._close()
            raise EnvironmentFailed(f"task {task!r} cannot be set up: {_line(error)}") from error
        parts = self._observation.get("goal_object") or ()
        words = [part["text"] for part in parts if part.get("type") == "text"]
        return "\n".join(words).strip() or str(self._observation.get("goal") or "").strip()

    def _step(self, source: str) -> Mapping[str, Any]:
        if self._gym is None:
            raise EnvironmentFailed(
                "no task of BrowserGym is open", fix="hisa run browsergym:NAME --env browsergym"
            )
        try:
            self._observation, reward, over, _, info = self._gym.step(source)
        except Exception as error:  # another package and the browser may raise anything
            raise EnvironmentFailed(f"BrowserGym failed: {_line(error)}") from error
        if not self._over:  # the reward may change again until the episode is over
            self._reward = float(reward)
        if over and not self._over:
            details = json.dumps(info.get("task_info") or {}, default=str)
            self._over = f"the episode ended with reward {float(reward):g}: {details[:300]}"
        return self._observation

    def _wait_until_still(self, seconds: float) -> Mapping[str, Any]:
        deadline = Deadline(seconds)
        observation = self._step(_LOOK)
        while seconds and not deadline.passed:
            before, observation = observation["screenshot"], self._step(_LOOK)
            if (
                before.shape == observation["screenshot"].shape
                and (before == observation["screenshot"]).all()
            ):
                break
        return observation


def open_browser_gym(
    value: str, *, settings: EnvironmentSettings, image_limit: Size
) -> BrowserGymEnvironment:
    """Opens an environment of the kind ``browsergym``, not started yet.

    Args:
        value: the text after the kind's name; not used.
        settings: the environment's settings; not used.
        image_limit: the largest screenshot that models see, in pixels.
    """
    return BrowserGymEnvironment(image_limit=image_limit)


@functools.cache
def _browsers_thread() -> ThreadPoolExecutor:
    """Returns the one thread of this process that drives browsers.

    BrowserGym keeps one playwright for all its tasks, usable only in the thread that started it.
    """
    return ThreadPoolExecutor(1, thread_name_prefix="browsergym")


def _import_gym() -> tuple[Any, Callable[[str], str]]:
    """Returns Gymnasium, and the function that makes a step from BrowserGym's coordinate actions.

    Raises:
        EnvironmentFailed: BrowserGym is not installed.
    """
    try:
        import browsergym.core
        import gymnasium
        from browsergym.core.action.highlevel import HighLevelActionSet
    except ImportError as error:
        raise EnvironmentFailed(
            f"BrowserGym is not installed: {error}", fix=install_command("browsergym")
        ) from error
    del browsergym
    spoken = HighLevelActionSet(subsets=["coord", "chat", "infeas"], multiaction=True)
    return gymnasium, spoken.to_python_code


def _find_task(task: str) -> str:
    """Returns the full name of a task that its suite's package announces.

    Raises:
        UsageError: the suite has no such task.
    """
    suite = suite_of(task)
    tasks = suite_tasks(suite)
    if task not in tasks:
        raise UsageError(
            f"no BrowserGym task {task!r}; {suite} has {len(tasks)}: {', '.join(tasks[:8])}",
            fix=f"hisa bench tasks browsergym:{suite}",
        )
    return f"browsergym/{task}"


def _own_browser() -> dict[str, Any]:
    """Returns the browser's options; points playwright to the system's browser if it has none."""
    browser = next((path for path in map(shutil.which, _BROWSERS) if path), None)
    own = Path("~/.cache/ms-playwright").expanduser()
    if (
        browser
        and _PLACE not in os.environ
        and not any(own.glob("chromium-*/INSTALLATION_COMPLETE"))
    ):
        os.environ[_PLACE] = _link_browser(browser)
    return {"chromium_sandbox": False} if os.geteuid() == 0 else {}


@functools.cache
def _link_browser(browser: str) -> str:
    """Makes a folder of browsers as playwright expects it, with a link to the system's browser.

    The folder stays as long as this process: playwright reads its path only once.
    """
    import playwright

    folder = tempfile.mkdtemp(prefix="hisa-browsers-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    about = Path(playwright.__file__).parent / "driver" / "package" / "browsers.json"
    for entry in json.loads(about.read_text("utf-8"))["browsers"]:
        if entry["name"] == "chromium":
            place = Path(folder, f"chromium-{entry['revision']}", "chrome-linux")
            place.mkdir(parents=True)
            (place / "chrome").symlink_to(browser)
            (place.parent / "INSTALLATION_COMPLETE").touch()
    return folder


def _line(error: Exception) -> str:
    """Returns an error as one line."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:500]
