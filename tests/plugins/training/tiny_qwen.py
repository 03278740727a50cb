"""A Qwen2 of 0.3 M random weights as a GGUF file that llama.cpp and transformers load alike."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from tests.plugins.gguf.random_gguf import byte_words

LAYERS, WIDTH, HEADS, KEY_HEADS, INNER, CONTEXT = 2, 64, 4, 2, 128, 2048
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def _favour_letters(name: str, values: np.ndarray) -> None:
    """Let the first number of each vector be constant, and score ASCII letters up by it.

    llama.cpp reports no log-probability of a token that ends inside a character.
    """
    if name == "token_embd.weight":
        values[:, 0] = 2
    elif name == "output.weight":
        values[:, 0] = -30
        values[32:127, 0] = 1
        values[-1, 0] = 1  # the end of a reply
    elif name.endswith(("attn_output.weight", "ffn_down.weight")):
        values[0] = 0


def write_tiny_qwen(path: Path, *, seed: int = 1) -> Path:
    """Write the model; weights are large enough that its replies are not all alike."""
    words = [*byte_words(), "th", "<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    draw = np.random.default_rng(seed)
    writer = gguf.GGUFWriter(path, "qwen2")
    writer.add_name("tiny")
    writer.add_size_label("0.3M")
    writer.add_block_count(LAYERS)
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-6)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(len(words))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list(words)
    writer.add_token_types([1] * (len(words) - 3) + [3, 3, 3])
    writer.add_token_merges(["t h"])
    writer.add_bos_token_id(len(words) - 3)
    writer.add_eos_token_id(len(words) - 1)
    writer.add_pad_token_id(len(words) - 3)
    writer.add_add_bos_token(False)
    writer.add_chat_template(TEMPLATE)
    narrow = WIDTH * KEY_HEADS // HEADS
    shapes: dict[str, tuple[int, ...]] = {
        "attn_q.weight": (WIDTH, WIDTH),
        "attn_k.weight": (narrow, WIDTH),
        "attn_v.weight": (narrow, WIDTH),
        "attn_q.bias": (WIDTH,),
        "attn_k.bias": (narrow,),
        "attn_v.bias": (narrow,),
        "attn_output.weight": (WIDTH, WIDTH),
        "ffn_gate.weight": (INNER, WIDTH),
        "ffn_up.weight": (INNER, WIDTH),
        "ffn_down.weight": (WIDTH, INNER),
    }
    tensors: dict[str, tuple[int, ...]] = {
        "token_embd.weight": (len(words), WIDTH),
        "output.weight": (len(words), WIDTH),
    }
    for layer in range(LAYERS):
        tensors |= {f"blk.{layer}.{name}": shape for name, shape in shapes.items()}
    for name, shape in tensors.items():
        values = draw.normal(0, 0.15, shape).astype(np.float32)
        _favour_letters(name, values)
        writer.add_tensor(name, values)
    norms = ["output_norm", *(f"blk.{n}.{k}_norm" for n in range(LAYERS) for k in ("attn", "ffn"))]
    for name in norms:
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
