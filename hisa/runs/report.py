"""Renders a run as one self-contained page of HTML.

The page loads nothing and works without scripts. Its content security policy lets only its own
script run, because its texts come from models and screens. Each picture is stored once and shown
wherever it is needed.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shlex
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from hisa.errors import UsageError
from hisa.events import Observed
from hisa.machine.storage import replace_file
from hisa.models.spending import Totals
from hisa.outcomes.verdicts import verdict_words
from hisa.runs import wording
from hisa.runs.audit_view import decision_tone, describe_decision
from hisa.runs.failure_class import FAILURES, failure_of
from hisa.runs.pictures import Picture, embed
from hisa.runs.run_reader import Run, command_on
from hisa.runs.step_records import StepRecord
from hisa.runs.templates import templates

if TYPE_CHECKING:
    import jinja2

__all__ = ["render_report", "render_steps", "write_report"]

_HERE = Path(__file__).resolve().parent
_ROLES = ("planner", "grounder", "state", "judge")


@dataclass(frozen=True, slots=True)
class _Mark:
    """A place on a picture, in percent of its width and height."""

    left: float
    top: float
    width: float = 0.0
    height: float = 0.0


def write_report(run: Run, path: Path) -> Path:
    """Write the page of a run to a file; if ``path`` is a folder, to ``report.html`` in it.

    Raises:
        UsageError: the file cannot be written.
    """
    if path.is_dir():
        path = path / "report.html"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        replace_file(path, render_report(run).encode("utf-8", "replace"))
    except OSError as error:
        raise UsageError(
            f"cannot write the report to {str(path)!r}: {error.strerror}",
            fix=f"{command_on(run.folder, 'report')} -o FILE",
        ) from error
    return path


def render_report(run: Run) -> str:
    """Returns the page of a run as HTML."""
    pictures = embed(_list_pictures(run))
    names = {sha: f"i{number}" for number, sha in enumerate(pictures, 1)}
    script = _text("report.js")
    return _template("report.html.j2").render(
        run=run,
        go_on=command_on(run.folder),
        failure=failure_of(run.folder),
        classes=FAILURES,
        runs=shlex.quote(str(run.folder.parent)),
        manifest=run.manifest,
        pictures=pictures,
        names=names,
        totals=run.totals,
        tokens=[record.planner_tokens for record in run.steps if record.planner_tokens],
        settings=json.dumps(run.manifest.settings, indent=1, ensure_ascii=False),
        css=_text("report.css"),
        script=script,
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def render_steps(run: Run, after: int, address: Callable[[str], str]) -> str:
    """Returns the steps after a number as HTML, for a page that fetches the pictures itself.

    Args:
        run: the run; an unfinished step is shown too.
        after: the number of the last step that is left out.
        address: returns the address of a picture, given its hash.
    """
    records = (record for record in run.steps if record.number > after)
    looks = {look.image: look for record in records for look in _looks(record) if look}
    pictures = {
        sha: Picture(look.width, look.height, address(sha), "")
        for sha, look in looks.items()
        if run.image(sha) is not None
    }
    names = {sha: f"i{number}" for number, sha in enumerate(pictures, 1)}
    return _template("steps.html.j2").render(run=run, after=after, pictures=pictures, names=names)


def _looks(record: StepRecord) -> tuple[Observed | None, ...]:
    return record.before, record.judged_from, record.after


def _list_pictures(run: Run) -> list[tuple[str, Path]]:
    """Returns names and files of the pictures that are shown, in the order of the steps."""
    looks = [look for record in run.steps for look in _looks(record) if look]
    looks = looks or [event for event in run.events if isinstance(event, Observed)][-1:]
    paths = {look.image: run.image(look.image) for look in looks}
    return [(sha, path) for sha, path in paths.items() if path is not None]


@lru_cache(maxsize=2)
def _template(name: str) -> jinja2.Template:
    environment = templates(_HERE)
    environment.filters |= {
        "clock": wording.clock,
        "count": wording.count,
        "duration": wording.duration,
        "in_order": _in_order,
        "money": wording.money,
        "fresh_and_cached": lambda role: wording.fresh_and_cached(role.tokens_in, role.cached_in),
        "chosen": wording.describe_choice,
        "judged": wording.describe_judgement,
        "sampled": wording.describe_sample,
        "role_money": lambda role: wording.role_money(role.usd, role.calls, role.unpriced),
        "trim_bullet": lambda line: line.removeprefix("- "),
    }
    environment.globals |= {
        "boxes": _boxes,
        "by_person": wording.by_person,
        "clicks": _clicks,
        "decision_tone": decision_tone,
        "median": lambda numbers: round(statistics.median(numbers)),
        "partial": wording.partial,
        "roi": _roi,
        "roles": _roles,
        "score": wording.score,
        "score_tone": wording.score_tone,
        "told_decision": describe_decision,
        "tone": wording.tone,
        "total_money": wording.total_money,
        "tried": wording.describe_try,
        "verdict_tone": wording.verdict_tone,
        "verdict_words": verdict_words,
    }
    return environment.get_template(name)


def _text(name: str) -> str:
    """Returns a file of the page that is inserted without escaping."""
    from markupsafe import Markup

    return Markup((_HERE / name).read_text(encoding="utf-8"))


def _clicks(record: StepRecord) -> list[_Mark]:
    """Returns marks for the step's points; those outside the picture are left out."""
    look = record.before
    if look is None:
        return []
    points = (point for act in record.acts for point in act.points)
    marks = (_Mark(100 * x / look.width, 100 * y / look.height) for x, y in points)
    return [mark for mark in marks if 0 <= mark.left <= 100 and 0 <= mark.top <= 100]


def _boxes(record: StepRecord) -> list[_Mark]:
    """Returns marks for the elements that were chosen to act on."""
    look, elements = record.before, [p.element for p in record.places if p.chosen]
    return [_box(element.box, look) for element in elements if element] if look else []


def _box(box: tuple[float, float, float, float], look: Observed) -> _Mark:
    left, top, right, bottom = box
    return _Mark(
        100 * left / look.width,
        100 * top / look.height,
        100 * (right - left) / look.width,
        100 * (bottom - top) / look.height,
    )


def _roi(record: StepRecord) -> _Mark | None:
    """Returns the mark of the changed region."""
    look = record.before
    if look is None or record.abstracted is None or record.abstracted.roi is None:
        return None
    return _box(record.abstracted.roi, look)


def _roles(record: StepRecord) -> dict[str, Totals]:
    """Returns tokens and cost of one step by role."""
    roles: dict[str, Totals] = {}
    for call in record.calls:
        roles.setdefault(call.role, Totals()).add(call)
    return roles


def _in_order(roles: dict[str, Totals]) -> list[tuple[str, Totals]]:
    return sorted(roles.items(), key=lambda item: (*_ROLES, item[0]).index(item[0]))
