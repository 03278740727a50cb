"""A Qwen2.5-VL of 0.4 M random weights, whose tokenizer has the words of the prompts."""

from __future__ import annotations

from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (
    GenerationConfig,
    PreTrainedTokenizerFast,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from hisa.plugins.training.vlm_replies import FORMS

SPECIAL = [
    *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>"),
    *("<|image_pad|>", "<|video_pad|>"),
]
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{% for c in m.content %}"
    "{% if c.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% else %}{{ c.text }}{% endif %}{% endfor %}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)


def write_tokenizer(folder: Path) -> PreTrainedTokenizerFast:
    """Returns a byte-level tokenizer to which the words of the prompts are single tokens."""
    words = Tokenizer(models.BPE())
    words.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    words.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    words.train_from_iterator([form.system for form in FORMS.values()], trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return tokenizer


def write_tiny_vision(folder: Path) -> Path:
    """Writes the model's folder, as published ones are; returns it."""
    tokenizer = write_tokenizer(folder)
    pad, _, end, start, stop, picture, video = map(tokenizer.convert_tokens_to_ids, SPECIAL)
    config = Qwen2_5_VLConfig(
        text_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 64,
            "intermediate_size": 256,
            "num_hidden_layers": 2,
            "num_attention_heads": 4,
            "num_key_value_heads": 2,
            "max_position_embeddings": 2048,
            "pad_token_id": pad,
            "eos_token_id": end,
            "bos_token_id": None,
            "tie_word_embeddings": True,
            "rope_parameters": {
                "rope_type": "default",
                "rope_theta": 10_000.0,
                "mrope_section": [2, 3, 3],
            },
        },
        vision_config={
            "depth": 2,
            "hidden_size": 64,
            "intermediate_size": 256,
            "num_heads": 4,
            "out_hidden_size": 64,
            "fullatt_block_indexes": [1],
        },
        image_token_id=picture,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=stop,
        tie_word_embeddings=True,
    )
    torch.manual_seed(0)
    model = Qwen2_5_VLForConditionalGeneration(config)
    # As in published folders: sampling that training must not use.
    model.generation_config = GenerationConfig(
        do_sample=True, temperature=0.1, repetition_penalty=1.3, eos_token_id=[end, pad]
    )
    model.save_pretrained(folder)
    Qwen2VLImageProcessorPil(min_pixels=784, max_pixels=12_845_056).save_pretrained(folder)
    return folder
