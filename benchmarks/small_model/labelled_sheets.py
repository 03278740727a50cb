"""Sheets for a reader's labels: what agents did and wrote, in an order drawn by a seed.

``NAME.jsonl`` has an entry for each number, ``NAME.csv`` takes the reader's label for it, and
``NAME-key.json`` says what the number stands for; it is not for the reader. Two sheets are made.
*failures*: why an episode failed, without the name of its arm, though the wording of a prompt can
still give it away. *lines*: whether what a model wrote for HiSA's memory is so: step lines,
summaries, lessons, a judge's choices and places picked from a list.
"""

from __future__ import annotations

import csv
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.small_model.episodes import Episode, lines_of
from hisa.plugins.benchmarks.bench.stats import wilson

__all__ = ["CAUSES", "failures", "label_tables", "lines"]

CAUSES = ("model", "prompt", "tool", "grounding", "environment")
"""model: it was shown what it needed and decided wrongly; prompt: it was not shown it, or was told
otherwise; tool: a right decision was refused or done wrongly; grounding: a right thing, the wrong
place; environment: page, browser or server. All but the first are ours."""
TRUTH = ("true", "false", "cannot tell")
_ALLOWED = {"failures": CAUSES, "lines": TRUTH}
_SHOWN = 12_000
"""Characters of a prompt on a sheet, from its end: all of it but for long histories."""
_WRITTEN = {
    "abstracted": ("line",), "refined": ("text",), "induced": ("lesson",),
    "judged": ("index", "explaining"), "grounding_tried": ("description", "label", "verdict"),
}  # fmt: skip
"""Events that hold what a model wrote or picked, with the fields that say it."""


def failures(episodes: Sequence[Episode], folder: Path) -> str:
    """Write the sheet of failures of the working pages; returns what is next."""
    failed = [episode for episode in episodes if episode.pages == "working" and not episode.success]
    return _write("failures", folder, ((_failure(each, folder), each.arm) for each in failed))


def _failure(episode: Episode, folder: Path) -> dict[str, Any]:
    """An episode without the name of its arm."""
    events: list[dict[str, Any]] = []
    for line in lines_of(folder / "traces" / f"{episode.slot.name}.jsonl"):
        if line["kind"] == "request":
            events.append({"shown": line["shown"][-_SHOWN:], "answered": line["reply"]})
        elif line["kind"] == "step":
            events.append({"did": line["action"], "happened": line["happened"]})
    about = {"page": episode.page, "task": episode.goal, "events": events}
    return {**about, "ended": episode.ended, "error": episode.error}


def lines(episodes: Sequence[Episode], folder: Path) -> str:
    """Write the sheet of what the model wrote in HiSA's runs; returns what is next."""
    entries = []
    for episode in episodes:
        for log in sorted((folder / "traces" / episode.slot.name).glob("*/events.jsonl")):
            entries += [(entry, entry["kind"]) for entry in _written(log, episode)]
    return _write("lines", folder, entries)


def _written(log: Path, episode: Episode) -> Iterator[dict[str, Any]]:
    """What a model wrote in a run, each with the call before it and what the model was shown."""
    shown, call, acted = "", "", ""
    for event in lines_of(log):
        match event["type"]:
            case "model_asked":
                shown = json.dumps(event["messages"], ensure_ascii=False)[-_SHOWN:]
            case "planned":
                call = f"{event['tool']} {event['input']} {event.get('description', '')}"
            case "acted":
                acted = event.get("error") or event.get("output", "")
            case kind if kind in _WRITTEN and _by_model(event):
                yield {
                    "kind": kind,
                    "task": episode.goal,
                    "call": call,
                    "acted": acted,
                    "shown": shown,
                    "written": {name: event.get(name) for name in _WRITTEN[kind]},
                }
            case _:
                pass


def _by_model(event: Mapping[str, Any]) -> bool:
    if event["type"] == "abstracted":
        return bool(event.get("asked_model"))
    return event["type"] != "grounding_tried" or event.get("verdict") in ("chosen", "none")


def _write(name: str, folder: Path, entries: Iterable[tuple[dict[str, Any], str]]) -> str:
    """Write a sheet, its key and the file for its labels; returns what to do with them."""
    labels = folder / f"{name}.csv"
    if labels.exists():  # its numbers are those of the sheet that is there
        return f"{labels} is there already; move it away for a new sheet"
    drawn = list(entries)
    random.Random(7).shuffle(drawn)
    with (folder / f"{name}.jsonl").open("w", encoding="utf-8") as file:
        for number, (entry, _) in enumerate(drawn, 1):
            file.write(json.dumps({"number": number, **entry}, ensure_ascii=False) + "\n")
    key = {number: group for number, (_, group) in enumerate(drawn, 1)}
    (folder / f"{name}-key.json").write_text(json.dumps(key), "utf-8")
    with labels.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("number", "label", "by", "note"))
        writer.writerows((number, "", "", "") for number in key)
    return f"{len(drawn)} {name}; write {', '.join(_ALLOWED[name])} into {labels}"


def label_tables(episodes: Sequence[Episode], folder: Path) -> str:
    """Returns the tables of causes by arm and of false lines by kind, as far as labels are there.

    Raises:
        SystemExit: a label that is not allowed.
    """
    parts = []
    if causes := _labels("failures", folder):
        parts += [f"| arm | episodes | {' | '.join(CAUSES)} | not labelled | ours |"]
        parts.append("|---" * (len(CAUSES) + 4) + "|")
        total = Counter(episode.arm for episode in episodes if episode.pages == "working")
        for arm, counts in sorted(causes.items()):
            cells = [str(counts[cause]) for cause in (*CAUSES, "")]
            ours = sum(counts[cause] for cause in CAUSES[1:]) / total[arm]
            parts.append(f"| {arm} | {total[arm]} | {' | '.join(cells)} | {ours:.0%} |")
    if truths := _labels("lines", folder):
        parts += [
            "",
            "| written | labelled | false (Wilson, 95%) | cannot tell |",
            "|---|---|---|---|",
        ]
        for kind, counts in sorted(truths.items()):
            judged = counts["true"] + counts["false"]
            low, high = wilson(counts["false"], judged)
            parts.append(
                f"| {kind} | {judged} of {counts.total()} | {counts['false']} "
                f"({low:.0%} to {high:.0%}) | {counts['cannot tell']} |"
            )
    return "\n".join(parts) or f"no sheet in {folder} yet"


def _labels(name: str, folder: Path) -> dict[str, Counter[str]]:
    """Labels counted by what their numbers stand for."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    file = folder / f"{name}.csv"
    if not file.exists():
        return counts
    key = json.loads((folder / f"{name}-key.json").read_text("utf-8"))
    for row in csv.DictReader(file.read_text("utf-8").splitlines()):
        label = row["label"].strip()
        if label not in ("", *_ALLOWED[name]):
            allowed = ", ".join(_ALLOWED[name])
            raise SystemExit(f"{file}, number {row['number']}: {label!r} is none of {allowed}")
        counts[key[row["number"]]][label] += 1
    return counts
