"""Why episodes failed, labelled by a reader who does not see which arm an episode is of.

``sheet.jsonl`` has the failures of the working pages in an order drawn by a seed: task, what was
shown and answered, what happened. ``labels.csv`` takes the reader's labels, ``key.json`` joins both
with the arms and is not for the reader. The wording of a prompt can still give its arm away.
"""

from __future__ import annotations

import csv
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.small_model.episodes import Episode, Slot, lines_of

__all__ = ["CAUSES", "causes", "write_sheet"]

CAUSES = ("model", "prompt", "tool", "grounding", "environment")
"""model: it was shown what it needed and decided wrongly; prompt: it was not shown it, or was told
otherwise; tool: a right decision was refused or done wrongly; grounding: a right thing, the wrong
place; environment: page, browser or server. All but the first are ours."""
_SHOWN = 3000
"""Characters of a prompt on the sheet, from its end, where every arm has the page and its last
step."""
_SEED = 7


def write_sheet(episodes: Sequence[Episode], folder: Path) -> str:
    """Write sheet and key, and empty labels where there are none; returns what to do next."""
    failures = sorted(e.slot for e in episodes if not (e.success or e.reported))
    by_slot = {episode.slot: episode for episode in episodes}
    random.Random(_SEED).shuffle(failures)
    with (folder / "sheet.jsonl").open("w", encoding="utf-8") as file:
        for number, slot in enumerate(failures, 1):
            entry = {"number": number, **_entry(by_slot[slot], folder)}
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
    key = {str(number): slot.name for number, slot in enumerate(failures, 1)}
    (folder / "key.json").write_text(json.dumps(key), "utf-8")
    labels = folder / "labels.csv"
    if not labels.exists():
        with labels.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("number", "cause", "by", "note"))
            writer.writerows((number, "", "", "") for number in range(1, len(failures) + 1))
    return f"{len(failures)} failures in {folder / 'sheet.jsonl'}; causes go into {labels}"


def _entry(episode: Episode, folder: Path) -> dict[str, Any]:
    """An episode without the name of its arm."""
    events: list[dict[str, Any]] = []
    for line in lines_of(folder / "traces" / f"{episode.slot.name}.jsonl"):
        if line["kind"] == "request":
            events.append({"shown": line["shown"][-_SHOWN:], "answered": line["reply"]})
        elif line["kind"] == "step":
            events.append({"did": line["action"], "happened": line["happened"]})
    return {
        "page": episode.page,
        "task": episode.goal,
        "events": events,
        "ended": episode.ended,
        "error": episode.error,
    }


def causes(episodes: Sequence[Episode], folder: Path) -> str:
    """Returns the table of causes by arm.

    Raises:
        SystemExit: a label that is none of `CAUSES`.
    """
    key = json.loads((folder / "key.json").read_text("utf-8"))
    slots: dict[str, Slot] = {episode.slot.name: episode.slot for episode in episodes}
    counts: Counter[tuple[str, str]] = Counter()
    readers: set[str] = set()
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            cause = row["cause"].strip() or "not labelled"
            if cause not in (*CAUSES, "not labelled"):
                raise SystemExit(
                    f"number {row['number']}: {cause!r} is none of {', '.join(CAUSES)}"
                )
            counts[slots[key[row["number"]]].arm, cause] += 1
            readers |= {row["by"].strip()} - {""}
    total = Counter(episode.arm for episode in episodes if not episode.reported)
    columns = (*CAUSES, "not labelled")
    lines = [
        f"| arm | episodes | {' | '.join(columns)} | ours |",
        "|---" * (len(columns) + 3) + "|",
    ]
    for arm in sorted(total):
        cells = [str(counts[arm, cause]) for cause in columns]
        ours = sum(counts[arm, cause] for cause in CAUSES[1:]) / total[arm]
        lines.append(f"| {arm} | {total[arm]} | {' | '.join(cells)} | {ours:.0%} |")
    return "\n".join([*lines, f"labelled by: {', '.join(sorted(readers)) or 'nobody yet'}"])
