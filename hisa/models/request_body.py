"""A request as the body of an OpenAI-protocol chat completion."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hisa.config import ModelSettings
from hisa.errors import ConfigError
from hisa.models.profiles import Profile
from hisa.models.tokens import estimate_input
from hisa.protocols import ImagePart, Message, ModelRequest, Part, Role, TextPart
from hisa.text.safe_text import encodable

__all__ = ["answer_limit", "check_effort", "encode", "not_sent", "response_format", "sampling"]

_MIN_ANSWER = 16
"""Tokens requested even if the context looks full; the server then reports it."""


def _part(part: Part, profile: Profile) -> dict[str, Any]:
    match part:
        case TextPart(text):
            return {"type": "text", "text": encodable(text)}
        case ImagePart(image):
            picture = {"url": image.data_url}
            if profile.image_detail:
                picture["detail"] = profile.image_detail
            return {"type": "image_url", "image_url": picture}


def _message(message: Message, profile: Profile) -> dict[str, Any]:
    """Encode a message; text without pictures becomes a plain string, which every server takes."""
    if any(isinstance(part, ImagePart) for part in message.parts):
        content: Any = [_part(part, profile) for part in message.parts]
    else:
        texts = (part.text for part in message.parts if isinstance(part, TextPart))
        content = encodable("\n".join(texts))
    return {"role": message.role, "content": content}


def _turns(messages: tuple[Message, ...], profile: Profile) -> tuple[Message, ...]:
    """Returns the messages, with a system message moved into the user's if the model takes none."""
    first, *rest = messages
    if profile.system_as == "system" or first.role != "system" or not rest:
        return messages
    return replace(rest[0], parts=(*first.parts, *rest[0].parts)), *rest[1:]


def response_format(
    request: ModelRequest, profile: Profile, settings: ModelSettings
) -> dict[str, Any] | None:
    """Returns the ``response_format`` of a request; None: the reply is not constrained.

    Args:
        request: its schema, if any, is the form of the reply.
        profile: says which kind of ``response_format`` the server takes.
        settings: ``constrain = false`` turns it off.
    """
    if request.schema is None or settings.constrain is False or profile.structured == "none":
        return None
    if profile.structured == "json_object":
        return {"type": "json_object"}
    schema = {"name": "answer", "schema": dict(request.schema)}
    return {"type": "json_schema", "json_schema": schema}


def answer_limit(request: ModelRequest, profile: Profile, limit: int) -> int:
    """Returns the most tokens to request for the reply.

    Args:
        request: lowers the limit if its ``max_tokens`` is not the default.
        profile: its context, minus the estimated input, lowers the limit too.
        limit: the setting ``max_tokens``.
    """
    if request.max_tokens != ModelRequest.max_tokens:
        limit = min(limit, request.max_tokens)
    if profile.context is not None:
        used = estimate_input(request, image_tokens=profile.image_tokens)
        limit = min(limit, max(_MIN_ANSWER, profile.context - used))
    return limit


def sampling(
    request: ModelRequest, profile: Profile, settings: ModelSettings
) -> dict[str, float | int]:
    """Returns the sampling parameters to send.

    Args:
        request: its temperature is used unless the settings have one.
        profile: says which parameters the model takes; others are omitted.
        settings: the role's settings, which win over the request.
    """
    parameters: dict[str, float | int] = {}
    temperature = request.temperature if settings.temperature is None else settings.temperature
    if settings.top_p is not None and profile.top_p:
        parameters["top_p"] = settings.top_p
    if (
        temperature is not None
        and profile.temperature
        and (profile.both or "top_p" not in parameters)
    ):
        parameters["temperature"] = temperature
    if settings.seed is not None and profile.seed:
        parameters["seed"] = settings.seed
    return parameters


def _effort_fields(settings: ModelSettings, profile: Profile) -> dict[str, Any]:
    """Returns the fields of a chat completion that set the effort."""
    if not settings.effort:
        return {}
    if profile.thinking_switch:
        return {"chat_template_kwargs": {"enable_thinking": settings.effort != "none"}}
    return {"reasoning_effort": settings.effort}


def check_effort(section: Role, settings: ModelSettings, profile: Profile) -> None:
    """Refuse an effort that the model does not take.

    Args:
        section: the role whose settings the error names.
        settings: the role's settings, with the effort.
        profile: lists the allowed efforts.

    Raises:
        ConfigError: the error names the model, the allowed efforts, and what to do.
    """
    if settings.effort and settings.effort not in profile.efforts:
        raise ConfigError(
            f"models.{section}.effort = {settings.effort!r}: {settings.model!r} (profile "
            f"{profile.name}) takes {', '.join(profile.efforts) or 'no effort'}",
            fix="omit it or, if the server takes it, list it in your own profile "
            f"([[profile]] with efforts): --set models.{section}.profile=FILE.toml",
        )


def not_sent(profile: Profile, settings: ModelSettings) -> list[str]:
    """Returns the names of sampling settings that are set but that the model does not take."""
    alone = settings.top_p is not None and profile.top_p and not profile.both
    refused = {
        "temperature": not profile.temperature or alone,
        "top_p": not profile.top_p,
        "seed": not profile.seed,
    }
    return [
        name for name, is_so in refused.items() if is_so and getattr(settings, name) is not None
    ]


def encode(request: ModelRequest, profile: Profile, settings: ModelSettings) -> dict[str, Any]:
    """Encode a request as a body, with only the parameters that the model takes.

    Encoding a picture for the first time takes milliseconds: call this from a thread.

    Args:
        request: messages, schema and limits.
        profile: says which parameters the model takes.
        settings: the role's settings.
    """
    body: dict[str, Any] = {
        "model": encodable(settings.model),
        "messages": [_message(message, profile) for message in _turns(request.messages, profile)],
        profile.max_tokens_as: answer_limit(request, profile, settings.max_tokens),
        **sampling(request, profile, settings),
    }
    body |= _effort_fields(settings, profile)
    if settings.tokens:
        body |= {"logprobs": True} | ({"return_token_ids": True} if profile.token_ids else {})
        body = {**profile.plain_sampling, **body}
    if form := response_format(request, profile, settings):
        body["response_format"] = form
    return body
