"""Predicted steps: a model is asked for the next step of each sample, as its row puts it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import zip_longest
from pathlib import Path

from hisa.config import Settings
from hisa.errors import UsageError
from hisa.machine.storage import AppendOnlyFile
from hisa.models.spending import Ledger
from hisa.plugins.synthesis.data.sample_set import SampleSet
from hisa.plugins.synthesis.data.samples import Row, Sample, rows
from hisa.plugins.synthesis.exploration import append_record, read_records
from hisa.plugins.synthesis.model_instructions import Writer, open_writer
from hisa.plugins.synthesis.records import Record
from hisa.protocols import ImagePart, Message, ModelRequest, TextPart
from hisa.screen.observation import Screenshot
from hisa.text.prompts import render

__all__ = ["predict"]

_TOKENS = 512  # of a reply; chosen by hand: a small model that repeats itself else takes minutes


class _Prediction(Record):
    id: str
    action: str
    asked: str  # hash of the model's name and the request


async def predict(
    made: SampleSet,
    chosen: Sequence[Sample],
    settings: Settings,
    path: Path,
    say: Callable[[str], object],
) -> dict[str, str]:
    """Ask the settings' model for the steps chosen of a set; its replies by sample.

    Each is written as it comes, and what is in the file is not asked for again.

    Raises:
        UsageError: the file has answers to other questions.
        BudgetExceeded, ConfigError, ModelUnavailable: from the model.
    """
    prompts = {row.sample: row for row in rows(made.samples, ["planning"])}
    async with open_writer(settings, path.parent, Ledger()) as writer:
        system = render("step_prediction", pictures=writer.sees)
        asked = {name: _hash(writer, system, row) for name, row in prompts.items()}
        done = {one.id: one for one in read_records(path, _Prediction)}
        if other := [name for name, one in done.items() if asked.get(name) != one.asked]:
            message = f"{path}: {other[0]!r} was asked of another model or set"
            raise UsageError(message, fix="delete it")
        left = [sample.id for sample in chosen if sample.id not in done]
        with closing(AppendOnlyFile(path)) as file:
            for number, name in enumerate(left, 1):
                request = _request(made, writer, system, prompts[name])
                text = (await writer.model.complete(request)).text[-20_000:]
                done[name] = _Prediction(id=name, action=text, asked=asked[name])
                append_record(file, done[name])
                say(f"{number}/{len(left)} predicted by {writer.model.name}")
    return {sample.id: done[sample.id].action for sample in chosen}


def _hash(writer: Writer, system: str, row: Row) -> str:
    parts = [writer.model.name, system, row.prompt, row.images if writer.sees else ()]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _request(made: SampleSet, writer: Writer, system: str, row: Row) -> ModelRequest:
    """A row as a request, pictures at their marks where the model sees."""
    parts: list[TextPart | ImagePart] = []
    for text, name in zip_longest(row.prompt.split("<image>"), row.images):
        parts += [TextPart(text)] if text.strip() else []
        if name and writer.sees:
            parts.append(ImagePart(Screenshot.from_png(made.image_bytes(name))))
    messages = (Message("system", (TextPart(system),)), Message("user", tuple(parts)))
    return ModelRequest(writer.role, messages, max_tokens=_TOKENS, may_be_empty=True)
