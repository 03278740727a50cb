"""Write the tables of docs/tasks.md anew: what the published tasks ask for, and whose it is.

python scripts/coverage-tables.py
"""

from __future__ import annotations

import re
from pathlib import Path

from hisa.tasks.public import NAMES, markdown, public_tasks

PAGE = Path(__file__).parent.parent / "docs" / "tasks.md"


def main() -> None:
    """Put each table between its two comments."""
    text = PAGE.read_text("utf-8")
    for name in NAMES:
        between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        table = markdown(public_tasks(name))
        text, times = between.subn(lambda found, table=table: found[1] + table + found[2], text)
        if times != 1:
            raise SystemExit(f"{PAGE}: no place <!-- {name} --> … <!-- /{name} -->")
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
