"""``hisa train lora`` and ``hisa train check`` as commands, killed and resumed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("peft", reason="needs the extra train-lm: hisa install train-lm")
pytest.importorskip("xllamacpp", reason="needs llama.cpp: hisa install gguf")

from safetensors.torch import load_file

from hisa.cli import main
from hisa.machine.patience import Deadline
from hisa.plugins.training.curves import read_metrics
from hisa.runs.export import export_turns
from hisa.runs.turns import Turn
from tests.plugins.training.language_parts import as_turn, ask, play_teacher
from tests.plugins.training.tiny_qwen import write_tiny_qwen

pytestmark = pytest.mark.process
FEW = ("--batch", "1", "--epochs", "2", "--rank", "4", "--lr", "3e-3", "--hold-out", "0")


def hisa(*words: str) -> int:
    """Returns the exit status of the command line."""
    with pytest.raises(SystemExit) as ended:
        main(["train", *words])
    return int(ended.value.code or 0)


def sent_whole(turn: Turn) -> bool:
    """Whether llama.cpp sent a log-probability of each token: none ended inside a character."""
    assert turn.tokens
    assert turn.tokens.reply_ids
    assert turn.usage
    return len(turn.tokens.reply_ids) == turn.usage.tokens_out


def test_cloning_killed_by_signal_9_resumes_to_the_same_adapter_and_is_played(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny = write_tiny_qwen(tmp_path / "tiny.gguf")
    runs = play_teacher(tmp_path / "teacher", ("ada",))
    words = ("lora", str(runs), "--model", f"gguf:{tiny}", *FEW)
    killed, unbroken = tmp_path / "killed", tmp_path / "unbroken"
    process = subprocess.Popen(
        [sys.executable, "-m", "hisa", "train", *words, "-o", str(killed)],
        stderr=subprocess.DEVNULL,
    )
    deadline = Deadline(120)
    while not (killed / "metrics.jsonl").exists() or len(read_metrics(killed).rows) < 2:
        assert process.poll() is None
        assert not deadline.passed
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert hisa("lora", "--resume", "-o", str(killed)) == 0
    assert hisa(*words, "-o", str(unbroken)) == 0
    last, again = (load_file(d / "checkpoints/last.safetensors") for d in (killed, unbroken))
    assert last.keys() == again.keys()
    assert all(bool((last[name] == again[name]).all()) for name in last)
    assert len(read_metrics(killed).rows) == 7
    printed = capsys.readouterr()
    assert "sft 6 of 6: loss" in printed.err
    name = f"gguf:{tiny},adapter={unbroken / 'adapter.gguf'}"
    assert f"hisa run TASK --model {name}" in printed.out
    turns = [as_turn(reply) for reply in ask(name, range(9))]
    turns = [turn for turn in turns if sent_whole(turn)]
    export_turns(turns, tmp_path / "turns.jsonl")
    check = ("check", str(tmp_path / "turns.jsonl"), "--model", f"gguf:{tiny}")
    assert hisa(*check, "--from", str(unbroken / "checkpoints/last.safetensors")) == 0
    assert hisa(*check) == 1
    assert "FAILED    log-probs" in capsys.readouterr().out


def test_lora_without_runs_or_with_an_unknown_model_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("-o", str(tmp_path / "out"))
    assert hisa("lora", *out) == 2
    assert "hisa train lora RUNS --model" in capsys.readouterr().err
    assert hisa("lora", str(tmp_path), "--model", "qwen", *out) == 2
    assert "begins with neither hf: nor gguf:" in capsys.readouterr().err
    assert hisa("grpo", "click-button", "--model", "gguf:tiny.gguf", *out) == 2
    assert "--model needs one SUITE and --env" in capsys.readouterr().err
    machines = ("grpo", "miniwob", "--env", "desktop", "--model", "hf:folder")
    assert hisa(*machines, *out) == 2
    assert "--server 'hf:folder': allowed are gguf:FILE" in capsys.readouterr().err
    assert hisa(*machines[:4], "--model", "gguf:tiny.gguf", "--ray", "local", *out) == 2
    assert "--ray with gguf:tiny.gguf" in capsys.readouterr().err
    assert hisa("grpo", "click-button", "--ray", "local", *out) == 2
    assert "--ray: a small policy plays in this process" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert hisa("lora", str(tmp_path), "--model", f"hf:{tmp_path / 'empty'}", *out) == 2
    assert "transformers cannot load it" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
