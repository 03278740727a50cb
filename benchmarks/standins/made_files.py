"""Files that stand-in tasks are about, made when they are needed."""

from __future__ import annotations

import io
import json
import tarfile
import time
import zipfile
from collections.abc import Mapping, Sequence

__all__ = [
    "EVAL_SCRIPT",
    "archive",
    "document",
    "picture",
    "slides",
    "sound",
    "teller",
    "workbook",
]


def workbook(rows: Sequence[Sequence[object]]) -> bytes:
    """A workbook of one sheet."""
    from openpyxl import Workbook

    book = Workbook()
    for row in rows:
        book.active.append(list(row))
    return _saved(book)


def document(paragraphs: Sequence[str]) -> bytes:
    """A document with a paragraph for each text."""
    from docx import Document

    made = Document()
    for text in paragraphs:
        made.add_paragraph(text)
    return _saved(made)


def slides(titles: Sequence[str]) -> bytes:
    """A presentation with a title and an empty text on each slide."""
    from pptx import Presentation

    made = Presentation()
    for title in titles:
        slide = made.slides.add_slide(made.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "One line"
    return _saved(made)


def picture(width: int, height: int) -> bytes:
    """A picture with three bands of colour."""
    from PIL import Image, ImageDraw

    made = Image.new("RGB", (width, height), (240, 230, 210))
    draw = ImageDraw.Draw(made)
    draw.rectangle((0, height // 3, width, 2 * height // 3), fill=(60, 120, 180))
    draw.ellipse((width // 3, height // 3, 2 * width // 3, 2 * height // 3), fill=(200, 80, 40))
    data = io.BytesIO()
    made.save(data, "PNG")
    return data.getvalue()


def sound(seconds: int) -> bytes:
    """A low tone as a WAV file."""
    import math
    import struct
    import wave

    data = io.BytesIO()
    with wave.open(data, "wb") as made:
        made.setnchannels(1)
        made.setsampwidth(2)
        made.setframerate(8000)
        tone = (round(3000 * math.sin(n * 0.35)) for n in range(8000 * seconds))
        made.writeframes(b"".join(struct.pack("<h", value) for value in tone))
    return data.getvalue()


def archive(files: Mapping[str, str]) -> bytes:
    """A gzipped tar of text files that belong to the first user of the machine."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as made:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode, info.mtime = len(text.encode()), 0o600, int(time.time())
            info.uid = info.gid = 1000
            made.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


EVAL_SCRIPT = """\
if [ "$(tail -n 1 ~/output.txt 2>/dev/null)" = "3<br/>" ] && [ "$(wc -l <~/output.txt)" = 3 ]; then
  echo "Every line ends as it should."
else
  echo "Not yet."
fi
"""
"""Says whether the lines 1, 2 and 3 were written with an end."""


def _saved(made: object) -> bytes:
    data = io.BytesIO()
    made.save(data)  # type: ignore[attr-defined]
    return data.getvalue()


_TELLER = """const code = require("vscode"), files = require("fs");
const tell = () => files.writeFileSync("/home/user/folder.txt",
    (code.workspace.workspaceFolders || []).map((each) => each.name).join(" "));
exports.activate = (context) =>
    context.subscriptions.push(code.commands.registerCommand("teller.folder", tell));
"""
_SCHEMA = "http://schemas.microsoft.com/developer/vsx-schema/2011"
_TYPES = "http://schemas.openxmlformats.org/package/2006/content-types"


def teller() -> bytes:
    """A ZIP with an extension of Visual Studio Code: its command writes which folder is open."""
    about = {
        "name": "teller",
        "publisher": "standin",
        "version": "0.0.1",
        "engines": {"vscode": "^1.85.0"},
        "main": "./extension.js",
        "contributes": {"commands": [{"command": "teller.folder", "title": "TellFolder"}]},
    }
    manifest = (
        f'<PackageManifest Version="2.0.0" xmlns="{_SCHEMA}"><Metadata>'
        '<Identity Language="en-US" Id="teller" Version="0.0.1" Publisher="standin"/>'
        "<DisplayName>teller</DisplayName></Metadata><Assets>"
        '<Asset Type="Microsoft.VisualStudio.Code.Manifest" Path="extension/package.json"/>'
        "</Assets></PackageManifest>"
    )
    types = f'<Types xmlns="{_TYPES}"><Default Extension=".json" ContentType="text/json"/></Types>'
    parts = {
        "[Content_Types].xml": types,
        "extension.vsixmanifest": manifest,
        "extension/package.json": json.dumps(about),
        "extension/extension.js": _TELLER,
    }
    return _zipped({"teller/teller.vsix": _zipped(parts)})


def _zipped(parts: Mapping[str, str | bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as made:
        for name, text in parts.items():
            made.writestr(name, text)
    return data.getvalue()
