"""Looks at pictures and changes them with Pillow; runs inside the machine."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageColor, ImageEnhance, ImageOps, ImageStat, UnidentifiedImageError

from .files_common import Refused, path_of, serve, to_bin

MOST_PIXELS = 120_000_000
"""Pixels of the largest picture that is read or made: 480 MB in memory."""
MODES = {"gray": "L", "rgb": "RGB", "rgba": "RGBA", "palette": "P", "bilevel": "1"}
NO_ALPHA = frozenset(("JPEG", "BMP", "PPM", "PDF", "EPS"))
"""Formats that have no transparency."""

Image.MAX_IMAGE_PIXELS = MOST_PIXELS
warnings.simplefilter("error", Image.DecompressionBombWarning)


def _load(text: str) -> Image.Image:
    """Returns a picture as it is looked at: the way round that its EXIF data says."""
    path = path_of(text)
    if not path.is_file():
        raise Refused(f"there is no file {str(path)!r}")
    with Image.open(path) as image:
        if image.width * image.height > MOST_PIXELS:
            raise Refused(f"{str(path)!r} has {image.width}x{image.height} pixels, too many")
        image.load()
        picture = ImageOps.exif_transpose(image)
        picture.format = image.format
        picture.info.setdefault("frames", getattr(image, "n_frames", 1))
    return picture


def _limit(width: int, height: int) -> None:
    if width < 1 or height < 1 or width * height > MOST_PIXELS:
        raise Refused(f"{width}x{height} is no size; 1 to {MOST_PIXELS:,} pixels")


def _save(
    picture: Image.Image, like: Image.Image, target: str, *, overwrite: bool, quality: int = 90
) -> dict[str, Any]:
    """Writes a picture in the format that the target's ending means, and opens it again."""
    path = path_of(target)
    kind = Image.registered_extensions().get(path.suffix.lower())
    if kind not in Image.SAVE:
        raise Refused(f"{path.name!r}: no format that is written has the ending {path.suffix!r}")
    if os.path.lexists(path) and not overwrite:
        raise Refused(f"{str(path)!r} is there already; with overwrite it goes to the bin")
    notes = []
    if kind in NO_ALPHA and picture.mode in ("RGBA", "LA", "PA", "P"):
        picture, flat = _flat(picture)
        notes += ["what was transparent is white now"] * flat
    if like.info.get("frames", 1) > 1:
        notes.append(f"the first of {like.info['frames']} frames")
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {name: like.info[name] for name in ("dpi", "icc_profile") if like.info.get(name)}
    if like.mode not in (picture.mode, "RGBA"):
        kept.pop("icc_profile", None)  # it is about other colours
    number, between = tempfile.mkstemp(dir=path.parent, suffix=path.suffix)
    os.close(number)
    try:
        picture.save(between, kind, quality=quality, **kept)
        if os.path.lexists(path):
            to_bin(path)
            notes.append("what was there is in the bin")
        os.chmod(between, 0o644)
        os.rename(between, path)
    finally:
        Path(between).unlink(missing_ok=True)
    return {**_seen(path), "notes": notes}


def _flat(picture: Image.Image) -> tuple[Image.Image, bool]:
    """Returns a picture without transparency, on white, and whether it had any."""
    whole = picture.convert("RGBA")
    clear = whole.getchannel("A").getextrema() != (255, 255)
    white = Image.new("RGBA", whole.size, "white")
    return Image.alpha_composite(white, whole).convert("RGB"), clear


def _seen(path: Path) -> dict[str, Any]:
    """Returns what a written picture is, by its file."""
    told = {"path": str(path), "bytes": path.stat().st_size}
    if path.suffix.lower() in (".pdf", ".eps"):
        return {**told, "format": path.suffix[1:].upper()}
    with Image.open(path) as image:
        image.load()
        return {
            **told,
            "format": image.format,
            "width": image.width,
            "height": image.height,
            "mode": image.mode,
        }


def info(path: str) -> dict[str, Any]:
    """Returns size, format and colours of a picture."""
    picture = _load(path)
    with Image.open(path_of(path)) as stored:
        dpi = stored.info.get("dpi")
        frames = getattr(stored, "n_frames", 1)
        turned = stored.size != picture.size
    colours = picture.convert("RGB")
    mean = ImageStat.Stat(colours).mean
    few = colours.getcolors(16)
    clear = picture.mode in ("RGBA", "LA", "PA") or "transparency" in picture.info
    extremes = picture.convert("RGBA").getchannel("A").getextrema() if clear else (255, 255)
    return {
        "path": str(path_of(path)),
        "bytes": path_of(path).stat().st_size,
        "format": picture.format,
        "width": picture.width,
        "height": picture.height,
        "mode": picture.mode,
        "frames": frames,
        "dpi": [round(float(each)) for each in dpi] if dpi else None,
        "turned": turned,
        "transparent": extremes != (255, 255),
        "mean": "#" + "".join(f"{round(each):02x}" for each in mean[:3]),
        "brightness": round(ImageStat.Stat(colours.convert("L")).mean[0]),
        "colors": None if few is None else [_hex(color) for _, color in sorted(few, reverse=True)],
    }


def _hex(color: Any) -> str:
    return "#" + "".join(f"{each:02x}" for each in color)


def convert(
    path: str, target: str, *, color: str, quality: int, background: str, overwrite: bool
) -> dict[str, Any]:
    """Writes a picture in another format, and with other colours where asked."""
    picture = like = _load(path)
    if background:
        whole = picture.convert("RGBA")
        ground = Image.new("RGBA", whole.size, _color(background))
        picture = Image.alpha_composite(ground, whole).convert("RGB")
    if color:
        clear = picture.mode in ("RGBA", "LA", "PA")
        source = picture if color == "rgba" or not clear else _flat(picture)[0]
        picture = source.convert(MODES[color])
    return _save(picture, like, target, overwrite=overwrite, quality=quality)


def _color(text: str) -> tuple[int, ...]:
    try:
        return ImageColor.getcolor(text, "RGBA")  # type: ignore[return-value]
    except ValueError as error:
        raise Refused(f'{text!r} is no colour; such as "white", "#ff8800"') from error


def resize(
    path: str, target: str, *, width: int, height: int, percent: float, fit: str, overwrite: bool
) -> dict[str, Any]:
    """Writes a picture in another size."""
    like = _load(path)
    picture = _smooth(like)
    if percent:
        width = max(1, round(like.width * percent / 100))
        height = max(1, round(like.height * percent / 100))
    elif not width and not height:
        raise Refused("give width, height or percent")
    elif not width or not height:
        ratio = (width / like.width) if width else (height / like.height)
        width, height = (max(1, round(each * ratio)) for each in like.size)
    _limit(width, height)
    way = Image.Resampling.LANCZOS
    if fit == "inside":
        picture = ImageOps.contain(picture, (width, height), way)
    elif fit == "cover":
        picture = ImageOps.fit(picture, (width, height), way)
    else:
        picture = picture.resize((width, height), way)
    return _save(picture, like, target, overwrite=overwrite)


def _smooth(picture: Image.Image) -> Image.Image:
    """Returns a picture whose colours can be mixed."""
    if picture.mode == "P":
        return picture.convert("RGBA" if "transparency" in picture.info else "RGB")
    return picture.convert("L") if picture.mode == "1" else picture


def crop(
    path: str, target: str, *, left: int, top: int, width: int, height: int, overwrite: bool
) -> dict[str, Any]:
    """Writes a part of a picture."""
    like = _load(path)
    box = (left, top, left + width, top + height)
    if (
        width < 1
        or height < 1
        or left < 0
        or top < 0
        or box[2] > like.width
        or box[3] > like.height
    ):
        raise Refused(f"{width}x{height} at {left},{top} is not inside {like.width}x{like.height}")
    return _save(like.crop(box), like, target, overwrite=overwrite)


def rotate(
    path: str, target: str, *, degrees: float, mirror: str, background: str, overwrite: bool
) -> dict[str, Any]:
    """Writes a picture turned clockwise, then mirrored."""
    like = picture = _load(path)
    quarter = {90: 4, 180: 3, 270: 2}.get(int(degrees % 360)) if degrees % 90 == 0 else None
    if quarter is not None:
        picture = picture.transpose(Image.Transpose(quarter))
    elif degrees % 360:
        picture = _smooth(picture)
        fill = _color(background)
        if fill[3] < 255 and picture.mode != "RGBA":
            picture = picture.convert("RGBA")
        ground = fill if picture.mode == "RGBA" else fill[:3]
        picture = picture.convert("RGB") if picture.mode not in ("RGB", "RGBA") else picture
        way = Image.Resampling.BICUBIC
        picture = picture.rotate(-degrees, way, expand=True, fillcolor=ground)
    if mirror:
        way_round = {"left-right": 0, "top-bottom": 1}[mirror]
        picture = picture.transpose(Image.Transpose(way_round))
    return _save(picture, like, target, overwrite=overwrite)


def adjust(path: str, target: str, *, overwrite: bool, **factors: float) -> dict[str, Any]:
    """Writes a picture brighter, darker, with more or less contrast, colour or sharpness."""
    like = _load(path)
    picture = _smooth(like)
    clear = picture.getchannel("A") if picture.mode == "RGBA" else None
    picture = picture.convert("RGB") if clear is not None else picture
    ways: dict[str, Callable[[Image.Image], Any]] = {
        "brightness": ImageEnhance.Brightness,
        "contrast": ImageEnhance.Contrast,
        "saturation": ImageEnhance.Color,
        "sharpness": ImageEnhance.Sharpness,
    }
    for name, factor in factors.items():
        if factor != 1:
            picture = ways[name](picture).enhance(factor)
    if clear is not None:
        picture.putalpha(clear)
    before = ImageStat.Stat(like.convert("L")).mean[0]
    after = ImageStat.Stat(picture.convert("L")).mean[0]
    told = _save(picture, like, target, overwrite=overwrite)
    told["notes"].append(f"brightness {before:.0f} before, {after:.0f} now")
    return told


def combine(
    paths: Sequence[str],
    target: str,
    *,
    layout: str,
    columns: int,
    gap: int,
    background: str,
    overwrite: bool,
) -> dict[str, Any]:
    """Writes several pictures as one: side by side, below one another, in a grid, or layered."""
    pictures = [_load(path).convert("RGBA") for path in paths]
    across = {"row": len(pictures), "column": 1}.get(layout, columns)
    if layout == "layers":
        size = (max(each.width for each in pictures), max(each.height for each in pictures))
        places = [((size[0] - each.width) // 2, (size[1] - each.height) // 2) for each in pictures]
    else:
        size, places = _grid([each.size for each in pictures], across, gap)
    _limit(*size)
    whole = Image.new("RGBA", size, _color(background))
    for picture, place in zip(pictures, places, strict=True):
        whole.alpha_composite(picture, place)
    return _save(whole, Image.new("RGBA", (1, 1)), target, overwrite=overwrite)


def _grid(
    sizes: Sequence[tuple[int, int]], across: int, gap: int
) -> tuple[tuple[int, int], list[tuple[int, int]]]:
    """Returns the size of the whole and the places of pictures in rows of so many."""
    rows = [sizes[at : at + across] for at in range(0, len(sizes), across)]
    heights = [max(height for _, height in row) for row in rows]
    count = max(len(row) for row in rows)
    widths = [max(row[at][0] for row in rows if at < len(row)) for at in range(count)]
    places = [
        (sum(widths[:column]) + gap * column, sum(heights[:line]) + gap * line)
        for line, row in enumerate(rows)
        for column in range(len(row))
    ]
    whole = (sum(widths) + gap * (count - 1), sum(heights) + gap * (len(rows) - 1))
    return whole, places


FUNCTIONS: dict[str, Callable[..., dict[str, Any]]] = {
    "info": info, "convert": convert, "resize": resize, "crop": crop, "rotate": rotate,
    "adjust": adjust, "combine": combine,
}  # fmt: skip


if __name__ == "__main__":
    serve(
        FUNCTIONS,
        {
            UnidentifiedImageError: "it is no picture of a known format: ",
            Image.DecompressionBombError: "it is too large: ",
            Image.DecompressionBombWarning: "it is too large: ",
            ValueError: "",
            SyntaxError: "",
        },
    )
