"""Proved tasks under ends that their selection never saw, and agents that do not do them.

    hisa explore mousepad --minutes 10 -o DIR; hisa synth write DIR; hisa synth prove DIR
    python -m benchmarks.made_tasks DIR… --tasks 30 --seed 1

The second kinds of mutants: *done and undone* (the last act once more, or ctrl+z, and saved),
*near value* (the right place, by the shell, with a value a little off), *near place* (the right
value, by the shell, in the key, file or cell beside it). The neighbour agent follows the reference
and does something else that the screen offers in place of the last act; the idle one does nothing.
An end that has the candidate's changes by the facts is no mutant: it is counted as equivalent.
For each task a line; at the end the share that a check told from the right end, with Wilson's
interval and its denominator. `hisa bench run own:DIR/tasks` lets an agent do the tasks.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

from hisa.config import Settings, load
from hisa.environments.open_environment import open_environment
from hisa.errors import HisaError, ModelFacingError
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.plugins.synthesis.doing import replay
from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.mutants import tail
from hisa.plugins.synthesis.offers import offers
from hisa.plugins.synthesis.proof_desktop import ProofDesktop, telling
from hisa.plugins.synthesis.records import Act, Fact
from hisa.plugins.synthesis.rewrite import write_command
from hisa.plugins.synthesis.task_records import Candidate, Proof

_Do = Callable[[], Awaitable[bool]]
_TRIES = 5


def off_by_little(value: str, draw: random.Random) -> str:
    """Another value that is close to one: a truth turned round, a number one up, a letter less."""
    plain = value.strip("'\"").lower()
    if plain in ("true", "false"):
        return value.replace(plain, "false" if plain == "true" else "true")
    digits = [at for at, character in enumerate(value) if character.isdigit()]
    if digits:
        at = digits[-1]
        return value[:at] + str((int(value[at]) + 1) % 10) + value[at + 1 :]
    letters = [at for at, character in enumerate(value) if character.isalpha()]
    if not letters:
        return value + "x"
    at = draw.choice(letters)
    return value[:at] + value[at + 1 :]


class _Trials:
    """The ends that one candidate's check is tried on."""

    def __init__(self, desktop: ProofDesktop, exploration: Exploration, seed: int) -> None:
        self._desktop, self._exploration = desktop, exploration
        self._candidate = desktop.candidate
        self._draw = random.Random(f"{seed} {desktop.candidate.id}")

    async def run(self) -> AsyncIterator[tuple[str, str]]:
        """Each kind, and what came of it: "killed", "passes", "equivalent", "not done"."""
        ends: dict[str, _Do] = {
            "done and undone": self._done_and_undone,
            "near value": self._near_value,
            "near place": self._near_place,
            "neighbour agent": self._neighbour,
            "idle agent": self._idle,
        }
        for kind, do in ends.items():
            await self._desktop.fresh()
            await self._desktop.keep_start()
            try:
                done = await do()
            except ModelFacingError:
                done = False
            if not done:
                yield kind, "not done"
                continue
            score = await self._desktop.score(0)
            right = (await self._desktop.since_start())[1]
            yield kind, "equivalent" if right else "passes" if score else "killed"

    async def _idle(self) -> bool:
        return True

    async def _replay(self, *acts: Act) -> bool:
        await replay(self._desktop.environment, acts)
        return True

    def _saved(self) -> tuple[Act, ...]:
        save = self._exploration.subject.save
        last = Act(kind="press", keys=save or ("ctrl", "s"))
        return (last,) if last in self._candidate.acts else ()

    async def _done_and_undone(self) -> bool:
        acts = self._candidate.acts
        if saved := self._saved():
            return await self._replay(*acts, Act(kind="press", keys=("ctrl", "z")), *saved)
        return await self._replay(*acts, *tail(acts, self._exploration))

    async def _shell(self, fact: Fact, value: str) -> bool:
        line = write_command(fact, value)
        if line is None:
            return False
        result = await self._desktop.environment.execute(line)
        return not result.exit_code and not result.timed_out

    async def _near_value(self) -> bool:
        changes = [c for c in telling(self._candidate.changes) if c.after is not None]
        if not changes:
            return False
        spoilt = self._draw.choice(changes)
        done = [
            await self._shell(change.fact, change.after or "")
            for change in changes
            if change is not spoilt
        ]
        return all(done) and await self._shell(
            spoilt.fact, off_by_little(spoilt.after or "", self._draw)
        )

    async def _near_place(self) -> bool:
        for change in telling(self._candidate.changes):
            fact = change.fact
            if change.after is None:
                continue
            if fact.kind == "gsettings":
                keys = await self._desktop.environment.execute(
                    ["gsettings", "list-keys", fact.place]
                )
                names = sorted({*keys.output.split()} - {fact.item})
                for name in self._draw.sample(names, min(len(names), _TRIES)):
                    if await self._shell(fact._replace(item=name), change.after):
                        return True
            elif fact.kind in ("text", "file"):
                stem, dot, ending = fact.place.rpartition(".")
                beside = f"{stem}2.{ending}" if dot and "/" not in ending else f"{fact.place}2"
                return await self._shell(fact._replace(place=beside), change.after)
        return False

    async def _neighbour(self) -> bool:
        acts = self._candidate.acts
        before = acts[: len(acts) - len(tail(acts, self._exploration))]
        look = await replay(self._desktop.environment, before)
        keys = {act.key for act in acts}
        others = [act for act in offers(look, self._exploration.subject) if act.key not in keys]
        return bool(others) and await self._replay(self._draw.choice(others), *self._saved())


async def _measure(
    folder: Path, settings: Settings, count: int, seed: int
) -> Counter[tuple[str, str]]:
    exploration = Exploration.open(folder)
    proofs = read_records(folder / "proofs.jsonl", Proof)
    proved = {proof.candidate: proof.completed for proof in proofs if proof.proved}
    written = read_records(folder / "candidates.jsonl", Candidate)
    candidates = [proved[one.id] or one for one in written if one.id in proved]
    random.Random(seed).shuffle(candidates)
    results: Counter[tuple[str, str]] = Counter()
    for candidate in candidates[:count]:
        line: dict[str, str] = {}
        try:
            async with open_environment(settings.environment) as environment:
                desktop = ProofDesktop(environment, candidate, exploration, settings.tasks)
                async for kind, result in _Trials(desktop, exploration, seed).run():
                    line[kind] = result
                    results[kind, result] += 1
        except HisaError as error:
            line["broke"] = str(error)[:200]
        print(
            json.dumps({"task": candidate.id, **line, "instruction": candidate.instruction}),
            flush=True,
        )
    return results


def main() -> None:
    """Print a line for each task, and the sums."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--tasks", type=int, default=30, help="of each folder at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    settings, began = load(None, ()), time.monotonic()
    results: Counter[tuple[str, str]] = Counter()
    for folder in options.folders:
        results += asyncio.run(_measure(folder, settings, options.tasks, options.seed))
    print(f"{time.strftime('%Y-%m-%d')}; seed {options.seed}; {time.monotonic() - began:.0f} s")
    print("\n| ends | told from the right end (Wilson, 95%) | equivalent | not done |")
    print("|---|---|---|---|")
    kinds = sorted({kind for kind, _ in results})
    groups = [(kind, [kind]) for kind in kinds]
    groups.append(("second mutants, all", [kind for kind in kinds if "agent" not in kind]))
    for title, names in groups:
        killed, passed, same, undone = (
            sum(results[name, result] for name in names)
            for result in ("killed", "passes", "equivalent", "not done")
        )
        total = killed + passed
        low, high = wilson(killed, total) if total else (0.0, 1.0)
        share = (
            f"{killed} of {total}: {killed / total:.0%} ({low:.0%} to {high:.0%})"
            if total
            else "none"
        )
        print(f"| {title} | {share} | {same} | {undone} |")


if __name__ == "__main__":
    main()
