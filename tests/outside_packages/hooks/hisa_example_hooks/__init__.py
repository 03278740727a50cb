"""A hook that ends a run once a file named STOP lies in its folder."""

from hisa.hooks import Hook, Step
from hisa.protocols import Outcome
from hisa.wiring.base import HookParts


class StopFile(Hook):
    """Looks after each step."""

    def __init__(self, parts: HookParts) -> None:
        self._file = parts.log.folder / "STOP"

    async def after_step(self, step: Step) -> None:
        """Ends the run, which is scored."""
        if self._file.exists():
            step.outcome = Outcome(ok=True, output="STOP lies in the run's folder", ends="ended")
