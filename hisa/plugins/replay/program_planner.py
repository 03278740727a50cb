"""``--model program:FOLDER`` and ``planner.leads``: a program as a planner, or before one."""

from __future__ import annotations

from pathlib import Path

from hisa.config import ModelSettings
from hisa.plugins.replay.leading import FirstProgram, Mender
from hisa.plugins.replay.program_player import ProgramPlayer, open_program
from hisa.plugins.synthesis.silent_model import ElementsKind, SilentModel, silent_profile
from hisa.protocols import Planner
from hisa.wiring.planner_kind import PlannerParts

__all__ = ["PROGRAM", "ProgramModel"]


class ProgramModel(SilentModel):
    """The name that asks for `ProgramPlayer`; it answers nothing itself.

    Raises:
        UsageError: there is no such program.
    """

    profile = silent_profile("program")

    def __init__(self, settings: ModelSettings) -> None:
        super().__init__(settings)
        open_program(settings.model)


class ProgramKind(ElementsKind):
    """``planner.kind = "program"``: needs a screen that tells its elements."""

    def open(self, parts: PlannerParts) -> Planner:
        """Returns a player for one run."""
        program, folder = open_program(parts.model_settings.model)
        return ProgramPlayer(parts.emit, program, folder, parts.environment)

    def lead(self, parts: PlannerParts, planner: Planner, text: str) -> Planner:
        """See `PlannerKind`.

        Returns a `Mender` where ``text`` ends with "#mend:FOLDER", else a `FirstProgram`.
        """
        program, mends, part = text.rpartition("#mend:")
        if mends:
            return Mender(program, planner, part=Path(part), emit=parts.emit)
        return FirstProgram(text, planner)


PROGRAM = ProgramKind()
