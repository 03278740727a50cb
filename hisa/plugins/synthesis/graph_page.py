"""The page of an exploration: its numbers, its graph of states, and what each act changed.

Pages load nothing and have no script; their texts come from screens, and are escaped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.exploration import Exploration
from hisa.plugins.synthesis.records import Triple
from hisa.plugins.synthesis.task_files import act_in_words, as_yaml
from hisa.runs.pictures import Picture, as_picture
from hisa.runs.templates import templates
from hisa.runs.wording import one_line

__all__ = ["Graph", "graph_of", "write_graph", "write_page"]

_MOST_SHOWN = 250  # triples on the page, those with a lasting effect first; the others are counted


class Graph(NamedTuple):
    """States on a grid: columns by the acts from a fresh start, bands of rows by window.

    ``bands`` are names and first rows, ``places`` columns and rows of states; of the triples
    between two states, ``edges`` has one, which changed files or settings where any did.
    """

    bands: list[tuple[str, int]]
    places: dict[str, tuple[int, int]]
    edges: list[Triple]
    columns: int
    rows: int


def graph_of(exploration: Exploration) -> Graph:
    """The graph of states, laid out."""
    cells: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for key, state in exploration.states.items():
        title = state.windows[-1].lstrip("*•● ") if state.windows else "no window"
        cells[title][len(exploration.route(key) or ())].append(key)
    bands, places, top = [], {}, 0
    for name, columns in cells.items():
        bands.append((name, top))
        for column, keys in columns.items():
            places.update({key: (column, top + 1 + row) for row, key in enumerate(keys)})
        top += max(map(len, columns.values())) + 1
    moves = sorted(exploration.triples, key=lambda one: bool(one.differences.facts))
    edges = {(one.before, one.after): one for one in moves if one.before != one.after}
    width = 1 + max((column for column, _ in places.values()), default=0)
    return Graph(bands, places, list(edges.values()), width, top)


def write_graph(exploration: Exploration, numbers: Mapping[str, object]) -> Path:
    """Write ``graph.html`` into the exploration's folder; ``numbers``: `explored_numbers.report`.

    Raises: OSError where it cannot be written.
    """
    done = [one for one in exploration.triples if not one.failed]
    effective = [one for one in done if one.differences]
    effective.sort(key=lambda one: not one.differences.facts)
    values = {
        "numbers": numbers,
        "graph": graph_of(exploration),
        "kinds": sorted({one.act.kind for one in done}),
        "more": effective[_MOST_SHOWN:],
        "idle": [one for one in done if not one.differences],
        "failed": [one for one in exploration.triples if one.failed],
    }
    return write_page(exploration, "graph", effective[:_MOST_SHOWN], (480, 270), **values)


def write_page(
    exploration: Exploration,
    name: str,
    triples: Iterable[Triple],
    size: tuple[int, int],
    **values: object,
) -> Path:
    """Write ``NAME.html`` from the template ``NAME_page``, with the pictures of some triples.

    Pictures are of at most ``size``, width and height in pixels; ``values`` are the template's.

    Raises:
        OSError: it cannot be written.
    """
    triples, page = list(triples), templates(Path(__file__).resolve().parent)
    page.filters |= {"act": act_in_words, "line": one_line, "yaml": as_yaml}
    states = [exploration.states.get(end) for one in triples for end in (one.before, one.after)]
    files = {state.image: exploration.picture(state) for state in states if state}
    with ThreadPoolExecutor() as pool:
        pictures = pool.map(lambda file: _picture(file, size), files.values())
        known = {key: one for key, one in zip(files, pictures, strict=True) if one}
    text = page.get_template(f"{name}_page.html.j2").render(
        exploration=exploration, triples=triples, pictures=known, **values
    )
    path = exploration.folder / f"{name}.html"
    replace_file(path, text.encode("utf-8", "replace"))
    return path


def _picture(path: Path, size: tuple[int, int]) -> Picture | None:
    """A picture of at most that size; None where the file is none."""
    try:
        with Image.open(path, formats=("PNG",)) as file:
            image = file.convert("RGB")
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return None
    image.thumbnail(size, reducing_gap=2.0)
    return as_picture(image)
