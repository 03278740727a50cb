"""Records of one look: the screenshot, the windows and, if known, the elements on the screen."""

from __future__ import annotations

import base64
import hashlib
import io
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from PIL import Image, ImageChops

from hisa.machine.lazy_property import lazy_property
from hisa.screen.geometry import BoundingBox, Point, Size, Space, convert, convert_box, fit_within
from hisa.screen.png import encode_rgb

__all__ = ["DEFAULT_IMAGE_LIMIT", "Element", "Observation", "Screenshot", "UnderPointer", "Window"]

DEFAULT_IMAGE_LIMIT = Size(1280, 720)
"""Size of the image that models see (HiSA, section 4.3)."""


_QUICK = 1 << 16
"""Number of pixels that are encoded in a fraction of a millisecond."""


class Screenshot:
    """An RGB picture of the screen; decoded, encoded and hashed once, on first use.

    Treat it as immutable. ``png`` takes milliseconds: in the event loop, read it from a thread.
    """

    def __init__(self, pixels: Image.Image, png: bytes | None = None) -> None:
        self.pixels = pixels if pixels.mode == "RGB" else pixels.convert("RGB")
        self.size = Size(*pixels.size)
        if png is not None:
            self.__dict__["png"] = png

    @classmethod
    def from_png(cls, data: bytes) -> Screenshot:
        """Decode a PNG.

        Raises:
            ValueError: the bytes are not a complete image.
        """
        try:
            image = Image.open(io.BytesIO(data))
            image.load()
        except (OSError, SyntaxError, Image.DecompressionBombError) as error:
            raise ValueError(f"not a whole image ({len(data)} bytes): {error}") from error
        return cls(image, data if image.format == "PNG" and image.mode == "RGB" else None)

    @classmethod
    def from_rgb(cls, size: Size, rows: bytes | memoryview) -> Screenshot:
        """Create a picture from its rows, which are not copied and must not change.

        Raises:
            ValueError: the number of bytes does not match the size.
        """
        if size.width < 1 or size.height < 1 or len(rows) != 3 * size.width * size.height:
            raise ValueError(f"{len(rows)} bytes are no picture of {size.width}x{size.height}")
        picture = cls.__new__(cls)
        picture.size = size
        picture.__dict__["rgb"] = memoryview(rows)
        return picture

    @lazy_property
    def pixels(self) -> Image.Image:
        """The picture for Pillow."""
        return self.band(0, self.size.height)

    @lazy_property
    def rgb(self) -> memoryview:
        """The rows: red, green and blue of every pixel, one byte each."""
        return memoryview(self.pixels.tobytes())

    def band(self, top: int, bottom: int) -> Image.Image:
        """Returns the rows from ``top`` to before ``bottom``, for Pillow."""
        width = self.size.width
        part = self.rgb[3 * width * top : 3 * width * bottom]
        return Image.frombytes("RGB", (width, bottom - top), part)

    @lazy_property
    def png(self) -> bytes:
        """The picture as PNG, lossless."""
        return encode_rgb(self.size.width, self.size.height, self.rgb)

    @lazy_property
    def sha256(self) -> str:
        """Hash of ``png``: the picture's name in a run's ``images`` folder."""
        return hashlib.sha256(self.png).hexdigest()

    @lazy_property
    def data_url(self) -> str:
        """The PNG as a ``data:`` address, for requests."""
        return "data:image/png;base64," + base64.b64encode(self.png).decode("ascii")

    @property
    def is_quick(self) -> bool:
        """Whether ``png`` and ``sha256`` are computed, or take less time than starting a thread."""
        known = "sha256" in self.__dict__
        return known or self.size.width * self.size.height <= _QUICK

    def crop(self, box: BoundingBox) -> Screenshot:
        """Returns the part inside a box, which is in this picture's pixels whatever its space."""
        left, top, right, bottom = map(int, (box.left, box.top, box.right, box.bottom))
        size = Size(right - left, bottom - top)
        if left < 0 or top < 0 or right > self.size.width or bottom > self.size.height:
            return Screenshot(self.pixels.crop((left, top, right, bottom)))
        starts = range(3 * (top * self.size.width + left), len(self.rgb), 3 * self.size.width)
        rows = [self.rgb[at : at + 3 * size.width] for at in starts[: size.height]]
        return Screenshot.from_rgb(size, b"".join(rows))

    def join_parts(self, boxes: Sequence[BoundingBox]) -> Screenshot:
        """Returns the parts inside boxes, one below the other with a magenta bar between.

        The result refers to this picture and the boxes in ``part_of``.
        """
        crops = [self.crop(box) for box in boxes]
        picture = crops[0] if len(crops) == 1 else _stack_pictures(crops)
        picture.__dict__["part_of"] = self, tuple(boxes)
        return picture

    @property
    def part_of(self) -> tuple[Screenshot, tuple[BoundingBox, ...]] | None:
        """The picture from which `join_parts` cut this one, and the boxes; None: it was not cut."""
        return self.__dict__.get("part_of")

    def on_black(self, size: Size) -> Screenshot:
        """Returns this picture in the upper left corner of a larger black one; computed once."""
        return self._derive(("on black", size), lambda: _OnBlack(self, size))

    def resize_to(self, size: Size) -> Screenshot:
        """Returns this picture at another size; computed once."""
        sides = (size.width, size.height)
        return self._derive(
            ("resized", size),
            lambda: Screenshot(self.pixels.resize(sides, Image.Resampling.BICUBIC)),
        )

    def _derive(self, key: object, make: Callable[[], Screenshot]) -> Screenshot:
        pictures: dict[object, Screenshot] = self.__dict__.setdefault("derived", {})
        if key not in pictures:
            pictures[key] = make()
        return pictures[key]

    def fit_to(self, limit: Size) -> Screenshot:
        """Returns this picture scaled down to fit ``limit``; itself if it already fits."""
        size = fit_within(self.size, limit)
        if size == self.size:
            return self
        picture = Screenshot(
            self.pixels.resize((size.width, size.height), Image.Resampling.LANCZOS)
        )
        picture.__dict__["make_full"] = lambda: self.full
        return picture

    @lazy_property
    def full(self) -> Screenshot:
        """The picture that `fit_to` scaled down to this one; itself if it was not scaled."""
        make: Callable[[], Screenshot] | None = self.__dict__.get("make_full")
        return self if make is None else make()

    def box_on(self, other: Screenshot, box: BoundingBox) -> BoundingBox:
        """Returns a box of this picture in the pixels of the same picture at another size."""
        x, y = other.size.width / self.size.width, other.size.height / self.size.height
        return BoundingBox(box.left * x, box.top * y, box.right * x, box.bottom * y, box.space)

    def uncover_pointer(self, under: UnderPointer) -> Screenshot:
        """Returns this picture without its pointer; `full` too, if that part is known."""
        pixels = self.pixels.copy()
        pixels.paste(under.picture.pixels, (int(under.box.left), int(under.box.top)))
        picture = Screenshot(pixels)
        if (full_under := under.full) is not None:
            picture.__dict__["make_full"] = lambda: self.full.uncover_pointer(full_under)
        return picture


_GAP = 6
"""Height in pixels of the bar between parts."""


def _stack_pictures(crops: Sequence[Screenshot]) -> Screenshot:
    height = sum(crop.size.height for crop in crops) + _GAP * (len(crops) - 1)
    stack = Image.new("RGB", (max(crop.size.width for crop in crops), height), "#ff00ff")
    top = 0
    for crop in crops:
        stack.paste(crop.pixels, (0, top))
        top += crop.size.height + _GAP
    return Screenshot(stack)


class _OnBlack(Screenshot):
    """A picture in the corner of a larger black one; its rows are copied only on use.

    Args:
        shown: the picture in the upper left corner.
        size: size of the larger picture.
    """

    def __init__(self, shown: Screenshot, size: Size) -> None:
        self.size = size
        self._shown = shown
        self._right, self._below = size.width - shown.size.width, size.height - shown.size.height

    @lazy_property
    def rgb(self) -> memoryview:
        """The rows, including the black ones."""
        rows, width = self._shown.rgb, 3 * self._shown.size.width
        beside = bytes(3 * self._right)
        parts = [rows[at : at + width] for at in range(0, len(rows), width)]
        below = bytes(3 * self.size.width * self._below)
        return memoryview(beside.join((*parts, b"")) + below)

    @lazy_property
    def png(self) -> bytes:
        """The picture as PNG, lossless."""
        shown, size = self._shown.rgb, self._shown.size
        return encode_rgb(size.width, size.height, shown, right=self._right, below=self._below)


@dataclass(frozen=True, slots=True)
class Window:
    """A top-level window. ``box`` is in screen space; ``size`` may be known without it.

    ``dialog``: whether its program reports it as a dialog.
    """

    id: str
    title: str
    app: str
    box: BoundingBox | None = None
    active: bool = False
    size: Size | None = None
    dialog: bool = False


@dataclass(frozen=True, slots=True)
class Element:
    """An object on the screen that has a role. ``box`` is in screen space.

    ``role`` is the accessibility role in lower case with blanks ("push button", "text",
    "menu item"); ``states`` holds names such as "focused", "checked", "editable", "showing".
    ``label`` is the text of the element that labels this one, ``window`` the title of its window.
    ``parent`` is the index in the look's list of the nearest element that contains this one, -1 if
    none does, None if the machine does not report it.
    """

    role: str
    name: str
    box: BoundingBox
    text: str = ""
    label: str = ""
    states: frozenset[str] = frozenset()
    app: str = ""
    window: str = ""
    description: str = ""
    parent: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class UnderPointer:
    """The part of a picture that is under the pointer, as it looks without the pointer.

    ``box`` is in the picture's pixels. ``full`` is the same part of the picture's `full`, if the
    picture was scaled down.
    """

    box: BoundingBox
    picture: Screenshot
    full: UnderPointer | None = None


@dataclass(frozen=True)
class Observation:
    """One look at the desktop.

    ``screenshot`` is the picture for models (image space, at most 1280x720 unless configured
    otherwise). ``screen`` is the desktop's size in physical pixels. ``elements`` is None if the
    machine was not asked for them or cannot report them, and an empty tuple if there are none.
    With ``complete`` False some are missing: an element outside the list may still be on the
    screen. ``undrawn`` names windows and controls that exist but are not painted yet, although the
    look waited for them. With ``windows_known`` False the machine cannot list its windows, and
    ``windows`` is empty. ``under_pointer`` is set if the machine reports it. ``everywhere`` has
    visible and invisible elements, if both were requested (`hisa.environments.absence`).
    Windows that have boxes are ordered from the lowest to the highest; the active one need not be
    the highest.
    """

    screenshot: Screenshot
    screen: Size
    windows: tuple[Window, ...] = ()
    elements: tuple[Element, ...] | None = None
    cursor: Point | None = None
    at: float = field(default_factory=time.time)
    complete: bool = True
    undrawn: tuple[str, ...] = ()
    selection: str = ""
    """The last selected text, if the machine reports it; it may no longer be selected."""
    windows_known: bool = True
    under_pointer: UnderPointer | None = None
    everywhere: tuple[Element, ...] | None = None
    name: str = ""
    """The machine's name for this look, if it can be asked later whether the look still holds."""
    held: tuple[str, ...] = ()
    """The keys and mouse buttons that are held down, if the machine reports them."""

    @property
    def image(self) -> Size:
        """Size of the picture that models see."""
        return self.screenshot.size

    @property
    def all_elements(self) -> tuple[Element, ...] | None:
        """The elements if the list is complete, so that an absence proves something; else None."""
        return self.elements if self.complete else None

    @property
    def active(self) -> Window | None:
        """The window that has the focus."""
        return next((window for window in self.windows if window.active), None)

    @lazy_property
    def without_pointer(self) -> Observation:
        """The same look without its pointer, if the part under it is known; else itself."""
        under = self.under_pointer
        if under is None:
            return self
        return replace(self, screenshot=self.screenshot.uncover_pointer(under), under_pointer=None)

    def shows(self, other: Observation) -> bool:
        """Whether windows and all pixels equal another look's; elements are not compared."""
        if self.windows != other.windows or self.screenshot.size != other.screenshot.size:
            return False
        apart = ImageChops.difference(self.screenshot.pixels, other.screenshot.pixels)
        return apart.getbbox() is None

    def convert(self, point: Point, to: Space) -> Point:
        """Returns a point of this observation in another space."""
        return convert(point, to, screen=self.screen, image=self.image)

    def convert_box(self, box: BoundingBox, to: Space) -> BoundingBox:
        """Returns a box of this observation in another space."""
        return convert_box(box, to, screen=self.screen, image=self.image)
