"""Tables of plays of programs, with the bounds of what was counted.

Usage: none of its own; see ``benchmarks.replay_demonstrations``.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from hisa.plugins.benchmarks.bench.stats import wilson

__all__ = ["print_tables"]

Row = Mapping[str, Any]


def print_tables(rows: Sequence[Row]) -> bool:
    """Print what was kept; returns whether nothing was wrong."""
    plays = [row for row in rows if "wrong" in row]
    _demonstrations(rows)
    _cases(plays)
    _refused(rows)
    return _sums(plays)


def _demonstrations(rows: Sequence[Row]) -> None:
    print(f"\n{'demonstration':16} verified  steps  s/step  its run  at once  ratio  calls")
    for demo in dict.fromkeys(row["demo"] for row in rows):
        own = [row for row in rows if row["demo"] == demo]
        plays = [row for row in own if row["case"] == "none" and "wrong" in row]
        paces = [row["seconds"] / max(1, row["steps"]) for row in plays]
        beside = [
            row["seconds"] / max(1, row["steps"])
            for row in own
            if row["case"] == "at once" and row["outcome"] == "verified"
        ]
        if not plays:
            print(f"{demo:16} -")
            continue
        one, good = plays[0], sum(row["outcome"] == "verified" for row in plays)
        pace, other = statistics.median(paces), statistics.median(beside) if beside else None
        ratio = "-" if other is None else f"{other / pace:.2f}"
        print(
            f"{demo:16} {good:4}/{len(plays):<3} {one['steps']:6} {pace:7.2f} "
            f"{one['made'] / max(1, one['made steps']):8.2f} "
            f"{'failed' if other is None else f'{other:.2f}':>8} {ratio:>6} "
            f"{sum(row['calls'] for row in plays):6}"
        )


def _cases(plays: Sequence[Row]) -> None:
    print(f"\n{'perturbation':12} {'right':14} plays wrong false-halts went-on  outcomes")
    for case in dict.fromkeys(row["case"] for row in plays):
        own = [row for row in plays if row["case"] == case]
        outcomes = ", ".join(
            f"{n} {name}" for name, n in Counter(r["outcome"] for r in own).items()
        )
        right = "/".join(sorted({row["right"] for row in own}))
        counts = [sum(row[word] for row in own) for word in ("wrong", "false halt", "went on")]
        print(
            f"{case:12} {right:14} {len(own):5} {counts[0]:5} {counts[1]:11} {counts[2]:7}  "
            f"{outcomes}"
        )
        for row in own:
            if row["wrong"] or row["false halt"] or row["went on"]:
                seen = "; ".join([*Counter(row["met"]), row["strange"][:120]]).strip("; ")
                print(f"    {row['demo']}: {row['outcome']}: {row['reason'][:140]} [{seen}]")


def _refused(rows: Sequence[Row]) -> None:
    for row in rows:
        if row["outcome"] in ("machine failed", "no program"):
            print(f"{row['outcome']}: {row['demo']} {row['case']}: {row.get('reason', '')[:200]}")


def _sums(plays: Sequence[Row]) -> bool:
    print()
    onward = [row for row in plays if row["right"] == "go on"]
    halting = [row for row in plays if row["right"] != "go on"]
    bad = 0
    for words, word, of in (
        ("silent wrong acts", "wrong", plays),
        ("halts where it should go on", "false halt", onward),
        ("goings-on where it should halt", "went on", halting),
    ):
        count = sum(row[word] for row in of)
        bad += count if word != "false halt" else 0
        print(
            f"{words}: {count} of {len(of)}, at most {wilson(count, len(of))[1]:.1%} (Wilson, 95%)"
        )
    print(f"model calls: {sum(row['calls'] for row in plays)} in {len(plays)} plays")
    seconds = sorted(s for row in plays for s in row["plans"])
    if seconds:
        print(
            f"from look to plan, s: median {statistics.median(seconds):.3f}, 95th "
            f"{seconds[int(0.95 * (len(seconds) - 1))]:.3f}, most {seconds[-1]:.3f}, "
            f"n={len(seconds)}; over 0.5 s: {sum(s > 0.5 for s in seconds)}"
        )
    return not bad
