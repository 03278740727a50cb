"""Tokens of all tools in a prompt at any step, with 300 more tools installed.

    python -m benchmarks.tool_tokens [--vocabularies FOLDER] [--json]

Beside HiSA's own and those of installed packages there are 300 made ones: 40 for each of six
applications and 60 for none. What a planner's prompt says of tools is counted, the built-ins and
the list for the step together, for each application in front (and for none) and each of a few
tasks. FOLDER is as in `benchmarks.tokens`.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from benchmarks.tokens_vocabularies import vocabularies
from hisa.models.tokens import estimate_tokens
from hisa.plugins.toolkits.builder.build_records import FunctionDescription
from hisa.plugins.toolkits.builder.built_toolkit import wrap_program
from hisa.protocols import Task
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Observation, Screenshot, Window
from hisa.tools.base import BaseTool
from hisa.tools.offer import TOOLS_ESTIMATE
from hisa.tools.registry import ToolRegistry, discover
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs

__all__ = ["APPS", "TASKS", "look_at", "made_tools", "offered_texts"]

GOAL = 600
APPS = (
    "libreoffice-calc",
    "libreoffice-writer",
    "libreoffice-impress",
    "chromium",
    "vlc",
    "code",
)
TASKS = (
    "In the sheet Prices, sort the rows by price, mark those above 500 in red, add a total below "
    "the last row and save the file under the name prices_sorted.xlsx in the folder Documents.",
    "Make the second slide the first, set its title in bold and export the slides as a PDF.",
    "Clear the history of the last hour and make the page about harbours the start page.",
    "Hilf mir, die Überschriften zu nummerieren und ein Inhaltsverzeichnis einzufügen.",
)
_VERBS = ("read", "set", "insert", "remove", "move", "export", "list", "find", "copy", "format")
_THINGS = ("rows and columns", "styles", "comments", "pictures", "links", "headers")


def made_tools(count: int = 300) -> list[BaseTool]:
    """Returns so many tools: a fifth for no application, the others shared by six of them."""
    alone = count // 5
    share, more = divmod(count - alone, len(APPS))
    tools = list(_kit("general", "", (), alone))
    for number, app in enumerate(APPS):
        kit = f"made{number}"
        tools += _kit(kit, app.replace("-", " ").title(), (app,), share + (number < more))
    return tools


def _kit(name: str, title: str, apps: tuple[str, ...], count: int) -> Sequence[BaseTool]:
    pairs = list(product(_VERBS, _THINGS))
    functions = tuple(
        wrap_program(_describe_tool(*pairs[number % len(pairs)], number)) for number in range(count)
    )
    return Toolkit(name, title, functions, Needs(frozenset({"execute"}), apps)).tools("made-up")


def _describe_tool(verb: str, thing: str, number: int) -> FunctionDescription:
    """A tool with up to four arguments and a summary as long as prompts show."""
    arguments = [
        {"name": "place", "type": "string", "description": "a range, a name or a number"},
        {"name": "values", "type": "table", "description": "rows of values"},
        {"name": "limit", "type": "integer", "description": "most", "required": False},
        {"name": "whole", "type": "boolean", "description": "all", "required": False},
    ]
    return FunctionDescription.model_validate(
        {
            "name": f"{verb}_{thing.split()[0]}_{number}",
            "summary": f"{verb.title()} the {thing} of the document in front, by name or by place",
            "parameters": arguments[: 1 + number % len(arguments)],
            "returns": "what is there now",
        }
    )


def look_at(app: str) -> Observation:
    """Returns a look at a window of that application; at none where it is empty."""
    size = Size(1280, 720)
    box = BoundingBox(0, 0, 1280, 720, "screen")
    windows = (Window("1", "Untitled", app, box, active=True),) if app else ()
    return Observation(Screenshot.from_rgb(size, bytes(3 * 1280 * 720)), size, windows)


def offered_texts(tools: Sequence[BaseTool]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Gives the application in front, and both things that a prompt says of tools then.

    Those that are always there, and the list for the step; once for each task.
    """
    registry = ToolRegistry(tools)
    for app in ("", *APPS):
        observation = look_at(app)
        for number, words in enumerate(TASKS):
            listed = registry.offer(Task(f"task {number}", words), observation)
            yield app, (registry.describe(), listed)


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vocabularies", type=Path, help="a folder with unpacked wheels")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    installed, _ = discover()
    tools = [*installed, *made_tools()]
    texts = list(offered_texts(tools))
    counts = dict(vocabularies(options.vocabularies)) if options.vocabularies else {}
    rows = {}
    by_app: dict[str, dict[str, int]] = {app: {} for app in ("", *APPS)}
    for name, count in {"estimate": estimate_tokens, **counts}.items():
        totals = [(app, sum(map(count, parts))) for app, parts in texts]
        numbers = [number for _, number in totals]
        rows[name] = {"max": max(numbers), "median": statistics.median(numbers)}
        for app, most in by_app.items():
            most[name] = max(number for front, number in totals if front == app)
    if options.json:
        print(
            json.dumps(
                {"tools": len(tools), "steps": len(texts), "counts": rows, "by_app": by_app},
                indent=2,
            )
        )
        return
    print(f"{len(tools)} tools; {len(texts)} pairs of an application in front and a task")
    for name, row in rows.items():
        goal = TOOLS_ESTIMATE if name == "estimate" else GOAL
        verdict = "met" if row["max"] <= goal else "NOT met"
        counted = f"max {row['max']:>4}  median {row['median']:>6g}"
        print(f"{name:<28} {counted}  (at most {goal}: {verdict})")
    print("most, by application in front:")
    for app, most in by_app.items():
        line = ", ".join(f"{name} {number}" for name, number in most.items())
        print(f"  {app or '(none)':<22} {line}")


if __name__ == "__main__":
    main()
