"""Agents that drive MiniWoB++ with one small model on one server, side by side.

    sh benchmarks/small_model/environments.sh                 # once: their Pythons
    python -m benchmarks.small_model run --gguf FILE --out FOLDER
    python -m benchmarks.small_model run --base-url URL --model NAME --out FOLDER
    python -m benchmarks.small_model run --only desktop --arms hisa-short --out FOLDER
    python -m benchmarks.small_model report --out FOLDER      # tables, and arms.svg in FOLDER
    python -m benchmarks.small_model failures --out FOLDER    # a sheet to label, arms hidden
    python -m benchmarks.small_model lines --out FOLDER       # what the model wrote for HiSA
    python -m benchmarks.small_model labels --out FOLDER      # tables of the labels

`run` goes on where it stopped, also after kill -9, and loses at most the episode in hand. It takes
the working pages; ``--only reported`` takes those that are reported once. See `pages`.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path

from benchmarks.small_model.arm_report import report
from benchmarks.small_model.episodes import (
    ARMS,
    Conditions,
    Episode,
    Slot,
    desktop_tasks,
    play,
    read,
    schedule,
    write,
)
from benchmarks.small_model.labelled_sheets import failures, label_tables, lines
from benchmarks.small_model.pages import REPORTED, WORKING
from benchmarks.small_model.recording_proxy import RecordingProxy

_BROKEN_LIMIT = 3
"""Episodes in a row in which no agent reached the model, after which something is broken here."""


@contextmanager
def _llama(given: argparse.Namespace) -> Iterator[tuple[str, str]]:
    """Serve a GGUF file by HiSA's own server process; yields its address and key."""
    key = secrets.token_hex(16)
    order = {
        "weights": str(given.gguf.absolute()),
        "eyes": "",
        "name": given.model,
        "context": given.context,
        "threads": given.threads,
        "key": key,
        "parent": os.getpid(),
    }
    command = [given.server_python, "-m", "hisa.plugins.gguf.llama_process"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        process.stdin.write(json.dumps(order) + "\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline() or "{}")
        if "url" not in answer:
            raise SystemExit(
                f"llama.cpp does not serve {given.gguf}: {answer.get('error', 'it ended')}"
            )
        yield f"{answer['url']}/v1", key
    finally:
        process.kill()
        process.wait()


def run(given: argparse.Namespace) -> int:
    """Play what is not played yet; returns the exit status."""
    path = given.out / "episodes.jsonl"
    conditions = Conditions(
        given.model, given.steps, given.seconds, given.context, settings=given.set
    )
    known = read(path)
    if other := [episode for episode in known if episode.conditions != asdict(conditions)]:
        print(f"{path} was begun with {other[0].conditions}; use another --out", file=sys.stderr)
        return 2
    slots = schedule(_pages(given), given.seeds, given.arms, _CACHES[given.cache])
    done = {episode.slot for episode in known}
    left = [slot for slot in slots if slot not in done]
    pythons = {kind: str(given.pythons / kind / "bin" / "python") for kind in ("gym", "agentlab")}
    if lacking := [python for python in pythons.values() if not Path(python).exists()]:
        place = given.pythons
        raise SystemExit(f"no {lacking[0]}: sh benchmarks/small_model/environments.sh {place}")
    given.out.mkdir(parents=True, exist_ok=True)
    end, broken = time.monotonic() + 3600 * given.hours, 0
    with ExitStack() as stack:
        url, key = given.base_url, os.environ.get("OPENAI_API_KEY", "x")
        if given.gguf:
            url, key = stack.enter_context(_llama(given))
        proxy = stack.enter_context(RecordingProxy(url, key))
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


_CACHES = {"on": [True], "off": [False], "both": [True, False]}


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
    """The pages that are asked for: none of another set than ``--only`` names."""
    sets = {"working": WORKING, "reported": REPORTED, "desktop": tuple(desktop_tasks())}
    allowed = sets[given.only]
    if unknown := set(given.pages) - set(allowed):
        raise SystemExit(f"not {given.only} pages: {', '.join(sorted(unknown))}; see pages.py")
    if given.only == "desktop" and any(not arm.startswith("hisa") for arm in given.arms):
        raise SystemExit("only HiSA works on a desktop: --arms hisa-short hisa-long")
    return tuple(given.pages) or allowed


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("pages", nargs="*", metavar="PAGE")
    runs.add_argument("--only", choices=("working", "reported", "desktop"), default="working")
    runs.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), metavar="ARM")
    runs.add_argument("--seeds", type=int, default=2)
    runs.add_argument("--steps", type=int, default=8)
    runs.add_argument("--seconds", type=float, default=600.0, help="of an episode")
    runs.add_argument("--hours", type=float, default=24.0, help="after which none is begun")
    runs.add_argument("--cache", choices=_CACHES, default="on", help="of prompts, by the server")
    runs.add_argument("--context", type=int, default=8192)
    runs.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    runs.add_argument("--base-url", default="http://127.0.0.1:8000/v1")
    runs.add_argument("--gguf", type=Path, help="serve this file by llama.cpp, and use it")
    runs.add_argument("--server-python", default=sys.executable, help="one that has xllamacpp")
    runs.add_argument("--threads", type=int, help="of that server; else llama.cpp chooses")
    runs.add_argument("--set", action="append", default=[], help="a setting of HiSA's arms")
    runs.add_argument("--pythons", type=Path, default=Path("build/small_model"))
    for name in _READERS:
        commands.add_parser(name)
    for command in commands.choices.values():
        command.add_argument("--out", type=Path, required=True)
    return parser


_READERS = {"report": report, "failures": failures, "lines": lines, "labels": label_tables}


def main() -> int:
    """Do what is asked for; returns the exit status."""
    given = _parser().parse_args()
    if given.command == "run":
        return run(given)
    print(_READERS[given.command](read(given.out / "episodes.jsonl"), given.out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
