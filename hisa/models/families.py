"""The families of models that are known by name, in the order in which they are tried.

A price stands only where a dated source gave it, and the date is the source's. Sources: OpenAI's
and Google's price lists as copied by third parties in March 2026, and for gpt-4o and o1 in May
2026; Anthropic's as copied in June 2026, and for Sonnet 5 on 2026-09-07; HiSA, table 7, for
computer-use-preview. Cached prices of the gpt-5 family are a tenth, of gpt-4.1 a quarter of the
input's, by the same copies; where those disagree (o1, o3, o4-mini) or gave none (Claude Sonnet 5),
they are those of the table in litellm 1.109.1, of November 2026, which has the same prices else.
OpenAI has none for computer-use-preview: cached input is billed there as any other. Efforts are
those of OpenAI's API reference and the same table; how Claude and Qwen3 are told to think, those of
Anthropic's page on its OpenAI endpoint and of vLLM's page on reasoning.
"""

from __future__ import annotations

from typing import Any

from hisa.models.profile import Price, Profile

__all__ = ["BUILT_IN", "REFERENCE"]

_OPENAI = "2026-03-21"
_OPENAI_MAY = "2026-05-27"
_ANTHROPIC = "2026-06"
_GOOGLE = "2026-03"

_EFFORTS = ("low", "medium", "high")
_PICKS = 0.9  # a strong model picked 29 of 29 rightly; who is in no family here is to be measured
_REASONING = Profile(
    name="reasoning",
    match=("o1", "o1-*", "o3", "o3-*", "o4-*", "gpt-5*"),
    temperature=False,
    top_p=False,
    seed=False,
    max_tokens_as="max_completion_tokens",
    efforts=_EFFORTS,
    structured="json_schema",
    image_detail="high",
    context=200_000,
    picks=_PICKS,
)
_FROM_MINIMAL = ("minimal", "low", "medium", "high")
_TO_XHIGH = ("none", "low", "medium", "high", "xhigh")
_CHAT = Profile(
    name="chat", structured="json_schema", image_detail="high", context=128_000, picks=_PICKS
)
_CLAUDE = Profile(
    name="claude",
    match=("claude*",),
    # Anthropic's OpenAI-compatible endpoint passes over response_format and seed.
    seed=False,
    both=False,
    image_tokens=1300,
    context=200_000,
    picks=_PICKS,
)
_THINKS: dict[str, Any] = {"thinking_as": "thinking", "thinking_least": 1024}
_GEMINI = Profile(
    name="gemini",
    match=("gemini*",),
    seed=False,
    structured="json_object",
    image_tokens=1300,
    context=1_000_000,
    coordinates="thousand",
    picks=_PICKS,
)
_OPEN = Profile(name="open", free_at_home=True, picks=_PICKS)
_SMALL = tuple(
    f"*[-_:]{size}{end}"
    for size in (
        "135m",
        "270m",
        "360m",
        "500m",
        "0.5b",
        "0.6b",
        "1b",
        "1.1b",
        "1.5b",
        "1.7b",
        "2b",
        "3b",
        "4b",
    )
    for end in ("", "[-_:.]*")
)
"""How the names of models with up to four billion weights end, or go on."""
_SEEING = (
    "gemma-3-4b*", "gemma3:4b*", "gemma-3n*", "smolvlm*", "paligemma*", "moondream*",
    *(f"*{word}{size}" for word in ("vl", "vision") for size in _SMALL),
    *(f"{size}{word}*" for word in ("vl", "vision") for size in _SMALL if size.endswith("*")),
)  # fmt: skip
"""Those of them that take pictures; all others are taken for models of text alone."""


def _like(family: Profile, name: str, *match: str, **more: object) -> Profile:
    """A member of a family; its dated snapshots go by its own names too."""
    return Profile.model_validate({**family.model_dump(), "name": name, "match": match, **more})


def _server(name: str, **more: Any) -> Profile:
    """A server that holds any model to a schema, and whose models are one's own."""
    return Profile(name=name, server=True, structured="json_schema", free_at_home=True, **more)


def _named(name: str) -> tuple[str, ...]:
    """A name and its dated snapshots, but not the longer names of other models."""
    return name, f"{name}-20*"


def _usd(input: float, output: float, cached: float, date: str) -> Price:  # noqa: A002
    """Dollars for a million tokens."""
    return Price(input=input, output=output, cached=cached, date=date)


BUILT_IN: tuple[Profile, ...] = (
    _like(_REASONING, "gpt-5", *_named("gpt-5"), context=400_000, efforts=_FROM_MINIMAL,
          price=_usd(1.25, 10.00, 0.125, _OPENAI)),
    _like(_REASONING, "gpt-5.1", *_named("gpt-5.1"), context=400_000,
          efforts=("none", "low", "medium", "high"), price=_usd(1.25, 10.00, 0.125, _OPENAI)),
    _like(_REASONING, "gpt-5-mini", *_named("gpt-5-mini"), context=400_000, image_tokens=1500,
          efforts=_FROM_MINIMAL, price=_usd(0.25, 2.00, 0.025, _OPENAI)),
    _like(_REASONING, "gpt-5-nano", *_named("gpt-5-nano"), context=400_000, image_tokens=2300,
          efforts=_FROM_MINIMAL, price=_usd(0.05, 0.40, 0.005, _OPENAI)),
    _like(_REASONING, "gpt-5.4", *_named("gpt-5.4"), context=270_000, efforts=_TO_XHIGH,
          price=_usd(2.50, 15.00, 0.25, _OPENAI)),
    _like(_REASONING, "gpt-5.4-mini", *_named("gpt-5.4-mini"), efforts=_TO_XHIGH,
          price=_usd(0.75, 4.50, 0.075, "2026-03")),
    _like(_REASONING, "o3", *_named("o3"), price=_usd(2.00, 8.00, 0.50, _OPENAI)),
    _like(_REASONING, "o4-mini", *_named("o4-mini"), image_tokens=1600,
          price=_usd(1.10, 4.40, 0.275, _OPENAI)),
    _like(_REASONING, "o1", *_named("o1"), price=_usd(15.00, 60.00, 7.50, "2026-05")),
    Profile(
        name="computer-use-preview",
        match=("computer-use-preview*",),
        temperature=False,
        top_p=False,
        seed=False,
        max_tokens_as="max_completion_tokens", image_detail="high",
        computer="computer_use_preview",
        picks=_PICKS,
        price=_usd(3.00, 12.00, 3.00, "2025-03-11"),
    ),
    _like(_CHAT, "gpt-4o", *_named("gpt-4o"), price=_usd(2.50, 10.00, 1.25, _OPENAI_MAY)),
    _like(_CHAT, "gpt-4o-mini", *_named("gpt-4o-mini"), image_tokens=37_000,
          price=_usd(0.15, 0.60, 0.075, _OPENAI_MAY)),
    _like(_CHAT, "gpt-4.1", *_named("gpt-4.1"), context=1_000_000,
          price=_usd(2.00, 8.00, 0.50, _OPENAI)),
    _like(_CHAT, "gpt-4.1-mini", *_named("gpt-4.1-mini"), context=1_000_000, image_tokens=1500,
          price=_usd(0.40, 1.60, 0.10, _OPENAI)),
    _like(_CHAT, "gpt-4.1-nano", *_named("gpt-4.1-nano"), context=1_000_000, image_tokens=2300,
          price=_usd(0.10, 0.40, 0.025, _OPENAI)),
    _REASONING,
    _like(_CLAUDE, "claude-opus-4.5", "claude-opus-4[-.][56]*", **_THINKS,
          price=_usd(5.00, 25.00, 0.50, _ANTHROPIC)),
    _like(_CLAUDE, "claude-sonnet-4", "claude-sonnet-4*", **_THINKS,
          price=_usd(3.00, 15.00, 0.30, _ANTHROPIC)),
    _like(_CLAUDE, "claude-haiku-4.5", "claude-haiku-4[-.]5*", **_THINKS,
          price=_usd(1.00, 5.00, 0.10, _ANTHROPIC)),
    _like(
        _CLAUDE, "claude-sonnet-5", "claude-sonnet-5", "claude-sonnet-5-20*",
        temperature=False, top_p=False,  # any but its own is answered with 400
        price=_usd(2.00, 10.00, 0.20, "2026-09-07"),
    ),
    _CLAUDE,
    _like(_GEMINI, "gemini-2.5-pro", "gemini-2.5-pro*", price=_usd(1.25, 10.00, 0.125, _GOOGLE),
          efforts=_EFFORTS),
    _like(_GEMINI, "gemini-2.5-flash", "gemini-2.5-flash", price=_usd(0.30, 2.50, 0.03, _GOOGLE),
          efforts=_EFFORTS),
    _GEMINI,
    _like(_OPEN, "gta1-32b", "gta1-32b*", coordinates="pixels", grounding="opencua"),
    _like(_OPEN, "gta1", "gta1*", coordinates="pixels", grounding="gta1"),
    _like(_OPEN, "ui-tars-1.5", "ui-tars-1.5*", structured="json_schema", coordinates="pixels",
          grounding="ui-tars-1.5"),
    _like(_OPEN, "ui-tars", "ui-tars*", structured="json_schema", coordinates="thousand",
          grounding="ui-tars"),
    _like(_OPEN, "opencua-kimi", "opencua-a3b*", structured="json_schema", coordinates="unit",
          grounding="opencua-relative"),
    _like(_OPEN, "opencua", "opencua*", structured="json_schema", coordinates="pixels",
          grounding="opencua"),
    _like(_OPEN, "holo1.5", "holo1.5*", structured="json_schema", coordinates="pixels",
          grounding="holo"),
    _like(_OPEN, "gelato", "gelato*", structured="json_schema", coordinates="thousand",
          grounding="gelato"),
    _like(_OPEN, "qwen3-vl", "qwen3-vl*", "qwen3vl*", structured="json_schema",
          coordinates="thousand"),
    _like(_OPEN, "qwen2.5-vl", "qwen2.5-vl*", "qwen2_5_vl*", structured="json_schema",
          coordinates="pixels"),
    _like(_OPEN, "internvl", "internvl*", coordinates="thousand"),
    _like(_OPEN, "glm-v", "glm-4.5v*", "glm-4.1v*", "glm-4.6v*", coordinates="thousand"),
    _like(_OPEN, "kimi-vl", "kimi-vl*", coordinates="unit"),
    _like(_OPEN, "small-vision", *_SEEING, structured="json_schema", small=True,
          constrains=True, picks=None),
    _like(_OPEN, "small", *_SMALL, structured="json_schema", small=True, constrains=True,
          sees_pictures=False, picks=None),
    _like(_OPEN, "qwen3", "qwen3-[0-9]*", "qwen3.[0-9]*", structured="json_schema",
          thinking_as="enable_thinking"),
    _like(_OPEN, "qwen", "qwen*", structured="json_schema"),
    _like(_OPEN, "llama-4", "llama-4*", "llama4*"),
    _like(_OPEN, "gemma-3", "gemma-3*", "gemma3*"),
    _like(_OPEN, "deepseek", "deepseek*"),
    _like(_OPEN, "mistral", "mistral*", "pixtral*", "magistral*", "ministral*"),
    _server("ollama"),
    _server("lm-studio"),
    _server("vllm", token_ids=True),
    _server("llama.cpp", progress=True),
    Profile(name="local", price=Price(input=0, output=0)),
    Profile(name="default", picks=_PICKS),
)  # fmt: skip
"""The first match wins. ``local`` is ``default`` for a server of one's own: it costs nothing."""

REFERENCE = max(
    (profile for profile in BUILT_IN if profile.price is not None),
    key=lambda profile: 0.0 if profile.price is None else profile.price.output,
)
"""The dearest family with a known price (o1): what a limit in dollars counts a token at where the
price of a model is not known, so that it is rather too early than too late."""
