"""Keeps the class of a run's failure: ComputerRL's (4.4), and OS-Catalyst's for sequences."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ValidationError

from hisa.errors import UsageError
from hisa.machine.storage import replace_file

__all__ = ["FAILURES", "SEQUENCE_FAILURES", "Failure", "failure_of", "keep_failure"]

FAILURES = {
    "perception": "it misread the screen, overlooked something, or acted in the wrong place",
    "applications": "it lost track of windows, or of a value to carry to another one",
    "illusion": "it believed something done or there that was not, as after too long a sequence",
    "other": "anything else: a task misunderstood, a loop, a limit, sequences that were too short",
}
"""ComputerRL, section 4.4."""
SEQUENCE_FAILURES = {
    "over-compression": "a sequence went on after an action that changed the screen (a page or a "
    "dialog opened), so its remaining actions met another screen than they were planned for",
    "under-compression": "actions that could safely have been one sequence, such as a form, "
    "took one step each, and steps or time ran out",
    "wrong-location": "the thought names the right element, but the action hit another place",
}
"""OS-Catalyst, appendix C.2 and figures 7 to 9."""
_FILES = {"failure.json": FAILURES, "sequence_failure.json": SEQUENCE_FAILURES}


class Failure(BaseModel):
    """The class of a failure, who gave it ("hand", or a model), and why; empty: none."""

    kind: str = ""
    by: str = ""
    reason: str = ""


def failure_of(run: Path, classes: Mapping[str, str] = FAILURES) -> Failure:
    """Returns the failure stored in a run's folder, from one set of classes; empty if none."""
    try:
        return Failure.model_validate_json((run / _file(classes)).read_bytes())
    except (OSError, ValidationError):
        return Failure()


def keep_failure(run: Path, failure: Failure) -> None:
    """Store a failure in the run's folder.

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
