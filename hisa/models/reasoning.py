"""How hard a model is asked to think: from the role's settings, and as its profile writes it."""

from __future__ import annotations

from typing import Any

from hisa.config import ModelSettings
from hisa.errors import ConfigError
from hisa.models.profile import Profile
from hisa.protocols import Role

__all__ = ["chat_fields", "check_reasoning", "reasoning_words"]


def reasoning_words(settings: ModelSettings) -> str:
    """Returns the effort of a role in words, such as ``high`` or ``no thinking``; empty: none."""
    tokens = settings.thinking_tokens
    number = f"{tokens} thinking tokens" if tokens else "no thinking"
    return ", ".join(filter(None, (settings.effort, "" if tokens is None else number)))


def chat_fields(settings: ModelSettings, profile: Profile) -> dict[str, Any]:
    """Returns the fields of a chat completion that ask for it."""
    fields: dict[str, Any] = {"reasoning_effort": settings.effort} if settings.effort else {}
    tokens = settings.thinking_tokens
    if tokens is None:
        return fields
    match profile.thinking_as:
        case "thinking":
            on = {"type": "enabled", "budget_tokens": tokens}
            fields["thinking"] = on if tokens else {"type": "disabled"}
        case "enable_thinking":
            fields["chat_template_kwargs"] = {"enable_thinking": tokens > 0}
            if tokens:
                fields["thinking_token_budget"] = tokens
        case "":
            pass
    return fields


def check_reasoning(section: Role, settings: ModelSettings, profile: Profile) -> None:
    """Refuse a setting that the model does not take.

    Raises:
        ConfigError: it names the model, what it takes, and what to do.
    """
    if settings.effort and settings.effort not in profile.efforts:
        raise _refused(section, "effort", settings=settings, profile=profile)
    if settings.thinking_tokens is not None:
        if not profile.thinking_as:
            raise _refused(section, "thinking_tokens", settings=settings, profile=profile)
        _check_number(f"models.{section}", settings.thinking_tokens, settings, profile)


def _refused(section: Role, name: str, *, settings: ModelSettings, profile: Profile) -> ConfigError:
    """The error for a control that the model does not take; it names those that it does."""
    takes = [f"effort ({', '.join(profile.efforts)})"] * bool(profile.efforts)
    takes += ["thinking_tokens"] * bool(profile.thinking_as)
    return ConfigError(
        f"models.{section}.{name} = {getattr(settings, name)!r}: {settings.model!r} (profile "
        f"{profile.name}) takes {' and '.join(takes) or 'neither effort nor thinking_tokens'}",
        fix="leave it out or, where the server takes it, say so in a profile of your own "
        "([[profile]] with efforts or thinking_as): "
        f"--set models.{section}.profile=FILE.toml",
    )


def _check_number(section: str, tokens: int, settings: ModelSettings, profile: Profile) -> None:
    told = f"{section}.thinking_tokens = {tokens}: {settings.model!r} (profile {profile.name})"
    if 0 < tokens < profile.thinking_least:
        raise ConfigError(
            f"{told} takes {profile.thinking_least} or more, or 0 for none",
            fix=f"--set {section}.thinking_tokens={profile.thinking_least}",
        )
    if tokens >= settings.max_tokens:
        raise ConfigError(
            f"{told} thinks and answers in {section}.max_tokens = {settings.max_tokens}, which "
            "would leave nothing for the answer",
            fix=f"--set {section}.max_tokens={tokens + settings.max_tokens}",
        )
