"""Recorded model calls as samples of a language model: token ids of the prompt and of the reply.

Nothing is rendered here. Token ids are those of the log if it has them, else those of the
tokenizer with its own chat template; the reply is tokenized apart from the prompt, as a model
writes it. A turn that cannot be used is counted by the reason.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command
from hisa.plugins.training.base import ReplySample
from hisa.protocols import TurnTokens
from hisa.runs.export import select_turns
from hisa.runs.run_reader import load_run
from hisa.runs.turns import Turn

__all__ = [
    "CloningTurns",
    "TurnEncoder",
    "UnfitTurn",
    "cloning_turns",
    "is_malformed",
    "read_turns",
]

_LINE = 16 << 20
"""Most bytes of a line of exported turns; a turn of 8,000 tokens has about 40 KB."""
_IMAGE = "<image>\n"


class UnfitTurn(ValueError):
    """A turn that cannot be trained on; the message is the reason, the same for turns alike."""


class TurnEncoder:
    """Makes samples of turns with the tokenizer of the model that is trained.

    Raises:
        UsageError: the tokenizer has no chat template, or one that ends no reply.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self.ends = _find_ends(tokenizer)

    def clone(self, turn: Turn) -> ReplySample:
        """Returns a sample for cloning: a reply of any model, with the token that ends it.

        Raises:
            UnfitTurn: there is no whole reply, or the turn has pictures.
        """
        prompt, tokens = self._prompt(turn), turn.tokens or TurnTokens()
        if is_malformed(turn):
            raise UnfitTurn("its reply was refused, or is empty")
        if turn.finish == "length":
            raise UnfitTurn("its reply was cut off by the limit of tokens")
        reply = tokens.reply_ids or ()
        if not reply or self._text(reply) != turn.reply:
            reply = tuple(self._tokenizer(turn.reply, add_special_tokens=False).input_ids)
        if reply[-1] not in self.ends:
            reply = (*reply, self.ends[0])
        return ReplySample(prompt, reply)

    def sample(self, turn: Turn, version: int = 0) -> ReplySample:
        """Returns a sample for reinforcement learning: the server's own tokens and log-probs.

        Raises:
            UnfitTurn: some are missing, or the prompt is not the one that the server read.
        """
        prompt, tokens, usage = self._prompt(turn), turn.tokens or TurnTokens(), turn.usage
        if not tokens.reply_ids or not tokens.logprobs:
            raise UnfitTurn("the server sent no token ids and log-probs: models.ROLE.tokens")
        if usage is not None and usage.tokens_out != len(tokens.reply_ids):
            # llama.cpp leaves out tokens that end inside a character, and in a stream the last one.
            raise UnfitTurn("the server sent the log-probs of only some tokens of its reply")
        if usage is not None and usage.tokens_in != len(prompt):
            raise UnfitTurn("the server read a prompt of another length: another chat template")
        return ReplySample(
            prompt, tokens.reply_ids, tokens.logprobs, version, not is_malformed(turn)
        )

    def _prompt(self, turn: Turn) -> tuple[int, ...]:
        """Returns the ids of a turn's prompt: the log's, else the chat template's."""
        messages = turn.request.get("messages")
        if turn.api not in ("chat", "") or not isinstance(messages, list) or not messages:
            raise UnfitTurn("it is not a chat completion")
        if turn.pictures:
            raise UnfitTurn("it has pictures, and the model takes none: planner.sees=elements")
        if turn.redacted or turn.cut or turn.reply is None or turn.machine_failed:
            raise UnfitTurn("its reply is missing, redacted or cut in the log")
        recorded = (turn.tokens or TurnTokens()).prompt_ids
        if recorded and str(messages[-1]["content"]).strip() in self._text(recorded):
            return recorded
        options = turn.request.get("chat_template_kwargs") or {}
        try:
            ids = self._tokenizer.apply_chat_template(
                messages, add_generation_prompt=True, return_dict=False, **options
            )
        except Exception as error:
            raise UnfitTurn("the model's chat template refuses its messages") from error
        return tuple(ids)

    def _text(self, ids: Sequence[int]) -> str:
        """Returns the text of ids; empty if they are not of this tokenizer."""
        if max(ids) >= len(self._tokenizer):
            return ""
        text = self._tokenizer.decode(
            ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return str(text)


def is_malformed(turn: Turn) -> bool:
    """Whether the reply of an answered turn could not be used: refused, or empty."""
    return bool(turn.refused) or not (turn.reply or "").strip()


def _find_ends(tokenizer: Any) -> tuple[int, ...]:
    """Returns the tokens that end a reply; the first is the one in the chat template."""
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    try:
        ids = tokenizer.apply_chat_template(messages, return_dict=False)
    except Exception as error:
        raise UsageError(
            f"the model has no chat template that can be used: {str(error)[:200]}",
            fix="--model of an instructed model: a base model has no chat template",
        ) from error
    special = [token for token in ids[-3:] if token in set(tokenizer.all_special_ids)]
    if not special:
        raise UsageError(
            "the model's chat template puts no special token after a reply, so no model could "
            f"learn to end one: it ends with {tokenizer.decode(ids[-3:])!r}",
            fix="--model of an instructed model",
        )
    return tuple(dict.fromkeys([special[-1], tokenizer.eos_token_id]))


def read_turns(
    places: Iterable[Path], *, solved: bool, roles: Sequence[str], objectives: Sequence[str] = ()
) -> Iterator[Turn]:
    """Yields the turns of runs, exports and data sets.

    Args:
        places: folders of runs at any depth, JSON lines of ``hisa runs export``, and folders or
            files of ``hisa data export``.
        solved: whether to leave out turns of runs with a score below 1 or without one.
        roles: of the turns.
        objectives: of the rows of data sets; empty: all. Other places have none.

    Raises:
        UsageError: there is nothing of this kind in a place.
    """
    for place in places:
        count = 0
        for turn in _turns_in(place, objectives):
            count += 1
            if turn.role in roles and not (solved and turn.score != 1):
                yield turn
        if not count:
            raise UsageError(
                f"{place}: no model call in it", fix="name a folder of runs: hisa runs ls"
            )


def _turns_in(place: Path, objectives: Sequence[str]) -> Iterator[Turn]:
    if place.is_dir() and (rows := place / "train.parquet").is_file():
        place = rows
    if place.suffix == ".parquet":
        yield from _rows(place, objectives)
    elif objectives:
        reason = "only rows of a data set have objectives"
        raise UsageError(f"{place}: {reason}", fix="hisa data export")
    elif place.is_dir():
        folders = sorted(path.parent for path in place.rglob("events.jsonl"))
        yield from select_turns(map(load_run, folders))
    elif place.is_file():
        with place.open("rb") as file:
            for number, line in enumerate(iter(lambda: file.readline(_LINE), b""), 1):
                try:
                    yield Turn.model_validate_json(line)
                except ValidationError as error:
                    raise UsageError(
                        f"{place}: line {number} is no model call: {error.errors()[0]['msg']}",
                        fix="hisa runs export RUN --format jsonl -o FILE",
                    ) from error
    else:
        raise UsageError(f"{place}: no such file or folder", fix="hisa runs ls")


def _rows(path: Path, objectives: Sequence[str]) -> Iterator[Turn]:
    """Yields the rows of ``hisa data export`` as turns of a planner, without their pictures."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        fix = install_command("data")
        raise LibraryLacking("reading parquet needs the package pyarrow", fix=fix) from error
    names = ["id", "run", "task", "model", "prompt", "completion", "score", "objective"]
    try:
        for batch in parquet.ParquetFile(path).iter_batches(256, columns=names):
            for row in batch.to_pylist():
                if objectives and row["objective"] not in objectives:
                    continue
                prompt = row["prompt"].replace(_IMAGE, "")
                yield Turn(
                    **{name: row[name] for name in ("id", "run", "task", "model", "score")},
                    step=0,
                    role="planner",
                    api="chat",
                    request={"messages": [{"role": "user", "content": prompt}]},
                    reply=row["completion"],
                    finish="stop",
                )
    except (ArrowException, OSError, KeyError, AttributeError, ValidationError) as error:
        reason = str(error).splitlines()[0][:200]
        raise UsageError(f"{path}: not rows of a data set: {reason}", fix="hisa data export") from (
            error
        )


class CloningTurns(NamedTuple):
    """Samples to train on and those of held-out runs; ``counts`` has the turns left out."""

    samples: list[ReplySample]
    held: list[ReplySample]
    counts: Counter[str]


def cloning_turns(
    turns: Iterable[Turn], encoder: TurnEncoder, *, most_tokens: int, hold_out: float, seed: int = 0
) -> CloningTurns:
    """Returns the turns as samples, those of some runs held out.

    Args:
        turns: in any order; refused replies are left out.
        encoder: makes the samples.
        most_tokens: of prompt and reply together; longer ones are left out, never cut.
        hold_out: share of the runs that are held out, 0 to 1; at least one of two or more.
        seed: of the choice.

    Raises:
        UsageError: no turn can be used.
    """
    runs, counts = dict[str, list[ReplySample]](), Counter[str]()
    for turn in turns:
        try:
            sample = encoder.clone(turn)
            if len(sample.prompt) + len(sample.reply) > most_tokens:
                raise UnfitTurn(f"it is longer than --most-tokens {most_tokens}")
            runs.setdefault(turn.run, []).append(sample)
        except UnfitTurn as error:
            counts[str(error)] += 1
    if not runs:
        reasons = "; ".join(f"{count}: {reason}" for reason, count in counts.most_common(3))
        raise UsageError(
            f"no turn can be cloned ({reasons or 'there is none'})", fix="hisa train lora --help"
        )
    names = sorted(runs)
    random.Random(f"held out {seed}").shuffle(names)
    few = max(1, round(hold_out * len(names))) if hold_out and len(names) > 1 else 0
    held = [sample for name in names[:few] for sample in runs[name]]
    return CloningTurns([s for name in sorted(names[few:]) for s in runs[name]], held, counts)
