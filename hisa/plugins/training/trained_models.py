"""``--model pointer:FILE`` as it is announced: a trained policy behind the seam of any model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from hisa.config import ModelSettings
from hisa.errors import ConfigError, LibraryLacking, ModelUnavailable
from hisa.machine.parts import install_command, missing
from hisa.models.profile import Price, Profile
from hisa.plugins.training.screen_looks import LOOK
from hisa.protocols import ModelReply, ModelRequest, TextPart, TurnTokens

if TYPE_CHECKING:
    from hisa.plugins.training.episodes import Choice

__all__ = ["PointerModel", "act_reply"]


class PointerModel:
    """A policy that answers the prompts of `hisa.plugins.training.pointer_planner`.

    At temperature 0, the default, it takes the likeliest act; at 1 it draws one, by the role's
    seed. A reply has one token, the act, and its log-probability is that at temperature 1.

    Raises:
        ConfigError: another temperature.
        LibraryLacking: torch or safetensors is not installed.
        UsageError: no checkpoint of a pointer.
    """

    by_rules = True
    profile = Profile(
        name="pointer",
        planner="pointer",
        price=Price(input=0, output=0),
        small=True,
        sees_pictures=False,
        streams=False,
        image_tokens=0,
    )

    def __init__(self, settings: ModelSettings) -> None:
        if lacking := missing("train"):
            raise LibraryLacking(
                f"{settings.model}: needs {lacking[0]}", fix=install_command("train")
            )
        if settings.temperature not in (None, 0, 1):
            raise ConfigError(
                f"{settings.model} at temperature {settings.temperature}: allowed are 0 and 1",
                fix="--set models.planner.temperature=1",
            )
        from hisa.plugins.training.pointer_policy import PointerPolicy

        path = Path(settings.model.removeprefix("pointer:")).expanduser()
        self.name, self._temperature = settings.model, settings.temperature
        self._policy = PointerPolicy.load(path, seed=settings.seed or 0)

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Returns the act for the look in the request.

        Raises:
            ModelUnavailable: a request for anything else.
        """
        parts = [part for m in request.messages if m.role == "user" for part in m.parts]
        text = parts[0].text if parts and isinstance(parts[0], TextPart) else ""
        try:
            look = LOOK.validate_json(text)
        except ValueError as error:
            raise ModelUnavailable(
                f"{self.name} answers looks alone, and the {request.role} model was asked for more",
                fix="--set models.state.model=offline",
            ) from error
        asked = request.temperature if self._temperature is None else self._temperature
        (choice,) = self._policy.choose([look], greedy=not asked)
        return act_reply(choice, self._policy.name, self._policy.version)


def act_reply(choice: Choice, name: str, version: int) -> ModelReply:
    """Returns the reply that has a policy's act, as the planner of pointers reads it."""
    act = choice.act
    return ModelReply(
        json.dumps({"act": act.kind, "item": act.item, "word": act.word}),
        model=name,
        policy=str(version),
        tokens=TurnTokens(logprobs=(choice.logprob,)),
    )
