"""Reads the reward of an episode on the machine, which a setup step started."""

from __future__ import annotations

import asyncio
import shlex
import signal

from pydantic import BaseModel, ConfigDict, ValidationError

from hisa.errors import EnvironmentFailed
from hisa.machine.patience import Deadline
from hisa.protocols import Environment, FileRefused

__all__ = [
    "LOG",
    "PROGRAM",
    "STATE",
    "EpisodeState",
    "command",
    "episode_state",
    "last_output",
    "outcome",
    "over",
]

PROGRAM = "/tmp/hisa-miniwob.pyz"
STATE = "/tmp/hisa-miniwob.json"
LOG = "/tmp/hisa-miniwob.log"
_SCALE, _FLIGHT_SCALE = 2, 1
"""Screen pixels per page pixel: most pages are 160 x 210, those of airlines as large as a phone."""
_GRACE_SECONDS, _POLL_SECONDS = 1.0, 0.1
"""Wait for an episode to end: an idle browser handles a click in some hundredths of a second."""
_CLOSED = (0, -signal.SIGTERM, 128 + signal.SIGTERM, -signal.SIGINT, 128 + signal.SIGINT)
"""Exit codes of a browser that was closed; any other code is a crash."""


class EpisodeState(BaseModel):
    """The state that the stage writes; see `hisa.plugins.gym.miniwob.stage`."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    pid: int
    instruction: str | None = None
    reward: float | None = None
    reason: str = ""
    left: bool = False
    lost: bool = False
    exit: int | None = None
    broken: str = ""


def command(page: str, seed: int) -> str:
    """Returns the bash line that shows a page of the application until its browser ends."""
    scale = _FLIGHT_SCALE if page.startswith("flight/") else _SCALE
    words = ["python3", PROGRAM, "--page", page, "--seed", str(seed), "--scale", str(scale)]
    return f"{shlex.join([*words, '--state', STATE])} >{LOG} 2>&1"


async def episode_state(environment: Environment) -> EpisodeState | None:
    """Returns the episode's state; None before the stage has begun.

    Raises:
        EnvironmentFailed: the file cannot be read, or the stage did not write it.
    """
    try:
        return EpisodeState.model_validate_json(await environment.read_file(STATE))
    except FileNotFoundError:
        return None
    except FileRefused as error:
        raise EnvironmentFailed(str(error)) from error
    except ValidationError as error:
        raise EnvironmentFailed(f"{STATE}: {error.errors()[0]['msg']}") from error


async def last_output(environment: Environment) -> str:
    """Returns the end of the stage's log, where browser and stage report errors."""
    try:
        text = (await environment.read_file(LOG)).decode("utf-8", errors="replace")
    except FileNotFoundError:
        return "nothing was written"
    except FileRefused as error:
        return str(error)
    return text.strip()[-500:] or "nothing was written"


async def outcome(environment: Environment) -> tuple[float, str]:
    """Returns the page's reward without its time penalty, and the reason.

    An episode that the agent gave up, by leaving the page, by closing the browser or by not
    finishing, has reward 0. A busy browser gets time to handle the agent's last click before it
    counts as not finished.

    Raises:
        EnvironmentFailed: the page, its browser or the stage broke before there was a reward.
    """
    wait = Deadline(_GRACE_SECONDS)
    while (result := await _read_reward(environment)) is None:
        if wait.passed:
            return 0.0, "the page gave no reward: the episode is not over"
        await asyncio.sleep(_POLL_SECONDS)
    return result


async def over(environment: Environment) -> str:
    """Returns why the episode is over, after which its page reacts no more; empty while it goes on.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    state = await episode_state(environment)
    ended = state is not None and (state.reward is not None or state.left)
    return "the page's episode is over" if ended else ""


async def _read_reward(environment: Environment) -> tuple[float, str] | None:
    """Returns the reward and the reason; None while the page may still give a reward."""
    state = await episode_state(environment)
    if state is None:
        raise EnvironmentFailed(f"{STATE} is gone, so the episode's reward is not known")
    if state.reward is not None:
        return state.reward, f"reward {state.reward:g} {state.reason}".strip()
    if state.left:
        return 0.0, "the page was left or reloaded before it gave a reward"
    if state.exit in _CLOSED:
        return 0.0, "the browser was closed before the page gave a reward"
    if state.exit is not None:
        output = await last_output(environment)
        raise EnvironmentFailed(f"the browser crashed with {state.exit}: {output}")
    if (await environment.execute(f"kill -0 {state.pid}")).exit_code != 0:
        raise EnvironmentFailed(f"the stage ended: {await last_output(environment)}")
    if state.lost:
        raise EnvironmentFailed(f"the page crashed: {await last_output(environment)}")
    return None
