"""How many MiniWoB++ pages are done when the planner is right and names things as a model does.

    python -m benchmarks.miniwob_words [PAGE...] [--seeds N] [--half A|B] [--out FILE] [--json]

Each page has a script of calls whose targets are descriptions; what fails is the pointing, or the
loop around it. The pages are real ones in Chromium on a private desktop, by the whole agent with
the elements grounder. FILE gets a line an episode; the same command goes on where it stopped.
Causes may be sought on half A only.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.miniwob_words.pages import PAGES, half
from benchmarks.miniwob_words.player import Episode, play
from hisa.errors import OperatorError
from hisa.plugins.desktop.private_desktop import DesktopEnvironment

_TRIES = 2
"""Desktops for one episode: a machine that broke is no answer."""


def _read(path: Path | None) -> list[Episode]:
    if path is None or not path.exists():
        return []
    return [Episode(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]


def _write(path: Path | None, episode: Episode) -> None:
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(episode), ensure_ascii=False) + "\n")


async def _episode(page: str, seed: int) -> Episode:
    """One attempt, on a desktop of its own; again on another where the machine broke."""
    for attempt in range(_TRIES):
        try:
            async with DesktopEnvironment() as desktop:
                episode = await play(desktop, page, seed)
        except OperatorError as error:
            episode = Episode(page, seed, half(page), status="machine", reason=str(error))
        if episode.status not in ("machine", "environment_error") or attempt:
            break
    return episode


async def _all(pages: Sequence[str], seeds: int, out: Path | None) -> list[Episode]:
    wanted = {(page, seed) for page in pages for seed in range(1, seeds + 1)}
    found = [one for one in _read(out) if (one.page, one.seed) in wanted]
    known = {(one.page, one.seed) for one in found}
    for seed, page in sorted((seed, page) for page, seed in wanted - known):
        episode = await _episode(page, seed)
        if episode.status == "stopped":  # by a signal: what comes next is not this page's fault
            break
        _write(out, episode)
        found.append(episode)
        told = "done" if episode.done else episode.broken or episode.reason
        print(f"{page} {seed}: {told[:100]}", file=sys.stderr, flush=True)
    return found


def summary(episodes: Iterable[Episode]) -> dict[str, float | int]:
    """Counts over episodes; scripts that could not read their page are counted apart."""
    all_of = list(episodes)
    kept = [one for one in all_of if not one.broken and one.status != "machine"]
    pages = {one.page for one in kept}
    whole = [p for p in pages if all(one.done for one in kept if one.page == p)]
    return {
        "pages": len(pages),
        "pages_done": len(whole),
        "episodes": len(kept),
        "done": sum(one.done for one in kept),
        "done_share": round(sum(one.done for one in kept) / max(len(kept), 1), 3),
        "descriptions": sum(one.places + one.refused for one in kept),
        "refused": sum(one.refused for one in kept),
        "judged": sum(one.judged for one in kept),
        "wrong": sum(one.wrong for one in kept),
        "steps": sum(one.steps for one in kept),
        "unreadable": len(all_of) - len(kept),
    }


def _table(episodes: Sequence[Episode]) -> Iterable[str]:
    yield f"{'page':28}half  done  refused  wrong of judged  steps"
    for page in sorted({one.page for one in episodes}):
        some = [one for one in episodes if one.page == page]
        counts = summary(some)
        done = f"{counts['done']}/{counts['episodes']}"
        wrong = f"{counts['wrong']}/{counts['judged']}"
        row = f"{page:28}{some[0].half:5}{done:>5}{counts['refused']:>9}{wrong:>17}"
        yield row + f"{counts['steps']:>7}" + ("  (unreadable)" if counts["unreadable"] else "")
    for name in ("A", "B", "AB"):
        counts = summary(one for one in episodes if one.half in name)
        yield f"half {name}: " + ", ".join(f"{key} {value}" for key, value in counts.items())


def main() -> None:
    """Run what is asked for and print the counts."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--half", choices=("A", "B"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if unknown := set(given.pages) - set(PAGES):
        parser.error(f"no script for {sorted(unknown)}; there are: {', '.join(sorted(PAGES))}")
    pages = [
        page
        for page in sorted(PAGES)
        if (not given.pages or page in given.pages) and given.half in (None, half(page))
    ]
    episodes = asyncio.run(_all(pages, given.seeds, given.out))
    if given.json:
        halves = {name: summary(e for e in episodes if e.half in name) for name in ("A", "B", "AB")}
        found = [asdict(episode) for episode in episodes]
        print(json.dumps({"machine": machine(), **halves, "episodes": found}))
    else:
        print("\n".join(_table(episodes)))


if __name__ == "__main__":
    main()
