"""Strata and sampling by them, and the pool."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hisa.plugins.training.base import Act, Choice, Draw, Episode, Look, Policy, Sample
from hisa.plugins.training.strata import (
    CloningSet,
    by_outcome,
    cloning_set,
    collect,
)

LOOK = Look("press", ())


class Always:
    """A policy that always chooses one element."""

    def __init__(self, item: int) -> None:
        self.name, self.version, self.item, self.call_count = f"always {item}", 1, item, 0

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        self.call_count += 1
        return [Choice(Act("click", self.item), 0.0, 0.0) for _ in looks]


class Codes:
    """Rollouts of two-step tasks whose names are the elements that solve them; "!" breaks."""

    tasks = ("00", "01", "11", "22", "!")

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        for draw in draws:
            acts = [policy.choose([LOOK])[0].act for _ in range(2)]
            solved = "".join(str(act.item) for act in acts) == draw.task
            score = None if draw.task == "!" else float(solved)
            samples = tuple(Sample(LOOK, act) for act in acts)
            yield Episode(draw, samples, score, solved, policy=policy.name)

    def close(self) -> None:
        pass


def build_episodes(task: str, outcomes: str, *, group: str = "") -> list[Episode]:
    """Episodes of a task: "+" solved, "-" not, "!" its machine failed, "*" solved by a detour."""
    good, bad = Sample(LOOK, Act("done")), Sample(LOOK, Act("done"), well_formed=False)
    return [
        Episode(
            Draw(task, 1, group, member),
            (good, bad) if outcome == "*" else (good,),
            None if outcome == "!" else float(outcome in "+*"),
            outcome in "+*",
            policy="first",
        )
        for member, outcome in enumerate(outcomes)
    ]


def test_tasks_fall_into_strata_by_solved_episodes() -> None:
    episodes = [
        *build_episodes("a", "++!"),
        *build_episodes("b", "+-"),
        *build_episodes("c", "-!"),
        *build_episodes("d", "!!"),
    ]
    strata = by_outcome(episodes)
    assert strata.full == [("a", 1)]
    assert strata.partial == [("b", 1)]
    assert strata.none == [("c", 1)]
    assert strata.unseen == [("d", 1)]
    other_seed = replace(episodes[0], draw=Draw("a", 2), solved=False)
    assert by_outcome([*episodes, other_seed]).full == [("a", 1)]


def test_strata_sampling_solves_unsolved_tasks_by_the_pool() -> None:
    tuned_on: list[CloningSet] = []

    def tune(chosen: CloningSet) -> Policy:
        tuned_on.append(chosen)
        policy = Always(1)
        policy.name = "tuned"
        return policy

    draws = [Draw(task, 7) for task in Codes.tasks]
    strata, episodes = collect(Codes(), [Always(0), Always(1)], draws, tune, more=30, seed=1)
    assert strata.partial == [("00", 7), ("11", 7)]
    assert strata.none == [("01", 7), ("22", 7)]
    assert strata.unseen == [("!", 7)]
    assert tuned_on[0].counts["episodes"] == 4
    by_policy = Counter((episode.policy, episode.draw.task) for episode in episodes)
    assert by_policy["always 0", "01"] == 2
    assert by_policy["tuned", "11"] == by_policy["pool of always 0, always 1", "01"] == 30
    assert ("tuned", "01") not in by_policy
    solved = Counter(episode.draw.task for episode in episodes if episode.solved)
    assert 0 < solved["01"] < 30
    assert solved["22"] == 0
    assert cloning_set(episodes).counts["tasks"] == 3
