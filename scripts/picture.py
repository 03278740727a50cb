"""Prints the architecture as SVG, from the import graph, the entry points and lines of each part.

    python scripts/picture.py >docs/architecture.svg

Where a box lies is chosen by hand below; lines, doors and the imports between plugins are counted.
Exits with 1 and lists the imports that the picture has no place for: from the core to a plugin,
from a room to one above it or to its left, and between plugins without an arrow.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise

import grimp
from lines import ROOT, STEP, core_rooms, plugins

from hisa.machine.plugins import ENTRY_POINT_GROUPS

WIDTH, HEIGHT = 1100, 932
EDGE, LEFT, RIGHT = 16, 36, 1064
"""Where the storeys begin, and where their boxes begin and end."""
LETTER = 7.55
"""The width of a letter of a door's name."""
TIP = (
    '<marker id="{0}" class="{0}" markerWidth="9" markerHeight="9" refX="7" refY="4" '
    'orient="auto" markerUnits="userSpaceOnUse"><path d="M0,0 L9,4 L0,8 z"/></marker>'
)


@dataclass(frozen=True)
class Part:
    """A room or a plugin.

    Args:
        name: in the tree.
        does: what it does, in one or two lines.
        width: relative to the other boxes of its row.
        step: the number of its place in a step's way; 0 if a step does not pass through it.
    """

    name: str
    does: str
    width: float = 1
    step: int = 0


PLUGINS = (
    (
        Part("machines", "applications,\nvirtual machines", 1.25),
        Part("desktop", "private desktops,\nthe server inside", 1.25),
        Part("benchmarks", "OSWorld, Spider2-V,\nbenches, the best of runs", 1.6),
        Part("gym", "BrowserGym,\nMiniWoB++", 1.05),
        Part("guard", "held acts,\npolicy, secrets", 0.85),
    ),
    (
        Part("reading", "shapes and text on\npictures, a ranker", 1.05),
        Part("matching", "descriptions to\nwhat there is", 0.95),
        Part("offline", "a model made of rules:\nno key, no GPU"),
        Part("gguf", "a language model\nrun inside", 0.9),
        Part("toolkits", "tools of applications:\nCalc, Chromium, files, …"),
        Part("mcp", "tools of MCP servers,\nand HiSA as one", 0.95),
    ),
)
ROOMS = (
    (
        Part("cli", "one command per file", 1.15),
        Part("agent.py", "composed from Python", 0.95),
        Part("wiring", "opens the parts of a run", 1.6),
        Part("testing", "stand-ins, for tests only", 0.95),
    ),
    (
        Part("tasks", "sets up and scores", 1.6),
        Part("loop.py", "steps 1 to 6", 1.35),
        Part("sequence.py", "does a step's calls", 1.75),
        Part("looker.py", "takes each look", 1.6),
        Part("conclusion.py", "scores, then learns", 1.9),
        Part("runs", "the log", 1.2, step=6),
    ),
    (
        Part("environments", "a look: picture,\nwindows, elements", 1.35, step=1),
        Part("planner", "the next call,\nin words", 0.95, step=2),
        Part("grounder", "where that is\non the screen", 1.1, step=3),
        Part("tools", "does it, held to\nwhat was seen", 0.95, step=4),
        Part("state", "what changed,\nin one line", 0.95, step=5),
        Part("patterns", "lessons of runs,\nand house rules", 1.05),
    ),
    (
        Part("models", "any server of the OpenAI protocol", 1.6),
        Part("hooks.py", "watch, refuse, wait", 1.0),
        Part("protocols.py", "the seams", 1.1),
        Part("events", "all that can happen", 0.95),
        Part("config", "the settings", 0.8),
    ),
    (
        Part("actions", "a closed set"),
        Part("screen", "what is seen", 1.35),
        Part("machine", "the host"),
        Part("text", "made safe"),
        Part("outcomes", "verdicts, ends"),
        Part("errors.py", "and what helps"),
    ),
)
ARROWS = {
    ("machines", "desktop"), ("benchmarks", "gym"), ("training", "benchmarks"), ("training", "gym"),
    ("live", "benchmarks"), ("replay", "synthesis"), ("live", "guard"), ("replay", "guard"),
    ("synthesis", "guard"), ("benchmarks", "machines"), ("benchmarks", "matching"),
    ("offline", "matching"), ("reading", "matching"), ("screen", "desktop"),
    ("training", "eyes"), ("training", "gguf"),
}  # fmt: skip
"""Plugins that may import another; drawn where one does and both are in the picture, in a row."""

STYLE = """
  .page { fill: #ffffff } .storey { fill: #f4f6f8; stroke: #d5dbe1 }
  .box { fill: #ffffff; stroke: #9aa7b4 } .read { fill: #e6f0fb; stroke: #4f86c0 }
  text { font: 14px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: #3f4b57 }
  .name { font: 600 17px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace }
  .name, .head { fill: #16202b } .head { font-size: 17px; font-weight: 600 }
  .chip { font: 12.5px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #6b4200 }
  .door { fill: #fdf0d8; stroke: #d49a35 } .import { stroke: #66727f; fill: none }
  .tip { fill: #66727f } .way { stroke: #c2385a; stroke-width: 2.5; fill: none }
  .waytip, .dot { fill: #c2385a } .dotted { font-weight: 700; fill: #ffffff }
  .rule { stroke: #66727f; stroke-dasharray: 7 5 } .middle { text-anchor: middle }
  .end { text-anchor: end }
  @media (prefers-color-scheme: dark) {
    .page { fill: #14181d } .storey { fill: #1b2128; stroke: #343e49 }
    .box { fill: #232b34; stroke: #5a6774 } .read { fill: #1d3550; stroke: #5b96d6 }
    text { fill: #b9c4cf } .name, .head { fill: #f0f4f8 } .chip { fill: #ffd797 }
    .door { fill: #4a3510; stroke: #c08a2e } .import, .rule { stroke: #93a0ad }
    .tip { fill: #93a0ad } .way { stroke: #f0708f } .waytip, .dot { fill: #f0708f }
    .dotted { fill: #14181d }
  }
"""


def part_of(module: str) -> str:
    """Returns the room of a module as ``tools``, or its plugin as ``plugins.NAME``."""
    names = module.split(".")[1:]
    if names[:1] == ["plugins"]:
        return ".".join(names[:2])
    return names[0] if names else ""


def count_imports() -> Counter[tuple[str, str]]:
    """Returns the number of imports from one part to another, by both names."""
    graph = grimp.build_graph("hisa", cache_dir=None)
    counts: Counter[tuple[str, str]] = Counter()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            pair = part_of(module), part_of(imported)
            counts[pair] += pair[0] != pair[1]
    return +counts


def entered_doors() -> dict[str, set[str]]:
    """Returns the entry-point groups by which each plugin enters, without ``hisa.``."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    doors: dict[str, set[str]] = {}
    for group, points in project["entry-points"].items():
        for value in points.values():
            doors.setdefault(part_of(value.partition(":")[0]), set()).add(group[len("hisa.") :])
    return doors


def opened_doors() -> dict[str, set[str]]:
    """Returns the groups whose entry points each part loads, by the part's name."""
    doors: dict[str, set[str]] = {}
    for path in (ROOT / "hisa").rglob("*.py"):
        part = part_of(".".join(path.relative_to(ROOT).parts))
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                called = ast.unparse(node.func).rpartition(".")[2]
                group = node.args[0].value
                if group in ENTRY_POINT_GROUPS and called in ("load", "make", "points"):
                    doors.setdefault(part, set()).add(group)
    return doors


def thousands(lines: int) -> str:
    """Returns lines as ``4.2k``: a picture that changes with every line would never be current."""
    return f"{max(lines, 50) / 1000:.1f}k"


def text(x: float, y: float, words: str, kind: str = "") -> str:
    """Returns a line of text whose baseline begins at a place."""
    names = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{names}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    """Returns a rectangle."""
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'rx="7" class="{kind}"/>'
    )


def arrow(points: Sequence[tuple[float, float]], kind: str, tip: str) -> str:
    """Returns a line through points with a tip at its end."""
    way = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
    return f'<polyline points="{way}" class="{kind}" marker-end="url(#{tip})"/>'


def chips(x: float, y: float, doors: Sequence[str]) -> Iterator[str]:
    """Yields the doors of a part, side by side."""
    for door in doors:
        width = len(door) * LETTER + 8
        yield box(x, y, width, 19, "door")
        yield text(x + 4, y + 13.5, door, "chip")
        x += width + 5


@dataclass(frozen=True)
class Place:
    """Where a box lies."""

    x: float
    y: float
    width: float
    height: float


def lay_row(
    row: Sequence[Part], y: float, height: float, gap: float, places: dict[str, Place]
) -> None:
    """Gives each part of a row its place, from the left edge to the right one."""
    unit = (RIGHT - LEFT - gap * (len(row) - 1)) / sum(part.width for part in row)
    x: float = LEFT
    for part in row:
        places[part.name] = Place(x, y, unit * part.width, height)
        x += unit * part.width + gap


def draw_part(
    part: Part, place: Place, lines: int, doors: Sequence[str], kind: str
) -> Iterator[str]:
    """Yields a box with name, lines, what the part does and its doors."""
    yield box(place.x, place.y, place.width, place.height, kind)
    yield text(place.x + 11, place.y + 24, part.name, "name")
    yield text(place.x + place.width - 10, place.y + 24, thousands(lines), "end")
    for number, words in enumerate(part.does.splitlines()):
        yield text(place.x + 11, place.y + 45 + number * 18, words)
    beside = place.height < 70
    room = sum(len(door) * LETTER + 13 for door in doors)
    x = place.x + place.width - room - 50 if beside else place.x + 10
    yield from chips(x, place.y + 10 if beside else place.y + place.height - 27, doors)


def draw_plugins(
    y: float, imports: Mapping[tuple[str, str], int], places: dict[str, Place]
) -> Iterator[str]:
    """Yields the upper storey."""
    lines, entered, opened = plugins(), entered_doors(), opened_doors()
    yield box(EDGE, y, WIDTH - 2 * EDGE, 306, "storey")
    yield text(LEFT, y + 30, "hisa/plugins", "head")
    yield text(
        LEFT + 136,
        y + 30,
        "a reader may skip them; each enters by doors that are open to any package",
    )
    yield text(RIGHT, y + 30, f"{thousands(sum(lines.values()))} lines", "end")
    for number, row in enumerate(PLUGINS):
        gap = 46 if any(part.name in pair for part in row for pair in ARROWS) else 14
        lay_row(row, y + 46 + number * 126, 112, gap, places)
        for part in row:
            name = f"plugins.{part.name}"
            doors = sorted(entered.get(name, set()) | opened.get(name, set()))
            yield from draw_part(part, places[part.name], lines.get(part.name, 0), doors, "box")
    for importer, imported in sorted(ARROWS):
        count = imports.get((f"plugins.{importer}", f"plugins.{imported}"), 0)
        if not count or not {importer, imported} <= places.keys():
            continue
        start, end = places[importer], places[imported]
        right = start.x < end.x
        begin = start.x + start.width if right else start.x
        stop = end.x - 3 if right else end.x + end.width + 3
        middle = start.y + start.height / 2
        yield arrow(((begin, middle), (stop, middle)), "import", "tip")
        yield text((begin + stop) / 2, middle - 7, str(count), "middle")


def draw_core(y: float, read: Sequence[str], places: dict[str, Place]) -> Iterator[str]:
    """Yields the lower storey."""
    lines, doors = core_rooms(), opened_doors()
    yield box(EDGE, y, WIDTH - 2 * EDGE, 500, "storey")
    yield text(LEFT, y + 30, "hisa, the core", "head")
    yield text(LEFT + 150, y + 30, "rooms import downwards, and to the right in a row")
    yield text(RIGHT, y + 30, f"{thousands(sum(lines.values()))} lines", "end")
    tops, heights = (46, 124, 202, 356, 434), (60, 60, 112, 60, 54)
    for row, top, height in zip(ROOMS, tops, heights, strict=True):
        lay_row(row, y + top, height, 30 if height > 100 else 16, places)
        for part in row:
            opened = sorted(doors.get(part.name.removesuffix(".py"), ()))
            kind = "read" if part.name in read else "box"
            yield from draw_part(part, places[part.name], lines[part.name], opened, kind)
    yield from draw_way(places)


def draw_way(places: Mapping[str, Place]) -> Iterator[str]:
    """Yields the way of a step through the rooms, numbered."""
    steps = sorted((part for row in ROOMS for part in row if part.step), key=lambda part: part.step)
    way = [places[part.name] for part in steps]
    for start, end in pairwise(way[:-1]):
        middle = start.y + start.height / 2
        yield arrow(((start.x + start.width, middle), (end.x - 4, middle)), "way", "waytip")
    state, log = way[-2:]
    up = state.x + state.width / 2
    yield arrow(((up, state.y), (up, log.y + log.height + 4)), "way", "waytip")
    screen, tools = places["environments"], places["tools"]
    low = screen.y + screen.height
    left, right = screen.x + screen.width / 2, tools.x + tools.width / 2
    yield arrow(
        ((right, low), (right, low + 17), (left, low + 17), (left, low + 4)), "way", "waytip"
    )
    yield text((left + right) / 2, low + 31, "the act", "middle")
    for part in steps:
        place = places[part.name]
        yield f'<circle cx="{place.x:.0f}" cy="{place.y:.0f}" r="11" class="dot"/>'
        yield text(place.x, place.y + 4.5, str(part.step), "dotted middle")


def draw_legend(y: float, step_lines: int) -> Iterator[str]:
    """Yields what colours and signs mean."""
    yield box(LEFT, y, 22, 16, "read")
    yield text(LEFT + 30, y + 13, f"read these to follow a step ({thousands(step_lines)} lines)")
    yield f'<circle cx="{LEFT + 342}" cy="{y + 8}" r="9" class="dot"/>'
    yield text(LEFT + 358, y + 13, "the way of a step")
    yield from chips(LEFT + 500, y - 2, ["tools"])
    yield text(LEFT + 556, y + 13, "a door: hisa.tools; rooms open it, plugins enter")
    yield arrow(((LEFT + 840, y + 8), (LEFT + 872, y + 8)), "import", "tip")
    yield text(LEFT + 884, y + 13, "number of imports")


def misplaced(imports: Mapping[tuple[str, str], int]) -> Iterator[str]:
    """Yields a line for each import that the picture has no place for."""
    rooms = [part.name.removesuffix(".py") for row in ROOMS for part in row]
    for (importer, imported), count in sorted(imports.items()):
        if imported.startswith("plugins."):
            pair = importer.removeprefix("plugins."), imported.removeprefix("plugins.")
            if pair not in ARROWS:
                yield f"{importer or 'hisa'} imports {imported} ({count}): no arrow leads there"
        elif importer in rooms and imported in rooms[: rooms.index(importer)]:
            yield f"{importer} imports {imported} ({count}), which lies above it or to its left"


def draw(imports: Mapping[tuple[str, str], int]) -> str:
    """Returns the picture as SVG."""
    places: dict[str, Place] = {}
    lines = core_rooms()
    upwards = sum(
        count
        for (importer, imported), count in imports.items()
        if imported.startswith("plugins.") and not importer.startswith("plugins.")
    )
    pieces = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="The plugins, the core, and the way of one step">',
        f"<style>{STYLE}</style>",
        f"<defs>{TIP.format('tip')}{TIP.format('waytip')}</defs>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="10" class="page"/>',
        *draw_plugins(16, imports, places),
        text(LEFT, 344, "The one rule: plugins import the core, the core imports no plugin"),
        text(RIGHT, 344, f"imports upwards: {upwards}", "end"),
        f'<line x1="{EDGE}" y1="352" x2="{WIDTH - EDGE}" y2="352" class="rule"/>',
        *draw_core(374, STEP, places),
        *draw_legend(896, sum(lines[name] for name in STEP)),
        "</svg>",
    ]
    return "\n".join(pieces) + "\n"


def main() -> int:
    """Prints the picture; returns 1 if there are imports that it has no place for."""
    imports = count_imports()
    sys.stdout.write(draw(imports))
    wrong = list(misplaced(imports))
    for line in wrong:
        print(line, file=sys.stderr)
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
