"""Reading text off real pictures with the real program."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from hisa.plugins.reading import tesseract
from hisa.screen import ocr
from hisa.screen.geometry import BoundingBox, Size
from hisa.screen.observation import Screenshot

SAVE_AS = Path(__file__).parents[2] / "grounder" / "data" / "save_as.png"
needs_tesseract = pytest.mark.skipif(
    not tesseract.TEXT.available(),
    reason="needs the tesseract program: sudo apt-get install tesseract-ocr",
)


@pytest.fixture(autouse=True)
def without_nets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where PP-OCR is installed, it would read."""
    monkeypatch.setitem(sys.modules, "rapidocr", None)


def drawn(
    texts: dict[tuple[int, int], str], size: tuple[int, int] = (640, 360), letters: int = 16
) -> Screenshot:
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    for place, text in texts.items():
        draw.text(place, text, fill="black", font=ImageFont.load_default(letters))
    return Screenshot(picture)


@needs_tesseract
def test_reads_a_real_dialog() -> None:
    lines = ocr.read_text(Screenshot.from_png(SAVE_AS.read_bytes()))
    texts = {line.text: line.box for line in lines}
    assert {"Cancel", "Save", "Desktop"} <= {word.text for line in lines for word in line.words}
    assert BoundingBox(1007, 675, 1092, 708).contains(texts["Cancel"].centre)
    assert list(lines) == sorted(lines, key=lambda line: (line.box.top, line.box.left))


@needs_tesseract
def test_part_is_read_alone_in_coordinates_of_the_full_picture() -> None:
    screenshot = drawn({(40, 40): "Above", (400, 280): "Below"})
    lines = ocr.read_text(screenshot, BoundingBox(320, 200, 640, 360))
    assert [line.text for line in lines] == ["Below"]
    assert BoundingBox(395, 275, 470, 310).contains(lines[0].box.centre)


def test_without_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not ocr.available()
    with pytest.raises(ocr.OcrUnavailable) as unavailable:
        tesseract.TEXT.read_text(drawn({(9, 9): "never read before"}), None, least=0.3)
    assert "tesseract-ocr" in unavailable.value.fix


def test_a_broken_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\necho no language >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(ocr.OcrUnavailable, match="ended with 3: no language"):
        ocr.read_text(drawn({(9, 9): "never read either"}))


@pytest.mark.parametrize(
    ("installed", "read"),
    [
        ("eng osd", "eng"),
        ("eng jpn osd rus", "eng+jpn+rus"),
        ("chi_sim eng", "eng+chi_sim"),
        ("afr amh ara asm aze eng", "eng"),
    ],
)
def test_reads_the_languages_that_are_installed(
    installed: str, read: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments_path = tmp_path / "said"
    program = tmp_path / tesseract.PROGRAM
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = --list-langs ]; then\nprintf "List:\\n"\n'
        f'for name in {installed}; do echo "$name"; done\nelse echo "$@" > {arguments_path}\nfi\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    tesseract.languages.cache_clear()
    try:
        assert ocr.read_text(drawn({(9, 9): f"read with {installed}"})) == ()
    finally:
        tesseract.languages.cache_clear()
    assert f"-l {read} " in arguments_path.read_text()


@needs_tesseract
def test_a_wide_screen_is_read_at_its_full_size() -> None:
    names = ("Invoice total 118", "Delivery address", "Customer 4512", "Payment reference")
    places = {
        (60 + 950 * column, 40 + 30 * row): name
        for row in range(3)
        for column, name in enumerate(names)
    }
    full = drawn(places, (3840, 1080), 11)
    shown = full.fit_to(Size(1280, 720))
    assert shown.size == Size(1280, 360)
    lines = ocr.read_text(shown)
    assert [line.text for line in lines].count("Delivery address") == 3
    (first,) = [line for line in lines if line.text == "Invoice total 118"][:1]
    assert BoundingBox(18, 12, 60, 20).contains(first.box.centre), "it lies on the shown picture"
    part = ocr.read_text(shown, BoundingBox(330, 0, 640, 20))
    assert [line.text for line in part] == ["Delivery address"]


@needs_tesseract
@pytest.mark.parametrize("padding", [4, 8])
@pytest.mark.parametrize(
    ("side", "inside"), [("#767676", "#efefef"), ("#cdc7c2", "#f6f5f4"), ("#d0d0d0", "#fdfdfd")]
)
def test_buttons_side_by_side_are_texts_of_their_own(padding: int, side: str, inside: str) -> None:
    picture = Image.new("RGB", (480, 120), "#fafafa")
    draw, font, left = ImageDraw.Draw(picture), ImageFont.load_default(15), 30.0
    names = ["Cancel", "Apply", "Replace", "Options"]
    for name in names:
        right = left + draw.textlength(name, font) + 2 * padding
        draw.rectangle((left, 40, right, 66), inside, side)
        draw.text((left + padding, 44), name, "#202020", font)
        left = right + 4
    texts = [line.text for line in ocr.read_text(Screenshot(picture))]
    assert not [text for text in texts if sum(name in text for name in names) > 1]
    assert len(set(texts) & set(names)) >= 3, texts
