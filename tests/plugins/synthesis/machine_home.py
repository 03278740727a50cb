"""Homes for the tests of facts: files of every kind, read as a machine reads its own."""

from __future__ import annotations

import json
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any

from hisa.plugins.synthesis.machine_facts import guest_source
from hisa.plugins.synthesis.records import Fact, Facts

SYSTEM_PYTHON = "/usr/bin/python3"
_NAMES = " ".join(
    f'xmlns:{name}="urn:{name}"' for name in ("office", "style", "text", "table", "fo", "number")
)


def open_document(path: Path, body: str) -> None:
    """Writes the smallest OpenDocument file that has this body."""
    text = f"<office:document-content {_NAMES}><office:body>{body}</office:body>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", f"{text}</office:document-content>")


def workbook(path: Path, text: str = "East") -> None:
    """A sheet with a text, a number, a formula, a merged cell and the empty rest of a sheet."""
    body = (
        '<office:spreadsheet><table:table table:name="Sheet1">'
        '<table:table-column table:number-columns-repeated="16384"/>'
        '<table:table-row><table:table-cell office:value-type="string"><text:p>North &amp; '
        f"<text:s/>{text}</text:p></table:table-cell>"
        '<table:table-cell office:value-type="percentage" '
        'office:value="5.0"><text:p>500.00%</text:p></table:table-cell></table:table-row>'
        '<table:table-row table:visibility="collapse"><table:table-cell table:formula='
        '"of:=SUM([.B1:.B1])*2" office:value-type="float" office:value="10"/>'
        '<table:table-cell table:number-columns-spanned="2"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell '
        'table:number-columns-repeated="16384"/></table:table-row></table:table>'
        "</office:spreadsheet>"
    )
    open_document(path, body)


def letter(path: Path) -> None:
    """A text with a heading, a word in a span, and a list."""
    body = (
        "<office:text><text:h>Title</text:h><text:p>a <text:span>bold </text:span>word</text:p>"
        "<text:p>all</text:p><text:list><text:list-item><text:p>one</text:p>"
        "</text:list-item></text:list></office:text>"
    )
    open_document(path, body)


def fill(home: Path) -> None:
    """Puts a file of every kind below a home."""
    (home / ".config/app").mkdir(parents=True)
    (home / "a b.txt").write_text("one\ntwo\n")
    (home / ".config/app/app.conf").write_text("[view] # c\nwrap=True\nsize = 5.0\n[x]\nk=v\n")
    workbook(home / "sales.ods")
    letter(home / "letter.odt")


def run_at(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs a program with this home, as text."""
    variables = {"HOME": str(home), "PATH": os.environ["PATH"]}
    return subprocess.run(words, env=variables, capture_output=True, text=True, check=False)


def read_home(home: Path) -> Facts:
    """The facts of a home but for this machine's own settings."""
    done = run_at(home, SYSTEM_PYTHON, "-I", "-S", "-c", guest_source())
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["cut"] == ""
    rows = (row for row in answer["facts"] if row[0] != "gsettings")
    return {Fact(kind, place, item): value for kind, place, item, value in rows}
