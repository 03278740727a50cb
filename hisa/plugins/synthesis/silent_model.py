"""A name in place of a model, for planners that ask none: references, programs, a person."""

from __future__ import annotations

from hisa.config import ModelSettings
from hisa.errors import ModelUnavailable
from hisa.models.profile import Price, Profile
from hisa.protocols import ModelReply, ModelRequest

__all__ = ["SilentModel", "silent_profile"]


def silent_profile(planner: str) -> Profile:
    """Returns the profile of a name that asks for a kind of planner."""
    return Profile(
        name=planner,
        planner=planner,
        price=Price(input=0, output=0),
        small=True,
        sees_pictures=False,
        streams=False,
        image_tokens=0,
    )


class SilentModel:
    """Answers nothing; its ``profile`` tells the planner's kind."""

    by_rules = True
    profile: Profile

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Raises: ModelUnavailable, always."""
        message = f"a {self.profile.name} does not answer the {request.role} model's questions"
        raise ModelUnavailable(message, fix="--set models.state.model=offline")
