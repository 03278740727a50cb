"""Loading a vision-language model's folder: what is lacking or damaged is refused by name."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs PyTorch: make test-train")
pytest.importorskip("transformers", reason="needs transformers: hisa install train-lm")

from safetensors.torch import load_file, save_file

from hisa.errors import UsageError
from hisa.plugins.training.vlm_policy import load_policy
from hisa.plugins.training.vlm_replies import FORMS
from tests.plugins.training.vlm_parts import write_tiny_vision


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a Qwen2.5-VL with random weights."""
    return write_tiny_vision(tmp_path_factory.mktemp("tiny"))


@pytest.mark.parametrize(
    ("lost", "message"),
    [
        ("config.json", "config.json"),
        ("tokenizer.json", "okenizer"),
        ("preprocessor_config.json", "image processor"),
        ("model.safetensors", "model.safetensors"),
        ("chat_template.jinja", "chat template"),
    ],
)
def test_a_folder_that_lacks_a_part_is_refused(
    lost: str, message: str, tiny: Path, tmp_path: Path
) -> None:
    folder = shutil.copytree(tiny, tmp_path / "copy")
    (folder / lost).unlink()
    with pytest.raises(UsageError, match=message) as raised:
        load_policy(f"hf:{folder}", FORMS["click"])
    print(raised.value, raised.value.fix)
    assert str(folder) in str(raised.value)


def test_weights_that_are_damaged_or_lack_a_layer_are_refused(tiny: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "copy")
    weights = folder / "model.safetensors"
    tensors = load_file(weights)
    del tensors[next(name for name in tensors if name.endswith("merger.ln_q.weight"))]
    save_file(tensors, weights, {"format": "pt"})
    with pytest.raises(UsageError, match=r"lacks 1 weights, such as .*merger\.ln_q"):
        load_policy(f"hf:{folder}", FORMS["click"])
    weights.write_bytes(weights.read_bytes()[:5000])
    with pytest.raises(UsageError, match="copy: "):
        load_policy(f"hf:{folder}", FORMS["click"])


def test_names_that_are_no_model_are_refused(tiny: Path, tmp_path: Path) -> None:
    other = shutil.copytree(tiny, tmp_path / "llama")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {"model_type": "llama"}))
    for name, message in [
        ("gguf:a", "not a model to train"),
        ("hf:", "not a model to train"),
        (f"hf:{tmp_path}/missing", "no such folder"),
        ("hf:nobody/never-was", "never-was"),
        (f"hf:{other}", "a llama, not a qwen2_5_vl"),
    ]:
        with pytest.raises(UsageError, match=message) as raised:
            load_policy(name, FORMS["click"])
        print(raised.value)
