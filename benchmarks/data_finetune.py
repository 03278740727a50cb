"""One supervised step of a real language model on the rows of a data set, on the processor.

    pip install torch transformers gguf accelerate datasets
    hisa data export RUNS -o ROWS --licence MIT
    python -m benchmarks.data_finetune ROWS --gguf qwen2.5-coder-0.5b-instruct-q4_k_m.gguf

`datasets` reads ROWS and `transformers` the weights, made float32 again from what the file keeps
of them, both offline. ``--rows`` rows of an objective are drawn of those that have no more than
``--tokens`` tokens. The loss is the mean over the tokens of the completions and their ends, none of
a prompt's. It is printed before and after one step of AdamW on these same rows, so it says that the
rows can be trained on, not that the model is better on others. Texts only: pictures are left out,
as such a model takes none, so a row's places can be learnt only from the elements in its prompt.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.machine import machine

NEEDED = ("torch", "transformers", "gguf", "accelerate", "datasets")


def read_rows(folder: Path, objective: str) -> list[dict[str, str]]:
    """Prompts and completions of the rows to train on, as `datasets` reads them."""
    from datasets import load_dataset  # type: ignore[import-not-found,unused-ignore]  # an extra

    with TemporaryDirectory() as cache:
        data = load_dataset("parquet", data_dir=str(folder), split="train", cache_dir=cache)
        print(f"{data.num_rows} rows to train on; columns: {', '.join(data.column_names)}")
        texts = data.select_columns(["objective", "prompt", "completion"])
        return [row for row in texts if row["objective"] == objective]


def encode(tokenizer: Any, row: dict[str, str]) -> tuple[list[int], int]:
    """A row's tokens as a chat without pictures, and how many of the last are the completion's."""
    message = {"role": "user", "content": row["prompt"].replace("<image>\n", "")}
    text = tokenizer.apply_chat_template([message], add_generation_prompt=True, tokenize=False)
    prompt = tokenizer(text, add_special_tokens=False).input_ids
    completion = tokenizer(row["completion"], add_special_tokens=False).input_ids
    answer = [*completion, tokenizer.eos_token_id]
    return [*prompt, *answer], len(answer)


def step(model: Any, rows: list[tuple[list[int], int]], rate: float) -> tuple[float, float]:
    """The loss on these rows before and after a step; their gradients are summed one by one."""
    import torch

    every = sum(count for _, count in rows)

    def part(ids: list[int], count: int) -> torch.Tensor:
        logits = model(input_ids=torch.tensor([ids]), logits_to_keep=count + 1).logits[0, :-1]
        target = torch.tensor(ids[-count:])
        return torch.nn.functional.cross_entropy(logits, target, reduction="sum") / every

    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.0)
    before = 0.0
    for ids, count in rows:
        loss = part(ids, count)
        loss.backward()
        before += loss.item()
    optimizer.step()
    with torch.no_grad():
        return before, sum(part(ids, count).item() for ids, count in rows)


def main() -> None:
    """Print the loss before and after."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="of hisa data export")
    parser.add_argument("--gguf", type=Path, required=True)
    parser.add_argument("--objective", default="planning")
    parser.add_argument("--rows", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=512, help="at most, in a row")
    parser.add_argument("--lr", type=float, default=1e-5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    if lacking := [name for name in NEEDED if find_spec(name) is None]:
        parser.error(f"not installed: {', '.join(lacking)}; pip install {' '.join(lacking)}")
    os.environ["HF_HUB_OFFLINE"] = "1"  # read when the packages are imported
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(options.threads)
    print(machine(), ", ".join(f"{name} {version(name)}" for name in NEEDED), sep="; ")
    started = time.monotonic()
    texts = read_rows(options.folder, options.objective)
    source, gguf = str(options.gguf.parent), options.gguf.name
    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=gguf)
    fitting = [
        row for row in (encode(tokenizer, t) for t in texts) if len(row[0]) <= options.tokens
    ]
    rows = random.Random(options.seed).sample(fitting, min(options.rows, len(fitting)))
    if not rows:
        parser.error(f"no {options.objective!r} row of at most {options.tokens} tokens")
    model = AutoModelForCausalLM.from_pretrained(source, gguf_file=gguf, dtype=torch.float32).eval()
    loaded = time.monotonic()
    sizes = f"{sum(len(ids) for ids, _ in rows)} tokens, {sum(n for _, n in rows)} of completions"
    print(
        f"{len(rows)} of {len(fitting)} fitting {options.objective} rows of {len(texts)}: {sizes}"
    )
    before, after = step(model, rows, options.lr)
    took, total = time.monotonic() - loaded, time.monotonic() - started
    size = sum(p.numel() for p in model.parameters()) / 1e6
    print(f"{gguf}: {size:.0f} million parameters, float32; pictures left out")
    print(
        f"loss {before:.4f} before, {after:.4f} after one step at {options.lr:g}; "
        f"{loaded - started:.1f} s to load, {took:.1f} s for step and loss, "
        f"{total / 60:.1f} min in all, {options.threads} threads"
    )


if __name__ == "__main__":
    main()
