"""Keeps the class of a run's failure: ComputerRL's (4.4), and OS-Catalyst's for sequences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ValidationError

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

__all__ = ["FAILURES", "SEQUENCE_FAILURES", "Failure", "failure_of", "keep_failure"]

FAILURES = {
    "perception": "it misread the screen, overlooked something, or acted at a wrong place",
    "applications": "between several applications or windows it lost its way, or what to carry",
    "illusion": "it took for done or there what was not; a sequence that went too far is one",
    "other": "anything else: a task misunderstood, a loop, a limit, sequences that were too short",
}
"""ComputerRL, section 4.4."""
SEQUENCE_FAILURES = {
    "over-compression": "a sequence went on past an act that changed the screen (a page opened, a "
    "dialog came up), so that the rest of it was meant for a screen that was no longer there",
    "under-compression": "acts that could safely have been one sequence, such as the fields of one "
    "form, took a step each, and steps or time ran out",
    "wrong-location": "the thought names the right thing, and the point acted at is not on it",
}
"""OS-Catalyst, appendix C.2 and figures 7 to 9."""
_FILES = {"failure.json": FAILURES, "sequence_failure.json": SEQUENCE_FAILURES}


class Failure(BaseModel):
    """The class of a run's failure, who gave it ("hand", or a model), and why; empty if none."""

    kind: str = ""
    by: str = ""
    reason: str = ""


def failure_of(run: Path, classes: Mapping[str, str] = FAILURES) -> Failure:
    """Returns the failure that is kept in a run's folder, of one kind of classes; empty if none."""
    try:
        return Failure.model_validate_json((run / _file(classes)).read_bytes())
    except (OSError, ValidationError):
        return Failure()


def keep_failure(run: Path, failure: Failure) -> None:
    """Keep a failure in the run's folder.

    Raises:
        UsageError: its class is in neither `FAILURES` nor `SEQUENCE_FAILURES`.
    """
    classes = next((known for known in _FILES.values() if failure.kind in known), None)
    if classes is None:
        fix = f"one of {', '.join([*FAILURES, *SEQUENCE_FAILURES])}"
        raise UsageError(f"{failure.kind!r} is not a class of failures", fix=fix)
    replace_file(run / _file(classes), failure.model_dump_json().encode("utf-8", "replace"))


def _file(classes: Mapping[str, str]) -> str:
    return next(file for file, known in _FILES.items() if known is classes)
