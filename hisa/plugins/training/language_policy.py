"""A language model as a policy: frozen weights of `transformers`, and an adapter that is trained.

A model comes from a folder or name of Hugging Face (``hf:NAME``) or from a GGUF file
(``gguf:NAME``), whose weights become float32 again. A checkpoint is the adapter alone, a
safetensors file with a JSON header. It is not trusted: see `LanguagePolicy.restore`.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

import torch
from pydantic import BaseModel, ConfigDict, Field

from hisa.errors import UsageError
from hisa.machine.storage import replace_file
from hisa.plugins.gguf.model_names import PREFIX, find_files
from hisa.plugins.training.base import ReplySample
from hisa.text.safe_text import safe_line

__all__ = ["AdapterHeader", "LanguagePolicy", "TokenScores", "load_model"]

HUGGING_FACE = "hf:"
_LARGEST = 4 << 30
"""Most bytes of an adapter: rank 64 on all layers of a model of 70 billion weights has 3.3 GB."""


class TokenScores(NamedTuple):
    """What a policy says of the tokens of one reply; float32 [tokens] each, in nats."""

    logprobs: torch.Tensor  # with gradients, where they are on
    entropies: torch.Tensor
    variances: torch.Tensor  # of the surprise, -log p, of a token drawn at temperature 1


class AdapterHeader(BaseModel):
    """The header of an adapter's checkpoint."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    format: Literal[1] = 1
    kind: Literal["lora"] = "lora"
    base: str = Field(max_length=1000)
    """Name of the model that it was trained on, as after ``--model``."""
    version: int = Field(0, ge=0, lt=1 << 62)
    rank: int = Field(16, ge=1, le=1024)
    alpha: float = Field(32.0, gt=0, le=1e6, allow_inf_nan=False)


def load_model(name: str) -> tuple[Any, Any]:
    """Returns the model, in float32, without dropout, on a GPU if there is one, and the tokenizer.

    No code that comes with a model is run, and no pickled weights are read.

    Raises:
        UsageError: the name begins with neither ``hf:`` nor ``gguf:``, or there is no such model.
        ConfigError: the GGUF file is missing or damaged.
    """
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    place, options = name.removeprefix(HUGGING_FACE), dict[str, Any]()
    if name.startswith(PREFIX):
        weights = find_files(name).weights.resolve()
        place, options = str(weights.parent), {"gguf_file": weights.name}
    elif place == name:
        fix = "--model gguf:FILE.gguf, or --model hf:FOLDER"
        raise UsageError(f"--model {name!r}: begins with neither hf: nor gguf:", fix=fix)
    elif os.path.isdir(place):
        options = {"local_files_only": True}
    try:
        tokenizer = AutoTokenizer.from_pretrained(place, **options)
        if name.startswith(PREFIX):
            options["quantization_config"] = GgufConfig(dequantize=True)
        else:
            options["use_safetensors"] = True
        model = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **options)
    except (OSError, ValueError, KeyError, RuntimeError, ImportError) as error:
        reason = safe_line(str(error).strip().splitlines()[0] if str(error).strip() else "", 300)
        raise UsageError(
            f"{name}: transformers cannot load it: {reason or type(error).__name__}",
            fix="name a folder with config.json, tokenizer files and *.safetensors, or a GGUF file",
        ) from error
    if name.startswith(PREFIX):  # or transformers would refuse to write the merged weights
        model.hf_quantizer, model.config.quantization_config = None, None
        del model.config.quantization_config
    return model.eval().to("cuda" if torch.cuda.is_available() else "cpu"), tokenizer


class LanguagePolicy:
    """A causal language model with a LoRA adapter on all its linear layers but the head.

    Copies share the frozen weights; each has an adapter of its own.

    Args:
        model: of `transformers`; its layers are wrapped in place.
        tokenizer: of the model.
        header: base, rank and alpha of the adapter, which starts without effect.
        seed: of the adapter's first values.
    """

    def __init__(self, model: Any, tokenizer: Any, header: AdapterHeader, *, seed: int = 0) -> None:
        from peft import LoraConfig, TaskType, get_peft_model

        config = LoraConfig(
            r=header.rank,
            lora_alpha=int(header.alpha) if header.alpha.is_integer() else header.alpha,
            lora_dropout=0.0,
            target_modules="all-linear",
            task_type=TaskType.CAUSAL_LM,
        )
        with torch.random.fork_rng(devices=[]), warnings.catch_warnings():
            # peft 0.21 reads an attribute by a name that transformers 5.23 calls old.
            warnings.simplefilter("ignore", FutureWarning)
            torch.manual_seed(seed)
            self.model = get_peft_model(model, config)
        self.tokenizer, self.header, self.name = tokenizer, header, header.base
        self.version = header.version
        trained = {n: p for n, p in self.model.named_parameters() if p.requires_grad}
        self.weight_names = tuple(trained)
        self.network = torch.nn.ParameterList(trained.values())

    @classmethod
    def open(cls, name: str, *, rank: int = 16, start: Path | None = None, seed: int = 0) -> Self:
        """Returns a model with a new adapter, or with that of a checkpoint.

        Args:
            name: ``hf:NAME`` or ``gguf:NAME``.
            rank: of a new adapter; its alpha is twice that.
            start: the checkpoint, whose rank counts; None: a new adapter.
            seed: of a new adapter.

        Raises:
            UsageError: no such model, or the checkpoint is not one for it.
        """
        header = AdapterHeader(base=name, rank=rank, alpha=2.0 * rank)
        if start is not None:
            header = _read_header(start).model_copy(update={"base": name})
        policy = cls(*load_model(name), header, seed=seed)
        if start is not None:
            policy.restore(start)
        return policy

    def score(self, sample: ReplySample) -> TokenScores:
        """Returns the scores of the tokens of a reply, given its prompt.

        Raises:
            UsageError: a token id is not in the model's vocabulary.
        """
        ids, count = (*sample.prompt, *sample.reply), len(sample.reply)
        if not sample.prompt or not count or max(ids) >= self.model.config.vocab_size:
            raise UsageError(
                f"a reply of {count} tokens after {len(sample.prompt)}, the largest id {max(ids)}: "
                f"{self.name} has {self.model.config.vocab_size} tokens, and needs some of both",
                fix="train on turns of the same model, or of one with the same tokenizer",
            )
        rows = torch.tensor([ids], device=self.network[0].device)
        inputs = {"input_ids": rows, "logits_to_keep": count + 1, "use_cache": False}
        weights = dict(zip(self.weight_names, self.network, strict=True))
        output = torch.func.functional_call(self.model, weights, kwargs=inputs)
        logs = output.logits[0, -count - 1 : -1].float().log_softmax(-1)
        with torch.no_grad():
            chances = logs.exp()
            entropies = -(chances * logs).sum(-1)
            variances = (chances * logs.square()).sum(-1) - entropies.square()
        chosen = logs.gather(1, rows[0, -count:, None])[:, 0]
        return TokenScores(chosen.cpu(), entropies.cpu(), variances.cpu())

    def log_probs(self, samples: Sequence[ReplySample]) -> tuple[torch.Tensor, torch.Tensor]:
        """See `Learner`; replies are scored one by one, without padding."""
        scores = [self.score(sample) for sample in samples]
        logprobs = torch.stack([score.logprobs.sum() for score in scores])
        return logprobs, torch.stack([score.entropies.mean() for score in scores])

    def reseed(self, seed: int) -> None:
        """Does nothing: a server draws the replies, by seeds of its own."""

    def copy(self) -> Self:
        """See `Learner`."""
        twin = object.__new__(type(self))
        twin.__dict__ |= self.__dict__
        twin.network = torch.nn.ParameterList(p.detach().clone() for p in self.network)
        return twin

    def adapter_weights(self) -> dict[str, torch.Tensor]:
        """Returns the adapter's weights by their names in `peft`'s files."""
        from peft import get_peft_model_state_dict

        values = (weight.detach().cpu() for weight in self.network)
        weights = dict(zip(self.weight_names, values, strict=True))
        state: dict[str, torch.Tensor] = get_peft_model_state_dict(
            self.model, weights, save_embedding_layers=False
        )
        return state

    def save(self, path: Path) -> None:
        """Writes a checkpoint of the adapter whole or not at all.

        Raises:
            UsageError: it cannot be written.
        """
        from safetensors.torch import save

        header = self.header.model_copy(update={"version": self.version})
        content = {name: value.contiguous() for name, value in self.adapter_weights().items()}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            data = save(content, {"hisa": header.model_dump_json()})
            replace_file(path, data, synced=True)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}", fix="df -h") from error

    def restore(self, path: Path) -> None:
        """Takes over the adapter of a checkpoint, and its version.

        Raises:
            UsageError: the file is damaged, of another kind or rank, was trained on another model,
                or has numbers that are not finite.
        """
        from peft import set_peft_model_state_dict
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        header = _read_header(path)
        try:
            weights = load_file(path)
            lengths = {name: tuple(value.shape) for name, value in weights.items()}
            if lengths != {n: tuple(v.shape) for n, v in self.adapter_weights().items()}:
                raise ValueError("its layers are not those of the model")
            if not all(bool(value.isfinite().all()) for value in weights.values()):
                raise ValueError("some of its numbers are not finite")
        except (OSError, SafetensorError, ValueError) as error:
            raise _bad_adapter(path, error) from error
        set_peft_model_state_dict(self.model, weights)
        self.version = header.version


def _read_header(path: Path) -> AdapterHeader:
    """Returns the header of a checkpoint. Raises: UsageError if it is not an adapter's."""
    from safetensors import SafetensorError, safe_open

    try:
        if not path.is_file() or path.stat().st_size > _LARGEST:
            raise ValueError(f"not a file of at most {_LARGEST >> 30} GiB")
        with safe_open(path, "pt") as file:
            return AdapterHeader.model_validate_json((file.metadata() or {})["hisa"])
    except (OSError, SafetensorError, ValueError, KeyError) as error:
        raise _bad_adapter(path, error) from error


def _bad_adapter(path: Path, error: Exception) -> UsageError:
    reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else "empty"
    return UsageError(
        f"{path}: damaged, or not an adapter that fits the model: {reason}",
        fix="hisa train lora --help",
    )
