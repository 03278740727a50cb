"""Compression of runs, held against execution (OS-Catalyst, table 1, figure 3, C.2).

    python -m benchmarks.data_compression DIR -o OUT [--limit N]

Each run of DIR is merged with all checks and with each of them switched off, and every way is
played again on a private desktop; so is each pair that was refused, merged alone. C.2's classes:
*over-compression* is a merged sequence that does not end in the same state; *under-compression* is
a refused pair that, merged, does; *wrong location* is a target that a merged play found where it
was not recorded.
OUT/arms.jsonl has a line for each run, the longest first; the same command goes on where it was
stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from hisa.actions import points
from hisa.errors import HisaError
from hisa.plugins.synthesis.data.atoms import CHECKS, Atom, atoms_of, check_pairs, merge
from hisa.plugins.synthesis.data.compression import with_looks
from hisa.plugins.synthesis.data.sequence_replay import Ending, Player, nearest
from hisa.plugins.synthesis.data.trajectories import Trajectory, read_trajectories
from hisa.runs.run_reader import load_run


async def measure_run(trajectory: Trajectory, out: Path) -> dict[str, Any]:
    """Play one run in every way that the checks allow."""
    run = load_run(trajectory.folder)
    line: dict[str, Any] = {"run": trajectory.id, "task": trajectory.task, "score": run.score}
    async with Player(run, trajectory.steps[-1].after) as player:
        atoms = await with_looks(atoms_of(trajectory, run), player, out / "looks")
        pairs = check_pairs(atoms)
        line |= {"actions": [atom.kind for atom in atoms if atom.actions], "arms": {}, "alone": []}
        for without in ("", *CHECKS):
            parts = merge(atoms, pairs, 5, {check for check in CHECKS if check == without})
            verdicts = await player.verdicts(parts)
            many = [number for number, part in enumerate(parts) if len(part) > 1]
            played = await player.play(parts) if many and player.reproduced else None
            line["arms"][without or "all checks"] = {
                "lengths": [len(part) for part in parts if part[0].actions],
                "kinds": [[atom.kind for atom in parts[number]] for number in many],
                "replayed": [verdicts[number] for number in many],
                "moved": count_moved(parts, played) if played else 0,
            }
        for pair in pairs:
            if pair.refusals and "gap" not in pair.refusals:
                verdict = await player.verdict(only(atoms, pair.first))
                line["alone"].append({"kinds": pair.kinds, "by": pair.refusals, "came": verdict})
        line |= {"pairs": [pair.model_dump() for pair in pairs], "plays": len(player.played)}
        return line | {"reproduced": player.reproduced}


def count_moved(parts: list[tuple[Atom, ...]], ending: Ending) -> int:
    """Targets that a play found where they were not when the run was recorded."""
    count = 0
    for part, observation in zip(parts, ending.looks, strict=False):
        for atom in part:
            for point in points(atom.actions):
                target = atom.before.element_at(point) if atom.before else None
                element = nearest(target, observation) if target else None
                count += element is not None and not element.box.contains(point)
    return count


def only(atoms: list[Atom], first: int) -> list[tuple[Atom, ...]]:
    """The atoms with one pair merged."""
    alone: list[tuple[Atom, ...]] = [(atom,) for atom in atoms]
    return [*alone[:first], tuple(atoms[first : first + 2]), *alone[first + 2 :]]


def report(lines: list[dict[str, Any]]) -> dict[str, Any]:
    """The numbers, each with what it is out of."""
    used = [line for line in lines if line.get("actions") and line.get("reproduced") is not False]
    atoms = sum(len(line["actions"]) for line in used)
    arms: dict[str, Any] = {}
    for name in ("all checks", *CHECKS):
        ways = [line["arms"][name] for line in used]
        verdicts = [word for way in ways for word, _ in way["replayed"]]
        lengths = [n for way in ways for n in way["lengths"]]
        arms[name if name == "all checks" else f"without {name}"] = {
            "steps": len(lengths),
            "steps a trajectory": round(len(lengths) / len(used), 2),
            "actions a step": round(atoms / len(lengths), 2),
            "lengths": dict(sorted(Counter(lengths).items())),
            "kinds": Counter(", ".join(k) for way in ways for k in way["kinds"]).most_common(8),
            "merged": len(verdicts),
            "replayed": Counter(verdicts),
            "same": f"{verdicts.count('same')} of {len(verdicts)}",
            "over-compression": f"{sum(v in ('other', 'halted') for v in verdicts)}"
            f" of {len(verdicts)}",
            "wrong location": sum(way["moved"] for way in ways),
        }
    alone = [pair for line in used for pair in line["alone"]]
    return {
        "runs": len(lines),
        "left out": Counter(line["error"] for line in lines if "error" in line),
        "without actions": sum(line.get("actions") == [] for line in lines),
        "end otherwise when played again": sum(line.get("reproduced") is False for line in lines),
        "trajectories": len(used),
        "actions a trajectory": round(atoms / len(used), 2),
        "pairs": sum(len(line["pairs"]) for line in used),
        "arms": arms,
        "refused": Counter(by for line in used for p in line["pairs"] for by in p["refusals"]),
        "under-compression": f"{sum(p['came'][0] == 'same' for p in alone)} of {len(alone)}",
        "under-compression, by check": Counter(
            f"{'+'.join(p['by'])}: {p['came'][0]}" for p in alone
        ),
        "plays": sum(line.get("plays", 0) for line in lines),
    }


async def measure(args: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure what is left; every line so far."""
    path = args.out / "arms.jsonl"
    args.out.mkdir(parents=True, exist_ok=True)
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    known_runs = {line["run"] for line in lines}
    left = [
        trajectory
        for trajectory in read_trajectories([args.folder])[0]
        if trajectory.id not in known_runs
    ]
    left = sorted(left, key=lambda trajectory: -len(trajectory.steps))[: args.limit]
    with path.open("a") as file:
        for number, trajectory in enumerate(left, 1):
            try:
                line = await measure_run(trajectory, args.out)
            except (HisaError, OSError, ValueError) as error:
                line = {"run": trajectory.id, "task": trajectory.task, "error": str(error)[:200]}
            lines.append(json.loads(json.dumps(line)))
            file.write(json.dumps(line) + "\n")
            file.flush()
            print(f"{number}/{len(left)} {trajectory.task}", file=sys.stderr)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    print(json.dumps(report(asyncio.run(measure(parser.parse_args()))), indent=1))


if __name__ == "__main__":
    main()
