"""What episodes show: a row for each arm, differences on the same pages and seeds, one picture."""

from __future__ import annotations

import itertools
import random
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.small_model.episodes import Episode
from hisa.plugins.benchmarks.bench.stats import wilson

__all__ = ["bootstrap", "picture", "report"]

_DRAWS = 10_000
"""Resamples of a bootstrap interval: its ends then move by under half a point from seed to seed."""
_Key = tuple[str, int]


def report(episodes: Sequence[Episode], folder: Path) -> str:
    """Returns the tables as text, one set of pages after the other; draws ``arms.svg``.

    Sets of pages and states of the prompt cache are never mixed; the picture shows the reported
    pages, where they were run.
    """
    if not episodes:
        return "no episode has ended"
    parts = [f"{machine()}; conditions: {episodes[0].conditions}"]
    groups: dict[tuple[str, bool], list[Episode]] = defaultdict(list)
    for episode in episodes:
        groups[episode.pages, episode.cache].append(episode)
    for (pages, cache), group in sorted(groups.items()):
        arms = _by_arm(group)
        parts += [f"\n{pages} pages, prompt cache {'on' if cache else 'off'}\n", *_rows(arms)]
        parts += ["", *_differences(arms), *_unequal_goals(group)]
    drawn = max(groups, key=lambda group: (group[0] == "reported", group[0] == "working", group[1]))
    (folder / "arms.svg").write_text(picture(_by_arm(groups[drawn])), "utf-8")
    return "\n".join(parts)


def _by_arm(episodes: Iterable[Episode]) -> dict[str, dict[_Key, Episode]]:
    arms: dict[str, dict[_Key, Episode]] = defaultdict(dict)
    for episode in episodes:
        arms[episode.arm][episode.page, episode.seed] = episode
    return dict(sorted(arms.items(), key=lambda item: (not _hisa(item[0]), item[0])))


def _rows(arms: Mapping[str, Mapping[_Key, Episode]]) -> Iterator[str]:
    yield (
        "| arm | success (Wilson, 95%) | steps | tokens a task, in + out | of in: cached "
        "| s a step | s to first token | hours | repeats ≥ 3 | ended |"
    )
    yield "|---" * 10 + "|"
    for arm, found in arms.items():
        some = list(found.values())
        count, wins = len(some), sum(episode.success for episode in some)
        low, high = wilson(wins, count)
        paces = [e.seconds / e.steps for e in some if e.steps]
        firsts = [e.first_token_seconds for e in some if e.first_token_seconds is not None]
        tokens = sum(e.prompt_tokens for e in some)
        ends = statistics.multimode(sorted(e.ended for e in some))
        yield (
            f"| {arm} | {wins} of {count}: {wins / count:.0%} ({low:.0%} to {high:.0%}) "
            f"| {_mean(e.steps for e in some):.1f} | {tokens / count:,.0f} + "
            f"{_mean(e.reply_tokens for e in some):,.0f} "
            f"| {sum(e.cached_tokens for e in some) / max(tokens, 1):.0%} "
            f"| {_median(paces)} | {_median(firsts)} | {sum(e.seconds for e in some) / 3600:.2f} "
            f"| {sum(e.longest_repeat >= 3 for e in some)} | mostly {', '.join(ends)} |"
        )


def _differences(arms: Mapping[str, Mapping[_Key, Episode]]) -> Iterator[str]:
    """Rows of arms that differ in one thing, and of HiSA's best against the best other one."""
    yield "| arms | pairs | success: difference (95%), ratio | tokens: ratio (95%) |"
    yield "|---|---|---|---|"
    best = [
        max(some, key=lambda arm: _worth(arms[arm].values()))
        for some in ([a for a in arms if _hisa(a)], [a for a in arms if not _hisa(a)])
        if some
    ]
    for first, second in itertools.combinations(arms, 2):
        agents = first.removesuffix("+schema"), second.removesuffix("+schema")
        if agents[0] == agents[1] or (first == agents[0]) == (second == agents[1]):
            yield from _row(arms, first, second, "")
    if len(best) == 2:
        yield from _row(arms, best[0], best[1], ", each the best here")


def _hisa(arm: str) -> bool:
    return arm.startswith("hisa")


def _worth(some: Iterable[Episode]) -> tuple[float, float]:
    """What the best arm has most of: success, then thrift."""
    found = list(some)
    return _mean(e.success for e in found), -_mean(e.prompt_tokens + e.reply_tokens for e in found)


def _row(
    arms: Mapping[str, Mapping[_Key, Episode]], first: str, second: str, note: str
) -> Iterator[str]:
    """Two arms on the pages and seeds that both have."""
    pages: dict[str, list[tuple[Episode, Episode]]] = defaultdict(list)
    for key in sorted(arms[first].keys() & arms[second].keys()):
        pages[key[0]].append((arms[first][key], arms[second][key]))
    if not pages:
        return
    blocks = list(pages.values())
    pairs = [pair for block in blocks for pair in block]
    low, high = bootstrap(blocks, _difference)
    few, many = bootstrap(blocks, _token_ratio)
    wins = [sum(episode.success for episode in side) for side in zip(*pairs, strict=True)]
    ratio = f"{wins[0] / wins[1]:.2f}" if wins[1] else "no ratio to 0"
    yield (
        f"| {first} − {second}{note} | {len(pairs)} | {100 * _difference(pairs):+.0f} points "
        f"({100 * low:+.0f} to {100 * high:+.0f}), {ratio} "
        f"| {_token_ratio(pairs):.2f} ({few:.2f} to {many:.2f}) |"
    )


_Pairs = Sequence[tuple[Episode, Episode]]


def _difference(pairs: _Pairs) -> float:
    return _mean(first.success - second.success for first, second in pairs)


def _token_ratio(pairs: _Pairs) -> float:
    sums = [
        sum(e.prompt_tokens + e.reply_tokens for e in side) for side in zip(*pairs, strict=True)
    ]
    return float(sums[0] / max(sums[1], 1))


def bootstrap(
    blocks: Sequence[_Pairs], statistic: Callable[[_Pairs], float]
) -> tuple[float, float]:
    """Returns the 95% percentile interval of a statistic of pairs, by a fixed seed.

    Pages are drawn with replacement, each with all its seeds: two seeds of a page are alike, and
    are not two independent observations.

    Args:
        blocks: the pairs of each page.
        statistic: of the pairs of all pages drawn.
    """
    dice = random.Random(0)
    values = sorted(
        statistic([pair for block in dice.choices(blocks, k=len(blocks)) for pair in block])
        for _ in range(_DRAWS)
    )
    return values[int(0.025 * _DRAWS)], values[int(0.975 * _DRAWS) - 1]


def _unequal_goals(episodes: Iterable[Episode]) -> Iterator[str]:
    """Names pages and seeds that did not draw the same task in every arm."""
    goals: dict[_Key, set[str]] = defaultdict(set)
    for episode in episodes:
        if episode.goal:
            goals[episode.page, episode.seed].add(" ".join(episode.goal.split()))
    unequal = [f"{page} seed {seed}" for (page, seed), texts in goals.items() if len(texts) > 1]
    yield ""
    if unequal:
        yield f"NOT THE SAME TASK in every arm: {', '.join(unequal)}"
    else:
        yield f"each of the {len(goals)} pages and seeds had the same goal in every arm"


def _mean(values: Iterable[float]) -> float:
    return statistics.fmean(list(values) or [0.0])


def _median(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f}" if values else ""


def picture(arms: Mapping[str, Mapping[_Key, Episode]]) -> str:
    """Returns an SVG: a bar of each arm's success with its interval, tokens a task beside it."""
    left, wide, row = 170, 360, 30
    height = row * len(arms) + 50
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 {height}" '
        'font-family="sans-serif" font-size="13">',
        f'<rect width="720" height="{height}" fill="white"/>',
        f'<text x="{left}" y="20">success, 95% interval</text>',
        f'<text x="{left + wide + 20}" y="20">tokens a task</text>',
    ]
    for number, (arm, found) in enumerate(arms.items()):
        some, y = list(found.values()), 32 + row * number
        wins = sum(episode.success for episode in some)
        low, high = (left + wide * end for end in wilson(wins, len(some)))
        tokens = _mean(e.prompt_tokens + e.reply_tokens for e in some)
        middle, colour = y + 10, "#3366aa" if _hisa(arm) else "#999999"
        lines += [
            f'<text x="{left - 8}" y="{y + 14}" text-anchor="end">{escape(arm)}</text>',
            f'<rect x="{left}" y="{y}" width="{wide * wins / len(some):.1f}" height="20" '
            f'fill="{colour}"/>',
            f'<path d="M{low:.1f} {middle}H{high:.1f}M{low:.1f} {y + 5}v10M{high:.1f} {y + 5}v10" '
            'stroke="black" fill="none"/>',
            f'<text x="{left + wide + 20}" y="{y + 14}">{tokens:,.0f} ({wins} of {len(some)})'
            "</text>",
        ]
    return "\n".join([*lines, "</svg>", ""])
