"""Files of moving pictures, written whole or not at all: WebM by ffmpeg, GIF by Pillow."""

from __future__ import annotations

import secrets
import shutil
import struct
import subprocess
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from PIL import GifImagePlugin, Image, ImageChops

from hisa.machine.storage import replace_file

__all__ = ["Frames", "find_ffmpeg", "write_gif", "write_webm"]

Frames = Iterator[tuple[Image.Image, float]]  # RGB pictures of one even size; their seconds
_MAX_BYTES = 200_000_000  # of a GIF
_RATE = 4  # frames a second of a WebM; nothing in it moves


def find_ffmpeg() -> str | None:
    """Returns the path of ffmpeg, or of the one that imageio-ffmpeg brings; None without both."""
    try:
        return shutil.which("ffmpeg") or str(import_module("imageio_ffmpeg").get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        return None


def write_gif(path: Path, frames: Frames) -> None:
    """Write a GIF; two frames are in memory at most. Raises: OSError."""
    replace_file(path, _gif(frames))


def _gif(frames: Frames) -> Iterator[bytes]:
    shown, size = None, 0
    for frame, seconds in frames:
        if shown is None:  # and it goes on without end
            yield b"GIF89a" + struct.pack("<HHBBB", *frame.size, 0, 0, 0)
            yield b"\x21\xff\x0bNETSCAPE2.0\x03\x01\x00\x00\x00"
        changed = ImageChops.difference(shown, frame).getbbox() if shown else (0, 0, *frame.size)
        box = changed or (0, 0, 1, 1)
        part = frame.crop(box).quantize(255, dither=Image.Dither.NONE)
        how = {"duration": round(seconds * 1000), "include_color_table": True}
        data = b"".join(GifImagePlugin.getdata(part, box[:2], **how))
        size += len(data)
        if size > _MAX_BYTES:
            raise OSError(0, f"a GIF of more than {_MAX_BYTES} bytes")
        yield data
        shown = frame
    yield b";"


def write_webm(path: Path, frames: Frames, size: tuple[int, int], ffmpeg: str) -> None:
    """Write a WebM (VP9); frames go to ffmpeg as they are drawn. Its own words go to stderr.

    Raises:
        OSError: it cannot be written, or ffmpeg failed.
    """
    draft = path.with_name(f".{secrets.token_hex(8)}.tmp")
    line = f"-loglevel error -f rawvideo -pix_fmt rgb24 -video_size {size[0]}x{size[1]} "
    line += f"-framerate {_RATE} -i pipe:0 -c:v libvpx-vp9 -crf 30 -b:v 0 -deadline realtime "
    line += f"-cpu-used 6 -g {8 * _RATE} -pix_fmt yuv420p -f webm -y"
    command = [ffmpeg, *line.split(), f"file:{draft}"]
    try:
        replace_file(draft, b"")  # for this user alone
        with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True) as process:
            try:  # a Ctrl-C is ours alone
                assert process.stdin is not None
                for frame, seconds in frames:
                    for _ in range(max(1, round(seconds * _RATE))):
                        process.stdin.write(frame.tobytes())
                process.stdin.close()
                process.wait()
            finally:
                process.kill()
        if process.returncode:
            raise OSError(0, f"ffmpeg ended with {process.returncode}")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
