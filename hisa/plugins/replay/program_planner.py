"""``--model program:FOLDER`` and ``planner.leads``: a program as a planner, or before one."""

from __future__ import annotations

import re
from pathlib import Path

from hisa.config import GrounderKind, ModelSettings, PlannerSettings
from hisa.errors import ConfigError, ModelUnavailable
from hisa.models.profile import Price, Profile
from hisa.plugins.replay.leading import FirstProgram, Mender
from hisa.plugins.replay.program_player import ProgramPlayer, open_program
from hisa.protocols import ModelReply, ModelRequest, Planner
from hisa.wiring.planner_kind import PlannerKind, PlannerParts

__all__ = ["PROGRAM", "ProgramModel"]


class ProgramModel:
    """The name that asks for `ProgramPlayer`; it answers nothing itself.

    Raises:
        UsageError: there is no such program.
    """

    by_rules = True
    profile = Profile(
        name="program",
        planner="program",
        price=Price(input=0, output=0),
        small=True,
        sees_pictures=False,
        streams=False,
        image_tokens=0,
    )

    def __init__(self, settings: ModelSettings) -> None:
        self.name = settings.model
        open_program(settings.model)

    async def complete(self, request: ModelRequest, /) -> ModelReply:
        """Raises: ModelUnavailable, always."""
        message = f"a program does not answer the {request.role} model's questions"
        raise ModelUnavailable(message, fix="--set models.state.model=offline")


class ProgramKind(PlannerKind):
    """``planner.kind = "program"``: needs a screen that tells its elements."""

    grounder: GrounderKind | None = "elements"

    def settled(
        self, settings: PlannerSettings, profile: Profile, *, lists: bool, asked: bool
    ) -> PlannerSettings:
        """See `PlannerKind`: it finds elements and points by itself."""
        if not lists or settings.sequence > 1:
            message = "a program needs a screen's elements, and planner.sequence = 1"
            raise ConfigError(message, fix="--set planner.sequence=1 --env desktop")
        return settings.model_copy(update={"sees": "elements"})

    def open(self, parts: PlannerParts) -> Planner:
        """Returns a player for one run."""
        program, folder = open_program(parts.model_settings.model)
        return ProgramPlayer(parts.emit, program, folder, parts.environment)

    def lead(self, parts: PlannerParts, planner: Planner, text: str) -> Planner:
        """See `PlannerKind`.

        Returns a `Mender` where ``text`` ends with "#ask:FOLDER" or "#auto:FOLDER", and a
        `FirstProgram` where it does not.
        """
        mends = re.fullmatch(r"(.*)#(ask|auto):(.+)", text, re.DOTALL)
        if mends is not None:
            ask = parts.ask if mends[2] == "ask" else None
            return Mender(mends[1], planner, part=Path(mends[3]), emit=parts.emit, ask=ask)
        return FirstProgram(text, planner)


PROGRAM = ProgramKind()
