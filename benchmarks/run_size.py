"""The disk that runs take by kind of file, and how much of it turns and elements add.

``python -m benchmarks.run_size RUN...`` takes folders of runs. ``ratio`` is all of a run over what
it would be without elements, tokens, and the pictures that were made for models alone; bodies of
requests stand in the log in place of their messages.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from hisa.events import Observed
from hisa.runs.read import load_run

__all__ = ["main", "sizes"]


def sizes(folder: Path) -> dict[str, float]:
    """Bytes by kind, steps, and the ratio."""
    run = load_run(folder)
    looked_at = {event.image for event in run.events if isinstance(event, Observed)}
    counts: dict[str, float] = {"events": (folder / "events.jsonl").stat().st_size}
    for kind in ("images", "elements", "tokens"):
        counts[kind] = sum(path.stat().st_size for path in folder.glob(f"{kind}/*"))
    counts["sent_only"] = sum(
        path.stat().st_size for path in folder.glob("images/*") if path.stem not in looked_at
    )
    whole = counts["events"] + counts["images"] + counts["elements"] + counts["tokens"]
    before = whole - counts["elements"] - counts["tokens"] - counts["sent_only"]
    return {**counts, "steps": run.last_step, "ratio": round(whole / before, 3)}


def main() -> int:
    """Print a line a run; returns the exit status."""
    for name in sys.argv[1:]:
        print(json.dumps({"run": Path(name).name, **sizes(Path(name))}))
    return 0 if sys.argv[1:] else 2


if __name__ == "__main__":
    sys.exit(main())
