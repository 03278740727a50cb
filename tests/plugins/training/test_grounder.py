"""The small grounder: its pages, rewards and training."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")

import torch

from hisa.plugins.training import widget_pages as pages
from hisa.plugins.training.box_cleaning import iou
from hisa.plugins.training.grounder import (
    BOX_SIZES,
    REWARDS,
    ClickTrainer,
    PixelNetwork,
    Pool,
    parts_of,
    points,
    reply_rewards,
)
from hisa.plugins.training.training_settings import ClickSettings

torch.set_num_threads(1)
FEW = list(pages.targets(range(60)))


def click_reward(point: tuple[float, float], box: pages.Box) -> float:
    """GTA1's eq. 2: both ends of a box belong to it."""
    return float(box.left <= point[0] <= box.right and box.top <= point[1] <= box.bottom)


def test_rewards_of_replies_are_those_of_the_paper_s_rewards() -> None:
    torch.manual_seed(0)
    pool = Pool(FEW)
    replies = torch.randint(80 * len(BOX_SIZES) * 2, (len(pool), 8))
    parts = torch.stack(parts_of(replies, REWARDS["all"]), 2)
    click, total = reply_rewards(replies, pool.boxes, REWARDS["all"])
    clicks = 0.0
    for row, target in enumerate(FEW):
        for column in range(8):
            cell, kind, formed = parts[row, column].tolist()
            x, y = (float(side) for side in points(torch.tensor(cell)))
            width, height = BOX_SIZES[kind]
            own = pages.Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)
            right = click_reward((x, y), target.box) * formed
            expected = formed * (right + iou(own, target.box) + 1)
            assert float(click[row, column]) == right
            assert float(total[row, column]) == pytest.approx(expected)
            clicks += right
    assert clicks


@pytest.mark.parametrize("reward", list(REWARDS))
def test_log_probabilities_of_all_replies_sum_to_one(reward: str) -> None:
    torch.manual_seed(1)
    pool, parts = Pool(FEW[:3]), REWARDS[reward]
    logs = PixelNetwork()(pool.pixels[pool.pages], pool.letters, parts)
    kinds = range(len(BOX_SIZES)) if "size" in parts else [0]
    tokens = [0, 1] if "formed" in parts else [1]
    every = [(cell, kind, token) for cell in range(80) for kind in kinds for token in tokens]
    assert logs.exp().sum(1).tolist() == pytest.approx([1, 1, 1], abs=1e-4)
    numbered = torch.stack(parts_of(torch.arange(logs.shape[1]), parts), 1)
    assert [tuple(reply) for reply in numbered.tolist()] == every


def test_a_cold_start_and_grpo_raise_the_share_of_right_clicks() -> None:
    train, tuning = Pool(FEW), Pool(FEW)
    trainer = ClickTrainer(ClickSettings(cold_start=60, rate=1e-3, batch=32))
    before = trainer.hits(tuning) / len(tuning)
    rows = [trainer.step(train) for _ in range(120)]
    assert {row["phase"] for row in rows[:60]} == {"sft"}
    first, last = (sum(row["reward"] for row in rows[i : i + 20]) / 20 for i in (60, 100))
    assert last > first + 0.03
    assert trainer.hits(tuning) / len(tuning) > before + 0.2
    assert all(0 <= row["dropped_groups"] <= row["groups"] == 32 for row in rows[60:])


def test_draws_depend_only_on_seed_and_count() -> None:
    pool, settings = Pool(FEW), ClickSettings(cold_start=1, batch=8)
    first, second = ClickTrainer(settings), ClickTrainer(settings)
    rows = [first.step(pool) for _ in range(3)]
    torch.rand(100)
    again = [second.step(pool) for _ in range(3)]
    assert [row["loss"] for row in rows] == [row["loss"] for row in again]
