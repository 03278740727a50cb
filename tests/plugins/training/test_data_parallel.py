"""Cloning by two processes, which must learn what one learns."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("peft", reason="needs the extra train-lm: hisa install train-lm")

from safetensors.torch import load_file

from hisa.cli import main
from hisa.machine.patience import patience
from hisa.plugins.training.curves import read_metrics
from tests.plugins.training.language_parts import play_teacher
from tests.plugins.training.tiny_qwen import write_tiny_qwen

pytestmark = pytest.mark.process


def launch(*words: str) -> list[str]:
    """Runs a command of hisa in two processes, as torchrun starts them; returns what they print."""
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        port = str(place.getsockname()[1])
    shared = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "hisa", "train", *words],
            env=os.environ | shared | {"RANK": rank, "LOCAL_RANK": rank, "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in ("0", "1")
    ]
    printed = list[str]()
    try:
        for process in processes:
            printed.append(process.communicate(timeout=patience(240))[0])
            assert process.returncode == 0, printed
    finally:
        for process in processes:
            process.kill()
    return printed


def test_two_processes_clone_to_the_adapter_of_one_and_only_the_first_writes_and_prints(
    tmp_path: Path,
) -> None:
    tiny = write_tiny_qwen(tmp_path / "tiny.gguf")
    runs = play_teacher(tmp_path / "teacher", ("ada", "bob", "cyd"))
    words = ["lora", str(runs), "--model", f"gguf:{tiny}", "--rank", "4", "--hold-out", "0.3"]
    words += ["--batch", "5", "--evaluate-every", "1"]  # 5 turns, then 1: nothing for the second
    with pytest.raises(SystemExit) as ended:
        main(["train", *words, "-o", str(tmp_path / "one")])
    assert not ended.value.code
    first, second = launch(*words, "-o", str(tmp_path / "two"))
    assert first.count("sft 2 of 2: loss") == 1
    assert second == ""
    alone_weights, shared_weights = (
        load_file(tmp_path / n / "checkpoints/last.safetensors") for n in ("one", "two")
    )
    assert alone_weights.keys() == shared_weights.keys()
    assert any(bool(values.any()) for name, values in alone_weights.items() if "lora_B" in name)
    assert (
        max(
            float((alone_weights[name] - shared_weights[name]).abs().max())
            for name in alone_weights
        )
        < 1e-5
    )
    rows = [read_metrics(tmp_path / name).rows for name in ("one", "two")]
    for name in ("loss", "held_loss"):
        alone, together = ([getattr(row, name) or 0.0 for row in part] for part in rows)
        assert alone == pytest.approx(together, abs=1e-5)
    assert len(rows[1]) == 3


def test_grpo_of_several_processes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(SystemExit) as ended:
        main(["train", "grpo", "click-button", "-o", str(tmp_path / "out")])
    assert ended.value.code == 2
    assert "only hisa train lora takes several processes" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
