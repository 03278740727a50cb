"""Step-level GRPO's loss and advantages against TRL's own code on the same tensors.

    python tests/plugins/training/trl_agreement.py [--write FILE | --cuda]

It needs trl 1.16 and torch. A step is one token and a batch one group, so TRL's mean over sequences
is 1 / sum of L. Set are `use_bias_correction_kl` off (it multiplies the KL by the ratio) and
truncation of weights at 2. Its advantages are (r - mean) / (s + 1e-4), s the sample's std: they are
converted; losses are on ours.
"""

from __future__ import annotations

import json
import os
import random
import sys
from importlib import import_module
from itertools import chain
from pathlib import Path
from statistics import pstdev, stdev
from tempfile import TemporaryDirectory
from typing import Any

import torch

from hisa.plugins.training.advantages import step_advantages
from hisa.plugins.training.losses import step_grpo_loss

Case = dict[str, Any]
UNEQUAL = [[1.0, 1.0, 0.0, 1.0], [0.0], [0.0, 0.0], [1.0, 1.0, 1.0, 1.0, 1.0]]
CASES: dict[str, Case] = {
    "unequal lengths": {"rewards": UNEQUAL},
    "higher clip, large KL": {"rewards": UNEQUAL, "clip_high": 0.28, "kl": 0.5},
    "stale": {"rewards": UNEQUAL, "kl": 0.05, "stale": True},
    "clicks": {"rewards": [[float(number in (1, 2, 5))] for number in range(8)], "kl": 0.0},
}
NAMES = ("loss", "kl", "clipped", "capped", "gradient", "advantages")


def cases() -> dict[str, Case]:
    """The cases by name, with log-probabilities of their steps."""
    drawn = random.Random(0)
    for case in CASES.values():
        case["old"] = [drawn.uniform(-3, -0.7) for _ in chain(*case["rewards"])]
        for name, low in (("new", -0.4), ("ref", -0.8), ("behaviour", -1.4)):
            case[name] = [old + drawn.uniform(low, 0.6) for old in case["old"]]
    return CASES


def ours(case: Case) -> tuple[Any, ...]:
    """HiSA's answer to a case, as `NAMES` has it."""
    advantages = torch.tensor([*chain(*(step_advantages([case["rewards"]])[0] or ()))])
    new = torch.tensor(case["new"], requires_grad=True)
    loss = step_grpo_loss(
        new,
        torch.tensor(case["old"]),
        torch.tensor(case["ref"]) if case.get("kl", 1) else None,
        advantages,
        torch.full_like(advantages, 1 / len(new)),
        kl=case.get("kl", 0.0003),
        clip_high=case.get("clip_high"),
        behaviour_logprobs=torch.tensor(case["behaviour"]) if case.get("stale") else None,
    )
    gradient = torch.autograd.grad(loss.value, new)[0]
    return loss.value.detach(), loss.kl, loss.clipped, loss.capped, gradient, advantages


def trainer(device: str = "cpu") -> Any:
    """TRL's trainer of a tiny random model, none of whose log-probabilities are used."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRL_EXPERIMENTAL_SILENCE": "1"}
    trl, hub, words, data = map(import_module, ("trl", "transformers", "tokenizers", "datasets"))
    level = words.Tokenizer(words.models.WordLevel({"a": 0, "b": 1}, unk_token="a"))
    spoken = hub.PreTrainedTokenizerFast(tokenizer_object=level, pad_token="a", eos_token="b")
    with TemporaryDirectory() as folder:
        tiny = hub.GPT2Config(vocab_size=2, n_embd=8, n_layer=1, n_head=1)
        hub.GPT2LMHeadModel(tiny).save_pretrained(folder)
        settings = trl.GRPOConfig(
            folder,
            use_cpu=device == "cpu",
            bf16=False,
            report_to=[],
            beta=0.1,
            num_iterations=2,
            epsilon=0.2,
            num_generations=2,
            per_device_train_batch_size=2,
            use_bias_correction_kl=False,
            loss_type="grpo",
            scale_rewards="group",
            vllm_importance_sampling_clip_max=2.0,
            vllm_importance_sampling_mode="token_truncate",
        )
        rows, kept = data.Dataset.from_list([{"prompt": "a"}] * 2), {"rollout_func": print}
        grpo = trl.GRPOTrainer(folder, print, settings, rows, processing_class=spoken, **kept)
    grpo.model.train()
    grpo.current_gradient_accumulation_steps, grpo._last_loaded_step = 1, 0
    return grpo


def theirs(grpo: Any, case: Case) -> tuple[Any, ...]:
    """TRL's answer, by its scoring of a batch and its loss; "clicks" must not be the first."""
    rewards, steps = [*chain(*case["rewards"])], len(case["old"])
    tensors = {name: torch.tensor(case[name])[:, None] for name in ("new", "old", "ref")}
    tensors["new"].requires_grad_()
    grpo._get_per_token_logps_and_entropies = lambda model, *_, **__: (
        tensors["ref" if model is grpo.ref_model else "new" if torch.is_grad_enabled() else "old"],
        *(torch.zeros(steps, 1), None),
    )
    played = {"prompt_ids": [[0]] * steps, "completion_ids": [[1]] * steps}
    played["logprobs"] = [[value] for value in case["behaviour"]]
    grpo.rollout_func, grpo.reward_funcs = lambda *_: played, [lambda **_: rewards]
    grpo.beta, grpo.epsilon_high = case.get("kl", 0.0003), case.get("clip_high", 0.2)
    grpo.use_vllm, grpo.num_generations = case.get("stale", False), steps
    batch = grpo._generate_and_score_completions([{"prompt": "a"} for _ in rewards])
    converted = batch["advantages"] * (stdev(rewards) + 1e-4) / pstdev(rewards)
    loss = grpo._compute_loss(grpo.model, {**batch, "advantages": ours(case)[-1]})
    gradient = torch.autograd.grad(loss, tensors["new"])[0][:, 0]
    capped = (batch.get("importance_sampling_ratio", torch.zeros(1)) == 2).float().mean()
    kl, clipped = (grpo._metrics["train"][name][-1] for name in ("kl", "clip_ratio/region_mean"))
    return loss.detach(), kl * (grpo.beta > 0), clipped, capped, gradient, converted


def main() -> None:
    """Print the largest differences, by case; write TRL's answers if asked."""
    device = "cuda" if "--cuda" in sys.argv else "cpu"
    grpo, golden = trainer(device), {}
    torch.set_default_device(device)
    for name, case in cases().items():
        rows = [*zip(NAMES, ours(case), theirs(grpo, case), strict=True)]
        print(name, *(f"{key} {torch.as_tensor(a - b).abs().max():.0e}" for key, a, b in rows))
        golden[name] = case | {"trl": [torch.as_tensor(value).tolist() for *_, value in rows]}
    if sys.argv[1:2] == ["--write"]:
        Path(sys.argv[2]).write_text(json.dumps(golden) + "\n", "utf-8")


if __name__ == "__main__":
    main()
