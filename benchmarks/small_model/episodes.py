"""Episodes: which there are, in which order, how one is played, and the line it leaves.

A folder holds everything: ``episodes.jsonl``, a line for each that ended, and ``traces/`` with what
each agent was shown, answered and did. Whatever is not in the file is played when the same command
is given again, so a kill anywhere loses the episode in hand.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from benchmarks.small_model.pages import REPORTED, WORKING
from benchmarks.small_model.recording_proxy import ANSWER_TEXT, Asking, RecordingProxy, append_line

__all__ = ["ARMS", "Arm", "Conditions", "Episode", "Slot", "play", "read", "schedule"]

_GRACE = 30.0
"""Seconds over the limit in which an agent that ends itself can still score."""


@dataclass(frozen=True)
class Arm:
    """An agent with its settings: the module that plays an episode, and in which Python."""

    module: str
    schema: bool
    python: str = "gym"
    prompt: str = ""


_HERE = "benchmarks.small_model"
ARMS: Mapping[str, Arm] = {
    "hisa-short": Arm(f"{_HERE}.hisa_run", False, prompt="short"),
    "hisa-short+schema": Arm(f"{_HERE}.hisa_run", True, prompt="short"),
    "hisa-long": Arm(f"{_HERE}.hisa_run", False, prompt="chat"),
    "hisa-long+schema": Arm(f"{_HERE}.hisa_run", True, prompt="chat"),
    "history": Arm(f"{_HERE}.history_loop", False),
    "history+schema": Arm(f"{_HERE}.history_loop", True),
    "genericagent": Arm(f"{_HERE}.generic_agent", False, python="agentlab"),
    "genericagent+schema": Arm(f"{_HERE}.generic_agent", True, python="agentlab"),
}


@dataclass(frozen=True)
class Conditions:
    """What is the same for every arm."""

    model: str
    steps: int = 8
    seconds: float = 600.0
    context: int = 8192
    reply_tokens: int = 512
    settings: list[str] = field(default_factory=list)
    """Further settings of HiSA's arms, as for ``--set``."""


@dataclass(frozen=True, order=True)
class Slot:
    """One episode that is to be played."""

    page: str
    seed: int
    arm: str
    cache: bool = True

    @property
    def name(self) -> str:
        """Of its trace."""
        return f"{self.page}-{self.seed}-{self.arm}-{'cache' if self.cache else 'no_cache'}"


@dataclass(frozen=True)
class Episode:
    """How one went; a line of ``episodes.jsonl``."""

    page: str
    seed: int
    arm: str
    cache: bool
    success: bool
    """The page's reward was above 0 when the episode ended."""
    steps: int
    prompt_tokens: int
    reply_tokens: int
    cached_tokens: int
    """Of the prompt's: what the server had in its cache."""
    requests: int
    seconds: float
    """From the agent's start to its end, browser included."""
    model_seconds: float
    first_token_seconds: float | None
    """The median over requests of the time until the prompt was read."""
    ended: str
    """page over, said done, gave up, steps, time, error, or an ending of HiSA's."""
    error: str = ""
    goal: str = ""
    longest_repeat: int = 0
    """Most identical actions in a row that failed or changed nothing."""
    reward: float = 0.0
    pages: str = "working"
    """working, reported or desktop: never mixed in a table."""
    conditions: dict[str, Any] = field(default_factory=dict)
    at: str = ""

    @property
    def slot(self) -> Slot:
        """The slot it filled."""
        return Slot(self.page, self.seed, self.arm, self.cache)


def desktop_tasks() -> dict[str, dict[str, Any]]:
    """Returns the tasks on a desktop by their names."""
    import yaml

    text = Path(__file__).with_name("desktop_tasks.yaml").read_text("utf-8")
    found: dict[str, dict[str, Any]] = yaml.safe_load(text)
    return found


def set_of(page: str) -> str:
    """Returns which set of pages a page is of; each task on a desktop counts as a page."""
    return "reported" if page in REPORTED else "working" if page in WORKING else "desktop"


def schedule(
    pages: Sequence[str], seeds: int, arms: Sequence[str], caches: Sequence[bool]
) -> list[Slot]:
    """Returns all slots, in blocks of one page and seed, every arm in each.

    A stop leaves every arm the same pages, but for the block in hand. Blocks, and arms in a block,
    come in an order drawn by a fixed seed, so that no arm always follows the same other.
    """
    dice = random.Random(1)
    blocks = [(page, seed) for seed in range(1, seeds + 1) for page in pages]
    dice.shuffle(blocks)
    slots = []
    for page, seed in blocks:
        block = [Slot(page, seed, arm, cache) for arm in arms for cache in caches]
        slots += dice.sample(block, len(block))
    return slots


def read(path: Path) -> list[Episode]:
    """Returns the episodes of a file; a line that a kill cut off is none."""
    found = []
    known = {each.name for each in fields(Episode)}
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with suppress(ValueError, TypeError):
            given = json.loads(line)
            found.append(Episode(**{key: given[key] for key in given.keys() & known}))
    return found


def write(path: Path, episode: Episode) -> None:
    """Append an episode, behind a line break where a kill left half a line."""
    if path.exists() and path.read_bytes()[-1:] not in (b"", b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")
    append_line(path, **asdict(episode))


def play(
    slot: Slot,
    conditions: Conditions,
    proxy: RecordingProxy,
    pythons: Mapping[str, str],
    folder: Path,
) -> Episode:
    """Play one episode in a process of its own, whose Python is ``pythons[Arm.python]``.

    Returns its record; what the agent was shown and did lies in ``folder/traces``.
    """
    arm = ARMS[slot.arm]
    trace = folder / "traces" / f"{slot.name}.jsonl"
    trace.parent.mkdir(parents=True, exist_ok=True)
    trace.unlink(missing_ok=True)
    shutil.rmtree(trace.with_suffix(""), ignore_errors=True)  # HiSA's run that a kill cut off
    plan = asdict(conditions) | {
        "page": slot.page,
        "seed": slot.seed,
        "schema": arm.schema,
        "prompt": arm.prompt,
        "base_url": proxy.url,
        "trace": str(trace.absolute()),
    }
    if set_of(slot.page) == "desktop":
        task = trace.with_suffix(".yaml")
        task.write_text(json.dumps({"id": slot.page, **desktop_tasks()[slot.page]}), "utf-8")
        plan |= {"task": str(task.absolute()), "environment": "desktop"}
    text_schema = ANSWER_TEXT if arm.schema and arm.python == "agentlab" else None
    session = f"Session {1 + list(ARMS).index(slot.arm)}."
    asking = Asking(conditions.model, conditions.reply_tokens, slot.cache, text_schema, session)
    proxy.begin(trace, asking)
    begun = time.monotonic()
    try:
        error = _process([pythons[arm.python], "-m", arm.module, json.dumps(plan)], conditions)
    finally:
        proxy.end()
    return record(slot, conditions, trace, time.monotonic() - begun, error)


def _process(command: Sequence[str], conditions: Conditions) -> str:
    """Run it to its end or its limit; returns "", "time", or the end of what it complained of."""
    place = Path(command[0]).absolute().parents[2]  # what environments.sh made
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": os.environ.get("HOME", ""),
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "OPENAI_API_KEY": "x",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else it asks the network at import
        "PLAYWRIGHT_BROWSERS_PATH": str(place / "browsers"),
        "MINIWOB_URL": f"{(place / 'html' / 'miniwob').as_uri()}/",
    }
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        _, complaint = process.communicate(timeout=conditions.seconds + _GRACE)
    except subprocess.TimeoutExpired:
        return "time"
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    return complaint.decode("utf-8", "replace").strip()[-500:] if process.returncode else ""


def lines_of(trace: Path) -> Iterator[dict[str, Any]]:
    """The lines of a trace that are whole."""
    for line in trace.read_text("utf-8").splitlines() if trace.exists() else ():
        with suppress(ValueError):
            yield json.loads(line)


def record(slot: Slot, conditions: Conditions, trace: Path, seconds: float, error: str) -> Episode:
    """Returns what a trace says of its episode."""
    lines = list(lines_of(trace))
    requests = [line for line in lines if line["kind"] == "request"]
    steps = [line for line in lines if line["kind"] == "step"]
    goal = next((line["text"] for line in lines if line["kind"] == "goal"), "")
    end: dict[str, Any] = next((line for line in reversed(lines) if line["kind"] == "end"), {})
    firsts = [line["first_seconds"] for line in requests if line["status"] == 200]
    reward = float(end.get("reward") or 0.0)
    return Episode(
        **asdict(slot),
        success=reward > 0,
        steps=len(steps),
        prompt_tokens=sum(line["prompt_tokens"] for line in requests),
        reply_tokens=sum(line["reply_tokens"] for line in requests),
        cached_tokens=sum(line["cached_tokens"] for line in requests),
        requests=len(requests),
        seconds=round(seconds, 2),
        model_seconds=round(sum(line["seconds"] for line in requests), 2),
        first_token_seconds=statistics.median(firsts) if firsts else None,
        ended=end.get("ended") or ("time" if error == "time" else "error"),
        error=error or str(end.get("message") or ""),
        goal=goal,
        longest_repeat=longest_repeat(steps),
        reward=reward,
        pages=set_of(slot.page),
        conditions=asdict(conditions),
        at=time.strftime("%Y-%m-%dT%H:%M:%S"),
    )


def longest_repeat(steps: Iterable[Mapping[str, Any]]) -> int:
    """Returns the most identical actions in a row that all failed or changed nothing."""
    longest, count, last = 0, 0, None
    for step in steps:
        action = step["action"] if step["failed"] else None
        count = 0 if action is None else count + 1 if action == last else 1
        last, longest = action, max(longest, count)
    return longest
