"""Adapters for programs that serve models: GGUF for llama.cpp, a folder of `peft` for vLLM.

llama.cpp adds an adapter in GGUF form to the weights that it loads (``gguf:NAME,adapter=FILE``).
Names and values are those of llama.cpp's ``convert_lora_to_gguf.py``.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

if TYPE_CHECKING:
    from hisa.plugins.training.language_policy import LanguagePolicy

__all__ = ["export_gguf", "export_merged", "export_peft"]

_ARCHITECTURES = {"qwen2": "qwen2", "qwen3": "qwen3"}
"""`transformers`' model types to llama.cpp's architectures whose linear layers are the same in
both; llama's are not, as llama.cpp orders the rows of queries and keys otherwise."""


def export_peft(policy: LanguagePolicy, folder: Path) -> Path:
    """Writes ``adapter_config.json`` and ``adapter_model.safetensors``, as vLLM loads them.

    Returns:
        The folder.

    Raises:
        UsageError: it cannot be written.
    """
    from safetensors.torch import save

    config = policy.model.peft_config["default"].to_dict()
    config |= {"inference_mode": True, "base_model_name_or_path": policy.name.partition(":")[2]}
    plain = {name: sorted(v) if isinstance(v, set) else v for name, v in config.items()}
    weights = {name: value.contiguous() for name, value in policy.adapter_weights().items()}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        replace_file(folder / "adapter_model.safetensors", save(weights, {"format": "pt"}))
        text = json.dumps(plain, indent=2, default=str)
        replace_file(folder / "adapter_config.json", text.encode())
    except OSError as error:
        raise _not_written(folder, error) from error
    return folder


def export_gguf(policy: LanguagePolicy, path: Path) -> Path:
    """Writes the adapter as a GGUF file whole or not at all; returns its path.

    Raises:
        UsageError: the model is of a family that cannot be exported, or the file cannot be written.
    """
    import gguf

    kind = policy.model.config.model_type
    if kind not in _ARCHITECTURES:
        raise UsageError(
            f"{policy.name}: adapters of the family {kind!r} cannot be written as GGUF; allowed "
            f"are {', '.join(_ARCHITECTURES)}",
            fix="serve DIR/adapter by vLLM, or convert it by llama.cpp's convert_lora_to_gguf.py",
        )
    architecture = _ARCHITECTURES[kind]
    try:
        with TemporaryDirectory(dir=path.parent) as folder:
            file = Path(folder) / "adapter.gguf"
            writer = gguf.GGUFWriter(file, architecture)
            writer.add_type(gguf.GGUFType.ADAPTER)
            writer.add_string(gguf.Keys.Adapter.TYPE, "lora")
            writer.add_float32(gguf.Keys.Adapter.LORA_ALPHA, policy.header.alpha)
            for name, values in _named_tensors(policy, architecture).items():
                writer.add_tensor(name, values)
            writer.write_header_to_file()
            writer.write_kv_data_to_file()
            writer.write_tensors_to_file()
            writer.close()
            replace_file(path, file.read_bytes())
    except OSError as error:
        raise _not_written(path, error) from error
    return path


def _named_tensors(policy: LanguagePolicy, architecture: str) -> dict[str, Any]:
    """Returns the adapter's matrices by llama.cpp's names: A [rank, in] and B [out, rank]."""
    import gguf

    kinds = {name: kind for kind, name in gguf.MODEL_ARCH_NAMES.items()}
    layers = policy.model.config.num_hidden_layers
    names = gguf.get_tensor_name_map(kinds[architecture], layers)
    tensors = {}
    for name, values in policy.adapter_weights().items():
        layer, _, rest = name.removeprefix("base_model.model.").partition(".lora_")
        target = names.get_name(layer)
        if target is None:
            raise UsageError(
                f"{policy.name}: llama.cpp has no layer {layer!r}", fix="serve DIR/adapter by vLLM"
            )
        tensors[f"{target}.weight.lora_{rest[0].lower()}"] = values.float().numpy()
    return tensors


def export_merged(policy: LanguagePolicy, folder: Path) -> Path:
    """Adds the adapter to the model's weights and writes them with the tokenizer, for any server.

    The policy cannot be used afterwards.

    Returns:
        The folder, which ``--model hf:FOLDER`` names.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        policy.model.merge_and_unload().save_pretrained(folder)
        policy.tokenizer.save_pretrained(folder)
    except OSError as error:
        raise _not_written(folder, error) from error
    return folder


def _not_written(path: Path, error: OSError) -> UsageError:
    return UsageError(f"{path}: cannot be written: {error.strerror}", fix="df -h")
