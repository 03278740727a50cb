"""A vision-language model of Qwen2.5-VL's class as a grounder that can be trained.

Trained weights are float32: AdamW at a rate of 1e-6 changes no weight in bfloat16. On a GPU the
passes run in bfloat16, and weights that are not trained are stored so. Replies are sampled from the
model's plain distribution, whatever its folder says about sampling.
"""

from __future__ import annotations

import io
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from safetensors import SafetensorError
from safetensors.torch import save
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    GenerationConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
)
from transformers.processing_utils import ProcessorMixin
from transformers.utils.logging import disable_progress_bar

from hisa.errors import UsageError
from hisa.machine.storage import replace_file
from hisa.plugins.training.vlm_questions import Question
from hisa.plugins.training.vlm_replies import ReplyForm
from hisa.text.safe_text import safe_line

__all__ = ["Row", "SampledReply", "VisionPolicy", "is_vision_model", "load_policy"]

_LANGUAGE_LAYERS = r".*language_model.*\.(?:[qkvo]_proj|(?:gate|up|down)_proj)"
"""What LoRA adapts: servers take no adapters of the vision tower."""
_PICTURE = "<|image_pad|>"
_KIND = "qwen2_5_vl"
_LOCAL: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}

Row = tuple[Question, Sequence[int]]
"""A question and the token ids of a reply to it."""


@dataclass(frozen=True, slots=True)
class SampledReply:
    """A reply, and the log-probabilities with which its tokens were sampled."""

    ids: tuple[int, ...]  # with the end token, if it was written
    text: str  # without it
    logprobs: tuple[float, ...]  # of the tokens, in nats
    truncated: bool  # whether no end token was written

    @property
    def logprob(self) -> float:
        """Log-probability of the reply."""
        return math.fsum(self.logprobs)


class _PictureProcessor(Qwen2_5_VLProcessor):  # type: ignore[misc]
    """The model's processor without videos, whose part needs torchvision."""

    def __init__(
        self, image_processor: Any = None, tokenizer: Any = None, chat_template: Any = None
    ) -> None:
        self.image_token, self.video_token = _PICTURE, "<|video_pad|>"
        self.image_token_id = tokenizer.convert_tokens_to_ids(_PICTURE)
        self.video_token_id = tokenizer.convert_tokens_to_ids("<|video_pad|>")
        ProcessorMixin.__init__(self, image_processor, tokenizer, chat_template=chat_template)


def load_policy(model: str, form: ReplyForm, *, lora: int = 0, seed: int = 0) -> VisionPolicy:
    """Returns the policy of a model's folder, or of a model in the cache of Hugging Face's hub.

    Nothing is fetched, no code of the model is executed, and only safetensors are read.

    Args:
        model: ``hf:FOLDER`` or ``hf:NAME``.
        form: of its replies.
        lora: rank of the adapters that are trained; 0: all weights are.
        seed: of the adapters' first weights.

    Raises:
        UsageError: there is no such model, it is of another class, or its folder lacks a part.
    """
    name = model.removeprefix("hf:")
    if name == model or not name:
        raise UsageError(f"--model {model}: not a model to train", fix="--model hf:FOLDER")
    if not Path(name).is_dir() and (Path(name).is_absolute() or name.count("/") != 1):
        raise UsageError(f"--model {model}: no such folder", fix="--model hf:FOLDER")
    on_gpu = torch.cuda.is_available()
    dtype = torch.bfloat16 if on_gpu and lora else torch.float32
    network, processor = _load_parts(name, dtype)
    tokenizer = processor.tokenizer
    if not processor.chat_template or None in (tokenizer.eos_token_id, tokenizer.pad_token_id):
        raise UsageError(f"--model {model}: it has no chat template, end token or padding token")
    if lora:
        torch.manual_seed(seed)
        network = _add_adapters(network, lora)
    return VisionPolicy(network.to("cuda" if on_gpu else "cpu"), processor, form)


def is_vision_model(model: str) -> bool:
    """Whether a name is that of a model that `load_policy` takes, by its configuration."""
    if not model.startswith("hf:"):
        return False
    try:
        config = AutoConfig.from_pretrained(model[3:], **_LOCAL)
    except (OSError, ValueError, KeyError):
        return False
    return bool(config.model_type == _KIND)


def _load_parts(name: str, dtype: torch.dtype) -> tuple[Any, Any]:
    """Returns the model and its processor, from a folder or the cache."""
    disable_progress_bar()
    try:
        kind = AutoConfig.from_pretrained(name, **_LOCAL).model_type
        if kind != _KIND:
            raise UsageError(f"--model hf:{name}: a {kind}, not a {_KIND} (Qwen2.5-VL's class)")
        processor = _PictureProcessor.from_pretrained(name, **_LOCAL)
        network, loaded = Qwen2_5_VLForConditionalGeneration.from_pretrained(
            name, dtype=dtype, use_safetensors=True, output_loading_info=True, **_LOCAL
        )
    except (OSError, ValueError, ImportError, KeyError, RuntimeError, SafetensorError) as error:
        reason = safe_line(str(error).strip().partition("\n")[0], 300)
        fix = "hf:FOLDER with config, tokenizer, preprocessor and safetensors, or: hf download"
        raise UsageError(f"--model hf:{name}: {reason}", fix=fix) from error
    if lacking := sorted(loaded["missing_keys"]):
        raise UsageError(f"--model hf:{name}: lacks {len(lacking)} weights, such as {lacking[0]}")
    return network, processor


def _add_adapters(network: Any, rank: int) -> Any:
    from peft import LoraConfig, get_peft_model

    settings = LoraConfig(r=rank, lora_alpha=2 * rank, target_modules=_LANGUAGE_LAYERS)
    with warnings.catch_warnings():  # peft reads an attribute that transformers has renamed
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(network, settings)


class VisionPolicy:
    """The model, its processor, and the form of its replies.

    Args:
        model: the model, with or without adapters.
        processor: of its prompts and pictures.
        form: of its replies.
    """

    def __init__(self, model: Any, processor: Any, form: ReplyForm) -> None:
        self.model, self.processor, self.form, self.version = model, processor, form, 0
        self.base = model.get_base_model() if hasattr(model, "get_base_model") else model
        self._tokenizer, self._sampling = processor.tokenizer, self.base.generation_config
        self._tokenizer.padding_side = "left"  # so that all replies begin in the same column
        self._ends = {self._tokenizer.eos_token_id}
        configured = self._sampling.eos_token_id
        self._ends |= set(configured if isinstance(configured, list) else [configured]) - {None}
        self._pictures = {processor.image_token_id, processor.video_token_id}
        self.base.generation_config = GenerationConfig()  # its values would fill those left out
        self.base.activation_checkpointing_enable()

    @cached_property
    def network(self) -> nn.Module:
        """The trained weights alone, by name; the parameters are those of the model."""
        return nn.ParameterDict(
            {
                name.replace(".", "/"): weights
                for name, weights in self.model.named_parameters()
                if weights.requires_grad
            }
        )

    def limit_pixels(self, most: int) -> dict[str, int]:
        """Limits the area of pictures, here and where the model is served; returns the limits."""
        own = self.processor.image_processor
        least = own.size["shortest_edge"]
        most = max(least, min(most, own.size["longest_edge"]))
        own.size = type(own.size)(shortest_edge=least, longest_edge=most)
        return {"min_pixels": least, "max_pixels": most}

    def count_tokens(self, questions: Sequence[Question]) -> list[int]:
        """Returns the number of tokens of each prompt with its picture; at most one too many."""
        side = self._patch * self.processor.image_processor.merge_size
        bare = self._prompt(replace(questions[0], description=""))
        common = len(self._tokenizer(bare)["input_ids"])
        words = self._tokenizer([question.description for question in questions])["input_ids"]
        areas = [question.size.width * question.size.height for question in questions]
        return [common + len(w) + a // side**2 for w, a in zip(words, areas, strict=True)]

    @property
    def most_tokens(self) -> int:
        """Most tokens of a prompt and a reply, by the model's configuration."""
        return int(self.base.config.text_config.max_position_embeddings)

    def inputs(self, questions: Sequence[Question]) -> dict[str, Tensor]:
        """Returns the model's inputs for prompts and their pictures, padded on the left.

        Raises:
            UsageError: the processor changes the size of a picture.
        """
        pictures = [Image.open(io.BytesIO(question.png)).convert("RGB") for question in questions]
        texts = [self._prompt(question) for question in questions]
        batch = self.processor(
            text=texts, images=pictures, padding=True, return_tensors="pt", do_resize=False
        )
        for question, (_, rows, columns) in zip(
            questions, batch["image_grid_thw"].tolist(), strict=True
        ):
            sides = columns * self._patch, rows * self._patch
            if sides != (question.size.width, question.size.height):
                raise UsageError(f"{question.place}: {question.size} became {sides} on the way")
        return {name: tensor.to(self.base.device) for name, tensor in batch.items()}

    def ask(
        self, questions: Sequence[Question], count: int = 1, *, longest: int, greedy: bool = False
    ) -> list[list[SampledReply]]:
        """Returns ``count`` replies to each question; a picture token ends one and is part of it.

        Args:
            questions: asked in one pass with all their replies.
            count: replies to each, drawn at temperature 1 from all tokens.
            longest: most tokens of a reply.
            greedy: whether the likeliest token is taken instead of a drawn one.
        """
        batch = self.inputs([question for question in questions for _ in range(count)])
        output, width = self._generate(batch, longest, greedy=greedy), batch["input_ids"].shape[1]
        drawn = output.sequences[:, width:]
        columns = [
            scores.float().log_softmax(1).gather(1, drawn[:, [at]])
            for at, scores in enumerate(output.scores)
        ]
        logs = torch.cat(columns, 1)
        replies = []
        for ids, own in zip(drawn.tolist(), logs.tolist(), strict=True):
            stops = (at for at, token in enumerate(ids, 1) if token in self._ends | self._pictures)
            size = next(stops, len(ids))
            ended = ids[size - 1] in self._ends
            text = self._tokenizer.decode(ids[: size - ended])
            replies.append(SampledReply(tuple(ids[:size]), text, tuple(own[:size]), not ended))
        return [replies[first : first + count] for first in range(0, len(replies), count)]

    def _generate(self, batch: dict[str, Tensor], longest: int, *, greedy: bool) -> Any:
        options: dict[str, Any] = {"do_sample": False}
        if not greedy:
            options = {"do_sample": True, "temperature": 1.0, "top_k": 0, "top_p": 1.0}
        plain = GenerationConfig(
            max_new_tokens=longest,
            eos_token_id=sorted(self._ends | self._pictures),
            pad_token_id=self._tokenizer.pad_token_id,
            output_scores=True,
            return_dict_in_generate=True,
            **options,
        )
        self.model.eval()
        with torch.no_grad(), self._passing():
            return self.model.generate(**batch, generation_config=plain)

    def encode(self, text: str) -> list[int]:
        """Returns the token ids of a reply with its end."""
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return [*ids, self._tokenizer.eos_token_id]

    def log_probs(self, rows: Sequence[Row], *, blind: bool = False) -> Tensor:
        """Returns the log-probability of each row's reply, float32 [rows]; see `score`."""
        return self.score(rows, blind=blind).sum(1)

    def score(self, rows: Sequence[Row], *, blind: bool = False) -> Tensor:
        """Returns the log-probabilities of the tokens of each row's reply, float32 [rows, tokens].

        With gradients, at temperature 1; 0 after the end of a shorter reply.

        Args:
            rows: questions and replies.
            blind: whether the pictures are withheld, with the same tokens; for checks.
        """
        batch, device = self.inputs([question for question, _ in rows]), self.base.device
        if blind:
            batch.pop("pixel_values")
        size = max(len(ids) for _, ids in rows)
        filled = [[*ids, *[self._tokenizer.pad_token_id] * (size - len(ids))] for _, ids in rows]
        written = [[1] * len(ids) + [0] * (size - len(ids)) for _, ids in rows]
        replies, mask = torch.tensor(filled, device=device), torch.tensor(written, device=device)
        shown = torch.isin(replies, torch.tensor(sorted(self._pictures), device=device))
        more = {"input_ids": replies.masked_fill(shown, self._tokenizer.pad_token_id)}
        more["attention_mask"] = mask  # a written picture token is the last one: nothing sees it
        more["mm_token_type_ids"] = torch.zeros_like(replies)
        batch |= {name: torch.cat([batch[name], tensor], 1) for name, tensor in more.items()}
        self.model.train(torch.is_grad_enabled())  # with gradients, layers are computed twice
        with self._passing():
            output = self.model(**batch, logits_to_keep=size + 1, use_cache=False)
        logs = output.logits[:, :-1].float().log_softmax(2)
        chosen: Tensor = logs.gather(2, replies[:, :, None])[:, :, 0]
        return chosen * mask

    def save(self, path: Path) -> None:
        """Writes the trained weights as a safetensors file."""
        trained = {name.replace("/", "."): w.cpu() for name, w in self.network.state_dict().items()}
        replace_file(path, save(trained))

    def export(self, folder: Path) -> Path:
        """Writes what a server loads: a whole model, or an adapter; returns its folder."""
        path = folder / ("model" if self.model is self.base else "adapter")
        self.base.generation_config = self._sampling
        self.model.save_pretrained(path)
        self.base.generation_config = GenerationConfig()
        if self.model is self.base:
            self._tokenizer.save_pretrained(path)
            self.processor.image_processor.save_pretrained(path)
            (path / "chat_template.jinja").write_text(self.processor.chat_template)
        return path

    @property
    def _patch(self) -> int:
        return int(self.processor.image_processor.patch_size)

    def _passing(self) -> Any:
        """Returns the context of a pass: bfloat16 on a GPU."""
        kind = self.base.device.type
        return torch.autocast(kind, torch.bfloat16, enabled=kind == "cuda")

    def _prompt(self, question: Question) -> str:
        """Returns the prompt's text; words of a screen cannot be control tokens."""
        words = question.description
        for token in self._tokenizer.get_added_vocab():
            words = words.replace(token, " ")
        system = self.form.system.replace("{height}", str(question.size.height))
        system = system.replace("{width}", str(question.size.width))
        messages = [
            {"role": "system", "content": [{"type": "text", "text": system}]},
            {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": words}]},
        ]
        prompt: str = self.processor.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        return prompt
