"""HiSA with one small model on pages of MiniWoB++.

    python -m benchmarks.small_model --base-url URL --model NAME --out FOLDER
    python -m benchmarks.small_model --out FOLDER --only reported --seeds 1

Plays each page with each seed and appends a line to ``FOLDER/episodes.jsonl``. A second call with
the same folder goes on where the first one stopped. Ends with a table; the runs lie in FOLDER/runs.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import hisa
from benchmarks.machine import machine
from benchmarks.small_model.pages import REPORTED, WORKING
from hisa.config import Settings, load
from hisa.plugins.benchmarks.bench.stats import wilson
from hisa.runs.run_reader import load_run


@dataclass(frozen=True)
class Episode:
    """What came of one page with one seed."""

    page: str
    seed: int
    score: float | None
    status: str
    steps: int
    prompt_tokens: int
    reply_tokens: int


def settings_of(options: argparse.Namespace, page: str, seed: int) -> Settings:
    """Returns the settings of an episode: no patterns, elements in place of pictures."""
    chosen = {
        "models.planner.model": options.model,
        "models.planner.base_url": options.base_url,
        "models.planner.max_tokens": 512,
        "planner.kind": "short",
        "planner.sees": "elements",
        "patterns.enabled": "false",
        "environment.kind": "browsergym",
        "run.max_steps": options.steps,
        "run.seed": seed,
        "run.folder": f"{options.out}/runs/{page}-{seed}",
    }
    assignments = [f"{name}={value}" for name, value in chosen.items()]
    return load(assignments=assignments + options.set)


async def play(options: argparse.Namespace, page: str, seed: int) -> Episode:
    """Plays a page once."""
    result = await hisa.run(f"browsergym:miniwob.{page}", settings=settings_of(options, page, seed))
    totals = load_run(result.folder).totals
    return Episode(
        page,
        seed,
        result.score,
        result.status,
        result.steps,
        totals.tokens_in,
        totals.tokens_out,
    )


def read_episodes(path: Path) -> list[Episode]:
    """Returns the episodes of a file, less a line that a kill cut off."""
    episodes = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else ():
        with suppress(ValueError, TypeError):
            episodes.append(Episode(**json.loads(line)))
    return episodes


def table(episodes: Sequence[Episode]) -> str:
    """Returns the share of solved episodes with its interval, and the tokens of an episode."""
    scored = [episode for episode in episodes if episode.score is not None]
    solved = sum((episode.score or 0) > 0 for episode in scored)
    low, high = wilson(solved, len(scored))
    steps = sum(episode.steps for episode in episodes) / max(1, len(episodes))
    tokens = sum(e.prompt_tokens + e.reply_tokens for e in episodes) / max(1, len(episodes))
    return (
        f"solved {solved} of {len(scored)} ({low:.0%} to {high:.0%}); "
        f"{len(episodes) - len(scored)} without a score; "
        f"{steps:.1f} steps and {tokens:,.0f} tokens an episode ({machine()})"
    )


async def play_all(options: argparse.Namespace) -> list[Episode]:
    """Plays what the folder does not hold yet; returns all its episodes."""
    path = options.out / "episodes.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    episodes = read_episodes(path)
    played = {(episode.page, episode.seed) for episode in episodes}
    pages = options.pages or (WORKING if options.only == "working" else REPORTED)
    for seed in range(1, options.seeds + 1):
        for page in pages:
            if (page, seed) in played:
                continue
            episode = await play(options, page, seed)
            episodes.append(episode)
            with path.open("a", encoding="utf-8") as file:
                file.write(f"\n{json.dumps(asdict(episode))}\n")
            print(f"{page} {seed}: {episode.status}, score {episode.score}", flush=True)
    return episodes


def main() -> None:
    """Plays the pages and prints the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    parser.add_argument("--only", choices=("working", "reported"), default="working")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--model", default="qwen2.5-coder-1.5b-instruct")
    parser.add_argument("--base-url", default="http://127.0.0.1:8000/v1")
    parser.add_argument("--set", action="append", default=[], help="a further setting")
    parser.add_argument("--out", type=Path, required=True)
    print(table(asyncio.run(play_all(parser.parse_args()))))


if __name__ == "__main__":
    main()
