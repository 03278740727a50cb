"""Homes for the tests of facts: files of every kind, read as a machine reads its own."""

from __future__ import annotations

import json
import os
import sqlite3
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


def open_document(path: Path, body: str, automatic: str, common: str = "") -> None:
    """Writes the smallest OpenDocument file that has these parts."""
    parts = {
        "content.xml": (
            f"<office:document-content {_NAMES}><office:automatic-styles>{automatic}"
            f"</office:automatic-styles><office:body>{body}</office:body>"
            "</office:document-content>"
        ),
        "styles.xml": (
            f"<office:document-styles {_NAMES}><office:styles>{common}</office:styles>"
            "</office:document-styles>"
        ),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def workbook(path: Path, b1_style: str = "ce1") -> None:
    """A sheet with a bold number, a formula, a merged cell and the empty rest of a sheet."""
    automatic = (
        '<number:percentage-style style:name="N1"><number:number number:decimal-places="2"/>'
        "<number:text>%</number:text></number:percentage-style>"
        '<style:style style:name="ce1" style:family="table-cell" style:data-style-name="N1" '
        'style:parent-style-name="Default"><style:text-properties fo:font-weight="bold" '
        'fo:color="#FF0000"/></style:style>'
    )
    body = (
        '<office:spreadsheet><table:table table:name="Sheet1">'
        '<table:table-column table:number-columns-repeated="16384"/>'
        '<table:table-row><table:table-cell office:value-type="string"><text:p>North &amp; '
        "<text:s/>East</text:p></table:table-cell>"
        f'<table:table-cell table:style-name="{b1_style}" office:value-type="percentage" '
        'office:value="5.0"><text:p>500.00%</text:p></table:table-cell></table:table-row>'
        '<table:table-row table:visibility="collapse"><table:table-cell table:formula='
        '"of:=SUM([.B1:.B1])*2" office:value-type="float" office:value="10"/>'
        '<table:table-cell table:number-columns-spanned="2"/></table:table-row>'
        '<table:table-row table:number-rows-repeated="1048570"><table:table-cell '
        'table:number-columns-repeated="16384"/></table:table-row></table:table>'
        "</office:spreadsheet>"
    )
    default = '<style:style style:name="Default" style:family="table-cell"/>'
    open_document(path, body, automatic, default)


def letter(path: Path) -> None:
    """A text with a heading, a bold word, a centred paragraph that is bold, and a list."""
    automatic = (
        '<style:style style:name="P1" style:family="paragraph" style:parent-style-name="Body">'
        '<style:paragraph-properties fo:text-align="center"/></style:style>'
        '<style:style style:name="T1" style:family="text"><style:text-properties '
        'fo:font-weight="bold"/></style:style>'
        '<text:list-style style:name="L1"><text:list-level-style-bullet/></text:list-style>'
    )
    body = (
        '<office:text><text:h text:style-name="Heading">Title</text:h>'
        '<text:p text:style-name="Body">a <text:span text:style-name="T1">bold </text:span>word'
        '</text:p><text:p text:style-name="P1"><text:span text:style-name="T1">all</text:span>'
        '</text:p><text:list text:style-name="L1"><text:list-item><text:p>one</text:p>'
        "</text:list-item></text:list></office:text>"
    )
    common = "".join(
        f'<style:style style:name="{name}" style:family="paragraph"/>'
        for name in ("Body", "Heading")
    )
    open_document(path, body, automatic, common)


def fill(home: Path) -> None:
    """Puts a file of every kind below a home."""
    (home / ".config/app").mkdir(parents=True)
    (home / "a b.txt").write_text("one\ntwo\n")
    (home / ".config/app/app.conf").write_text("[view] # c\nwrap=True\nsize = 5.0\n[x]\nk=v\n")
    tree = {"a": {"b~/c": [1, {"d": 2.0}], "on": True}, "l": ["x", "y"]}
    (home / ".config/app/Preferences").write_text(json.dumps(tree))
    (home / ".config/app/registry.xcu").write_text(
        '<oor:items xmlns:oor="urn:oor"><item oor:path="/org/Grid"><prop oor:name="Shown">'
        '<value>true</value></prop></item><item oor:path="/org/List"><node oor:name="n">'
        '<prop oor:name="F"><value><it>a</it><it>b</it></value></prop></node></item></oor:items>'
    )
    with sqlite3.connect(home / "notes.db") as base:
        base.execute("CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT, mark REAL)")
        base.execute("INSERT INTO note VALUES (1, 'milk', 5.0), (2, NULL, 1.5)")
    base.close()
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
