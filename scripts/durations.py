"""Writes how many seconds each file of tests took, from pytest's report in JUnit's format.

The next run starts with the files that take longest. Nothing but the order hangs on the table: a
file that it does not know is run as well. Files of the report are written anew, others stay.
"""

from __future__ import annotations

import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from pathlib import Path

HEAD = """\
# Seconds that each file of tests took, the longest first; `make durations` writes this from the
# last `make test`. The order of the next run hangs on it, nothing else.
"""


def main(report: str, table: str) -> None:
    """Brings the table up to date with the report."""
    if not Path(report).exists():
        sys.exit(f"{report} is not there; run: make test")
    took: defaultdict[str, float] = defaultdict(float)
    for case in ElementTree.parse(report).iter("testcase"):
        took[case.get("file", "")] += float(case.get("time", 0))
    path = Path(table)
    lines = path.read_text("utf-8").splitlines() if path.exists() else []
    earlier = (line.split() for line in lines if not line.startswith("#"))
    seconds = {file: float(number) for number, file in earlier}
    seconds.update(took)
    rows = sorted(
        (-round(number, 1), file) for file, number in seconds.items() if Path(file).exists()
    )
    path.write_text(HEAD + "".join(f"{-number:.1f} {file}\n" for number, file in rows), "utf-8")
    print(f"{table}: {len(rows)} files, {sum(took.values()):.0f} s in the last run")


if __name__ == "__main__":
    main(*sys.argv[1:])
