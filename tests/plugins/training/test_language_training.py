"""Cloning, gates and exports of a language model: a tiny Qwen2, llama.cpp and recorded runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("peft", reason="needs the extra train-lm: hisa install train-lm")
pytest.importorskip("xllamacpp", reason="needs llama.cpp: hisa install gguf")

import torch

torch.set_num_threads(1)

from hisa.errors import ConfigError, UsageError  # noqa: E402
from hisa.plugins.gguf.model_names import find_files  # noqa: E402
from hisa.plugins.training.adapter_export import (  # noqa: E402
    export_gguf,
    export_merged,
    export_peft,
)
from hisa.plugins.training.curves import MetricsRow, read_metrics  # noqa: E402
from hisa.plugins.training.gates import check_logprobs, check_turns, score_samples  # noqa: E402
from hisa.plugins.training.language_policy import LanguagePolicy  # noqa: E402
from hisa.plugins.training.lora import LoraTraining, mean_loss, reply_loss  # noqa: E402
from hisa.plugins.training.training_folder import TrainingFolder  # noqa: E402
from hisa.plugins.training.training_settings import LoraSettings  # noqa: E402
from hisa.plugins.training.turn_batches import (  # noqa: E402
    CloningTurns,
    TurnEncoder,
    cloning_turns,
    read_turns,
)
from tests.plugins.training.language_parts import as_turn, ask, play_teacher  # noqa: E402
from tests.plugins.training.tiny_qwen import write_tiny_qwen  # noqa: E402

pytestmark = pytest.mark.process
SETTINGS = LoraSettings(epochs=2, batch=2, lr=3e-3, rank=4, evaluate_every=2)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_qwen(tmp_path_factory.mktemp("tiny") / "tiny.gguf")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return play_teacher(tmp_path_factory.mktemp("teacher"), ("ada", "bob"))


def fresh(tiny: Path) -> LanguagePolicy:
    return LanguagePolicy.open(f"gguf:{tiny}", rank=4)


def recorded(policy: LanguagePolicy, runs: Path, hold_out: float = 0.5) -> CloningTurns:
    turns = read_turns([runs], solved=True, roles=("planner",))
    return cloning_turns(turns, TurnEncoder(policy.tokenizer), most_tokens=4096, hold_out=hold_out)


def test_loss_of_recorded_turns_equals_that_of_transformers(tiny: Path, runs: Path) -> None:
    policy = fresh(tiny)
    data = recorded(policy, runs, hold_out=0)
    assert (len(data.samples), sum(data.counts.values())) == (6, 0)
    last = policy.tokenizer.decode(data.samples[0].reply)
    assert last == '{"action": "type", "element": 1, "text": "ada"}<|im_end|>'
    longest = max(len(s.prompt) + s.length for s in data.samples)
    ids = torch.zeros(6, longest, dtype=torch.long)
    labels, mask = torch.full_like(ids, -100), torch.zeros_like(ids)
    for row, sample in enumerate(data.samples):
        turn = torch.tensor([*sample.prompt, *sample.reply])
        ids[row, : len(turn)], mask[row, : len(turn)] = turn, 1
        labels[row, len(sample.prompt) : len(turn)] = torch.tensor(sample.reply)
    theirs = policy.model(input_ids=ids, attention_mask=mask, labels=labels).loss
    theirs.backward()
    gradients = [weight.grad.clone() for weight in policy.network]
    policy.network.zero_grad()
    assert reply_loss(policy, data.samples) == pytest.approx(theirs.item(), abs=1e-5)
    for own, other in zip(policy.network, gradients, strict=True):
        torch.testing.assert_close(own.grad, other, atol=1e-5, rtol=1e-3)


def train(
    folder: Path, tiny: Path, runs: Path, *, stop: int = 0, resume: bool = False
) -> LoraTraining:
    """A run of four updates, ended by Ctrl-C after one of them if so wished."""

    def after_update(row: MetricsRow) -> None:
        if stop and row.update == stop:
            raise KeyboardInterrupt

    policy = fresh(tiny)
    data = recorded(policy, runs)
    training_folder = TrainingFolder(folder, {}, resume=resume)
    run = LoraTraining(training_folder, policy, data.samples, data.held, SETTINGS)
    run.after_update = after_update
    try:
        run.run()
    except KeyboardInterrupt:
        assert stop
    finally:
        training_folder.close()
    return run


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory, tiny: Path, runs: Path) -> LoraTraining:
    """A run that was never stopped; its folder is that of its checkpoints."""
    return train(tmp_path_factory.mktemp("trained") / "whole", tiny, runs)


def trained(unbroken: LoraTraining, tiny: Path) -> LanguagePolicy:
    """The policy of its last checkpoint."""
    return LanguagePolicy.open(f"gguf:{tiny}", start=unbroken.folder.checkpoint("last"))


def test_a_stopped_and_resumed_cloning_equals_one_never_stopped(
    tmp_path: Path, tiny: Path, runs: Path, unbroken: LoraTraining
) -> None:
    assert unbroken.updates == 4
    train(tmp_path / "stopped", tiny, runs, stop=3)
    resumed = train(tmp_path / "stopped", tiny, runs, resume=True)
    for own, other in zip(resumed.policy.network, unbroken.policy.network, strict=True):
        assert torch.equal(own, other)
    rows = read_metrics(unbroken.folder.path).rows
    held = [row.held_loss for row in rows if row.held_loss is not None]
    assert len(held) == 3
    assert held[-1] < held[0]
    restored = LanguagePolicy.open(f"gguf:{tiny}", start=unbroken.folder.checkpoint("best"))
    samples = recorded(restored, runs).held
    assert mean_loss(restored, samples) == pytest.approx(unbroken.best, abs=1e-6)


def test_an_exported_adapter_is_what_llama_cpp_plays(
    tmp_path: Path, tiny: Path, unbroken: LoraTraining
) -> None:
    policy = trained(unbroken, tiny)
    adapter = export_gguf(policy, tmp_path / "adapter.gguf")
    plain, adapted = f"gguf:{tiny}", f"gguf:{tiny},adapter={adapter}"
    before, after = (ask(model, [1], temperature=0.0)[0].text for model in (plain, adapted))
    assert before != after
    encoder = TurnEncoder(policy.tokenizer)
    turns = [as_turn(reply) for reply in ask(adapted, range(8))]
    samples = [encoder.sample(turn) for turn in turns]
    right, wrong = (
        check_logprobs(score_samples(p, samples), samples) for p in (policy, fresh(tiny))
    )
    assert right.passed, right.detail
    assert not wrong.passed, "the base model did not write these replies"
    assert all(gate.passed is not False for gate in check_turns(policy, encoder, turns))


@pytest.mark.filterwarnings("ignore:.is_gradient_checkpointing:FutureWarning")
def test_a_merged_model_and_a_folder_of_peft_score_as_the_policy(
    tmp_path: Path, tiny: Path, runs: Path, unbroken: LoraTraining
) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    policy = trained(unbroken, tiny)
    sample = recorded(policy, runs).held[0]
    expected = policy.score(sample).logprobs.detach()
    ids = torch.tensor([[*sample.prompt, *sample.reply]])
    base = AutoModelForCausalLM.from_pretrained(tiny.parent, gguf_file=tiny.name)
    peft = PeftModel.from_pretrained(base, export_peft(policy, tmp_path / "peft"))
    logs = peft(ids).logits[0, len(sample.prompt) - 1 : -1].log_softmax(-1)
    own = logs.gather(1, torch.tensor(sample.reply)[:, None])[:, 0]
    torch.testing.assert_close(own, expected, atol=1e-4, rtol=1e-4)
    merged = LanguagePolicy.open(f"hf:{export_merged(policy, tmp_path / 'merged')}")
    torch.testing.assert_close(merged.score(sample).logprobs, expected, atol=1e-4, rtol=1e-4)
    with pytest.raises(ConfigError, match="not an adapter"):
        find_files(f"gguf:{tiny},adapter={tiny}")
    with pytest.raises(UsageError, match="begins with neither"):
        LanguagePolicy.open(str(tiny))


def test_rows_of_a_data_set_are_turns_of_a_planner(tmp_path: Path, tiny: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow", reason="needs datasets: hisa install data")
    parquet = pytest.importorskip("pyarrow.parquet")
    row = {
        "id": "r/1#planning+0",
        "run": "r",
        "task": "t",
        "model": "m",
        "prompt": "Task: save\n<image>\nSay the action.",
        "completion": "Action: pyautogui.click(1, 2)",
        "score": 1.0,
        "objective": "planning",
    }
    rows = [row, row | {"run": "s", "score": None}, row | {"run": "u", "objective": "action"}]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "train.parquet")
    encoder = TurnEncoder(fresh(tiny).tokenizer)
    wish: dict[str, Any] = {"roles": ("planner",), "objectives": ("planning",)}
    turns = list(read_turns([tmp_path], solved=True, **wish))
    (sample,) = cloning_turns(turns, encoder, most_tokens=999, hold_out=0.5).samples
    text = fresh(tiny).tokenizer.decode((*sample.prompt, *sample.reply))
    assert "<|im_start|>user\nTask: save\nSay the action.<|im_end|>" in text
    assert text.endswith("Action: pyautogui.click(1, 2)<|im_end|>")
    (tmp_path / "train.parquet").write_bytes(b"PAR1")
    with pytest.raises(UsageError, match="not rows of a data set"):
        list(read_turns([tmp_path], solved=True, roles=("planner",)))
    with pytest.raises(UsageError, match="no such file or folder"):
        list(read_turns([tmp_path / "nothing"], solved=True, roles=("planner",)))
    (tmp_path / "turns.jsonl").write_text("{}\n")
    with pytest.raises(UsageError, match="only rows of a data set have objectives"):
        list(read_turns([tmp_path / "turns.jsonl"], solved=True, **wish))
    with pytest.raises(UsageError, match="line 1 is no model call"):
        list(read_turns([tmp_path / "turns.jsonl"], solved=True, roles=("planner",)))


def test_a_damaged_or_foreign_adapter_is_refused(tmp_path: Path, tiny: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    with pytest.raises(UsageError, match="damaged, or not an adapter"):
        LanguagePolicy.open(f"gguf:{tiny}", start=path)
    policy = fresh(tiny)
    policy.save(path)
    with torch.no_grad():
        policy.network[0][0, 0] = torch.nan
    policy.save(tmp_path / "nan.safetensors")
    with pytest.raises(UsageError, match="not finite"):
        fresh(tiny).restore(tmp_path / "nan.safetensors")
    with pytest.raises(UsageError, match="its layers are not those"):
        LanguagePolicy.open(f"gguf:{tiny}", rank=2).restore(path)
