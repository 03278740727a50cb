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

from hisa.actions import Click, Hotkey, Press, Write, parse
from hisa.errors import HisaError, UsageError
from hisa.plugins.training.base import Policy
from hisa.plugins.training.episodes import Act, Draw, Episode, Sample
from hisa.plugins.training.machine_rollouts import no_sample
from hisa.plugins.training.pointer_features import features, instruction_words
from hisa.plugins.training.pointer_planner import ActReply
from hisa.plugins.training.screen_looks import LOOK, look_of
from hisa.runs.kept_elements import read_elements
from hisa.runs.read import ELEMENTS, Run, list_runs, load_run
from hisa.runs.step_records import StepRecord
from hisa.runs.turns import Turn, turns
from hisa.screen.geometry import Point, Size, convert
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
        self._episodes: dict[Draw, Episode] = {}
        members: Counter[Draw] = Counter()
        for episode in (episode for folder in folders for episode in self._read(folder)):
            draw = episode.draw
            member = replace(draw, group=f"{draw.task}#{draw.seed}", member=members[draw])
            self._episodes[member] = replace(episode, draw=member)
            members[draw] += 1
        if not self._episodes:
            reasons = "; ".join(f"{reason}: {n}" for reason, n in self.left_out.most_common(3))
            why = f"no episode in {', '.join(map(str, folders))}: {reasons or 'no run'}"
            raise UsageError(why, fix="hisa bench run SUITE --group N")

    @property
    def tasks(self) -> tuple[str, ...]:
        """See `Rollouts`."""
        return tuple(dict.fromkeys(draw.task for draw in self._episodes))

    @property
    def draws(self) -> tuple[Draw, ...]:
        """Everything that can be played."""
        return tuple(self._episodes)

    def play(
        self, draws: Sequence[Draw], policy: Policy | None = None, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """See `Rollouts`: the recorded episodes of these draws, in the order of their files."""
        if unknown := [draw for draw in draws if draw not in self._episodes]:
            why = f"{unknown[0]} is not recorded; there are {', '.join(map(str, self.draws[:5]))}"
            raise UsageError(why, fix="hisa bench run SUITE --group N")
        wanted = set(draws)
        return (episode for draw, episode in self._episodes.items() if draw in wanted)

    def close(self) -> None:
        """See `Rollouts`: nothing is open."""

    def _read(self, folder: Path) -> Iterator[Episode]:
        reader, folders = _of_run, [folder]
        if (folder / "triples.jsonl").is_file():
            reader, folders = _of_proof, sorted((folder / "tasks").glob("*/"))
        elif (collected := folder / "runs.jsonl").is_file():  # of hisa data collect
            lines = collected.read_text("utf-8").splitlines()
            folders = [Path(json.loads(line)["folder"]) for line in lines]
        elif not (folder / "run.json").is_file():
            bench = (folder / "bench.json").is_file()
            folders = list_runs(folder / "runs" if bench else folder)[::-1]
        for place in folders:
            try:
                yield reader(place)
            except _Unusable as error:
                self.left_out[str(error)] += 1
            except (HisaError, ValueError, OSError, LookupError, TypeError, ArithmeticError):
                self.left_out["it is damaged"] += 1


class _Unusable(Exception):
    """The reason why a record is no episode."""


def _of_run(folder: Path) -> Episode:
    run = load_run(folder)
    if not run.ended or run.status == "stopped":
        raise _Unusable("its run did not come to an end")
    failure = no_sample(run.status, run.last_step, run.score, run.message or run.scoring.detail)
    of_pointer = run.manifest.models.get("planner", "").startswith("pointer:")
    asked = [turn for turn in turns(run) if of_pointer and turn.role == "planner" and turn.reply]
    if failure:
        samples = []
    elif of_pointer:
        samples = [_of_turn(turn) for turn in asked]
    else:
        samples = [_of_step(run, record) for record in run.steps]
    drawn = asked and run.manifest.settings["models"]["planner"]["temperature"] == 1
    whole = drawn and all(t.tokens and t.tokens.logprobs and not t.redacted for t in asked)
    return Episode(
        Draw(run.manifest.task.id, run.manifest.seed),
        tuple(samples),
        None if failure else run.score,
        run.success and not failure,
        truncated=run.status == "max_steps",
        seconds=run.totals.seconds,
        failure=failure,
        source="recorded",
        policy=run.manifest.models.get("planner", ""),
        cloning_only=not whole,
    )


def _of_turn(turn: Turn) -> Sample:
    (content, *_) = (m["content"] for m in turn.request["messages"] if m["role"] == "user")
    logprobs = (turn.tokens and turn.tokens.logprobs) or (0.0,)
    return Sample(
        LOOK.validate_json(content),
        ActReply.model_validate_json(turn.reply or "").as_act(),
        sum(logprobs),
        version=int(turn.policy or 0),
        well_formed=not turn.refused,
    )


def _of_step(run: Run, record: StepRecord) -> Sample:
    seen, words = record.before, run.manifest.task.instruction
    if len(record.acts) != 1 or seen is None or not seen.elements_sha256:
        raise _Unusable("a step is not one act on a look with elements")
    screen = _screen(run.folder, seen.elements_sha256, (seen.screen_width, seen.screen_height))
    acted = record.acts[0]
    if acted.ends == "succeeded":
        return Sample(look_of(screen, words)[0], Act("done"))
    if not acted.ok or acted.tool != "gui_action":
        raise _Unusable(f"a step is no act on an element: {acted.tool}")
    at, text = _pointed(str(acted.input))
    if at is not None:
        at = convert(at, "screen", screen=screen.screen, image=Size(seen.width, seen.height))
    return _sample(screen, words, at, text)


def _pointed(source: str) -> tuple[Point | None, str | None]:
    """The point that source clicks, None for where the keyboard is, and the text it types."""
    match list(parse(source)):
        case [Click(at=Point() as at, button="left", count=1)]:
            return at, None
        case [Click(at=Point() as at, button="left"), *between, Write(text)] if all(
            action in (Hotkey(("ctrl", "a")), Press("end")) for action in between
        ):
            return at, text
        case [Write(text)]:
            return None, text
    raise _Unusable("a step is no click and no typing")


def _screen(folder: Path, elements: str, size: Sequence[int]) -> Observation:
    """The look of kept elements, without its picture."""
    path = folder / ELEMENTS / Path(f"{elements}.json").name
    return Observation(_NO_PICTURE, Size(*size), elements=read_elements(path))


def _sample(screen: Observation, instruction: str, at: Point | None, text: str | None) -> Sample:
    """An act on the smallest element at a point of the screen, or on what has the keyboard."""
    (look, area), candidates = look_of(screen, instruction), []
    for index, item in enumerate(look.items):
        (left, top, width, height), holds = item.box, item.focused
        if at is not None:
            x, y = (at.x - area.left) / area.width, (at.y - area.top) / area.height
            holds = left <= x <= left + width and top <= y <= top + height
        candidates += [(width * height, index)] * holds
    if not candidates:
        raise _Unusable("a step acts where no element is listed")
    index, words = min(candidates)[1], instruction_words(instruction)
    act = Act("click", index)
    if text is not None:
        act = Act("type", index, words.index(text) if text in words else -1)
    if not features(look).allows(act):
        raise _Unusable("a step types no word of the instruction into a field")
    return Sample(look, act)


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
        screen = _screen(root, state["elements"], state.get("size", (1280, 720)))
        left, top, right, bottom = triple["box"]
        at = Point((left + right) / 2, (top + bottom) / 2, "screen")
        text = act["text"] if act["kind"] == "type" else None
        samples.append(_sample(screen, candidate["instruction"], at, text))
    return Episode(
        Draw(candidate["id"], 0),
        tuple(samples),
        1.0,
        solved=True,
        source="recorded",
        policy="synthesis",
        cloning_only=True,
    )


def _way(acts: Sequence[Any], triples: Sequence[Any]) -> tuple[Any, ...]:
    """Explored steps that are these acts, each from the state that the one before led to."""
    ways: dict[str, tuple[Any, ...]] = {triple["after"]: () for triple in triples}
    for act in reversed(acts):
        fits = [t for t in triples if {**t["act"], "window": ""} == {**act, "window": ""}]
        ways = {t["before"]: (t, *ways[t["after"]]) for t in fits if t["after"] in ways}
    if not ways:
        raise _Unusable("the looks of its acts are not recorded")
    return next(iter(ways.values()))


def _json(path: Path) -> list[Any]:
    """The values of a file: one, or one a line."""
    if path.stat().st_size > _MOST_BYTES:
        raise _Unusable("a file of it is too large")
    text = path.read_text("utf-8")
    return [json.loads(part) for part in (text.splitlines() if path.suffix == ".jsonl" else [text])]
