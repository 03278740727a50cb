"""Reading text off real pictures with the real program."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from hisa.plugins.offline.role_answers import Turn, answer
from hisa.plugins.reading import tesseract
from hisa.screen import ocr
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot

SAVE_AS = Path(__file__).parents[2] / "grounder" / "data" / "save_as.png"
needs_tesseract = pytest.mark.skipif(
    not ocr.available(), reason="needs the tesseract program: sudo apt-get install tesseract-ocr"
)


def drawn(texts: dict[tuple[int, int], str], size: tuple[int, int] = (640, 360)) -> Screenshot:
    picture = Image.new("RGB", size, "white")
    draw = ImageDraw.Draw(picture)
    for place, text in texts.items():
        draw.text(place, text, fill="black", font=ImageFont.load_default(16))
    return Screenshot(picture)


@needs_tesseract
def test_reads_a_real_dialog() -> None:
    lines = ocr.read_text(Screenshot.from_png(SAVE_AS.read_bytes()))
    texts = {line.text: line.box for line in lines}
    assert {"Cancel", "Save", "Desktop"} <= {word.text for line in lines for word in line.words}
    assert BoundingBox(1007, 675, 1092, 708).contains(texts["Cancel"].centre)
    assert list(lines) == sorted(lines, key=lambda line: (line.box.top, line.box.left))


@needs_tesseract
def test_words_far_apart_are_separate_lines() -> None:
    screenshot = drawn({(40, 100): "Accept all", (420, 100): "Reject all"})
    assert {line.text for line in ocr.read_text(screenshot)} == {"Accept all", "Reject all"}


@needs_tesseract
def test_a_part_is_read_alone_and_placed_on_the_whole() -> None:
    screenshot = drawn({(40, 40): "Above", (400, 280): "Below"})
    lines = ocr.read_text(screenshot, BoundingBox(320, 200, 640, 360))
    assert [line.text for line in lines] == ["Below"]
    assert BoundingBox(395, 275, 470, 310).contains(lines[0].box.centre)


@needs_tesseract
def test_the_same_picture_is_read_once() -> None:
    one, same = drawn({(40, 40): "Once"}), drawn({(40, 40): "Once"})
    assert ocr.read_text(one) is ocr.read_text(same)


@needs_tesseract
def test_an_empty_picture_has_no_lines() -> None:
    assert ocr.read_text(drawn({})) == ()


def test_a_part_outside_the_picture_has_no_lines() -> None:
    assert ocr.read_text(drawn({}), BoundingBox(700, 0, 800, 100)) == ()


def test_without_the_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not ocr.available()
    with pytest.raises(ocr.OcrUnavailable) as unavailable:
        ocr.read_text(drawn({(9, 9): "never read before"}))
    assert "tesseract-ocr" in unavailable.value.fix


def test_a_broken_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "tesseract"
    program.write_text("#!/bin/sh\necho no language >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    with pytest.raises(ocr.OcrUnavailable, match="ended with 3: no language"):
        ocr.read_text(drawn({(9, 9): "never read either"}))


@pytest.mark.parametrize(
    ("script", "limit"), [("exit 3", 20.0), ("exec sleep 60", 0.05)], ids=["breaks", "hangs"]
)
def test_a_reader_that_fails_ends_neither_a_step_nor_its_run(
    script: str, limit: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / tesseract.PROGRAM
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(tesseract, "TIME_LIMIT", limit)
    pictures = tuple(drawn({(40, 40): f"{script} {n}"}).png for n in range(2))
    said = answer(
        (
            Turn("system", "# Step abstraction\n\nDo it."),
            Turn(
                "user", "<action>\ntool: gui_action\n</action>\n<outcome>\nok\n</outcome>", pictures
            ),
        )
    )
    assert said


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
    said = tmp_path / "said"
    program = tmp_path / tesseract.PROGRAM
    program.write_text(
        f'#!/bin/sh\nif [ "$1" = --list-langs ]; then\nprintf "List:\\n"\n'
        f'for name in {installed}; do echo "$name"; done\nelse echo "$@" > {said}\nfi\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    tesseract.languages.cache_clear()
    try:
        assert ocr.read_text(drawn({(9, 9): f"read with {installed}"})) == ()
    finally:
        tesseract.languages.cache_clear()
    assert f"-l {read} " in said.read_text()


def test_japanese_has_no_blanks_between_its_words() -> None:
    box = BoundingBox(0, 0, 10, 10)
    words = tuple(ocr.Word(text, box, 0.9) for text in ("買い", "物", "メモ", "(PDF)", "2 Seiten"))
    assert ocr.Line(words).text == "買い物メモ (PDF) 2 Seiten"
