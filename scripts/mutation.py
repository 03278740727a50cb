"""Mutate the agent's loop and what it stands on, and count the mutants that the tests kill.

python scripts/mutation.py [--sample N] [--seed S]

Which files are mutated and which tests judge them is said in pyproject.toml, [tool.mutmut].
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path

from hisa.plugins.benchmarks.bench.stats import wilson

ROOT = Path(__file__).parent.parent
MUTMUT = Path(sys.executable).parent / "mutmut"
SAMPLE = 400  # gives an interval of about three points either side at 85%
SEED = 7
KILLED = frozenset({"killed", "timeout"})
COLUMNS = ("killed", "timeout", "survived", "no tests", "other")


def main() -> None:
    """Generate the mutants, run a sample of them, print the counts and every survivor."""
    options = _options()
    mutmut(
        "run", "hisa.outcomes.verdicts.*", "--max-children", "2"
    )  # the smallest file: generates them all
    names = sorted(statuses())
    chosen = names
    if 0 < options.sample < len(names):
        chosen = sorted(random.Random(options.seed).sample(names, options.sample))
    print(f"{len(chosen)} of {len(names)} mutants, seed {options.seed}", flush=True)
    mutmut("run", *chosen, "--max-children", str(options.jobs))
    now = statuses()
    report({name: now[name] for name in chosen})


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--sample", type=int, default=SAMPLE, help="mutants to run; 0: all")
    parser.add_argument("--seed", type=int, default=SEED, help="of the sample")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    return parser.parse_args()


def mutmut(*arguments: str) -> str:
    """Return what mutmut printed; ends the program where mutmut failed."""
    process = subprocess.run(
        [str(MUTMUT), *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if process.returncode != 0:
        raise SystemExit(
            f"mutmut {arguments[0]} failed:\n{(process.stdout + process.stderr)[-4000:]}"
        )
    return process.stdout


def statuses() -> dict[str, str]:
    """Return every mutant's name and what became of it, in mutmut's words."""
    lines = (
        line.strip().rpartition(": ") for line in mutmut("results", "--all", "true").split("\n")
    )
    return {name: status for name, _, status in lines if "__mutmut_" in name}


def report(statuses: dict[str, str]) -> None:
    """Print the table by module, the total with its interval, and the mutants not killed."""
    modules: dict[str, list[str]] = defaultdict(list)
    for name, status in statuses.items():
        modules[name.rpartition(".")[0]].append(status)
    print(f"{'module':40}" + "".join(f"{word:>10}" for word in (*COLUMNS, "% killed")))
    for module, of_module in sorted(modules.items()):
        print(_row(module, of_module))
    print(_row("all", statuses.values()))
    killed = sum(status in KILLED for status in statuses.values())
    low, high = wilson(killed, len(statuses))
    print(f"killed: {killed} of {len(statuses)}, 95% interval {low:.1%} to {high:.1%}")
    for name, status in statuses.items():
        if status not in KILLED:
            print(
                f"\n{mutmut('show', name).strip()}"
                if status != "no tests"
                else f"\n# {name}: {status}"
            )


def _row(title: str, statuses: Iterable[str]) -> str:
    counts = Counter(status if status in COLUMNS else "other" for status in statuses)
    share = sum(counts[word] for word in KILLED) / counts.total()
    return f"{title:40}" + "".join(f"{counts[word]:>10}" for word in COLUMNS) + f"{share:>10.1%}"


if __name__ == "__main__":
    main()
