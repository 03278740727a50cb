"""Why a run failed, by class (ComputerRL, 4.4; OS-Catalyst's of C.2 among them), kept with it."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ValidationError

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

__all__ = ["FAILURES", "Failure", "failure_of", "keep_failure"]

FAILURES = {
    "perception": "it misread the screen, overlooked something, or acted at a wrong place",
    "applications": "between several applications or windows it lost its way, or what to carry",
    "illusion": "it took for done or there what was not; a sequence that went too far is one",
    "other": "anything else: a task misunderstood, a loop, a limit, sequences that were too short",
}
_FILE = "failure.json"


class Failure(BaseModel):
    """The class of a run's failure, who gave it ("hand", or a model), and why; empty without."""

    kind: str = ""
    by: str = ""
    reason: str = ""


def failure_of(run: Path) -> Failure:
    """Returns the class kept in a run's folder; an empty one where there is none."""
    try:
        return Failure.model_validate_json((run / _FILE).read_bytes())
    except (OSError, ValidationError):
        return Failure()


def keep_failure(run: Path, failure: Failure) -> None:
    """Keep it in the run's folder. Raises: UsageError where its class is none of `FAILURES`."""
    if failure.kind not in FAILURES:
        fix = f"one of {', '.join(FAILURES)}"
        raise UsageError(f"{failure.kind!r} is no class of failures", fix=fix)
    replace_file(run / _FILE, failure.model_dump_json().encode("utf-8", "replace"))
