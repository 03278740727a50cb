"""The buffer, joined to real processes where a process matters."""

import random
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hisa.plugins.training.episode_buffer import EpisodeBuffer, Terms, Ticket, feasible
from hisa.plugins.training.episodes import Act, Draw, Episode, Item, Look, Sample

LOOK = Look("Click on Ok.", (Item("push button", "Ok", (0.1, 0.1, 0.2, 0.1)),))
FILE = "episodes.sqlite"


def draws(first: int, groups: int, size: int = 2, task: str = "short") -> list[Draw]:
    numbers = range(first, first + groups)
    return [Draw(task, n, str(n), member) for n in numbers for member in range(size)]


def episode(draw: Draw, versions: list[int], score: float | None = 1.0) -> Episode:
    samples = tuple(Sample(LOOK, Act("click", 0), -0.5, 0.6, v) for v in versions)
    return Episode(draw, samples, score, score == 1.0)


def play(buffer: EpisodeBuffer, tickets: list[Ticket], version: int) -> None:
    for ticket in tickets:
        assert buffer.put(ticket, episode(ticket.draw, [version]))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / FILE


def test_a_group_is_taken_whole_and_once(path: Path) -> None:
    buffer = EpisodeBuffer(path, Terms(batch=1))
    buffer.offer(draws(0, 2))
    one, two, *more = buffer.lease(0, 0, 4)
    assert buffer.put(one, episode(one.draw, [0, 0, 1]))
    assert buffer.take() is None
    assert buffer.put(two, episode(two.draw, [0], score=0.0))
    taken = buffer.take()
    assert taken
    assert [e.draw for e in taken.episodes] == [one.draw, two.draw]
    assert [s.version for s in taken.episodes[0].samples] == [0, 0, 1]
    buffer.advance(1)
    assert buffer.take() is None
    play(buffer, more, 0)
    assert buffer.take() is not None
    assert not buffer.put(one, episode(one.draw, [0]))
    assert buffer.counts() == {"offered": 2, "leased": 4, "done": 4, "late": 1}


def test_an_episode_is_used_n_times_within_the_bound(path: Path) -> None:
    buffer = EpisodeBuffer(path, Terms(batch=1, bound=3, uses=3))
    buffer.offer(draws(0, 4))
    used: list[int] = []
    for version in range(4):
        play(buffer, buffer.lease(0, version, 2), version)
        taken = buffer.take()
        assert taken
        used += [e.draw.seed for e in taken.episodes if e.draw.member == 0]
        buffer.advance(version + 1)
    assert {seed: used.count(seed) for seed in range(4)} == {0: 3, 1: 3, 2: 2, 3: 1}


@pytest.mark.parametrize("bound", [0, 1, 4])
def test_admission_holds_the_age_within_the_bound_and_throws_nothing_away(
    path: Path, bound: int
) -> None:
    """Workers of any speed with weights of any age, and long tasks among short ones."""
    dice = random.Random(bound)
    buffer = EpisodeBuffer(path, Terms(batch=3, bound=bound))
    version, ages, offered, flying = 0, list[int](), 0, list[tuple[int, int, Ticket]]()
    for now in range(900):
        if buffer.waiting() < 4:
            buffer.offer(draws(offered, 3, task=dice.choice(["short", "long"])))
            offered += 3
        at = max(0, version - dice.choice([0, 0, 1, 3]))
        for ticket in buffer.lease(0, at, dice.randrange(1, 5)):
            slow = dice.randrange(100) if ticket.draw.task == "long" else 2
            flying.append((now + slow, at, ticket))
        for row in [row for row in flying if row[0] <= now]:
            flying.remove(row)
            assert buffer.put(row[2], episode(row[2].draw, [row[1], version]))
        if dice.random() < 0.3 and (taken := buffer.take()):
            ages += [taken.version - e.version for e in taken.episodes]
            version += dice.random() < 0.9
            buffer.advance(version)
    counts = buffer.counts()
    assert version > 10
    assert max(ages) == bound
    assert counts["held_back"] > 0
    assert not {"thrown", "damaged", "late"} & counts.keys()
    assert len(ages) >= counts["done"] - 2 * 3 * (bound + 1)


def shares_of_long(path: Path, mode: str) -> tuple[float, dict[str, int]]:
    """Share of used episodes that are long, where a long one takes six updates' time."""
    buffer = EpisodeBuffer(path, Terms(batch=2, bound=2, mode=mode))  # type: ignore[arg-type]
    version, offered, used = 0, 0, list[str]()
    flying: list[tuple[int, int, Ticket]] = []
    for now in range(200):
        while buffer.waiting() < 4:
            buffer.offer(draws(offered, 1, task="long" if offered % 2 else "short"))
            offered += 1
        if len(flying) < 40:
            for ticket in buffer.lease(0, version, 4):
                flying.append((now + (6 if ticket.draw.task == "long" else 1), version, ticket))
        for row in [row for row in flying if row[0] <= now]:
            flying.remove(row)
            buffer.put(row[2], episode(row[2].draw, [row[1]] * (9 if row[0] - now else 3)))
        if taken := buffer.take():
            used += [e.draw.task for e in taken.episodes]
            version += 1
            buffer.advance(version)
    return used.count("long") / len(used), buffer.counts()


def test_long_tasks_starve_by_discarding_and_not_by_admission(tmp_path: Path) -> None:
    admitted, counts = shares_of_long(tmp_path / "a", "admission")
    assert admitted == pytest.approx(0.5, abs=0.03)
    assert "thrown" not in counts
    discarded, counts = shares_of_long(tmp_path / "b", "discard")
    assert discarded < 0.1
    assert counts["thrown"] > 20
    assert "held_back" not in counts


def test_due_dates() -> None:
    assert feasible([], 5, 1)
    assert feasible([5, 5, 6, 6], 5, 2)
    assert not feasible([5, 5, 5], 5, 2)
    assert not feasible([4], 5, 2)


def test_a_failed_machine_is_no_sample_and_a_short_group_is_dropped(path: Path) -> None:
    buffer = EpisodeBuffer(path, Terms(batch=1, tries=2))
    buffer.offer(draws(0, 1) + draws(1, 1, size=3))
    for _ in range(2):
        for ticket in buffer.lease(0, 0, 9):
            failed = ticket.draw in (Draw("short", 0, "0", 1), Draw("short", 1, "1", 1))
            buffer.put(ticket, episode(ticket.draw, [0], None if failed else 1.0))
    taken = buffer.take()
    assert taken
    assert [(e.draw.group, e.draw.member) for e in taken.episodes] == [("1", 0), ("1", 2)]
    counts = buffer.counts()
    assert (counts["failed"], counts["lost"], counts["short"]) == (4, 2, 1)


def test_a_lease_runs_out_and_its_late_result_is_not_kept(path: Path) -> None:
    buffer = EpisodeBuffer(path, Terms(batch=1, lease=0.0))
    buffer.offer(draws(0, 1))
    [first, *_] = buffer.lease(0, 0, 2)
    time.sleep(0.01)
    assert buffer.take() is None
    [again, *_] = buffer.lease(1, 0, 2)
    assert (again.draw, again.attempt) == (first.draw, 2)
    assert not buffer.put(first, episode(first.draw, [0]))
    assert buffer.counts()["expired"] == 2


def test_a_new_trainer_begins_with_an_empty_buffer(path: Path) -> None:
    buffer = EpisodeBuffer(path, Terms(batch=1))
    buffer.offer(draws(0, 2))
    play(buffer, buffer.lease(0, 0, 2), 0)
    again = EpisodeBuffer(path, Terms(batch=2))
    assert (again.waiting(), again.counts()) == (0, {})
    assert EpisodeBuffer(path).terms == Terms(batch=2)


def test_weights_are_handed_out_once_and_an_episode_too_large_is_given_again(path: Path) -> None:
    buffer = EpisodeBuffer(path, Terms(batch=1))
    buffer.advance(4, b"weights")
    assert buffer.refresh(0, 3) == (4, b"weights")
    assert buffer.refresh(0, 4) is None
    buffer.offer(draws(0, 1))
    [first, _] = buffer.lease(0, 4, 2)
    assert buffer.put(first, replace(episode(first.draw, [4]), policy="x" * (17 << 20)))
    assert buffer.counts()["failed"] == buffer.waiting() == 1
