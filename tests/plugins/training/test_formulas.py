"""Rewards of steps, advantages and losses: cases by hand, naive loops, and TRL's own numbers."""

from __future__ import annotations

import json
import math
from itertools import chain
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")

import torch

from hisa.errors import UsageError
from hisa.plugins.training.base import Act, Draw, Episode, Look, Sample
from hisa.plugins.training.grpo import build_batch, step_grpo_loss, z_scores

GOLDEN = json.loads(Path(__file__).with_name("trl_golden.json").read_text("utf-8"))


def episode(
    steps: str, solved: bool, *, group: str = "g", seed: int = 1, score: float | None = -1.0
) -> Episode:
    """An episode of steps, "." for one that is well formed and "x" for one that is not."""
    samples = tuple(
        Sample(Look(f"{group} {number}", ()), Act("done"), well_formed=step == ".")
        for number, step in enumerate(steps)
    )
    score = float(solved) if score == -1 else score
    return Episode(Draw("page", seed, group), samples, score, solved)


def test_a_malformed_step_of_a_solved_episode_gets_nothing() -> None:
    assert episode(".x.", True).rewards == (1.0, 0.0, 1.0)
    assert episode("..", False).rewards == (0.0, 0.0)


def test_failed_machines_and_groups_without_spread_are_left_out_and_counted() -> None:
    batch = build_batch(
        [
            episode("..", True, group="a"),
            episode(".", False, group="b", seed=2),
            episode(".", False, group="a"),
            episode("...", True, group="a", score=None),
            episode(".", True, group="b", seed=2, score=None),
            episode("....", True, group="c", seed=3, score=None),
            episode("x.", True, group="d", seed=4),
        ]
    )
    assert batch.dropped == 1
    half, root = 1 / math.sqrt(2), math.sqrt(2)
    assert batch.advantages == pytest.approx([half, half, -root, -1, 1])
    assert batch.weights == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 4, 1 / 4])
    assert [sample.look.instruction for sample in batch.samples if isinstance(sample, Sample)] == [
        "a 0",
        "a 1",
        "a 0",
        "d 0",
        "d 1",
    ]


def test_an_episode_in_no_group_or_of_another_instance_is_refused() -> None:
    with pytest.raises(UsageError, match="no group"):
        build_batch([episode(".", True, group="")])
    with pytest.raises(UsageError, match="seed 1"):
        build_batch([episode(".", True), episode(".", False, seed=2)])


def tensor(*values: float) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float32)


def test_tensors_that_cannot_be_right_are_refused() -> None:
    good = tensor(-1, -1)
    with pytest.raises(ValueError, match="all tensors must be"):
        step_grpo_loss(good, good, good, good, tensor(1), good)
    with pytest.raises(ValueError, match="finite"):
        step_grpo_loss(tensor(-1, -math.inf), good, good, good, good, good)


@pytest.mark.parametrize("name", GOLDEN)
def test_losses_gradients_and_advantages_are_those_that_trl_gave(name: str) -> None:
    """On the same tensors TRL 1.16 answered this; a step is one token there, a batch one group."""
    case = GOLDEN[name]
    advantages = tensor(*(z_scores([*chain(*case["rewards"])]) or ()))
    new, old = tensor(*case["new"]).requires_grad_(), tensor(*case["old"])
    value, measures = step_grpo_loss(
        new,
        old,
        tensor(*case["behaviour"]) if case.get("stale") else old,
        tensor(*case["ref"]) if case.get("kl", 1) else new.detach(),
        advantages,
        torch.full_like(advantages, 1 / len(new)),
        kl=case.get("kl", 0.0003),
        clip_high=case.get("clip_high"),
    )
    (slopes,) = torch.autograd.grad(value, new)
    loss, kl, clipped, _, gradient, expected = case["trl"]
    assert value.item() == pytest.approx(loss, rel=1e-5, abs=1e-6)
    assert measures["kl"] == pytest.approx(kl, rel=1e-5, abs=1e-6)
    assert measures["clipped"] == pytest.approx(clipped, rel=1e-5, abs=1e-6)
    assert slopes.tolist() == pytest.approx(gradient, rel=1e-5, abs=1e-6)
    assert advantages.tolist() == pytest.approx(expected, rel=1e-5, abs=1e-6)
