"""A private desktop knows what opens a text and a PDF."""

from __future__ import annotations

from pathlib import Path

import pytest

from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.plugins.desktop.runtime.boot import list_openers


def test_the_application_that_names_the_fewest_kinds_opens_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "usr" / "share" / "applications"
    folder.mkdir(parents=True)
    for name, entries in (
        ("a-suite", "MimeType=text/plain;application/pdf;text/csv;"),
        ("editor", "MimeType=text/plain;text/x-log;"),
        ("shell", "MimeType=text/plain;\nTerminal=true"),
        ("nothing", "Name=Nothing"),
    ):
        (folder / f"{name}.desktop").write_text(f"[Desktop Entry]\n{entries}\n")
    lines = list_openers(str(tmp_path)).splitlines()
    assert lines[0] == "[Default Applications]"
    assert "text/plain=editor.desktop" in lines
    assert "application/pdf=a-suite.desktop" in lines
    assert list_openers(str(tmp_path / "absent")).splitlines() == ["[Default Applications]"]


@pytest.mark.desktop
async def test_a_private_desktop_opens_texts_and_pdfs_by_itself() -> None:
    async with DesktopEnvironment() as desktop:
        command = "for kind in text/plain application/pdf; do xdg-mime query default $kind; done"
        text, pdf = (await desktop.execute(command)).output.split()
        chosen = await desktop.execute("cat ~/.config/mimeapps.list")
    assert "office" not in text
    assert {f"text/plain={text}", f"application/pdf={pdf}"} <= set(chosen.output.splitlines())
