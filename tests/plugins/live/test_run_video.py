"""Videos of real runs, decoded again; of hostile ones too."""

from __future__ import annotations

import dataclasses
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from PIL import Image, ImageSequence

from hisa.cli.runs import runs
from hisa.config import RunSettings, Settings
from hisa.errors import UsageError
from hisa.events import Abstracted, Acted, Evaluated, Observed, PersonActed, Planned
from hisa.machine.storage import replace_file
from hisa.plugins.live import run_video
from hisa.plugins.live.run_video import _gif, write_video
from hisa.runs.log import RunLog
from hisa.runs.run_reader import Run, load_run
from hisa.screen.observation import Screenshot
from tests.plugins.live.helped_run import build_helped_run
from tests.runs.sample import TASK, build


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return build_helped_run(tmp_path_factory.mktemp("runs"))


def call(run: Run, *args: str) -> Result:
    settings = Settings(run=RunSettings(folder=run.folder.parent))
    return CliRunner().invoke(runs, ["video", run.id, *args], obj=settings)


def film(run: Run, path: Path) -> tuple[list[Image.Image], list[float], list[str]]:
    """The frames of a run's GIF as they were shown, their seconds, and what was said."""
    messages: list[str] = []
    write_video(run, messages.append, path)
    frames, seconds = [], []
    with Image.open(path) as file:
        for frame in ImageSequence.Iterator(file):
            seconds.append(frame.info["duration"] / 1000)
            frames.append(frame.convert("RGB"))
    return frames, seconds, messages


def test_a_gif_has_every_step_before_and_after_its_act(run: Run, tmp_path: Path) -> None:
    frames, seconds, messages = film(run, tmp_path / "run.gif")
    acted = [record for record in run.steps if record.acts]
    person = sum(bool(record.person) for record in run.steps)
    after = sum(record.after is not None for record in acted)
    assert len(frames) == 2 + len(run.steps) + after + person
    assert seconds[0] == seconds[-1] == 2.5
    assert sorted(set(seconds)) == [1.2, 1.8, 2.5]
    assert {frame.size for frame in frames} == {frames[0].size}
    assert frames[0].width == 960
    assert "left out: 0 missing pictures, 0 steps" in messages[-1]


def test_video_marks_clicks_and_changed_areas(run: Run, tmp_path: Path) -> None:
    frames, _, _ = film(run, tmp_path / "run.gif")
    (record, *_), before, after = run.steps, frames[1], frames[2]
    assert record.before is not None
    assert record.abstracted is not None
    scale = 960 / record.before.width
    ((x, y),) = record.acts[0].points
    near = before.crop((scale * x - 18, scale * y - 18, scale * x + 18, scale * y + 18))
    assert sum(r > 180 and g < 80 and b > 80 for r, g, b in colours(near)) > 50
    assert record.abstracted.roi, "something changed"
    assert sum(r > 230 and 120 < g < 180 and b < 40 for r, g, b in colours(after)) > 50


def colours(picture: Image.Image) -> Iterator[tuple[int, int, int]]:
    raw = picture.tobytes()
    return zip(raw[::3], raw[1::3], raw[2::3], strict=True)


def test_missing_and_damaged_pictures_are_left_out_and_counted(tmp_path: Path) -> None:
    run = load_run(build(tmp_path))
    all_frames, _, _ = film(run, tmp_path / "whole.gif")
    pictures = sorted((run.folder / "images").glob("*.png"))
    pictures[0].unlink()
    pictures[1].write_bytes(pictures[1].read_bytes()[:900])
    pictures[2].write_bytes(b"")
    frames, _, messages = film(run, tmp_path / "less.gif")
    assert len(frames) < len(all_frames)
    assert "left out: 3 missing pictures" in messages[-1]


HOSTILE = ["\x1b[2J\x00\u202e" * 300, "表格" * 5000, "x" * 100_000, "\ud800" * 50, ""]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:8]))
def test_hostile_texts_and_places_are_drawn_within_the_frame(tmp_path: Path, text: str) -> None:
    with RunLog.create(tmp_path, dataclasses.replace(TASK, instruction=text or "-")) as log:
        size = 300, 200
        picture = Screenshot(Image.new("RGB", size, "white"))
        name = log._save(picture)
        log.step = 1
        for width, height in ((300, 200), (0, 0)):
            log.emit(
                Observed(image=name, width=width, height=height, screen_width=1, screen_height=1)
            )
        log.emit(PersonActed(did="acted", text=text, error=text))
        log.emit(Planned(thought=text, tool=text[:50], input=text))
        points = ((1e308, -1e308), (-1e300, 0.0), (3.0, 4.0))
        log.emit(Acted(tool="gui_action", input=text, ok=False, error=text, points=points))
        log.emit(Observed(image=name, width=300, height=200, screen_width=1, screen_height=1))
        log.emit(Abstracted(result=text, line=text, roi=(10**15, -(10**15), -1, 10**12)))
        log.emit(Evaluated(score=0.0, score_state="scored", detail=text))
    started = time.monotonic()
    frames, _, _ = film(load_run(log.folder), tmp_path / "run.gif")
    assert len(frames) == 5
    assert time.monotonic() - started < 60


def test_steps_beyond_the_limit_are_left_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_video, "_MAX_STEPS", 1)
    frames, _, messages = film(run, tmp_path / "run.gif")
    assert len(frames) == 4
    assert "3 steps" in messages[-1]


def test_frames_are_drawn_one_by_one_and_bounded_in_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hisa.plugins.live.run_video._MAX_BYTES", 300_000)
    drawn = []

    def noise() -> Any:
        for number in range(1000):
            drawn.append(number)
            yield Image.frombytes("RGB", (300, 200), random.Random(number).randbytes(180_000)), 0.1

    with pytest.raises(OSError, match="300000 bytes"):
        replace_file(tmp_path / "noise.gif", _gif(noise()))
    assert len(drawn) < 12
    assert list(tmp_path.iterdir()) == []


def test_the_command_writes_a_gif_and_nothing_else(run: Run, tmp_path: Path) -> None:
    result = call(run)
    assert result.exit_code == 0
    assert result.stdout.strip() == str(run.folder / "video.gif")
    assert isinstance(call(run, "-o", str(tmp_path / "run.webm")).exception, UsageError)
    assert list(tmp_path.iterdir()) == []


INTERRUPTED = """
import signal, sys
from pathlib import Path
from hisa.machine.storage import replace_file
from hisa.plugins.live import run_video
from hisa.runs.run_reader import load_run
signal.signal(signal.SIGINT, signal.default_int_handler)  # not so in the background
def say(text):
    print(text, flush=True)
drawn = run_video._Film._frame
def slow(*given):
    import time
    print("a frame", flush=True)
    time.sleep(30)
    return drawn(*given)
run_video._Film._frame = slow
run = load_run(Path(sys.argv[1]))
run_video.write_video(run, say, Path(sys.argv[2]))
"""


@pytest.mark.process
def test_ctrl_c_leaves_no_half_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "run.gif"
    command = [sys.executable, "-c", INTERRUPTED, str(run.folder), str(path)]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        cwd=Path(__file__).parents[3],
    ) as process:
        assert process.stdout is not None
        assert any("a frame" in line for line in process.stdout)
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) != 0
    assert list(tmp_path.iterdir()) == []
