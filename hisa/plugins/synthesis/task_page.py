"""The page of an exploration: tasks that were proved and how, what was refused, what acts changed.

It loads nothing and has no script; its texts come from screens, and are escaped.

Works with what there is: an exploration alone, candidates without proofs, some of both.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.records import Candidate, Change, Proof, Triple
from hisa.plugins.synthesis.task_files import act_in_words, main_triple
from hisa.runs.pictures import Picture, as_picture
from hisa.runs.templates import templates
from hisa.runs.wording import one_line

__all__ = ["candidates_shown", "write_tasks"]

_LARGEST = (800, 450)  # width and height of a picture on the page, in pixels
_MOST = 250  # acts on the page, those with a lasting effect first
Shown = tuple[Candidate, Proof | None]
_NOTE = """Proved: the check fails at the start, passes at the end, fails once that is undone, comes
out the same on a fresh desktop, fails for near misses and passes for another right way. Pictures
are from the exploration, where earlier acts may show; every proof began at a fresh start."""


class Shot(NamedTuple):
    """A picture by its name; ``size`` and ``box``, what an act hits, are in the same pixels."""

    label: str
    image: str
    size: tuple[int, int] = (1, 1)
    box: Sequence[float] | None = None


class Card(NamedTuple):
    """One thing that is shown; ``parts`` are lines by their headings."""

    title: str
    note: str = ""
    shots: Sequence[Shot] = ()
    parts: Mapping[str, Sequence[str]] = {}


def candidates_shown(exploration: Exploration) -> list[Shown]:
    """The candidates of an exploration, each with its last proof; the proved ones come first.

    Raises: UsageError where a file is damaged.
    """
    folder = exploration.folder
    proofs = {one.candidate: one for one in read_records(folder / "proofs.jsonl", Proof)}
    candidates = {one.id: one for one in read_records(folder / "candidates.jsonl", Candidate)}
    shown = [(candidate, proofs.get(key)) for key, candidate in candidates.items()]
    return sorted(shown, key=lambda one: (one[1] is None, one[1] and not one[1].proved))


def write_tasks(
    exploration: Exploration, known: Sequence[Shown], numbers: Mapping[str, Any]
) -> Path:
    """Write ``tasks.html``: those of `candidates_shown`, and the sums that ``prove`` prints.

    Raises: OSError where it cannot be written.
    """
    tried = [(candidate, proof) for candidate, proof in known if proof]
    effective = [one for one in exploration.triples if one.differences and not one.failed]
    effective.sort(key=lambda one: not one.differences.facts)
    sections = {
        "Tasks": [_task_card(exploration, *one) for one in tried if one[1].proved],
        "What acts changed": [_act_card(exploration, one) for one in effective[:_MOST]],
    }
    folded = {
        "refused": [_task_card(exploration, *one) for one in tried if not one[1].proved],
        "waiting for a proof": [Card(one.instruction) for one, proof in known if not proof],
    }
    mutants = numbers["mutants"]
    tiles = {
        "acts done": len(exploration.triples),
        "states": len(exploration.states),
        "candidates": numbers["candidates"],
        "proved: these are tasks": numbers["proved"],
        "refused": numbers["tried"] - numbers["proved"],
        f"near misses that the check told, of {mutants['of']}": mutants["killed"],
    }
    cards = [card for own in (*sections.values(), *folded.values()) for card in own]
    wanted = {shot.image for card in cards for shot in card.shots}
    files = {one.image: exploration.picture(one) for one in exploration.states.values()}
    read = ((name, _picture(file)) for name, file in files.items() if name in wanted)
    world = templates(Path(__file__).resolve().parent)
    world.filters |= {"line": one_line}
    text = world.get_template("task_page.html.j2").render(
        title=f"Tasks of {exploration.subject.title}",
        tiles=tiles,
        note=_NOTE,
        sections=sections,
        folded=folded,
        pictures={name: picture for name, picture in read if picture},
    )
    file = exploration.folder / "tasks.html"
    replace_file(file, text.encode("utf-8", "replace"))
    return file


def _task_card(exploration: Exploration, written: Candidate, proof: Proof) -> Card:
    candidate = proof.completed or written
    parts = {
        "Refused": [proof.reason] if proof.reason else [],
        "Check": [*map(_in_words, candidate.changes)] or [*map(json.dumps, candidate.check)],
        "Reference": [act_in_words(act) for act in candidate.acts],
        "Proof": [*_stages(proof)],
        "Near misses: the check must fail": [
            f"{'fails' if miss.killed else 'PASSES'}: {miss.kind}: {miss.detail}"
            for miss in proof.mutants
        ],
        "Other right ways: the check must pass for one": [
            f"{'passes' if way.passed else 'does not pass'}: {way.kind}: {way.detail}"
            for way in proof.other_ways
        ],
    }
    triple = main_triple(exploration, candidate)
    note = f"{candidate.id}, tried for {proof.seconds:.0f} s on {proof.desktops} desktops"
    return Card(candidate.instruction, note, _shots(exploration, triple) if triple else (), parts)


def _stages(proof: Proof) -> Iterator[str]:
    for stage in proof.stages:
        score = "no score" if stage.score is None else f"score {stage.score:g}"
        yield f"{stage.name}: {score}, {'as it must be' if stage.held else 'NOT as it must be'}"
        if stage.detail and not stage.held:
            yield stage.detail
    if proof.undone_by:
        yield f"undone by {proof.undone_by}"
    if proof.equivalent or proof.not_done:
        yield f"{proof.equivalent} more came to the right end, {proof.not_done} could not be done"


def _act_card(exploration: Exploration, triple: Triple) -> Card:
    lines = [_in_words(change) for change in triple.differences.facts[:6]]
    for change in triple.differences.elements[:4]:
        values = f"{change.before!r} → {change.after!r}"
        what = change.what if change.what in ("came", "went") else values
        lines.append(f"{change.role} “{change.name}”: {what}")
    note = f"triple {triple.number}{', saved afterwards' if triple.saved else ''}"
    return Card(act_in_words(triple.act), note, _shots(exploration, triple), {"Changed": lines})


def _in_words(change: Change) -> str:
    before, after = ("nothing" if v is None else v[-90:] for v in (change.before, change.after))
    return f"{' '.join(change.fact)}: {before} → {after}"


def _shots(exploration: Exploration, triple: Triple) -> list[Shot]:
    shots = []
    for label, key in (("before", triple.before), ("after", triple.after)):
        if state := exploration.states.get(key):
            box = triple.box if label == "before" else None
            shots.append(Shot(label, state.image, state.size, box))
    return shots


def _picture(path: Path) -> Picture | None:
    """A picture that is not too large; None where the file is none."""
    try:
        with Image.open(path, formats=("PNG",)) as file:
            image = file.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    image.thumbnail(_LARGEST, reducing_gap=2.0)
    return as_picture(image)
