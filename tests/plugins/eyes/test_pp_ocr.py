"""Reading text off pictures with PP-OCR's nets; without them, with tesseract."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont

from hisa.plugins.eyes import pp_ocr
from hisa.plugins.eyes.pp_ocr import PpOcr
from hisa.plugins.eyes.text_nets import Pixels, Reading, TextNets, open_nets
from hisa.screen import ocr
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Screenshot
from hisa.screen.ocr import Line

SAVE_AS = Path(__file__).parents[2] / "grounder" / "data" / "save_as.png"
needs_nets = pytest.mark.skipif(
    not pp_ocr.PP_OCR.available(), reason="needs PP-OCR: hisa install eyes"
)


def draw(
    texts: dict[tuple[int, int], str], size: tuple[int, int] = (640, 360), letters: int = 16
) -> Image.Image:
    picture = Image.new("RGB", size, "white")
    pen = ImageDraw.Draw(picture)
    for place, text in texts.items():
        pen.text(place, text, fill="black", font=ImageFont.load_default(letters))
    return picture


def read(
    picture: Image.Image, box: BoundingBox | None = None, reader: PpOcr | None = None
) -> tuple[Line, ...]:
    return (reader or PpOcr()).read_text(Screenshot(picture), box, least=ocr.MIN_CONFIDENCE)


def texts(lines: Sequence[Line]) -> list[str]:
    return [line.text for line in lines]


# ---------------------------------------------------------------- which reader is used


@pytest.fixture
def without_nets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rapidocr", None)


@pytest.mark.usefixtures("without_nets")
@pytest.mark.skipif(not shutil.which("tesseract"), reason="needs the tesseract program")
def test_tesseract_reads_where_the_nets_are_not_installed() -> None:
    assert not pp_ocr.PP_OCR.available()
    lines = ocr.read_text(Screenshot(draw({(40, 40): "Archive"})))
    assert texts(lines) == ["Archive"]


@pytest.mark.usefixtures("without_nets")
def test_the_reason_says_what_installs_a_reader(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not ocr.available()
    with pytest.raises(ocr.OcrUnavailable, match="no reader of text is installed") as unavailable:
        ocr.read_text(Screenshot(draw({(9, 9): "not read"})))
    assert unavailable.value.fix == "hisa install eyes"
    open_nets.cache_clear()
    with pytest.raises(ocr.OcrUnavailable, match=r"not installed: .*rapidocr"):
        read(draw({(9, 9): "not read"}))


@needs_nets
def test_the_nets_read_where_they_are_installed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert ocr.available()
    assert texts(ocr.read_text(Screenshot(draw({(40, 40): "Archive"})))) == ["Archive"]


# ---------------------------------------------------------------- what is read


@needs_nets
def test_a_real_dialog() -> None:
    lines = read(Image.open(SAVE_AS))
    boxes = {line.text: line.box for line in lines}
    assert {"Cancel", "Save", "Desktop"} <= {word.text for line in lines for word in line.words}
    assert BoundingBox(1007, 675, 1092, 708).contains(boxes["Cancel"].centre)
    assert list(lines) == sorted(lines, key=lambda line: (line.box.top, line.box.left))


@needs_nets
@pytest.mark.parametrize("letters", [11, 13, 16, 24])
def test_boxes_of_words_are_where_the_words_are_drawn(letters: int) -> None:
    pen, font = ImageDraw.Draw(Image.new("RGB", (9, 9))), ImageFont.load_default(letters)
    (line,) = read(draw({(40, 60): "Save changes now"}, letters=letters))
    assert [word.text for word in line.words] == ["Save", "changes", "now"]
    for word, before in zip(line.words, ("", "Save ", "Save changes "), strict=True):
        left = 40 + pen.textlength(before, font)
        drawn = pen.textbbox((left, 60), word.text, font)
        for side, expected in zip(
            (word.box.left, word.box.right), (drawn[0], drawn[2]), strict=True
        ):
            assert abs(side - expected) <= 3, (word, drawn)
        assert abs(word.box.centre.y - (drawn[1] + drawn[3]) / 2) <= letters / 4
        assert word.confidence > 0.8


@needs_nets
def test_a_part_is_read_alone_in_coordinates_of_the_full_picture() -> None:
    picture = draw({(40, 40): "Above", (400, 280): "Below"})
    (line,) = read(picture, BoundingBox(320, 200, 640, 360))
    assert line.text == "Below"
    assert BoundingBox(395, 275, 470, 310).contains(line.box.centre)
    assert read(picture, BoundingBox(700, 0, 800, 90)) == ()


@needs_nets
def test_a_gap_as_wide_as_the_line_is_high_begins_another_line() -> None:
    lines = read(draw({(40, 40): "File", (100, 40): "Edit", (160, 40): "View"}))
    assert texts(lines) == ["File", "Edit", "View"]


@needs_nets
@pytest.mark.parametrize("padding", [4, 8])
def test_buttons_side_by_side_are_texts_of_their_own(padding: int) -> None:
    picture = Image.new("RGB", (480, 120), "#fafafa")
    pen, font, left = ImageDraw.Draw(picture), ImageFont.load_default(15), 30.0
    names = ["Cancel", "Apply", "Replace", "Options"]
    for name in names:
        right = left + pen.textlength(name, font) + 2 * padding
        pen.rectangle((left, 40, right, 66), "#efefef", "#767676")
        pen.text((left + padding, 44), name, "#202020", font)
        left = right + 4
    assert texts(sorted(read(picture), key=lambda line: line.box.left)) == names


@needs_nets
def test_text_that_runs_upwards_is_read() -> None:
    picture = Image.new("RGB", (300, 300), "white")
    picture.paste(draw({(5, 5): "Temperature"}, (120, 30)).rotate(90, expand=True), (100, 80))
    (line,) = read(picture)
    assert line.text == "Temperature"
    assert BoundingBox(100, 80, 130, 200).contains(line.box.centre)


@needs_nets
def test_a_wide_screen_is_read_in_its_own_pixels() -> None:
    picture = draw({(3000, 1500): "Delivery address", (60, 40): "Customer"}, (3840, 2160), 28)
    upper, lower = read(picture)
    assert texts((upper, lower)) == ["Customer", "Delivery address"]
    assert BoundingBox(3000, 1490, 3300, 1550).contains(lower.box.centre)


@needs_nets
def test_nothing_is_read_where_nothing_is_written() -> None:
    assert read(Image.new("RGB", (640, 360), "navy")) == ()
    assert read(Image.new("RGB", (1, 1), "navy")) == ()


# ---------------------------------------------------------------- what is read again


class CountingNets:
    """Counts what the nets are given."""

    def __init__(self) -> None:
        self.tiles: list[tuple[int, ...]] = []
        self.lines: list[tuple[int, int]] = []
        self._nets: TextNets = open_nets()

    def mark(self, pixels: Pixels) -> Pixels:
        self.tiles.append(pixels.shape)
        return self._nets.mark(pixels)

    def read(self, crop: Image.Image) -> Reading:
        self.lines.append(crop.size)
        return self._nets.read(crop)


ROWS = {(40, 30 + 40 * row): f"Invoice number {row}" for row in range(16)}


@needs_nets
def test_a_later_look_reads_only_what_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    nets, reader = CountingNets(), PpOcr()
    monkeypatch.setattr(pp_ocr, "open_nets", lambda: nets)
    before = draw(ROWS, (1280, 720))
    read(before, reader=reader)
    assert len(nets.lines) == 16
    tiles = len(nets.tiles)
    assert tiles > 1
    read(before.copy(), reader=reader)
    assert len(nets.tiles) == tiles
    after = draw({**ROWS, (40, 30 + 40 * 3): "Paid"}, (1280, 720))
    lines = read(after, reader=reader)
    assert "Paid" in texts(lines)
    assert len(nets.tiles) == tiles + 1
    assert len(nets.lines) <= 16 + 9, "the lines of one tile"


@needs_nets
@pytest.mark.parametrize(
    "change",
    [
        {(40, 30 + 40 * 7): "Paid"},
        {(620, 180): "Across four tiles"},
        {(300, 200): "A menu", (300, 220): "with two entries"},
    ],
)
def test_a_later_look_is_read_as_if_it_were_the_first(change: dict[tuple[int, int], str]) -> None:
    reader = PpOcr()
    read(draw(ROWS, (1280, 720)), reader=reader)
    after = draw({**ROWS, **change}, (1280, 720))
    assert read(after, reader=reader) == read(after)


@needs_nets
def test_several_threads_read_at_once() -> None:
    reader = PpOcr()
    pictures = [draw({(40, 40): f"Thread {number}"}) for number in range(4)] * 2
    with ThreadPoolExecutor(8) as pool:
        readings = list(pool.map(lambda picture: texts(read(picture, reader=reader)), pictures))
    assert readings == [[f"Thread {number}"] for number in range(4)] * 2


@needs_nets
def test_a_picture_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pp_ocr, "_TIME_LIMIT", 0.0)
    with pytest.raises(ocr.OcrUnavailable, match="PP-OCR took longer than 0 s"):
        read(draw(ROWS, (1280, 720)))
