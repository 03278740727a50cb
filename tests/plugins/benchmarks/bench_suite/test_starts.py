"""Starts that differ: what is flagged, what is not, against which reference, and how it is told."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console

from hisa.actions import parse, to_space
from hisa.errors import UsageError
from hisa.events import Fingerprinted, StartFile
from hisa.plugins.benchmarks.bench.attempt_records import Slot
from hisa.plugins.benchmarks.bench.bench_report import Report, build_report
from hisa.plugins.benchmarks.bench.ledger import AttemptLedger
from hisa.plugins.benchmarks.bench.pages import html_page, markdown_page
from hisa.plugins.benchmarks.bench.schedule import Progress
from hisa.plugins.benchmarks.bench.screens import screen_change
from hisa.plugins.benchmarks.bench.start_checks import StartCheck, read_start
from hisa.plugins.benchmarks.bench.watch import Watch
from hisa.plugins.desktop.private_desktop import DesktopEnvironment
from hisa.screen.geometry import Size
from hisa.screen.observation import Screenshot
from tests.plugins.benchmarks.bench_suite.sample import Begin, fill, plan, write_run

FILE = StartFile(path="/home/user/a.xlsx", size=12, sha256="aa")
TAKEN = Fingerprinted(
    environment="desktop", versions={"libreoffice-calc": "7.4.7"}, files=(FILE,), digest="d"
)
SIZE = (1280, 720)


def desk(
    size: tuple[int, int] = SIZE, *, caret: bool = False, clock: str = "12:59:07", dialog: int = 0
) -> Screenshot:
    """A panel with a clock, a white editor in a window, and a dialog of a given width over it."""
    image = Image.new("RGB", SIZE, "#2d5a7c")
    draw = ImageDraw.Draw(image)
    draw.rectangle((0, 0, SIZE[0], 26), fill="#1d1d1d")
    draw.text((590, 4), f"21 Nov {clock}", fill="white", font=ImageFont.load_default(16))
    draw.rectangle((200, 100, 1000, 640), fill="#f6f5f4", outline="black")
    draw.rectangle((201, 150, 999, 639), fill="white")
    draw.text((206, 156), "some words", fill="black", font=ImageFont.load_default(15))
    if caret:
        draw.rectangle((290, 156, 291, 174), fill="black")
    if dialog:
        draw.rectangle((420, 300, 420 + dialog, 400), fill="#f6f5f4", outline="#a0a0a0")
        draw.text((430, 310), "Save?", fill="black")
    return Screenshot(image.resize(size, Image.Resampling.LANCZOS))


@pytest.mark.parametrize(
    "now",
    [desk(), desk(caret=True), desk(clock="08:34:56"), desk(clock="08:34:56", caret=True)],
)
def test_a_caret_and_a_clock_are_no_other_screen(now: Screenshot) -> None:
    change = screen_change(desk(), now)
    assert change is None or not change.tells


@pytest.mark.parametrize("width", [160, 300, 500])
@pytest.mark.parametrize("size", [SIZE, (1920, 1080)])
def test_a_dialog_is_another_screen_also_in_the_colours_of_what_it_covers(
    width: int, size: tuple[int, int]
) -> None:
    change = screen_change(desk(size), desk(size, dialog=width))
    assert change is not None
    assert change.tells
    left, top, wide, high = change.box
    assert left == pytest.approx(420 / 1280, abs=0.02)
    assert top == pytest.approx(300 / 720, abs=0.03)
    assert wide == pytest.approx(width / 1280, abs=0.03)
    assert high == pytest.approx(100 / 720, abs=0.05)


def test_a_picture_and_the_same_one_scaled_down_are_the_same() -> None:
    large = desk((1920, 1080), caret=True)
    assert screen_change(large, large.fitted(Size(1280, 720))) is None
    assert screen_change(large.fitted(Size(1280, 720)), large) is None


def test_a_picture_of_odd_size_is_compared_to_its_edges() -> None:
    one, other = (Screenshot(Image.new("RGB", (333, 111), c)) for c in ("white", "black"))
    change = screen_change(one, other)
    assert change is not None
    assert change.share == 1.0
    assert change.box == (0.0, 0.0, 1.0, 1.0)


@pytest.mark.desktop
async def test_on_a_real_desktop_a_caret_is_ignored_and_a_dialog_is_flagged() -> None:
    async with DesktopEnvironment() as desktop:

        async def after(source: str = "") -> Screenshot:
            seen = await desktop.observe()
            actions = parse(source) if source else ()
            await desktop.act(to_space(actions, "screen", screen=seen.screen, image=seen.screen))
            return (await desktop.observe(settle=5.0)).screenshot

        await desktop.write_file("~/notes.txt", b"some words\n" * 12)
        await desktop.execute("setsid -f mousepad notes.txt >/dev/null 2>&1 </dev/null")
        for _ in range(60):
            if (await desktop.observe(settle=1.0)).windows:
                break
        before = await after()
        moved = screen_change(before, await after("pyautogui.hotkey('ctrl', 'end')"))
        dialog = screen_change(before, await after("pyautogui.hotkey('ctrl', 'l')"))
    assert moved is not None
    assert not moved.tells
    assert dialog is not None
    assert dialog.tells


# ---------------------------------------------------------------- in a bench


def begin(screen: Screenshot | None = None, *windows: str, **changed: object) -> Begin:
    return Begin(TAKEN.model_copy(update=changed), screen or desk(), windows=windows)


def bench(folder: Path, *starts: Begin | None, variants: Sequence[str] = ("full",)) -> Path:
    """A bench whose attempts at one task began so, in the order in which they ended."""
    base = plan(variants, tasks=1, repeat=max(1, len(starts) // len(variants)))
    book = AttemptLedger(folder, base)
    for slot, start in zip(book.plan.slots, starts, strict=True):
        rows = [] if start is None else [start]
        fill(book, slot, steps=1, status="succeeded", score=1.0, begin=rows)
    book.close()
    return folder


def flagged(report: Report) -> list[tuple[int, tuple[str, ...]]]:
    return [(check.repeat, check.differs) for check in report.starts.differ]


CHANGES = {
    "screen differs in 4.4%": begin(desk(dialog=300)),
    "file /home/user/a.xlsx differs": begin(
        files=(FILE.model_copy(update={"sha256": "bb"}),),
    ),
    "file /home/user/a.xlsx differs (12 -> 13 bytes)": begin(
        files=(FILE.model_copy(update={"size": 13}),),
    ),
    "file /home/user/a.xlsx is missing": begin(files=()),
    "file /home/user/b is new": begin(files=(FILE, StartFile(path="/home/user/b", size=1))),
    "libreoffice-calc 7.4.7 -> 24.2": begin(versions={"libreoffice-calc": "24.2"}),
    "libreoffice-calc 7.4.7 -> not there": begin(versions={}),
    "environment desktop -> vm:office": begin(environment="vm:office"),
    "screen is 1920x1080, was 1280x720": dataclasses.replace(begin(), size=Size(1920, 1080)),
    "window 'Save?' is new": begin(None, "Editor", "Save?"),
}


@pytest.mark.parametrize("words", CHANGES)
def test_each_difference_is_named_and_the_attempt_counts(tmp_path: Path, words: str) -> None:
    first = begin(None, "Editor") if words.startswith("window") else begin()
    report = build_report(bench(tmp_path, first, CHANGES[words], first))
    assert flagged(report) == [(2, (words,))]
    assert report.starts.compared == 2
    assert (report.variants[0].scored, report.variants[0].rate) == (3, 1.0)


def test_what_is_not_known_does_not_differ(tmp_path: Path) -> None:
    silent = begin(files=None, versions={}, unknown="no python3")
    report = build_report(bench(tmp_path, begin(), silent, None))
    assert flagged(report) == []
    assert (report.starts.compared, report.starts.partly) == (1, 1)


def test_a_picture_that_is_gone_is_not_known(tmp_path: Path) -> None:
    bench(tmp_path, begin(), begin(desk(dialog=300)))
    for picture in tmp_path.glob("runs/*/images/*.png"):
        picture.unlink()
    report = build_report(tmp_path)
    assert (report.starts.compared, report.starts.partly, flagged(report)) == (1, 1, [])


def test_the_reference_is_the_first_that_counts(tmp_path: Path) -> None:
    """Not a broken try, and not the first place of the plan where another one ended first."""
    book = AttemptLedger(tmp_path, plan(tasks=1, repeat=3))
    one, two, three = book.plan.slots
    odd, usual = begin(environment="odd"), begin()
    fill(book, two, steps=1, status="environment_error", score=None, begin=[odd])
    fill(book, three, steps=1, status="succeeded", score=1.0, begin=[usual])
    fill(book, one, steps=1, status="max_steps", score=0.0, begin=[odd])
    fill(book, two, steps=1, status="succeeded", score=1.0, begin=[usual])
    book.close()
    report = build_report(tmp_path)
    assert flagged(report) == [(1, ("environment desktop -> odd",))]
    assert report.starts.compared == 2


def test_variants_share_one_reference_and_the_size_of_a_picture_is_no_difference(
    tmp_path: Path,
) -> None:
    small = Begin(TAKEN, desk((1920, 1080)).fitted(Size(1280, 720)), Size(1920, 1080))
    large = dataclasses.replace(small, screen=desk((1920, 1080)))
    report = build_report(bench(tmp_path, small, large, variants=("full", "original-resolution")))
    assert (report.starts.compared, flagged(report)) == (1, [])


def test_another_bench_can_be_the_reference(tmp_path: Path) -> None:
    good = bench(tmp_path / "good", begin())
    other = bench(tmp_path / "other", *[begin(environment="odd")] * 2)
    assert flagged(build_report(other)) == []
    report = build_report(other, reference=good)
    assert [number for number, _ in flagged(report)] == [1, 2]
    assert report.starts.differ[0].reference.startswith("good/")
    with pytest.raises(UsageError, match="is not a bench folder"):
        build_report(other, reference=tmp_path / "nowhere")


def test_a_bench_goes_on_with_its_reference_or_with_another(tmp_path: Path) -> None:
    base = plan(tasks=1)
    named = base.model_copy(update={"reference": str(tmp_path / "one")})
    other = base.model_copy(update={"reference": str(tmp_path / "two")})
    for wanted, kept in ((named, "one"), (base, "one"), (other, "two")):
        book = AttemptLedger(tmp_path / "bench", wanted)
        assert book.plan.reference == str(tmp_path / kept)
        book.close()


@pytest.mark.parametrize("looked_after", [False, True])
def test_of_a_run_that_began_twice_the_second_start_counts(
    looked_after: bool, tmp_path: Path
) -> None:
    twice = [begin(environment="old"), begin(desk(caret=True), environment="new")]
    starts = [dataclasses.replace(start, looked_after=looked_after) for start in twice]
    run = write_run(
        tmp_path, Slot("full", "t", 1), steps=2, status="succeeded", score=None, begin=starts
    )
    start = read_start(tmp_path / run)
    assert start is not None
    assert start.look is not None
    assert start.taken.environment == "new"
    assert start.look.image == desk(caret=True).sha256
    assert read_start(tmp_path / "nowhere") is None


def test_the_pages_name_every_start_that_differs_and_show_the_screens(tmp_path: Path) -> None:
    hostile = StartFile(path="/home/user/<script>|x|</script>", size=1)
    odd = begin(desk(dialog=300), files=(FILE, hostile))
    report = build_report(bench(tmp_path, begin(), odd, odd))
    page, text = html_page(report), markdown_page(report)
    for written in (page, text):
        assert "Starts that differ" in written
        assert "2 of 2 starts differ." in written
        assert "screen differs in 4.4%" in written
    assert "<script" not in page
    assert "\\|x\\|" in text
    assert page.count("<img ") == 2, "the same pair of screens is shown once"
    assert f"{report.starts.differ[0].now}".endswith(f"{desk(dialog=300).sha256}.png")
    assert Report.model_validate_json(report.model_dump_json()) == report


def test_a_bench_without_fingerprints_says_nothing_of_them(tmp_path: Path) -> None:
    report = build_report(bench(tmp_path, None, None))
    assert report.starts.compared == 0
    assert "tarts" not in markdown_page(report)


def test_the_terminal_names_a_start_that_differs(tmp_path: Path) -> None:
    written = io.StringIO()
    book = AttemptLedger(tmp_path, plan(tasks=1))
    (slot,) = book.plan.slots
    same = StartCheck(**slot._asdict(), run="r", reference="q")
    odd = same.model_copy(update={"differs": ("file [red]/a is missing", "x 1 -> 2")})
    with Watch(Console(file=written, width=200, soft_wrap=True), book) as watch:
        for check in (same, odd):
            watch(Progress(0, slot, 1, "host:1", 1, "succeeded", 1.0, start=check))
    book.close()
    assert (watch.compared, watch.differ) == (2, 1)
    said = "full/task-00#1: file [red]/a is missing; x 1 -> 2 (reference: q)"
    assert written.getvalue().count("start differs") == 1
    assert said in written.getvalue()
