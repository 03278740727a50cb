"""Lists the pages of the ``miniwob`` package, and packs all of them into one file to run.

The package is never imported: that would need Gymnasium and Selenium, which are not used here.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import re
import zipfile
from pathlib import Path

from hisa.errors import UsageError
from hisa.machine.parts import install_command

__all__ = ["application", "left_out", "page_path", "tasks"]

_HERE = Path(__file__).parent
_REGISTERED = re.compile(r"""id=["']miniwob/([A-Za-z0-9.-]+)-v\d+["']""")


def _package() -> Path:
    """Returns the folder of the package.

    Raises:
        UsageError: the package is not installed.
    """
    spec = importlib.util.find_spec("miniwob")
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    if not places or not (Path(places[0]) / "html" / "core" / "core.js").is_file():
        raise UsageError("the pages of MiniWoB++ are not installed", fix=install_command("miniwob"))
    return Path(places[0])


def tasks() -> tuple[str, ...]:
    """Returns the tasks that the package registers, sorted; three with a dot belong to FlightWoB.

    Raises:
        UsageError: the package is not installed, or its tasks cannot be read.
    """
    text = (_package() / "registration.py").read_text(encoding="utf-8")
    names = sorted(set(_REGISTERED.findall(text)))
    if not names:
        raise UsageError(
            f"{_package()}: no registered tasks can be read", fix=install_command("miniwob")
        )
    return tuple(names)


def left_out() -> dict[str, str]:
    """Returns the pages that are not tasks, with the reason."""
    known = set(tasks())
    pages = sorted(path.stem for path in (_package() / "html" / "miniwob").glob("*.html"))
    return {page: "the package registers no task for it" for page in pages if page not in known}


def page_path(task: str) -> str:
    """Returns the path of a task's page, relative to ``html/``.

    Raises:
        UsageError: no such task.
    """
    known = tasks()
    if task not in known:
        some = ", ".join(known[:10])
        raise UsageError(
            f"no MiniWoB++ task {task[:100]!r}; there are {len(known)}: {some} …",
            fix="hisa bench run miniwob",
        )
    group, _, name = task.rpartition(".")
    return f"{group}/{name}/wrapper.html" if group else f"miniwob/{task}.html"


@functools.cache
def application() -> bytes:
    """Returns a zip application that holds the pages and shows one of them; see `miniwob.stage`.

    Raises:
        UsageError: the package is not installed.
    """
    html = _package() / "html"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.write(_HERE / "stage.py", "__main__.py")
        archive.write(_HERE / "episode.js", "episode.js")
        for path in sorted(html.rglob("*")):
            if path.is_file():
                archive.write(path, f"html/{path.relative_to(html)}")
    return buffer.getvalue()
