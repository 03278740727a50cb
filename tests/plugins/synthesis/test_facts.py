"""Facts of real files: what is read, what a check asks for, what undoes it, and what is hostile."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zipfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from hisa.plugins.synthesis.checks import check_of
from hisa.plugins.synthesis.distinct_effects import select_essential
from hisa.plugins.synthesis.machine_facts import compare_facts, guest_source
from hisa.plugins.synthesis.records import Change, Effect, Fact, Facts
from hisa.plugins.synthesis.subject import SUBJECTS

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
    result = run_at(home, SYSTEM_PYTHON, "-I", "-S", "-c", guest_source())
    assert result.returncode == 0, result.stderr
    answer: dict[str, Any] = json.loads(result.stdout)
    assert answer["cut"] == ""
    rows = (row for row in answer["facts"] if row[0] != "gsettings")
    return {Fact(kind, place, item): value for kind, place, item, value in rows}


pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not os.path.exists(SYSTEM_PYTHON), reason="no Python of the system"),
]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    fill(tmp_path)
    return tmp_path


def effect_of(changes: Iterable[Change]) -> Effect:
    return Effect(id="e", changes=tuple(changes), triples=(0,))


def passes(home: Path, effect: Effect) -> bool:
    """Whether all checks of an effect hold in a home, as HiSA's format compares them."""
    checks = check_of(effect)
    assert not isinstance(checks, str), checks
    for check in checks:
        if "file" in check:
            path = home / check["file"].removeprefix("~/")
            text = path.read_text() if path.exists() else None
        else:
            result = run_at(home, "bash", "-c", check["command"])
            text = result.stdout if result.returncode == 0 else None
        if text is None or text.strip() != check["equals"].strip():
            return False
    return True


def test_every_kind_is_read(home: Path) -> None:
    facts = read_home(home)
    expected = {
        ("text", "~/a b.txt", ""): "one\ntwo\n",
        ("ini", "~/.config/app/app.conf", "[view] wrap"): "True",
        ("document", "~/sales.ods", "Sheet1.A1/value"): "North &  East",
        ("document", "~/sales.ods", "Sheet1.B1/value"): "5",
        ("document", "~/sales.ods", "Sheet1.A2/formula"): "=SUM(B1:B1)*2",
        ("document", "~/letter.odt", "text"): "Title\na bold word\nall\none",
        ("file", "~/.config/app", ""): "folder",
        ("file", "~/sales.ods", ""): "file",
    }
    assert {key: facts.get(Fact(*key)) for key in expected} == expected  # type: ignore[arg-type]


def agree(home: Path) -> None:
    """Each fact's check, which reads in its own way, holds where the fact was read."""
    by_place: dict[tuple[str, str], list[Change]] = defaultdict(list)
    for fact, value in read_home(home).items():
        if fact.kind != "file":
            absent = Change(fact=fact, before=None, after=value)
            by_place[fact.kind, fact.place].append(absent)
    assert by_place
    for changes in by_place.values():
        for start in range(0, len(changes), 60):
            assert passes(home, effect_of(changes[start : start + 60])), changes


def test_checks_and_facts_agree(home: Path) -> None:
    agree(home)


@pytest.mark.skipif(not shutil.which("soffice"), reason="no LibreOffice")
@pytest.mark.parametrize("path", sorted(SUBJECTS.glob("*/*.od?")), ids=lambda path: path.name)
def test_a_first_save_by_libreoffice_changes_no_fact(tmp_path: Path, path: Path) -> None:
    (tmp_path / "home").mkdir()
    shutil.copy(path, tmp_path / "home")
    start = read_home(tmp_path / "home")
    run_at(
        tmp_path,
        "soffice",
        "--headless",
        "--convert-to",
        path.suffix[1:],
        "--outdir",
        str(tmp_path / "home"),
        str(path),
    )
    assert (tmp_path / "home" / path.name).read_bytes() != path.read_bytes()
    assert compare_facts(start, read_home(tmp_path / "home")) == ()
    agree(tmp_path / "home")


def test_a_check_fails_for_another_value_and_a_damaged_file(home: Path) -> None:
    workbook(home / "sales.ods", text="West")
    before = read_home(home)
    workbook(home / "sales.ods")
    effect = effect_of(compare_facts(before, read_home(home)))
    assert [change.fact.item for change in effect.changes] == ["Sheet1.A1/value"]
    assert passes(home, effect)
    workbook(home / "sales.ods", text="West")
    assert not passes(home, effect)
    (home / "sales.ods").write_bytes(b"PK damaged")
    assert not passes(home, effect)


def test_check_covers_content_lost_from_a_document(home: Path) -> None:
    start = read_home(home)
    body = "<office:text><text:p>Title</text:p></office:text>"
    open_document(home / "letter.odt", body)
    open_document(home / "sales.ods", "<office:spreadsheet/>")
    changes = compare_facts(start, read_home(home))
    for place in ("~/letter.odt", "~/sales.ods"):
        effect = effect_of(change for change in changes if change.fact.place == place)
        assert passes(home, effect)
        lost = [change for change in effect.changes if change.after is None]
        assert bool(lost) == place.endswith("ods")
        shutil.copy(home / place[2:], home / "kept")
        (letter if place.endswith("odt") else workbook)(home / place[2:])
        assert not passes(home, effect)
        shutil.copy(home / "kept", home / place[2:])


def test_the_folder_of_a_browser_is_not_read(home: Path) -> None:
    start = read_home(home)
    profile = home / ".config/chromium/Default"
    profile.mkdir(parents=True)
    (home / ".config/chromium/Local State").write_text("{}")
    (profile / "Preferences").write_text("{}")
    assert select_essential(compare_facts(start, read_home(home))) == ()


def test_check_accepts_equivalent_forms_of_a_value(home: Path) -> None:
    conf = home / ".config/app/app.conf"
    fact = Fact("ini", "~/.config/app/app.conf", "[view] size")
    effect = effect_of([Change(fact=fact, before="4", after="5")])
    assert passes(home, effect)
    conf.write_text("[view]\nsize=5\n")
    assert passes(home, effect)
    conf.write_text("[view]\nsize=50\n")
    assert not passes(home, effect)


def test_a_file_that_went_and_one_that_moved(home: Path) -> None:
    (home / "old.png").write_bytes(b"\x89PNG\0 picture")
    start = read_home(home)
    (home / "old.png").rename(home / "new.png")
    effect = effect_of(select_essential(compare_facts(start, read_home(home))))
    assert [change.fact.place for change in effect.changes] == ["~/new.png", "~/old.png"]
    assert passes(home, effect)
    (home / "new.png").write_bytes(b"\x89PNG\0 another")
    assert not passes(home, effect)


@pytest.mark.parametrize(
    ("path", "read"),
    [
        (".config/app/x.lock", False),
        (".config/libreoffice/4/user/backup/a.odt", False),
        ("Documents/.~lock.a.odt#", False),
        ("Documents/session", True),
    ],
)
def test_files_of_a_moment_are_not_read(tmp_path: Path, path: str, read: bool) -> None:
    (tmp_path / path).parent.mkdir(parents=True)
    (tmp_path / path).write_text("x")
    assert (Fact("file", f"~/{path}") in read_home(tmp_path)) is read


def test_hostile_files_cost_their_own_facts_only(home: Path) -> None:
    plain = read_home(home)
    with zipfile.ZipFile(home / "bomb.ods", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("content.xml", b"<a>" + b" " * 60_000_000 + b"</a>")
    entities = '<!DOCTYPE a [<!ENTITY b "bbbb"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'
    with zipfile.ZipFile(home / "entities.odt", "w") as archive:
        archive.writestr("content.xml", entities)
    deep = "<text:span>" * 50_000 + "</text:span>" * 50_000
    open_document(home / "deep.odt", f"<office:text><text:p>{deep}</text:p></office:text>")
    wide = '<table:table table:name="w"><table:table-row>' + (
        '<table:table-cell table:number-columns-repeated="199" office:value-type="float" '
        'office:value="1"/>' * 100_000 + "</table:table-row></table:table>"
    )
    open_document(home / "wide.ods", f"<office:spreadsheet>{wide}</office:spreadsheet>")
    (home / ".config/deep.json").write_text('{"a":' * 100_000 + "1" + "}" * 100_000)
    (home / "huge.txt").write_text("x" * 5_000_000)
    (home / "loop").symlink_to(home)
    (home / "self").symlink_to("self")
    (home / "latin.txt").write_bytes("é".encode("latin-1"))
    (home / os.fsdecode(b"odd\xff.txt")).write_text("x")
    os.mkfifo(home / "pipe")
    (home / "closed.txt").write_text("x")
    (home / "closed.txt").chmod(0)
    facts = read_home(home)
    assert plain.items() <= facts.items()
    assert facts[Fact("file", "~/huge.txt")].startswith("file 5000000 ")
    assert facts[Fact("file", "~/self")] == "link self"
    hostile = ("~/bomb.ods", "~/entities.odt", "~/deep.odt", "~/wide.ods", "~/.config/deep.json")
    assert not [f for f in facts if f.place in hostile and f.kind != "file"]
    assert Fact("file", "~/pipe") not in facts
