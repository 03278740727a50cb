"""Networks away from the CPU: on "meta", which any machine has, and on a GPU where there is one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")

import torch

from hisa.cli import main
from hisa.plugins.training import widget_pages as pages
from hisa.plugins.training.advantages import Advantaged
from hisa.plugins.training.episodes import Act, Item, Look, Sample
from hisa.plugins.training.grounder import ClickSettings, ClickTrainer, Pool
from hisa.plugins.training.grpo import GrpoSettings, update_policy
from hisa.plugins.training.pixel_network import PixelNetwork
from hisa.plugins.training.pointer_features import features
from hisa.plugins.training.pointer_policy import PointerPolicy
from hisa.plugins.training.sft import CloningSettings, adamw, clone
from hisa.plugins.training.training_folder import TrainingFolder
from tests.plugins.training.look_bandit import DEVICES

FEW = list(pages.targets(range(20)))
LOOKS = [
    Look(
        f"Press {name} twice.",
        tuple(Item("push button", f"{name}{i}", (0, 0, 0.1, 0.1)) for i in range(count)),
    )
    for name, count in (("ok", 3), ("back", 5), ("no", 1))
]


def test_no_network_makes_tensors_elsewhere_than_where_it_is() -> None:
    pool, pixels = Pool(FEW, "meta"), PixelNetwork().to("meta")
    replies = pixels(pool.pixels[pool.pages], pool.letters, frozenset({"size", "formed"}))
    pointer = PointerPolicy.fresh(0, width=32, layers=1).network.to("meta")
    scores, words = pointer([features(look) for look in LOOKS])
    assert {replies.device.type, scores.device.type} == {"meta"}
    assert list(scores.shape) == [3, 1 + 5 * (1 + words)]


@pytest.mark.parametrize("device", DEVICES)
def test_a_grounder_draws_the_same_replies_and_goes_on_elsewhere(
    device: str, tmp_path: Path
) -> None:
    settings = ClickSettings(cold_start=3, batch=16, device=device)
    trainer: Any = ClickTrainer(settings)
    there = Pool(FEW, device)
    rows = [trainer.step(there) for _ in range(6)]
    here = ClickTrainer(ClickSettings(cold_start=3, batch=16))
    expected = [here.step(Pool(FEW)) for _ in range(4)]
    losses = [[row["loss"] for row in trained[:3]] for trained in (rows, expected)]
    assert losses[0] == pytest.approx(losses[1], abs=0.02)
    assert rows[3]["reward"] == pytest.approx(expected[3]["reward"], abs=0.05)
    assert next(trainer.network.parameters()).device.type == device
    folder = TrainingFolder(tmp_path / "run", {})
    folder.write(6, trainer, trainer.optimizer)
    folder.close()
    loaded = PixelNetwork.load(folder.checkpoint("last"))
    assert loaded.cell.weight.device.type == "cpu"
    again = TrainingFolder(tmp_path / "run", {}, resume=True)
    resumed: Any = ClickTrainer(ClickSettings(cold_start=3, batch=16))
    resumed.step(Pool(FEW))
    assert again.restore(resumed, resumed.optimizer) == 6
    again.close()
    assert resumed.step(Pool(FEW))["update"] == 7
    assert resumed.hits(Pool(FEW)) >= 0


@pytest.mark.parametrize("device", DEVICES)
def test_a_pointer_is_cloned_updated_and_copied_where_it_is(device: str, tmp_path: Path) -> None:
    policy, here = PointerPolicy.fresh(4), PointerPolicy.fresh(4)
    policy.network.to(device)
    chosen, expected = policy.choose(LOOKS), here.choose(LOOKS)
    assert [choice.act for choice in chosen] == [choice.act for choice in expected]
    assert [c.logprob for c in chosen] == pytest.approx([c.logprob for c in expected], abs=1e-3)
    samples = [Sample(look, c.act, c.logprob) for look, c in zip(LOOKS, chosen, strict=True)]
    clone(policy, [Sample(look, Act("click", 0)) for look in LOOKS], CloningSettings(epochs=20))
    reference = policy.copy()
    assert next(reference.network.parameters()).device.type == device
    assert reference.choose(LOOKS) == policy.choose(LOOKS)
    assert {c.act for c in policy.choose(LOOKS, greedy=True)} == {Act("click", 0)}
    batch = Advantaged([(sample, 1.0) for sample in samples], [1 / 3] * 3, 0)
    optimizer = adamw(policy, 1e-3)
    measures = update_policy(policy, reference, optimizer, batch, GrpoSettings(), decoupled=True)
    assert measures["kl"] > 0
    policy.save(tmp_path / "pointer.safetensors")
    loaded = PointerPolicy.load(tmp_path / "pointer.safetensors")
    assert loaded.network.done.bias.device.type == "cpu"
    assert loaded.version == policy.version


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
@pytest.mark.parametrize("command", [["grounder"], ["grpo", "click-button"], ["sft", "click-link"]])
def test_a_gpu_that_is_not_there_is_refused_before_anything_is_written(
    command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", *command, "--device", "cuda", "-o", str(tmp_path / "run")])
    assert ended.value.code
    assert "--device cuda: torch sees no GPU here" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
