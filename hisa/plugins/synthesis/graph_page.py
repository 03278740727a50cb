"""The page of an exploration: its numbers, its graph of states, and what each act changed.

The page loads nothing and has no script; its texts come from screens, and are escaped.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Change, ElementChange, State, Triple
from hisa.plugins.synthesis.task_files import act_in_words
from hisa.runs.pictures import Picture, as_picture
from hisa.runs.templates import templates
from hisa.runs.wording import one_line

if TYPE_CHECKING:
    import jinja2

__all__ = [
    "Graph", "box_on", "change_in_words", "graph_of", "pages", "scaled", "write_graph",
]  # fmt: skip

_SHARES = ("without_effect", "lasting")
_STEP, _MARGIN, _WIDTH = 15, 30, 1180
_MOST_BANDS = 14
_MOST_SHOWN = 250
"""Triples on the page, those with a lasting effect first; the others are counted."""
_SMALL = (480, 270)
"""Width and height of the pictures at most, in pixels."""


class _Dot(NamedTuple):
    x: float
    y: float
    title: str
    tone: str


class _Edge(NamedTuple):
    path: str
    kind: str
    lasting: bool
    back: bool


class _Band(NamedTuple):
    name: str
    y: float
    height: float


class Graph(NamedTuple):
    """States as dots in bands by window, the farther from the start the farther to the right."""

    width: int
    height: int
    bands: list[_Band]
    dots: list[_Dot]
    edges: list[_Edge]


def _depths(exploration: Exploration) -> dict[str, int]:
    """Acts from the nearest fresh start to each state; 0 where no start leads there."""
    ways: dict[str, list[str]] = defaultdict(list)
    for triple in exploration.triples:
        if not triple.failed:
            ways[triple.before].append(triple.after)
    depths: dict[str, int] = {}
    for start in (exploration.root, *ways, *exploration.states):
        if start in depths or start not in exploration.states:
            continue
        depths[start], queue = 0, deque([start])
        while queue:
            state = queue.popleft()
            for after in ways.get(state, ()):
                if after not in depths and after in exploration.states:
                    depths[after] = depths[state] + 1
                    queue.append(after)
    return depths


def _window(state: State, usual: frozenset[str]) -> str:
    """The window that tells a state from the start, by its title; else the main one."""
    titles = [re.sub(r"^[*•●]\s*", "", title) for title in state.windows]
    return next((title for title in titles if title not in usual), next(iter(titles), "no window"))


def graph_of(exploration: Exploration) -> Graph:
    """The graph of states, laid out: x by the acts from the start, y by window."""
    states, depths = exploration.states, _depths(exploration)
    root = states.get(exploration.root)
    usual = frozenset(root.windows if root else ())
    windows = {name: _window(state, usual) for name, state in states.items()}
    most = [name for name, _ in Counter(windows.values()).most_common(_MOST_BANDS)]
    cells: dict[tuple[str, int], list[str]] = defaultdict(list)
    for name, depth in depths.items():
        band = windows[name] if windows[name] in most else "other windows"
        cells[band, depth].append(name)
    columns = max(depths.values(), default=0) + 1
    step = (_WIDTH - 2 * _MARGIN) / max(columns, 2)
    most_side = max(1, int(step // _STEP) - 1)
    places: dict[str, tuple[float, float]] = {}
    bands, top = [], 0.0
    for band in dict.fromkeys(name for name, _ in cells):
        rows = 1
        for (name, depth), inside in cells.items():
            if name != band:
                continue
            side = min(most_side, max(1, -(-len(inside) // 12)))
            rows = max(rows, -(-len(inside) // side))
            for at, key in enumerate(inside):
                x = _MARGIN + depth * step + at % side * _STEP
                places[key] = (x, top + 30 + at // side * _STEP)
        bands.append(_Band(one_line(band, 90), top, rows * _STEP + 34))
        top += bands[-1].height + 4
    dots = []
    for key, state in states.items():
        count = f"; {len(state.changed)} values changed" if state.changed else ""
        tone = "root" if state is root else "changed" if state.changed else "plain"
        title = one_line(", ".join(state.windows) + count, 300)
        dots.append(_Dot(*places[key], title, tone))
    return Graph(_WIDTH, round(top) or 40, bands, dots, list(_edges(exploration.triples, places)))


def _edges(triples: Iterable[Triple], places: Mapping[str, tuple[float, float]]) -> Iterator[_Edge]:
    drawn = set()
    for triple in sorted(triples, key=lambda one: not one.differences.facts):
        ends = (triple.before, triple.after)
        if triple.before == triple.after or ends in drawn or not set(ends) <= places.keys():
            continue
        drawn.add(ends)
        (x, y), (to_x, to_y) = places[triple.before], places[triple.after]
        bend = 18 if to_x <= x else -6
        middle = f"{(x + to_x) / 2 + (bend if x == to_x else 0):.0f} {(y + to_y) / 2 + bend:.0f}"
        path = f"M{x:.0f} {y:.0f}Q{middle} {to_x:.0f} {to_y:.0f}"
        yield _Edge(path, triple.act.kind, bool(triple.differences.facts), to_x <= x)


def change_in_words(change: Change | ElementChange) -> str:
    """A change as one line of at most 300 characters."""
    if isinstance(change, Change):
        address = " ".join(filter(None, change.fact))
        ends = [one_line(value, 90) if value is not None else "nothing" for value in _new(change)]
        return f"{one_line(address, 110)}: {ends[0]} → {ends[1]}"
    subject = one_line(f'{change.role} "{change.name}"', 120)
    if change.what in ("came", "went"):
        return f"{subject} {change.what}"
    return f"{subject}: {one_line(change.before, 80)} → {one_line(change.after, 80)}"


def _new(change: Change) -> tuple[str | None, str | None]:
    """Old and new value; of long texts, only the lines that are not in both."""
    if change.before is None or change.after is None or "\n" not in change.before + change.after:
        return change.before, change.after
    old, new = change.before.splitlines(), change.after.splitlines()
    gone, come = (
        [line for line in old if line not in new],
        [line for line in new if line not in old],
    )
    return "\n".join(gone), "\n".join(come)


def box_on(exploration: Exploration, triple: Triple) -> str:
    """The style of the element's box on a picture of its screen; empty where there is none.

    Screens have one size in an exploration; pictures are theirs, or scaled down by few factors: the
    least is taken under which all clicks lie inside.
    """
    state = exploration.states.get(triple.before)
    if triple.box is None or state is None:
        return ""
    with Image.open(exploration.picture(state), formats=("PNG",)) as file:
        width, height = file.size
    right_most = max((b[0] + b[2]) / 2 for one in exploration.triples if (b := one.box))
    scale = next((one for one in (1.0, 1.5, 2.0, 3.0) if right_most < one * width), 4.0)
    left, right = (100 * side / width / scale for side in triple.box[::2])
    top, bottom = (100 * side / height / scale for side in triple.box[1::2])
    return f"left:{left:.2f}%;top:{top:.2f}%;width:{right - left:.2f}%;height:{bottom - top:.2f}%"


@lru_cache(maxsize=1)
def pages() -> jinja2.Environment:
    """The templates of this plugin, with the words that they share."""
    made = templates(Path(__file__).resolve().parent)
    made.filters |= {"act": act_in_words, "change": change_in_words, "line": one_line}
    made.globals["box_on"] = box_on
    return made


def scaled(paths: Mapping[str, Path], size: tuple[int, int]) -> dict[str, Picture]:
    """Pictures by name, of at most that width and height; files that are none are left out."""

    def read(path: Path) -> Picture | None:
        try:
            with Image.open(path, formats=("PNG",)) as file:
                image = file.convert("RGB")
        except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
            return None
        image.thumbnail(size, reducing_gap=2.0)
        return as_picture(image)

    with ThreadPoolExecutor() as pool:
        pictures = zip(paths, pool.map(read, paths.values()), strict=True)
        return {name: picture for name, picture in pictures if picture is not None}


def write_graph(exploration: Exploration, numbers: Mapping[str, object]) -> Path:
    """Write ``graph.html`` into the exploration's folder.

    Args:
        exploration: what is shown.
        numbers: those of `explored_numbers.report`, in the order of the page.

    Raises:
        OSError: it cannot be written.
    """
    triples = [one for one in exploration.triples if not one.failed]
    shown = sorted((t for t in triples if t.differences), key=lambda t: not t.differences.facts)
    states = exploration.states
    ends = {name for t in shown[:_MOST_SHOWN] for name in (t.before, t.after) if name in states}
    paths = {states[name].image: exploration.picture(states[name]) for name in sorted(ends)}
    page = (
        pages()
        .get_template("graph_page.html.j2")
        .render(
            exploration=exploration,
            numbers={
                label.replace("_", " "): f"{100 * value:.0f} %"
                if label in _SHARES
                else f"{value:g}"
                for label, value in numbers.items()
                if isinstance(value, int | float)
            },
            menus=numbers.get("menus"),
            graph=graph_of(exploration),
            kinds=sorted({triple.act.kind for triple in triples}),
            shown=shown[:_MOST_SHOWN],
            more=max(0, len(shown) - _MOST_SHOWN),
            idle=[triple for triple in triples if not triple.differences],
            failed=[triple for triple in exploration.triples if triple.failed],
            pictures=scaled(paths, _SMALL),
        )
    )
    path = exploration.folder / "graph.html"
    replace_file(path, page.encode("utf-8", "replace"))
    return path
