"""A language model of 2 MB with random weights: what it writes means nothing, and is soon there."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

LAYERS, WIDTH, HEADS, INNER, CONTEXT = 2, 128, 4, 384, 4096
TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m.role }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)


def byte_words() -> list[str]:
    """The 256 bytes as the byte-level tokenizer of GPT-2 writes them."""
    shown = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = (byte for byte in range(256) if byte not in shown)
    letters = {byte: chr(byte) for byte in shown}
    letters |= {byte: chr(256 + number) for number, byte in enumerate(others)}
    return [letters[byte] for byte in range(256)]


def write_random_model(path: Path, *, label: str = "2M", seed: int = 1) -> Path:
    """Write a model of the llama family that llama.cpp loads."""
    words = [*byte_words(), "th", "<|start|>", "<|end|>"]
    draw = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("random")
    writer.add_size_label(label)
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list(words)
    writer.add_token_types([1] * (len(words) - 2) + [3, 3])
    writer.add_token_merges(["t h"])
    writer.add_eos_token_id(len(words) - 1)
    writer.add_chat_template(TEMPLATE)

    def add(name: str, *shape: int) -> None:
        writer.add_tensor(name, draw.normal(0, 0.05, shape).astype(np.float32))

    add("token_embd.weight", len(words), WIDTH)
    add("output.weight", len(words), WIDTH)
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    for layer in range(LAYERS):
        for kind in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{kind}.weight", np.ones(WIDTH, np.float32))
        for kind in ("attn_q", "attn_k", "attn_v", "attn_output"):
            add(f"blk.{layer}.{kind}.weight", WIDTH, WIDTH)
        add(f"blk.{layer}.ffn_gate.weight", INNER, WIDTH)
        add(f"blk.{layer}.ffn_up.weight", INNER, WIDTH)
        add(f"blk.{layer}.ffn_down.weight", WIDTH, INNER)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def write_eyes(path: Path, width: int) -> Path:
    """Write the head of a file of eyes for a model so wide; there is nothing behind it."""
    writer = gguf.GGUFWriter(path, "clip")
    writer.add_uint32("clip.vision.projection_dim", width)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
