"""Agents that drive MiniWoB++ with one small model on one server, side by side.

    sh benchmarks/small_model/environments.sh                 # once: their Pythons
    python -m benchmarks.small_model run --gguf FILE --server-python PYTHON --out FOLDER
    python -m benchmarks.small_model run --base-url URL --model NAME --out FOLDER
    python -m benchmarks.small_model report --out FOLDER      # tables, and arms.svg in FOLDER
    python -m benchmarks.small_model sheet --out FOLDER       # failures to label, arms hidden
    python -m benchmarks.small_model causes --out FOLDER      # labels joined with the arms

`run` goes on where it stopped, also after kill -9, and loses at most the episode in hand. It takes
the working pages; ``--reported`` takes those that are reported once. See `pages`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from benchmarks.small_model.arm_report import report
from benchmarks.small_model.cause_labels import causes, write_sheet
from benchmarks.small_model.episodes import (
    ARMS,
    Conditions,
    Episode,
    Slot,
    play,
    read,
    schedule,
    write,
)
from benchmarks.small_model.llama_server import llama_server
from benchmarks.small_model.pages import REPORTED, WORKING
from benchmarks.small_model.recording_proxy import RecordingProxy

_BROKEN_LIMIT = 3
"""Episodes in a row in which no agent reached the model, after which something is broken here."""


def run(given: argparse.Namespace) -> int:
    """Play what is not played yet; returns the exit status."""
    path = given.out / "episodes.jsonl"
    conditions = Conditions(given.model, given.steps, given.seconds, given.context)
    known = read(path)
    if other := [episode for episode in known if episode.conditions != asdict(conditions)]:
        print(f"{path} was begun with {other[0].conditions}; use another --out", file=sys.stderr)
        return 2
    slots = schedule(_pages(given), given.seeds, given.arms, given.cache)
    done = {episode.slot for episode in known}
    left = [slot for slot in slots if slot not in done]
    pythons = {kind: str(given.pythons / kind / "bin" / "python") for kind in ("gym", "agentlab")}
    given.out.mkdir(parents=True, exist_ok=True)
    end, broken = time.monotonic() + 3600 * given.hours, 0
    with ExitStack() as stack:
        url = given.base_url
        if given.gguf:
            url = stack.enter_context(llama_server(given.server_python, given.gguf, given.context))
        proxy = stack.enter_context(RecordingProxy(url))
        while left and time.monotonic() < end and broken < _BROKEN_LIMIT:
            slot = left.pop(0)
            episode = play(slot, conditions, proxy, pythons, given.out)
            if broken := 0 if episode.requests else broken + 1:
                print(f"{slot.name}: not counted, no request: {episode.error}", file=sys.stderr)
                continue
            write(path, episode)
            known.append(episode)
            print(_progress(episode, known, left), file=sys.stderr, flush=True)
    return 1 if broken else 0


def _progress(episode: Episode, known: Sequence[Episode], left: Sequence[Slot]) -> str:
    """One line: what came of an episode, what is left, and the hours at each arm's median."""
    by_arm = {slot.arm: [e.seconds for e in known if e.arm == slot.arm] for slot in left}
    every = statistics.median(e.seconds for e in known)
    hours = sum(statistics.median(by_arm[slot.arm] or [every]) for slot in left) / 3600
    outcome = "success" if episode.success else episode.ended
    return (
        f"{episode.slot.name}: {outcome}, {episode.steps} steps, {episode.prompt_tokens} + "
        f"{episode.reply_tokens} tokens, {episode.seconds:.0f} s; {len(left)} left, "
        f"about {hours:.1f} h"
    )


def _pages(given: argparse.Namespace) -> tuple[str, ...]:
    """The pages that are asked for; none that is reported, unless they are asked for."""
    allowed = REPORTED if given.reported else WORKING
    if unknown := set(given.pages) - set(allowed):
        raise SystemExit(f"not among the {len(allowed)} pages: {', '.join(sorted(unknown))}")
    return tuple(given.pages) or allowed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("pages", nargs="*", metavar="PAGE")
    runs.add_argument("--reported", action="store_true")
    runs.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), metavar="ARM")
    runs.add_argument("--seeds", type=int, default=2)
    runs.add_argument("--steps", type=int, default=8)
    runs.add_argument("--seconds", type=float, default=600.0)
    runs.add_argument("--hours", type=float, default=24.0)
    runs.add_argument("--cache", choices=("on", "off", "both"), default="on")
    runs.add_argument("--context", type=int, default=8192)
    runs.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    runs.add_argument("--base-url", default="http://127.0.0.1:8000/v1")
    runs.add_argument("--gguf", type=Path, help="serve this file by llama.cpp, and use it")
    runs.add_argument("--server-python", default=sys.executable, help="one that has xllamacpp")
    runs.add_argument("--pythons", type=Path, default=Path("build/small_model"))
    for name in ("report", "sheet", "causes"):
        commands.add_parser(name)
    for command in commands.choices.values():
        command.add_argument("--out", type=Path, required=True)
    return parser


def main() -> int:
    """Do what is asked for; returns the exit status."""
    given = _parser().parse_args()
    if given.command == "run":
        given.cache = {"on": [True], "off": [False], "both": [True, False]}[given.cache]
        return run(given)
    episodes = read(given.out / "episodes.jsonl")
    if given.command == "report":
        print(report(episodes, given.out / "arms.svg"))
    elif given.command == "sheet":
        print(write_sheet(episodes, given.out))
    else:
        print(causes(episodes, given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
