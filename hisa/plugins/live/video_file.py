"""Files of moving pictures, written frame by frame: WebM by ffmpeg, GIF by Pillow."""

from __future__ import annotations

import secrets
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from hisa.errors import UsageError
from hisa.machine.storage import PRIVATE_FILE, replace_file
from hisa.text.safe_text import safe_line

if TYPE_CHECKING:
    from PIL import Image

    Frames = Iterable[tuple[Image.Image, float]]
    """RGB pictures of one even size, and for how many seconds each is shown."""

__all__ = ["MAX_BYTES", "Encoder", "find_encoder", "write_gif", "write_webm"]

MAX_BYTES = 200_000_000
"""Of a GIF; one that grows beyond it ends there."""
_RATE = 4
"""Frames a second of a WebM; nothing in it moves."""
_PATIENCE = 120.0  # seconds in which an encoder has to finish, once it has every frame
Encoder = tuple[str, str]
"""The path of ffmpeg, and its codec."""


def find_encoder() -> Encoder | None:
    """Returns what can make a WebM here; None where nothing can."""
    program = shutil.which("ffmpeg")
    if program is None:
        try:
            import imageio_ffmpeg

            program = str(imageio_ffmpeg.get_ffmpeg_exe())
        except (ImportError, RuntimeError, OSError):
            return None
    try:
        listed = subprocess.run(
            [program, "-hide_banner", "-encoders"], capture_output=True, timeout=20, check=False
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.TimeoutExpired):
        return None
    codec = next((c for c in ("libvpx-vp9", "libvpx") if f" {c} " in listed), "")
    return (program, codec) if codec else None


def write_gif(path: Path, frames: Frames) -> None:
    """Write a GIF whole or not at all; holds two frames in memory at most.

    Raises:
        OSError: it cannot be written.
    """
    replace_file(path, _gif(frames))


def _gif(frames: Frames) -> Iterator[bytes]:
    from PIL import GifImagePlugin, Image, ImageChops

    shown: Image.Image | None = None
    size = 0
    for frame, seconds in frames:
        if shown is None:
            yield b"GIF89a" + struct.pack("<HHBBB", *frame.size, 0, 0, 0)
            yield b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"  # again and again
        box = None if shown is None else ImageChops.difference(shown, frame).getbbox()
        left, top, right, bottom = box or ((0, 0, *frame.size) if shown is None else (0, 0, 1, 1))
        part = frame.crop((left, top, right, bottom)).quantize(255, dither=Image.Dither.NONE)
        data = b"".join(
            GifImagePlugin.getdata(
                part, (left, top), duration=round(seconds * 1000), include_color_table=True
            )
        )
        size += len(data)
        if size > MAX_BYTES:
            break
        yield data
        shown = frame
    yield b";"


def write_webm(path: Path, frames: Frames, size: tuple[int, int], encoder: Encoder) -> None:
    """Write a WebM whole or not at all: frames go to ffmpeg as they are drawn.

    Raises:
        OSError: it cannot be written.
        UsageError: ffmpeg failed; tells its last words.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    command = [
        encoder[0], "-loglevel", "error", "-y", "-f", "rawvideo", "-pix_fmt", "rgb24",
        "-video_size", f"{size[0]}x{size[1]}", "-framerate", str(_RATE), "-i", "pipe:0",
        "-c:v", encoder[1], "-crf", "30", "-b:v", "0" if "vp9" in encoder[1] else "2M",
        "-deadline", "realtime", "-cpu-used", "6", "-g", str(8 * _RATE), "-pix_fmt", "yuv420p",
        "-f", "webm", f"file:{draft}",
    ]  # fmt: skip
    try:
        draft.touch(PRIVATE_FILE, exist_ok=False)
        with tempfile.TemporaryFile() as words:
            if not _encoded(command, frames, words.fileno()):
                words.seek(0)
                last = safe_line(words.read(4000).decode("utf-8", "replace"), 300)
                raise UsageError(f"ffmpeg failed: {last or 'without a word'}", fix="-o FILE.gif")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _encoded(command: list[str], frames: Frames, words: int) -> bool:
    """Whether the encoder took every frame; it does not outlive this call."""
    try:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=words,
            start_new_session=True,  # a Ctrl-C is ours
        ) as process:  # fmt: skip
            try:
                assert process.stdin is not None
                for frame, seconds in frames:
                    data = frame.tobytes()
                    for _ in range(max(1, round(seconds * _RATE))):
                        process.stdin.write(data)
                process.stdin.close()
                return process.wait(_PATIENCE) == 0
            finally:
                process.kill()
    except (BrokenPipeError, subprocess.TimeoutExpired):
        return False
