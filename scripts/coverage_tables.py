"""Write the tables of docs/tasks.md anew: what the published tasks ask for, and whose it is.

python scripts/coverage_tables.py
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from hisa.plugins.benchmarks.tasks.coverage import Source, counted
from hisa.plugins.benchmarks.tasks.public import NAMES, PublicTask, domains, public_tasks

PAGE = Path(__file__).parent.parent / "docs" / "tasks.md"


def markdown(tasks: Iterable[PublicTask]) -> str:
    """The tables of the documentation: tasks by domain, and pieces with their number of tasks."""
    tasks = tuple(tasks)
    by_domain = domains(tasks)
    every: Counter[Source] = sum(by_domain.values(), Counter())
    lines = ["| domain | tasks | ours alone | with OSWorld's package | something missing |"]
    lines += ["|---|---|---|---|---|"]
    for name, counts in [*sorted(by_domain.items()), ("all", every)]:
        cells = [counts.total(), counts["ours"], counts["theirs"], counts["missing"]]
        lines.append(f"| {name} | {' | '.join(map(str, cells))} |")
    lines += ["", "| pieces | whose | names and in how many tasks |", "|---|---|---|"]
    groups: dict[tuple[str, str], list[str]] = {}
    for row in counted(task.pieces for task in tasks):
        groups.setdefault((row.kind, row.source), []).append(f"`{row.name}` {row.tasks}")
    lines += [f"| {k} ({len(n)}) | {whose} | {' '.join(n)} |" for (k, whose), n in groups.items()]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Put each table between its two comments."""
    text = PAGE.read_text("utf-8")
    for name in NAMES:
        between = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.S)
        table = markdown(public_tasks(name)).replace("\\", r"\\")
        text, times = between.subn(rf"\g<1>{table}\g<2>", text)
        if times != 1:
            raise SystemExit(f"{PAGE}: no place <!-- {name} --> … <!-- /{name} -->")
    PAGE.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
