"""Measures the accuracy of a model that predicts the steps of a set (OS-Genesis, A)."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Literal, NamedTuple

from hisa.actions import Action, Click, Scroll
from hisa.config import Settings
from hisa.errors import UsageError
from hisa.machine.storage import AppendOnlyFile
from hisa.models.spending import Ledger
from hisa.plugins.synthesis.data.sample_set import SampleSet
from hisa.plugins.synthesis.data.samples import Row, Sample, Target, rows
from hisa.plugins.synthesis.exploration import append_record, read_records
from hisa.plugins.synthesis.model_instructions import Writer, open_writer
from hisa.plugins.synthesis.records import Record
from hisa.protocols import ImagePart, Message, ModelRequest, TextPart
from hisa.screen.observation import Screenshot
from hisa.text.prompts import render

__all__ = ["Share", "accuracy", "compare", "predict"]


_NEAR = 0.14  # of the picture's width, as AndroidControl measures points (OS-Genesis, A)
_EQUAL = ("text", "key", "keys", "presses", "button")  # fields of actions
_EMBEDDED = 5_000  # texts, the first ones: some 100 s on one processor


class Share(NamedTuple):
    """A share: ``right`` of ``of``; as text, with its 95% Wilson interval."""

    right: int
    of: int

    def __str__(self) -> str:
        from scipy.stats import binomtest

        if not self.of:
            return "0 of 0"
        low, high = binomtest(self.right, self.of).proportion_ci(method="wilson")
        return f"{self.right} of {self.of} ({self.right / self.of:.1%}; {low:.1%} to {high:.1%})"


def accuracy(samples: Sequence[Sample], predictions: Mapping[str, str]) -> dict[str, Share]:
    """Returns the shares with the right type, and entirely right; missing predictions are wrong."""
    verdicts = [compare(predictions.get(sample.id, ""), sample) for sample in samples]
    right, total = verdicts.count("right"), len(verdicts)
    return {"type": Share(right + verdicts.count("type"), total), "right": Share(right, total)}


def compare(predicted: str, sample: Sample) -> Literal["right", "type", "wrong"]:
    """Compares a predicted action, in pixels of the picture, with a sample's.

    "right": the types are the same in the same order; text, keys, button and direction are equal;
    each point is in the box of the element hit (without a box, within 14% of the picture's width).
    "type": only the types are right.
    """
    predicted = predicted.rpartition("Action:")[2].strip().removeprefix("```python").strip("`\n ")
    if sample.tool != "gui_action":
        if predicted.partition("(")[0].strip() != sample.tool:
            return "wrong"
        ends = sample.tool in ("termination", "infeasible")  # the closing words may differ
        return "right" if ends or predicted == sample.action else "type"
    other = sample.model_copy(update={"action": predicted})
    actions, expected = [*map(_parts, other.actions)], [*map(_parts, sample.actions)]
    if not actions or [kind for kind, _ in actions] != [kind for kind, _ in expected]:
        return "wrong"
    points, targets = other.points, sample.targets
    places = len(points) == len(targets) and all(map(partial(_hits, sample), points, targets))
    return "right" if places and actions == expected else "type"


def _parts(action: Action) -> tuple[object, object]:
    """Returns the type of an action, and what else must be equal, except its places."""
    match action:
        case Click():
            return (action.kind, action.button, action.count), ()
        case Scroll():
            return (action.kind, bool(action.dy)), (action.dy > 0, action.dx > 0)
    return action.kind, [getattr(action, name, None) for name in _EQUAL]


def _hits(sample: Sample, point: tuple[float, float], target: Target) -> bool:
    if target.element:
        return target.element.holds(point)
    return math.dist(point, target.point) <= _NEAR * sample.size[0]


_TOKENS = 512  # of a reply; chosen by hand: a small model that repeats itself would take minutes


class _Prediction(Record):
    id: str
    action: str
    asked: str  # hash of the model's name and the request


async def predict(
    sample_set: SampleSet,
    chosen: Sequence[Sample],
    settings: Settings,
    path: Path,
    say: Callable[[str], object],
) -> dict[str, str]:
    """Asks the settings' planner model to predict steps.

    Each reply is stored at once, and steps that are in the file are not asked for again.

    Args:
        sample_set: the whole set; earlier steps are part of a step's prompt.
        chosen: the samples of the set to predict.
        settings: of the model and its budget.
        path: file of the replies, one JSON line each.
        say: gets a line of progress after each reply.

    Returns:
        The replies by the ids of samples.

    Raises:
        UsageError: the file has replies of another model, or to another set.
        BudgetExceeded, ConfigError, ModelUnavailable: from the model.
    """
    prompts = {row.sample: row for row in rows(sample_set.samples, ["planning"])}
    async with open_writer(settings, path.parent, Ledger()) as writer:
        system = render("step_prediction", pictures=writer.sees)
        hashes = {name: _hash(writer, system, row) for name, row in prompts.items()}
        predictions = {prediction.id: prediction for prediction in read_records(path, _Prediction)}
        if other := [
            name for name, prediction in predictions.items() if hashes.get(name) != prediction.asked
        ]:
            message = f"{path}: its reply for {other[0]!r} is of another model or set"
            raise UsageError(message, fix="delete the file")
        left = [sample.id for sample in chosen if sample.id not in predictions]
        with closing(AppendOnlyFile(path)) as file:
            for number, name in enumerate(left, 1):
                request = _request(sample_set, writer, system, prompts[name])
                text = (await writer.model.complete(request)).text[-20_000:]
                predictions[name] = _Prediction(id=name, action=text, asked=hashes[name])
                append_record(file, predictions[name])
                say(f"{number}/{len(left)} predicted by {writer.model.name}")
    return {sample.id: predictions[sample.id].action for sample in chosen}


def _hash(writer: Writer, system: str, row: Row) -> str:
    parts = [writer.model.name, system, row.prompt, row.images if writer.sees else ()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _request(sample_set: SampleSet, writer: Writer, system: str, row: Row) -> ModelRequest:
    """Returns a row as a request, with pictures at their marks if the model takes pictures."""
    parts: list[TextPart | ImagePart] = []
    for text, name in zip_longest(row.prompt.split("<image>"), row.images):
        parts += [TextPart(text)] if text.strip() else []
        if name and writer.sees:
            parts.append(ImagePart(Screenshot.from_png(sample_set.image_bytes(name))))
    messages = (Message("system", (TextPart(system),)), Message("user", tuple(parts)))
    return ModelRequest(writer.role, messages, max_tokens=_TOKENS, may_be_empty=True)
