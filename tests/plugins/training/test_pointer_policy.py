"""The pointer: what it may choose, how likely, that it learns, and that its files are checked."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")

import torch

from hisa.errors import UsageError
from hisa.plugins.training.base import Act, Item, Look, Sample, Trainable
from hisa.plugins.training.pointer_features import features
from hisa.plugins.training.pointer_policy import LARGEST, Header, PointerPolicy

_WORDS = ("ok", "cancel", "submit", "yes", "no", "next", "back", "open")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def _small(seed: int = 0) -> PointerPolicy:
    return PointerPolicy.fresh(seed, width=32, layers=1)


def _look(draws: random.Random, size: int = 5) -> tuple[Look, Act]:
    """A page with a field and buttons, and what its instruction asks for."""
    names = draws.sample(_WORDS, size)
    buttons = [Item("push button", name, (0.1, i / size, 0.2, 0.1)) for i, name in enumerate(names)]
    items = (Item("entry", "", (0.5, 0.5, 0.3, 0.1), takes_text=True), *buttons)
    if draws.random() < 0.5:
        target = draws.randrange(size)
        return Look(f'Click on the "{names[target]}" button.', items), Act("click", target + 1)
    return Look(f'Enter "{draws.choice(names)}9" now.', items), Act("type", 0, 2)


def _samples(count: int, seed: int = 0) -> list[Sample]:
    draws = random.Random(seed)
    return [Sample(*_look(draws, draws.randint(2, 6))) for _ in range(count)]


def _every_act(look: Look) -> list[Act]:
    words = range(len(features(look).words))
    clicks = [Act("click", i) for i in range(len(look.items))]
    types = [Act("type", i, w) for i, x in enumerate(look.items) if x.takes_text for w in words]
    return [Act("done"), *clicks, *types]


def test_the_chances_of_all_allowed_acts_are_one_however_looks_are_batched() -> None:
    policy: Trainable = _small()
    for sample in _samples(3):
        acts = _every_act(sample.look)
        logprobs, entropies = policy.log_probs([Sample(sample.look, act) for act in acts])
        assert logprobs.exp().sum().item() == pytest.approx(1, abs=1e-5)
        entropy = -(logprobs.exp() * logprobs).sum().item()
        assert entropies.tolist() == pytest.approx([entropy] * len(acts), abs=1e-4)
    among_others = policy.log_probs([Sample(sample.look, acts[-1]), *_samples(4, 9)])[0]
    assert among_others[0].item() == pytest.approx(logprobs[-1].item(), abs=1e-4)


def test_a_choice_has_the_log_probability_that_training_finds() -> None:
    policy, looks = _small(), [sample.look for sample in _samples(40)]
    looks += [Look("", ()), Look("press", (Item("entry", "", (0, 0, 1, 1), takes_text=True),))]
    for greedy in (False, True):
        choices = policy.choose(looks, greedy=greedy)
        samples = [Sample(look, c.act) for look, c in zip(looks, choices, strict=True)]
        logprobs, entropies = policy.log_probs(samples)
        assert [c.logprob for c in choices] == pytest.approx(logprobs.tolist(), abs=1e-4)
        assert [c.entropy for c in choices] == pytest.approx(entropies.tolist(), abs=1e-4)
    assert choices[40].act == Act("done")


def test_draws_are_those_of_the_seed_and_go_by_the_chances() -> None:
    policy = _small()
    look = _samples(1)[0].look
    policy.reseed(3)
    first = policy.choose([look] * 2000)
    twin = policy.copy()
    after = policy.choose([look] * 50)
    policy.reseed(3)
    assert policy.choose([look] * 2000) == first
    assert twin.choose([look] * 50) == after
    for act in {choice.act for choice in first}:
        share = sum(choice.act == act for choice in first) / len(first)
        (likely,) = {choice.logprob for choice in first if choice.act == act}
        assert share == pytest.approx(torch.tensor(likely).exp().item(), abs=0.05)


_NOT_ALLOWED = (
    Act("type", 1, 0), Act("type", 0, 99), Act("click", 9), Act("click", 1, 1), Act("done", 1),
)  # fmt: skip


@pytest.mark.parametrize("act", _NOT_ALLOWED)
def test_an_act_that_the_look_does_not_allow_is_refused(act: Act) -> None:
    look = _look(random.Random(0))[0]
    with pytest.raises(UsageError, match="this look allows done, click on items 0 to 5"):
        _small().log_probs([Sample(look, act)])


def test_sixty_steps_of_cloning_solve_pages_that_were_not_shown() -> None:
    policy, shown = _small(), _samples(960)
    optimizer = torch.optim.AdamW(policy.network.parameters(), lr=3e-3, weight_decay=0)
    for start in range(0, 960, 16):
        loss = -policy.log_probs(shown[start : start + 16])[0].mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    others = _samples(100, seed=7)
    choices = policy.choose([sample.look for sample in others], greedy=True)
    right = sum(c.act == sample.act for c, sample in zip(choices, others, strict=True))
    assert right >= 95


def test_a_file_gives_back_the_same_policy(tmp_path: Path) -> None:
    policy = PointerPolicy.fresh(4, width=16, layers=1)
    policy.version, policy.name = 12, "cloned"
    policy.save(tmp_path / "new" / "p.safetensors")
    loaded = PointerPolicy.load(tmp_path / "new" / "p.safetensors")
    assert (loaded.version, loaded.name) == (12, "cloned")
    weights = policy.network.state_dict()
    assert all(torch.equal(weights[name], w) for name, w in loaded.network.state_dict().items())
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["p.safetensors"]
    copy = policy.copy()
    next(copy.network.parameters()).data.zero_()
    assert next(policy.network.parameters()).abs().sum() > 0


def _build_damaged_files() -> dict[str, bytes]:
    from safetensors.torch import save

    policy = PointerPolicy.fresh(0, width=16, layers=1)
    weights, sizes = policy.network.state_dict(), {"width": 16, "layers": 1}
    header = Header.model_validate({"name": "p", "version": 0, "sizes": sizes})
    good = save(weights, {"hisa": header.model_dump_json()})
    endless = {**weights, "click.bias": torch.tensor([float("nan")])}

    def with_header(**changes: object) -> bytes:
        fields = {**header.model_dump(), **changes}
        return bytes(save(weights, {"hisa": json.dumps(fields)}))

    return {
        "cut off": good[: len(good) // 2],
        "foreign": save(weights),
        "a pickle": b"\x80\x04\x95" + bytes(200),
        "deep": (4000).to_bytes(8, "little") + b"[" * 4000,
        "other kind": with_header(kind="pixels"),
        "huge": with_header(sizes={**sizes, "width": 1 << 20}),
        "other sizes": with_header(sizes={**sizes, "width": 20}),
        "not finite": save(endless, {"hisa": header.model_dump_json()}),
    }


@pytest.mark.parametrize("name", _build_damaged_files())
def test_foreign_and_damaged_files_are_refused_by_name(name: str, tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    path.write_bytes(_build_damaged_files()[name])
    with pytest.raises(UsageError) as caught:
        PointerPolicy.load(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert "not a checkpoint of hisa train" in str(caught.value)
    assert "hisa train" in caught.value.fix


def test_missing_and_oversized_files_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "p.safetensors"
    for size in (None, LARGEST + 1):
        if size:
            with path.open("wb") as file:
                file.truncate(size)  # takes no room on the disk
        with pytest.raises(UsageError, match="not a file of at most 256 MiB"):
            PointerPolicy.load(path)
