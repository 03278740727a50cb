"""A bandit with delay, as rollouts and a policy: short and long tasks of known chances.

Of three buttons one is right, another at each step of a task; a task is solved where at least half
of the clicks hit. Each step takes its time, so a task of sixteen steps is in flight eight times as
long as one of two.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import torch

from hisa.plugins.training.base import Policy
from hisa.plugins.training.episodes import Act, Choice, Draw, Episode, Item, Look, Sample

__all__ = ["LENGTHS", "BanditPolicy", "DelayedBandit"]

LENGTHS = {"short": 2, "middle": 6, "long": 16}
"""Steps of each task."""
BUTTONS = 3


def _look(task: str, step: int) -> Look:
    names = [f"{task} {step} {button}" for button in range(BUTTONS)]
    boxes = [(button / BUTTONS, 0.0, 0.3, 0.3) for button in range(BUTTONS)]
    items = (Item("push button", name, box) for name, box in zip(names, boxes, strict=True))
    return Look(f"{task} {step}", tuple(items))


class DelayedBandit:
    """All draws are played at once, a step of each in turn; see `base.Rollouts`.

    Args:
        seconds: of a step of a wave.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self._seconds = seconds
        self.tasks = tuple(LENGTHS)

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """See `base.Rollouts`."""
        steps: dict[Draw, list[Sample]] = {draw: [] for draw in draws}
        begun = time.monotonic()
        while steps:
            looks = [_look(draw.task, len(samples)) for draw, samples in steps.items()]
            choices = policy.choose(looks, greedy=greedy)
            time.sleep(self._seconds)
            for look, choice, (draw, samples) in zip(
                looks, choices, list(steps.items()), strict=True
            ):
                samples.append(
                    Sample(look, choice.act, choice.logprob, choice.entropy, policy.version)
                )
                if len(samples) == LENGTHS[draw.task]:
                    hits = sum(_is_hit(s.look, s.act) for s in steps.pop(draw))
                    solved = 2 * hits >= len(samples)
                    seconds = time.monotonic() - begun
                    yield Episode(draw, tuple(samples), float(solved), solved, seconds=seconds)

    def close(self) -> None:
        """Nothing to give back."""


def _is_hit(look: Look, act: Act) -> bool:
    return act.item == random.Random(look.instruction).randrange(BUTTONS)


class BanditPolicy:
    """A table of logits by task and step; see `base.Trainable`."""

    name = "bandit"

    def __init__(self) -> None:
        self.version = 0
        self.network = torch.nn.Embedding(len(LENGTHS) * max(LENGTHS.values()), BUTTONS)
        torch.nn.init.zeros_(self.network.weight)
        self._generator = torch.Generator().manual_seed(0)

    def reseed(self, seed: int) -> None:
        """See `base.Trainable`."""
        self._generator.manual_seed(seed)

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        """See `base.Policy`."""
        with torch.no_grad():
            rows = self._log_probs(looks)
            drawn = torch.multinomial(rows.exp(), 1, generator=self._generator)[:, 0]
            acts = (rows.argmax(1) if greedy else drawn).tolist()
            entropies = -(rows.exp() * rows).sum(1)
        return [
            Choice(Act("click", act), float(rows[row, act]), float(entropies[row]))
            for row, act in enumerate(acts)
        ]

    def log_probs(self, samples: Sequence[Sample]) -> tuple[torch.Tensor, torch.Tensor]:
        """See `base.Trainable`."""
        rows = self._log_probs([sample.look for sample in samples])
        acts = torch.tensor([sample.act.item for sample in samples])
        return rows.gather(1, acts[:, None])[:, 0], -(rows.exp() * rows).sum(1)

    def copy(self) -> Self:
        """See `base.Trainable`."""
        twin = type(self)()
        twin.network.load_state_dict(self.network.state_dict())
        twin.version = self.version
        return twin

    def save(self, path: Path) -> None:
        """Nothing: the run's state has the weights."""

    def _log_probs(self, looks: Sequence[Look]) -> torch.Tensor:
        words = [look.instruction.split() for look in looks]
        width = max(LENGTHS.values())
        rows = [list(LENGTHS).index(task) * width + int(step) for task, step in words]
        return torch.log_softmax(self.network(torch.tensor(rows)), 1)
