"""How hard a model is asked to think: from the role's settings, and as its profile writes it."""

from __future__ import annotations

from typing import Any

from hisa.config import ModelSettings
from hisa.errors import ConfigError
from hisa.models.profile import Profile
from hisa.protocols import Role

__all__ = ["check_reasoning", "effort_fields"]


def effort_fields(settings: ModelSettings, profile: Profile) -> dict[str, Any]:
    """Returns the fields of a chat completion that ask for it."""
    if not settings.effort:
        return {}
    if profile.thinking_switch:
        return {"chat_template_kwargs": {"enable_thinking": settings.effort != "none"}}
    return {"reasoning_effort": settings.effort}


def check_reasoning(section: Role, settings: ModelSettings, profile: Profile) -> None:
    """Refuse an effort that the model does not take.

    Raises:
        ConfigError: it names the model, what it takes, and what to do.
    """
    if settings.effort and settings.effort not in profile.efforts:
        raise ConfigError(
            f"models.{section}.effort = {settings.effort!r}: {settings.model!r} (profile "
            f"{profile.name}) takes {', '.join(profile.efforts) or 'no effort'}",
            fix="leave it out or, where the server takes it, say so in a profile of your own "
            f"([[profile]] with efforts): --set models.{section}.profile=FILE.toml",
        )
