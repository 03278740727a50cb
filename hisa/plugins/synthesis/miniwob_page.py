"""A page of MiniWoB++ as one file with all that it loads; it begins by itself."""

from __future__ import annotations

import base64
import importlib.util
import mimetypes
import re
from pathlib import Path

from hisa.errors import UsageError
from hisa.machine.parts import install_command
from hisa.machine.storage import replace_file

__all__ = ["write_page"]

_BEGIN = Path(__file__).with_name("subjects") / "miniwob" / "begin.html"
_LOADS = re.compile(r"""(src="|href="|url\("?)([\w./-]+\.(?:js|css|png))(?=["()])""")


def write_page(name: str, path: Path) -> str:
    """Write a page; returns its title.

    Raises:
        UsageError: the package has no such page, or is not installed.
    """
    spec = importlib.util.find_spec("miniwob")
    page = Path(spec.origin if spec and spec.origin else "").parent / f"html/miniwob/{name}.html"
    if not re.fullmatch(r"[a-z0-9-]{1,32}", name) or not page.is_file():
        raise UsageError(f"no page {name[:99]!r} of MiniWoB++", fix=install_command("miniwob"))
    text = page.read_text("utf-8") + _BEGIN.read_text("utf-8")
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_file(path, _with_loaded(text, page.parent).encode())
    title = re.search(r"<title>\s*([\w -]+?)\s*</title>", text)
    return title[1] if title else name


def _with_loaded(text: str, folder: Path) -> str:
    def loaded(match: re.Match[str]) -> str:
        file = folder / match[2]
        data = file.read_bytes()
        if file.suffix == ".css":
            data = _with_loaded(data.decode(), file.parent).encode()
        kind = mimetypes.guess_type(file.name)[0]
        return f"{match[1]}data:{kind};base64,{base64.b64encode(data).decode()}"

    return _LOADS.sub(loaded, text)
