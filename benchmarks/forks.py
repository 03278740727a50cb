"""Trials on forks of a virtual machine: what they bring, and what they cost.

    python -m benchmarks.forks [-n N]     after: hisa vm build minimal

N tasks in a text editor on vm:minimal: a word is to stand in a file. The planner is scripted: a
sample is right in 60%, else it takes its own text back before it saves. The judge is scripted too:
by the candidates alone it picks the right one in 75%; shown pictures of what came of both, it
reads the word off them, or finds neither good. Machine, editor, forks, sampling and ledger are
real. The same seeds for every way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import hisa
from benchmarks.machine import machine
from hisa.actions import Hotkey, Press
from hisa.config import Settings, load
from hisa.machine.patience import Deadline
from hisa.models.tokens import estimate_tokens
from hisa.plugins.machines.vm_clone import VmEnvironment
from hisa.protocols import ModelRequest, Task
from hisa.runs.read import load_run
from hisa.screen.ocr import read_text
from hisa.testing.scripted import FunctionModel, tool_call

RIGHT, JUDGE = 0.6, 0.75
WORDS = ("harbour", "lantern", "meadow", "orchard", "pepper", "saddle", "thunder", "walnut")
FILE = "/home/user/word.txt"
WAYS = {"one sample": (1, False), "two and a judge": (2, False), "two tried on forks": (2, True)}


@dataclass(frozen=True)
class Tried:
    """One task: whether the word stands in the file, and what it took."""

    done: bool
    forked: bool
    tokens: int
    seconds: float


class _Kept(VmEnvironment):
    """A machine whose editor stays open over a run's reset."""

    async def reset(self) -> None:
        """Nothing: the file is emptied by hand."""


PICTURE_TOKENS = 1105
"""What a picture of 1280x720 costs by the rule of the makers of GPT-4o: 85 and 170 a tile."""


class Models:
    """The scripted planner and judge of one task; counts the tokens that they would be billed."""

    def __init__(self, word: str, seed: int) -> None:
        self.tokens = 0
        self._word = word
        self._dice = random.Random(seed)

    def _count(self, request: ModelRequest) -> None:
        self.tokens += estimate_tokens(request.text) + PICTURE_TOKENS * request.images

    async def planner(self, request: ModelRequest) -> str:
        """A sample: right, or undone by itself; the end once the step was made."""
        self._count(request)
        if request.step > 1:
            return tool_call("termination", "The word stands there.")
        wrong = "; pyautogui.hotkey('ctrl', 'z')" * (self._dice.random() >= RIGHT)
        source = f"pyautogui.write({self._word!r}){wrong}; pyautogui.hotkey('ctrl', 's')"
        return tool_call("gui_action", source)

    async def judge(self, request: ModelRequest) -> str:
        """A pick by the pictures of results, where there are any, else by the text alone."""
        self._count(request)
        if request.step > 1:
            return json.dumps({"explaining": "It is done.", "index": 1})
        after = request.pictures[1:]
        if after:
            shown = [any(self._word in line.text for line in read_text(each)) for each in after]
            index = shown.index(True) + 1 if any(shown) else None
            return json.dumps({"explaining": "By the screens.", "index": index})
        listed = [line for line in request.text.splitlines() if line.startswith('{"index"')]
        good = ["'z'" not in line for line in listed]
        right = good.index(True) if any(good) else 0
        knows = self._dice.random() < JUDGE or len(listed) == 1
        return json.dumps(
            {"explaining": "By the text.", "index": (right if knows else 1 - right) + 1}
        )


def _settings(folder: Path, samples: int, *, fork: bool) -> Settings:
    return load(
        overrides={
            "run": {"folder": folder},
            "planner": {"samples": samples},
            "environment": {"kind": "vm:minimal", "fork": fork},
            "patterns": {"enabled": False},
            "grounder": {"kind": "elements"},
        },
        environ={},
    )


async def _empty(vm: VmEnvironment) -> None:
    """Empty the file in the editor, and wait until it is saved so."""
    await vm.act([Press("esc"), Hotkey(("ctrl", "a")), Press("delete"), Hotkey(("ctrl", "s"))])
    deadline = Deadline(30.0)
    while (await vm.read_file(FILE)).strip():
        if deadline.passed:
            raise RuntimeError("the editor does not save")
    await vm.observe(settle=3.0)


async def _task(vm: VmEnvironment, folder: Path, seed: int, way: tuple[int, bool]) -> Tried:
    await _empty(vm)
    word = WORDS[seed % len(WORDS)]
    models = Models(word, seed)
    state = FunctionModel(lambda _: "Succeeded. The text changed.", "state (scripted)")
    started = time.monotonic()
    result = await hisa.run(
        Task("word", f"Write {word} into the file and save it."),
        settings=_settings(folder, way[0], fork=way[1]),
        model={
            "planner": FunctionModel(models.planner, "planner (scripted)"),
            "judge": FunctionModel(models.judge, "judge (scripted)"),
            "state": state,
        },
        environment=vm,
    )
    seconds = time.monotonic() - started
    run = load_run(result.folder)
    sampling = run.totals.sampling
    return Tried(
        done=word.encode() in await vm.read_file(FILE),
        forked=sampling is not None and sampling.forked > 0,
        tokens=models.tokens,
        seconds=seconds,
    )


def _told(name: str, tried: Sequence[Tried]) -> str:
    done = sum(each.done for each in tried)
    forked = sum(each.forked for each in tried)
    tokens = statistics.mean(each.tokens for each in tried)
    seconds = statistics.mean(each.seconds for each in tried)
    return (
        f"  {name:<20} {done:>3} of {len(tried)} done, {forked} decided on forks, "
        f"{tokens:,.0f} tokens in and {seconds:.1f} s a task"
    )


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-n", type=int, default=20)
    count = parser.parse_args().n
    print(machine())
    print(f"{count} tasks each; samples right in {RIGHT:.0%}, the judge by text in {JUDGE:.0%}")
    with tempfile.TemporaryDirectory() as folder:
        async with _Kept("minimal", fork=True) as vm:
            await vm.write_file(FILE, b"")
            await vm.execute(f"setsid -f mousepad {FILE} >/dev/null 2>&1")
            deadline = Deadline(120.0)
            while not (await vm.observe(settle=2.0)).windows and not deadline.passed:
                pass
            for name, way in WAYS.items():
                tried = [await _task(vm, Path(folder), seed, way) for seed in range(count)]
                print(_told(name, tried), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
