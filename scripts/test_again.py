"""Names the tests that failed last and, where they were few, runs them once more.

Tests on real desktops share two cores with everything else that the machine does; what fails
twice is broken, what passes the second time is named so that somebody mends the test.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MOST = 5
FAILED = Path(".pytest_cache/v/cache/lastfailed")


def main() -> int:
    """Returns the exit status: 0 only when each of them may be run again and passes now."""
    try:
        names = sorted(json.loads(FAILED.read_text("utf-8")))
    except (OSError, ValueError):
        print("nothing says which tests failed; run: make test")
        return 1
    print(f"\nFailed ({len(names)}):", *names, sep="\n  ", flush=True)
    if not 0 < len(names) <= MOST:
        print(f"{len(names)} tests failed; only 1 to {MOST} are run again")
        return 1
    print("\nFailed once, run again:", *names, sep="\n  ", flush=True)
    FAILED.unlink()
    status = subprocess.run([sys.executable, "-m", "pytest", *names], check=False).returncode
    again = names if status else []  # also where the second run broke before its first test
    if FAILED.exists():
        again = sorted(json.loads(FAILED.read_text("utf-8")))
    for verdict, those in (
        ("Failed once, passed the second time:", [name for name in names if name not in again]),
        ("Failed twice, broken:", again),
    ):
        if those:
            print(f"\n{verdict}", *those, sep="\n  ")
    return status


if __name__ == "__main__":
    sys.exit(main())
