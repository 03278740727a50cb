"""Names the tests that failed last and, where they were few, runs them once more.

Tests on real desktops share two cores with everything else that the machine does; what fails
twice is broken, what passes the second time is named so that somebody mends the test. A test that
``tests/flaky.txt`` lists has had that chance: it is not run again, its failure counts.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

MOST = 5
FAILED = Path(".pytest_cache/v/cache/lastfailed")
LISTED = Path("tests/flaky.txt")
ENTRY = re.compile(r"(?P<date>\d{4}-\d\d-\d\d) (?P<test>\S+::\S+) -- (?P<cause>.*\S)")


def flaky(text: str) -> dict[str, str]:
    """Returns date and cause by the name of each listed test; names a line that is no entry."""
    entries = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            entry = ENTRY.fullmatch(line)
            if entry is None:
                sys.exit(
                    f"{LISTED}: {line!r} is not: YYYY-MM-DD FILE::TEST -- CAUSE; mend the line"
                )
            entries[entry["test"]] = f"{entry['date']}: {entry['cause']}"
    return entries


def main() -> int:
    """Returns the exit status: 0 only when each of them may be run again and passes now."""
    try:
        names = sorted(json.loads(FAILED.read_text("utf-8")))
    except (OSError, ValueError):
        print("nothing says which tests failed; run: make test")
        return 1
    print(f"\nFailed ({len(names)}):", *names, sep="\n  ", flush=True)
    entries = flaky(LISTED.read_text("utf-8")) if LISTED.exists() else {}
    listed = [name for name in names if name.partition("[")[0] in entries]
    for name in listed:
        reason = entries[name.partition("[")[0]]
        print(f"\n{LISTED} lists {name} since {reason}\nNot run again: its failure counts.")
    names = [name for name in names if name not in listed]
    if not names and listed:
        return 1
    if not 0 < len(names) <= MOST:
        print(f"{len(names)} tests failed; only 1 to {MOST} are run again")
        return 1
    print("\nFailed once, run again:", *names, sep="\n  ", flush=True)
    status = subprocess.run([sys.executable, "-m", "pytest", *names], check=False).returncode
    if status:
        print("\nFailed twice: broken.", *names, sep="\n  ")
    else:
        print("\nFailed once, passed the second time.", *names, sep="\n  ")
        print(f"Mend them, or write date, test and cause into {LISTED}.")
    return 1 if listed else status


if __name__ == "__main__":
    sys.exit(main())
