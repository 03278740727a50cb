"""Training's networks on the CPU and on a GPU: updates a second, and how far their losses differ.

    python -m benchmarks.training_devices [--seconds 3] [--out FILE]

*rates*: the grounder's whole GRPO step (forward, rewards, loss, backward, AdamW) by channels and
batch; the pointer's cloning step of 16 looks, an update of 384 (four passes) and a choice for 192
looks at once. *agreement*: loss and gradient of the same weights on the same batch against those
of the CPU in float32, one thread: the gradient's distance is over the norm of the reference.
Rows for "cuda" need one; without it they are left out, and that is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import torch

from hisa.plugins.training import widget_pages as pages
from hisa.plugins.training.advantages import Advantaged
from hisa.plugins.training.click_training import ClickSettings, ClickTrainer, Pool
from hisa.plugins.training.cloning import CloningSettings, adamw, clone
from hisa.plugins.training.episodes import Act, Item, Look, Sample
from hisa.plugins.training.losses import click_grpo_loss, cloning_loss, step_grpo_loss
from hisa.plugins.training.pointer_policy import PointerPolicy
from hisa.plugins.training.step_training import GrpoSettings, update_policy

SIZES = ((32, 64), (32, 1024), (128, 64), (128, 512))
WORDS = ("open", "close", "next", "back", "cancel", "submit", "search", "red", "blue", "first")
Ways = dict[str, tuple[str, int, bool, bool]]


def ways() -> Ways:
    """Device, threads, whether bf16, and whether TF32 is allowed, by the name of a row."""
    cores = os.cpu_count() or 1
    own: Ways = {"cpu, 1 thread": ("cpu", 1, False, True)}
    own[f"cpu, {cores} threads"] = ("cpu", cores, False, True)
    if torch.cuda.is_available():
        own["cuda"] = ("cuda", 1, False, True)
        own["cuda, no TF32"] = ("cuda", 1, False, False)
        own["cuda, bf16"] = ("cuda", 1, True, True)
    return own


def within(way: tuple[str, int, bool, bool]) -> Any:
    """Set threads and TF32 as a way has them; returns what its steps are to run within."""
    device, threads, bf16, tf32 = way
    torch.set_num_threads(threads)
    torch.backends.cudnn.allow_tf32 = tf32
    return torch.autocast(device, torch.bfloat16) if bf16 else nullcontext()


def timed(step: Callable[[], object], seconds: float) -> float:
    """The median time of steps, which end on the CPU; the first, and one more, do not count.

    Of a step longer than all the seconds the second one counts.
    """
    took: list[float] = []
    ends = time.perf_counter() + seconds
    while len(took) < 2 or time.perf_counter() < ends:
        started = time.perf_counter()
        step()
        took.append(time.perf_counter() - started)
    return median(took[2:] or took[1:])


def sample(draws: random.Random) -> Sample:
    """A look at 8 to 24 elements, and a click on one of them."""
    items = tuple(
        Item("push button", f"{draws.choice(WORDS)} {place}", (place / 24, 0.1, 0.04, 0.04))
        for place in range(draws.randint(8, 24))
    )
    chosen = draws.randrange(len(items))
    return Sample(Look(f'Click on "{items[chosen].name}".', items), Act("click", chosen))


def played(policy: PointerPolicy, looks: list[Look], draws: random.Random) -> Advantaged:
    """Steps as the policy chose them, with advantages drawn."""
    steps = [
        Sample(look, choice.act, choice.logprob)
        for look, choice in zip(looks, policy.choose(looks), strict=True)
    ]
    advantaged = [(step, draws.gauss(0, 1)) for step in steps]
    return Advantaged(advantaged, [1 / len(steps)] * len(steps), 0)


def rates(seconds: float) -> dict[str, dict[str, float]]:
    """Steps a second, by step and way."""
    targets, draws = list(pages.targets(range(1024))), random.Random(0)
    samples = [sample(draws) for _ in range(384)]
    rows: dict[str, dict[str, float]] = {}
    for name, way in ways().items():
        if "TF32" in name:
            continue
        with within(way):
            pool = Pool(targets, way[0])
            for channels, batch in SIZES:
                settings = ClickSettings(
                    cold_start=0, channels=channels, batch=batch, device=way[0]
                )
                trainer = ClickTrainer(settings)
                step = f"grounder, {channels} channels, batch {batch}"
                rate = 1 / timed(partial(trainer.step, pool), seconds)
                rows.setdefault(step, {})[name] = rate
                print(f"{name}: {step}: {rate:.3g}", file=sys.stderr, flush=True)
            for width, layers in ((96, 2), (256, 4)):
                policy = PointerPolicy.fresh(0, width=width, layers=layers)
                policy.network.to(way[0])
                reference, optimizer = policy.copy(), adamw(policy, 1e-4)
                looks = [step.look for step in samples]
                advantaged = played(policy, looks, draws)
                steps: dict[str, Callable[[], object]] = {
                    "cloning step of 16": partial(
                        clone, policy, samples[:16], CloningSettings(epochs=1), optimizer
                    ),
                    "GRPO update of 384": partial(
                        update_policy, policy, reference, optimizer, advantaged, GrpoSettings()
                    ),
                    "choice for 192": partial(policy.choose, looks[:192]),
                }
                for step, call in steps.items():
                    step, rate = f"pointer of {width} by {layers}, {step}", 1 / timed(call, seconds)
                    rows.setdefault(step, {})[name] = rate
                    print(f"{name}: {step}: {rate:.3g}", file=sys.stderr, flush=True)
    return rows


def clicked(device: str) -> dict[str, torch.Tensor]:
    """Loss and gradient of the grounder's two losses, one vector of each."""
    measured = {}
    trainer = ClickTrainer(ClickSettings(device=device, seed=5))
    pool = Pool(list(pages.targets(range(40))), device)
    drawn = torch.Generator().manual_seed(1)
    replies = torch.randint(80, (len(pool), 8), generator=drawn)
    advantages = torch.randn(replies.shape, generator=drawn).flatten()
    for name in ("cloning", "click GRPO"):
        trainer.network.zero_grad()
        logs = trainer._log_probs(pool, torch.arange(len(pool)))
        if name == "cloning":
            loss = cloning_loss(logs.gather(1, trainer._answers(pool.boxes))[:, 0])
        else:
            new = logs.gather(1, replies).flatten()
            loss = click_grpo_loss(new, torch.full_like(new, -4.38), advantages).value
        measured[f"grounder, {name}"] = both(loss, trainer.network)
    return measured


def pointed(device: str) -> dict[str, torch.Tensor]:
    """The same of the pointer's two losses; old log-probabilities and reference are another's."""
    measured, draws = {}, random.Random(2)
    steps = [sample(draws) for _ in range(128)]
    with torch.no_grad():
        old = PointerPolicy.fresh(8).log_probs(steps)[0]
    advantages = torch.tensor([draws.gauss(0, 1) for _ in steps])
    policy = PointerPolicy.fresh(7)
    policy.network.to(device)
    for name in ("cloning", "step GRPO"):
        policy.network.zero_grad()
        new, _ = policy.log_probs(steps)
        loss = cloning_loss(new)
        if name != "cloning":
            weights = torch.full_like(new, 1 / len(new)).detach()
            loss = step_grpo_loss(new, old, old, advantages, weights, kl=0.05).value
        measured[f"pointer, {name}"] = both(loss, policy.network)
    return measured


def both(loss: torch.Tensor, network: torch.nn.Module) -> torch.Tensor:
    """The loss and all gradients as one vector on the CPU, in float64."""
    loss.backward()  # type: ignore[no-untyped-call]
    parts = [p.grad.flatten() for p in network.parameters() if p.grad is not None]
    return torch.cat([loss.detach().reshape(1), torch.cat(parts).cpu()]).double()


def agreement() -> dict[str, dict[str, list[float]]]:
    """The loss's relative difference and the gradient's distance, by loss and way."""
    rows: dict[str, dict[str, list[float]]] = {}
    first: dict[str, torch.Tensor] = {}
    for name, way in ways().items():
        with within(way):
            measured = clicked(way[0]) | pointed(way[0])
        for loss, vector in measured.items():
            right = first.setdefault(loss, vector)
            apart = (vector - right).abs()
            gradient = apart[1:].norm() / right[1:].norm()
            rows.setdefault(loss, {})[name] = [
                float(apart[0] / right[0].abs()),
                float(gradient),
                float(right[0]),
            ]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=3, help="for each step that is timed")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    has_gpu = torch.cuda.is_available()
    print(f"torch {torch.__version__}, {torch.cuda.get_device_name() if has_gpu else 'no GPU'}")
    measured: dict[str, Any] = {"agreement": agreement()}
    for loss, row in measured["agreement"].items():
        print(loss, f"of {next(iter(row.values()))[2]:.4f}: loss, gradient differ by")
        for name, (apart, gradient, _) in row.items():
            print(f"    {name}: {apart:.0e}, {gradient:.0e}")
    measured["rates"] = rates(options.seconds)
    names = [name for name in ways() if "TF32" not in name]
    print(" | ".join(["steps a second", *names]))
    for step, rate in measured["rates"].items():
        print(" | ".join([step, *(f"{rate[name]:.3g}" for name in names)]))
    if options.out:
        options.out.write_text(json.dumps(measured))


if __name__ == "__main__":
    main()
