"""Looks for a secret in every byte and picture of a run, and in all that models were asked."""

from __future__ import annotations

import functools
import html
import io
import os
import subprocess
from pathlib import Path

from PIL import Image

from hisa.plugins.guard.secrets.secret_reading import skeleton
from hisa.protocols import ModelRequest
from hisa.runs.report import render_report
from hisa.runs.run_reader import load_run
from hisa.text.redact.named_secrets import forms

__all__ = ["find_leaks"]

_PIECE = 7
"""Characters in a row that give a value away."""


def find_leaks(value: str, folder: Path, *requests: ModelRequest) -> list[str]:
    """Names of the files and requests that hold the value in some form, or show it.

    The report is made first, so that it is one of the files.
    """
    (folder / "report.html").write_text(render_report(load_run(folder)), "utf-8")
    needles = [form.encode() for form in forms(value)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    leaks = [
        path.name
        for path in files
        if any(needle in _plain(path) for needle in needles)
        or (path.suffix == ".png" and _shows(path.read_bytes(), value))
    ]
    for number, request in enumerate(requests):
        texts = any(form in request.text for form in forms(value))
        if texts or any(_shows(picture.png, value) for picture in request.pictures):
            leaks.append(f"request {number}")
    return leaks


def _plain(path: Path) -> bytes:
    """The bytes of a file; those of a page also as a browser shows them."""
    data = path.read_bytes()
    if path.suffix != ".html":
        return data
    return data + html.unescape(data.decode("utf-8")).encode()


@functools.cache
def _shows(png: bytes, value: str) -> bool:
    """Whether tesseract reads a piece of the value at twice the size."""
    picture = Image.open(io.BytesIO(png)).convert("L")
    parts = [picture]
    if picture.size == (1280, 720):  # framed words are often skipped: the form's field by itself
        parts += [picture.crop((224, 123, 576, 150)), picture.crop((122, 280, 580, 304))]
    readings = [skeleton(_read(part)) for part in parts]
    expected = skeleton(value)
    pieces = {expected[at : at + _PIECE] for at in range(len(expected) - _PIECE + 1)}
    return any(piece in text for text in readings for piece in pieces)


def _read(picture: Image.Image) -> str:
    held = io.BytesIO()
    picture.resize((picture.width * 2, picture.height * 2)).save(held, "PNG")
    return subprocess.run(
        ["tesseract", "stdin", "stdout", "--psm", "11"],
        input=held.getvalue(),
        env={**os.environ, "OMP_THREAD_LIMIT": "1"},  # more threads cost time on such pictures
        capture_output=True,
        check=True,
    ).stdout.decode("utf-8", "replace")
