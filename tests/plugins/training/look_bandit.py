"""A policy of one table and a source of episodes of two steps, both repeatable to the last bit."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Self

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")

import torch

from hisa.plugins.training.base import Act, Choice, Draw, Episode, Item, Look, Policy, Sample

WORDS = ("red", "green", "blue", "next")


class TablePolicy:
    """Clicks one of four buttons, by a table of instruction and button."""

    name = "table"

    def __init__(self, seed: int = 0) -> None:
        self.version = 0
        self.network = torch.nn.Linear(len(WORDS), len(WORDS), bias=False)
        torch.nn.init.normal_(self.network.weight, generator=torch.Generator().manual_seed(seed))
        self._generator = torch.Generator().manual_seed(seed)

    def _scores(self, looks: Sequence[Look]) -> torch.Tensor:
        hot = torch.eye(len(WORDS))[[WORDS.index(look.instruction) for look in looks]]
        scores: torch.Tensor = self.network(hot).log_softmax(1)
        return scores

    def choose(self, looks: Sequence[Look], *, greedy: bool = False) -> list[Choice]:
        with torch.no_grad():
            scores = self._scores(looks)
        drawn = torch.multinomial(scores.exp(), 1, generator=self._generator)[:, 0]
        picks = scores.argmax(1) if greedy else drawn
        entropies = -(scores.exp() * scores).sum(1)
        return [
            Choice(Act("click", int(pick)), float(row[pick]), float(entropy))
            for pick, row, entropy in zip(picks, scores, entropies, strict=True)
        ]

    def log_probs(self, samples: Sequence[Sample]) -> tuple[torch.Tensor, torch.Tensor]:
        scores = self._scores([sample.look for sample in samples])
        acts = torch.tensor([sample.act.item for sample in samples])
        return scores.gather(1, acts[:, None])[:, 0], -(scores.exp() * scores).sum(1)

    def reseed(self, seed: int) -> None:
        self._generator.manual_seed(seed)

    def copy(self) -> Self:
        twin = type(self)()
        twin.version = self.version
        twin.network.load_state_dict(self.network.state_dict())
        return twin

    def save(self, path: Path) -> None:
        torch.save(self.network.state_dict(), path)


class Bandit:
    """Solved by the button of the instruction's name; on "next" by that, and then by "red"."""

    tasks = WORDS

    def __init__(self, fails: Sequence[int] = ()) -> None:
        self._fails = fails
        self.played: list[Draw] = []

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        for draw in draws:
            self.played.append(draw)
            if draw.member in self._fails and not greedy:
                yield Episode(draw, (), None, False, failure="the machine is gone")
                continue
            samples = list(self._steps(draw, policy, greedy))
            expected = [draw.task, "red"][: len(samples)]
            solved = [WORDS[sample.act.item] for sample in samples] == expected
            solved = solved and len(samples) == 1 + (draw.task == "next")
            solved = solved and all(sample.act.kind == "click" for sample in samples)
            yield Episode(draw, tuple(samples), float(solved), solved, policy=policy.name)

    def _steps(self, draw: Draw, policy: Policy, greedy: bool) -> Iterator[Sample]:
        for instruction in (draw.task, "red"):
            items = tuple(Item("push button", word, (0, 0, 0.1, 0.1)) for word in WORDS)
            look = Look(instruction, items)
            [choice] = policy.choose([look], greedy=greedy)
            yield Sample(look, choice.act, choice.logprob, choice.entropy, policy.version)
            if draw.task != "next" or WORDS[choice.act.item] != "next":
                return

    def close(self) -> None:
        pass
