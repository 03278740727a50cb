"""Pages and machines as one contract, and what is special about machines."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from hisa.config import Settings, load
from hisa.errors import UsageError
from hisa.plugins.benchmarks.bench.suites import open_suite
from hisa.plugins.training.base import Act, Choice, Draw, Episode, Look, Rollouts
from hisa.plugins.training.machine_rollouts import MachineRollouts, no_sample
from tests.plugins.benchmarks.bench_suite.forms import PARTS, write_task
from tests.plugins.benchmarks.tasks.pages import needs_pages
from tests.plugins.training.pointer_samples import list_samples


class Wanderer:
    """Clicks anything; each time that it is asked, its weights have changed."""

    name = "wanderer"

    def __init__(self) -> None:
        self.version = 3
        self.versions: dict[float, int] = {}
        """By log-probability: no two choices have the same."""
        self._random = random.Random(0)

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        choices = []
        self.version += 1
        for look in looks:
            item = len(look.items) - 1 if greedy else self._random.randrange(len(look.items))
            logprob = -1.0 - len(self.versions)
            self.versions[logprob] = self.version
            choices.append(Choice(Act("click", item), logprob, 0.5))
        return choices


@dataclass
class Source:
    """A source under test.

    Args:
        rollouts: it.
        draws: that it can play; the first two are members of one group.
        broken: a draw whose machine fails.
    """

    rollouts: Rollouts
    draws: list[Draw]
    broken: Draw
    wanderer: Wanderer = field(default_factory=Wanderer)

    def play(self, *draws: Draw, greedy: bool = False) -> list[Episode]:
        return list(self.rollouts.play(draws, self.wanderer, greedy=greedy))


def processes() -> set[int]:
    """Children of this process."""
    own = Path(f"/proc/{os.getpid()}/task").glob("*/children")
    return {int(child) for path in own for child in path.read_text().split()}


class RolloutsSuite:
    """Subclass it with a fixture ``source``."""

    def test_every_draw_gives_exactly_one_episode_with_its_steps(self, source: Source) -> None:
        episodes = source.play(*source.draws)
        assert sorted(map(repr, (e.draw for e in episodes))) == sorted(map(repr, source.draws))
        for episode in episodes:
            assert episode.samples
            assert episode.score is not None
            assert 0 <= episode.score <= 1
            assert episode.solved == (episode.score == 1)
            assert not episode.failure
        looks = {e.draw: list_samples(e)[0].look for e in episodes}
        first, second = (looks[draw] for draw in source.draws[:2])
        assert first == second, "members of a group begin from the same look"
        assert first.instruction
        assert first.items

    def test_sample_has_the_policy_version_that_chose_it(self, source: Source) -> None:
        episodes = source.play(*source.draws)
        for episode in episodes:
            assert episode.policy == "wanderer"
            for sample in episode.samples:
                assert source.wanderer.versions[sample.logprob] == sample.version
        assert len({s.version for e in episodes for s in e.samples}) > 1

    def test_the_likeliest_acts_are_the_same_twice(self, source: Source) -> None:
        once, again = (source.play(source.draws[0], greedy=True) for _ in range(2))
        assert [s.act for s in list_samples(once[0])] == [s.act for s in list_samples(again[0])]

    def test_an_unknown_task_is_refused_before_anything_is_played(self, source: Source) -> None:
        with pytest.raises(UsageError, match="no-such-task"):
            source.play(source.draws[0], Draw("no-such-task", 0))
        assert not source.wanderer.versions

    def test_a_machine_that_breaks_gives_no_score_and_the_reason(self, source: Source) -> None:
        (episode,) = source.play(source.broken)
        assert episode.score is None
        assert not episode.solved
        assert episode.failure
        assert not episode.is_sample

    def test_a_play_that_is_left_alone_leaves_no_process(self, source: Source) -> None:
        before = processes()
        next(iter(source.rollouts.play(source.draws, source.wanderer)))
        source.rollouts.close()
        source.rollouts.close()
        assert processes() <= before


GROUP = [Draw("ada", 5, "g", 0), Draw("ada", 5, "g", 1), Draw("bob", 6)]
BROKEN = Draw("broken-9", 7)


def settings(kind: str = "desktop", steps: int = 2) -> Settings:
    tree = {"run": {"max_steps": steps}, "environment": {"kind": kind}}
    return load(environ={}, overrides=tree)


def forms(folder: Path) -> MachineRollouts:
    for name in ("ada", "bob", "broken-9"):
        write_task(folder / "tasks", name)
    suite = open_suite(f"own:{folder / 'tasks'}")
    return MachineRollouts(suite, settings(), folder / "runs", workers=2, environment=PARTS)


class TestMachines(RolloutsSuite):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Iterator[Source]:
        rollouts = forms(tmp_path)
        yield Source(rollouts, GROUP, BROKEN)
        rollouts.close()


@needs_pages
@pytest.mark.browser
@pytest.mark.process
class TestPages(RolloutsSuite):
    @pytest.fixture
    def source(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[Source]:
        page_rollouts = pytest.importorskip("hisa.plugins.training.page_rollouts")
        if not shutil.which("chromium"):
            pytest.skip("needs Chromium: scripts/install-system.sh")
        rollouts = page_rollouts.PageRollouts(["click-test", "click-link"], slots=2, max_steps=3)
        wave = rollouts._wave

        def break_for_seed(orders: list[dict[str, object]]) -> object:
            if any(order.get("seed") == BROKEN.seed for order in orders):
                raise page_rollouts.BrowserDied("it was killed")
            return wave(orders)

        monkeypatch.setattr(rollouts, "_wave", break_for_seed)
        draws = [
            Draw("click-link", 5, "g", 0),
            Draw("click-link", 5, "g", 1),
            Draw("click-test", 6),
        ]
        yield Source(rollouts, draws, Draw("click-test", BROKEN.seed))
        rollouts.close()


def test_a_machine_that_the_agents_own_act_broke_is_a_sample() -> None:
    assert not no_sample("agent_broke_machine", 4, 0.0, "memory")
    assert no_sample("environment_error", 4, None, "gone") == "environment_error: gone"
    assert no_sample("succeeded", 4, None, "") == "succeeded: there is no score"
    assert no_sample("model_error", 0, 0.0, "no key")


def test_persistent_machine_is_refused_for_rollouts(tmp_path: Path) -> None:
    write_task(tmp_path, "ada")
    with pytest.raises(UsageError, match="keeps what an episode leaves behind"):
        MachineRollouts(open_suite(f"own:{tmp_path}"), settings("display=:1"), tmp_path)
