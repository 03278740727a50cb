"""Rollouts that were made before: finished runs, benches, and tasks that synthesis proved.

A run of a pointer policy is read as it was asked and answered. Of any other, a step counts where
its act is a click on a listed element, a word of the instruction typed into one, or the end; an
episode with another step is left out, and counted.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from PIL import Image
from pydantic import ValidationError

from hisa.actions import Click, Hotkey, Press, Write, parse
from hisa.errors import ActionRefused, UsageError
from hisa.plugins.training.base import Policy
from hisa.plugins.training.episodes import Act, Draw, Episode, Sample
from hisa.plugins.training.instruction_words import instruction_words
from hisa.plugins.training.machine_rollouts import no_sample
from hisa.plugins.training.pointer_planner import ActReply
from hisa.plugins.training.screen_looks import area_of, look_of, read_look
from hisa.runs.kept_elements import read_elements
from hisa.runs.read import ELEMENTS, Run, list_runs, load_run
from hisa.runs.step_records import StepRecord
from hisa.runs.turns import Turn, turns
from hisa.screen.geometry import Point, Size
from hisa.screen.observation import Observation, Screenshot

__all__ = ["RecordedRollouts"]

_MOST_BYTES = 64 << 20
"""Of a file of records; an exploration of an hour writes one or two million."""
_NO_PICTURE = Screenshot(Image.new("RGB", (1, 1)))


class RecordedRollouts:
    """Recorded episodes; see `hisa.plugins.training.base.Rollouts`. No policy is asked.

    Runs of one task and seed are a group, its members numbered by age.

    Args:
        folders: run folders, folders of them, bench folders, and folders of proved tasks.

    Raises:
        UsageError: there is no episode in them.
    """

    def __init__(self, folders: Sequence[Path]) -> None:
        self.left_out: Counter[str] = Counter()
        """Episodes that could not be read, by the reason."""
        self._episodes: dict[tuple[str, int, int], Episode] = {}
        members: Counter[tuple[str, int]] = Counter()
        for episode in (episode for folder in folders for episode in self._read(folder)):
            place = (episode.draw.task, episode.draw.seed)
            draw = Draw(*place, group="#".join(map(str, place)), member=members[place])
            self._episodes[(*place, draw.member)] = replace(episode, draw=draw)
            members[place] += 1
        if not self._episodes:
            reasons = "; ".join(f"{reason}: {n}" for reason, n in self.left_out.most_common(3))
            names = ", ".join(map(str, folders))
            raise UsageError(
                f"no episode in {names}: {reasons or 'they hold no run'}", fix="hisa bench run"
            )

    @property
    def tasks(self) -> tuple[str, ...]:
        """See `Rollouts`."""
        return tuple(dict.fromkeys(task for task, _, _ in self._episodes))

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Everything that can be played."""
        return tuple(episode.draw for episode in self._episodes.values())

    def play(
        self, draws: Sequence[Draw], policy: Policy | None = None, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """See `Rollouts`: the recorded episodes of these draws, in the order of their files."""
        wanted: dict[tuple[str, int, int], list[Draw]] = {}
        for draw in draws:
            key = (draw.task, draw.seed, draw.member)
            if key not in self._episodes:
                raise UsageError(
                    f"{draw} is not recorded; {len(self._episodes)} episodes are, of the tasks "
                    f"{', '.join(self.tasks[:10])}",
                    fix="hisa bench run SUITE --group N",
                )
            wanted.setdefault(key, []).append(draw)
        recorded = self._episodes.items()
        return (replace(one, draw=draw) for key, one in recorded for draw in wanted.get(key, ()))

    def close(self) -> None:
        """See `Rollouts`: nothing is open."""

    def _read(self, folder: Path) -> Iterator[Episode]:
        reader, folders = _of_run, [folder]
        if (folder / "triples.jsonl").is_file():
            reader, folders = _of_proof, sorted((folder / "tasks").glob("*/"))
        elif not (folder / "run.json").is_file():
            bench = (folder / "bench.json").is_file()
            folders = list_runs(folder / "runs" if bench else folder)[::-1]
        for place in folders:
            try:
                yield reader(place)
            except _Unusable as error:
                self.left_out[str(error)] += 1
            except (UsageError, ValueError, OSError, LookupError, TypeError, AttributeError):
                self.left_out["it is damaged"] += 1


class _Unusable(Exception):
    """Why a record is no episode."""


def _of_run(folder: Path) -> Episode:
    run = load_run(folder)
    if not run.ended or run.status == "stopped":
        raise _Unusable("its run did not come to an end")
    failure = no_sample(run.status, run.last_step, run.score, run.message or run.scoring.detail)
    asked = [] if failure else [turn for turn in turns(run) if _is_pointers(turn)]
    samples = [_of_turn(turn) for turn in asked]
    if not (asked or failure):
        samples = [_of_step(run, record) for record in run.steps]
    drawn = asked and run.manifest.settings["models"]["planner"]["temperature"] == 1
    whole = drawn and all(turn.tokens and turn.tokens.logprobs for turn in asked)
    return Episode(
        Draw(run.manifest.task.id, run.manifest.seed), tuple(samples),
        None if failure else run.score, run.success and not failure,
        truncated=run.status == "max_steps", seconds=run.totals.seconds, failure=failure,
        source="recorded", policy=run.manifest.models.get("planner", ""), cloning_only=not whole,
    )  # fmt: skip


def _is_pointers(turn: Turn) -> bool:
    return turn.role == "planner" and turn.model.startswith("pointer:") and turn.reply is not None


def _of_turn(turn: Turn) -> Sample:
    (content, *_) = (m["content"] for m in turn.request["messages"] if m["role"] == "user")
    logprobs = (turn.tokens and turn.tokens.logprobs) or (0.0,)
    version = int(turn.policy) if turn.policy.isdecimal() else 0
    try:
        reply = ActReply.model_validate_json(turn.reply or "")
    except ValidationError:
        raise _Unusable("a reply is no act") from None
    return Sample(
        read_look(content), Act(reply.act, reply.item, reply.word), sum(logprobs),
        version=version, well_formed=not turn.refused,
    )  # fmt: skip


def _of_step(run: Run, record: StepRecord) -> Sample:
    seen = record.before
    if len(record.acts) != 1 or seen is None or not seen.elements_sha256:
        raise _Unusable("a step is not one act on a look with elements")
    (acted,), size = record.acts, Size(seen.screen_width, seen.screen_height)
    path = run.folder / ELEMENTS / f"{seen.elements_sha256}.json"
    at, text = None, None
    if acted.ends != "succeeded":
        if not acted.ok or acted.tool != "gui_action":
            raise _Unusable(f"a step is no act on an element: {acted.tool}")
        at, text = _pointed(str(acted.input))
        at = at and Point(
            at.x * size.width / seen.width, at.y * size.height / seen.height, "screen"
        )
    end = acted.ends == "succeeded"
    return _sample(path, size, run.manifest.task.instruction, at, text, end=end)


def _pointed(source: str) -> tuple[Point | None, str | None]:
    """The point that source clicks, None for where the keyboard is, and the text it types."""
    try:
        actions = list(parse(source))
    except ActionRefused:
        raise _Unusable("a step's act cannot be read") from None
    match actions:
        case [Click(at=Point() as at, button="left", count=1)]:
            return at, None
        case [Click(at=Point() as at, button="left"), *between, Write(text)] if all(
            action in (Hotkey(("ctrl", "a")), Press("end")) for action in between
        ):
            return at, text
        case [Write(text)]:
            return None, text
    raise _Unusable("a step is no click and no typing")


def _sample(
    path: Path, size: Size, instruction: str, at: Point | None, text: str | None, *, end: bool
) -> Sample:
    """A step on kept elements: on the smallest at a point of the screen, or on the focused one."""
    screen = Observation(_NO_PICTURE, size, elements=read_elements(path))
    look, area, candidates = look_of(screen, instruction), area_of(screen, instruction), []
    for index, item in enumerate(look.items):
        (left, top, width, height), holds = item.box, item.focused
        if at is not None:
            x, y = (at.x - area.left) / area.width, (at.y - area.top) / area.height
            holds = left <= x <= left + width and top <= y <= top + height
        candidates += [(width * height, index)] * holds
    if end:
        return Sample(look, Act("done"))
    if not candidates:
        raise _Unusable("a step acts where no element is listed")
    index, words = min(candidates)[1], instruction_words(instruction)
    if text is None:
        return Sample(look, Act("click", index))
    if text not in words or not look.items[index].takes_text:
        raise _Unusable("a step types what is no word of the instruction, or into no field")
    return Sample(look, Act("type", index, words.index(text)))


def _of_proof(folder: Path) -> Episode:
    """A proved task's reference on the looks of its exploration; its proof scored it 1."""
    root = folder.parent.parent
    (origin,), (reference,) = (_json(folder / f"{n}.json") for n in ("provenance", "reference"))
    if origin["proof"]["proved"] is not True:
        raise _Unusable("no proof stands behind its task")
    candidate, samples = origin["candidate"], []
    states = {state["id"]: state for state in _json(root / "states.jsonl")}
    acts = [step["act"] for step in reference["acts"]]
    for triple in _way(acts, _json(root / "triples.jsonl")):
        act, state = triple["act"], states[triple["before"]]
        if act["kind"] not in ("click", "type") or "keys" in act or not triple["box"]:
            raise _Unusable(f"a step is no click and no typing: {act['kind']}")
        path = root / ELEMENTS / Path(f"{state['elements']}.json").name
        size = Size(*state.get("size", (1280, 720)))
        left, top, right, bottom = triple["box"]
        at = Point((left + right) / 2, (top + bottom) / 2, "screen")
        text = act["text"] if act["kind"] == "type" else None
        samples.append(_sample(path, size, candidate["instruction"], at, text, end=False))
    return Episode(
        Draw(candidate["id"], 0), tuple(samples), 1.0, solved=True, source="recorded",
        policy="synthesis", cloning_only=True,
    )  # fmt: skip


def _way(acts: Sequence[Any], triples: Sequence[Any]) -> tuple[Any, ...]:
    """Explored steps that are these acts, each from the state that the one before led to."""
    ways: dict[str, tuple[Any, ...]] = {}
    for number, act in enumerate(reversed(acts)):
        longer = {}
        for triple in triples:
            fits = {**triple["act"], "window": ""} == {**act, "window": ""}
            if fits and (not number or triple["after"] in ways):
                longer[triple["before"]] = (triple, *(ways[triple["after"]] if number else ()))
        ways = longer
    if not ways:
        raise _Unusable("the looks of its acts are not recorded")
    return next(iter(ways.values()))


def _json(path: Path) -> list[Any]:
    """The values of a file: one, or one a line."""
    if path.stat().st_size > _MOST_BYTES:
        raise _Unusable("a file of it is too large")
    text = path.read_text("utf-8")
    return [json.loads(part) for part in (text.splitlines() if path.suffix == ".jsonl" else [text])]
