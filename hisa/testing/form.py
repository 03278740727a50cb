"""A computer in memory: a small form, drawn with PIL, behind the protocol of environments.

The form has a text field labelled "Name", a check box "Agree", the buttons "OK" and "Save" and a
status line. Use it in tests and benchmarks of the loop, where a real desktop would only cost time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from PIL import Image, ImageDraw

from hisa.actions import Action, Click, Drag, Hotkey, KeyDown, MouseDown, Move, Press, Scroll, Write
from hisa.actions.keys import KEY_NAMES
from hisa.errors import ActionRefused, EnvironmentFailed
from hisa.protocols import FILE_LIMIT, CommandResult, FileRefused
from hisa.screen.geometry import BoundingBox, Point, Size
from hisa.screen.observation import DEFAULT_IMAGE_LIMIT, Element, Observation, Screenshot, Window

__all__ = ["FakeEnvironment"]

_TITLE = "Form"
_APP = "fake"
_SAVED_TO = "/home/user/form.txt"


def _box(left: float, top: float, width: float, height: float) -> BoundingBox:
    return BoundingBox(left, top, left + width, top + height, "screen")


@dataclass
class _Form:
    text: str = ""
    focus: str = ""
    agreed: bool = False
    status: str = "Ready"
    cursor: Point = field(default_factory=lambda: Point(0, 0, "screen"))
    files: dict[str, bytes] = field(default_factory=dict)


class FakeEnvironment:
    """A form in memory that implements `hisa.protocols.Environment`.

    Args:
        size: the size of the screen in pixels, at least 640x400.
        image_limit: the largest picture that models see, in pixels.
        commands: the result of `execute` for each command line; any other ends with exit code 127.
        fail_after: number of calls of `observe`, `act`, `execute` and the file methods after which
            the machine is gone; None: it stays.
        partial: number of looks with elements, from the first on, that have only two elements.
    """

    def __init__(
        self,
        size: Size = DEFAULT_IMAGE_LIMIT,
        *,
        image_limit: Size = DEFAULT_IMAGE_LIMIT,
        commands: Mapping[str, CommandResult] | None = None,
        fail_after: int | None = None,
        partial: int = 0,
    ) -> None:
        self.acted: list[Action] = []
        """All actions done since the last reset."""
        self.looked: list[bool] = []
        """For each look so far, whether elements were asked for."""
        self._size = size
        self._image_limit = image_limit
        self._commands = dict(commands or {})
        self._calls_left = fail_after
        self._partial = partial
        self._form = _Form()
        self._boxes = {
            "field": _box(220, 120, 360, 32),
            "agree": _box(220, 172, 120, 24),
            "ok": _box(220, 220, 90, 34),
            "save": _box(330, 220, 90, 34),
            "status": _box(120, 280, 460, 24),
        }

    @property
    def name(self) -> str:
        """The name that outputs print."""
        return "fake"

    @property
    def capabilities(self) -> frozenset[str]:
        """The optional abilities; see `hisa.protocols.Environment`."""
        return frozenset({"elements", "execute", "hidden", "throw_away"})

    @property
    def text(self) -> str:
        """The content of the text field."""
        return self._form.text

    @property
    def agreed(self) -> bool:
        """Whether the check box is checked."""
        return self._form.agreed

    def move(self, names: Iterable[str], by: float) -> None:
        """Move parts of the form ("field", "agree", "ok", "save") down by some pixels."""
        for name in names:
            box = self._boxes[name]
            self._boxes[name] = _box(box.left, box.top + by, box.width, box.height)

    async def __aenter__(self) -> FakeEnvironment:
        """Start with an empty form."""
        await self.reset()
        return self

    async def __aexit__(self, *exc: object) -> None:
        """Do nothing: there is nothing to clean up."""

    async def reset(self) -> None:
        """Empty the form and delete all files."""
        self._form = _Form()
        self.acted.clear()

    async def observe(self, *, elements: bool = False, settle: float = 0.0) -> Observation:
        """Draw the form; it never moves by itself, so ``settle`` costs nothing."""
        self._alive()
        self.looked.append(elements)
        partial = elements and self._partial > 0
        self._partial -= partial
        window = Window("1", _TITLE, _APP, _box(100, 60, 520, 270), active=True)
        return Observation(
            screenshot=Screenshot(self._draw()).fit_to(self._image_limit),
            screen=self._size,
            windows=(window,),
            elements=self._elements()[: 2 if partial else None] if elements else None,
            cursor=self._form.cursor,
            complete=not partial,
        )

    async def look_everywhere(self) -> Observation:
        """Take a look; the form hides no element."""
        return await self.observe(elements=True)

    async def act(self, actions: Sequence[Action], /) -> None:
        """Do the actions, in order.

        Raises:
            ActionRefused: a key is unknown; the actions before it were done.
        """
        self._alive()
        for action in actions:
            self._do(action)
            self.acted.append(action)

    async def execute(
        self, command: str | Sequence[str], *, timeout: float = 120.0, limit: int = 100_000
    ) -> CommandResult:
        """Returns the scripted result of a command line; with exit code 127 if there is none.

        Args:
            command: the command line; a list is joined with blanks.
            timeout: ignored; a scripted result may say that it timed out.
            limit: most characters of output, and of errors.
        """
        self._alive()
        line = command if isinstance(command, str) else " ".join(command)
        result = self._commands.get(line)
        if result is None:
            return CommandResult(127, "", f"{line.split(maxsplit=1)[0]}: command not found")
        return CommandResult(
            result.exit_code, result.output[:limit], result.error[:limit], result.timed_out
        )

    async def read_file(self, path: str, /, *, limit: int | None = None) -> bytes:
        """Returns a file that `write_file` or the form's "Save" wrote.

        Raises:
            FileNotFoundError: there is no such file.
            FileRefused: the file is larger than the limit.
        """
        self._alive()
        most = FILE_LIMIT if limit is None else limit
        try:
            data = self._form.files[path]
        except KeyError:
            raise FileNotFoundError(path) from None
        if len(data) > most:
            raise FileRefused(f"{path}: {len(data)} bytes; at most {most}")
        return data

    async def write_file(self, path: str, data: bytes, /) -> None:
        """Keep the bytes in memory until the next reset."""
        self._alive()
        self._form.files[path] = bytes(data)

    def _alive(self) -> None:
        if self._calls_left is None:
            return
        if self._calls_left <= 0:
            raise EnvironmentFailed("fake: the machine is gone", fix="start a new run")
        self._calls_left -= 1

    # ---------------------------------------------------------------- what it shows

    def _elements(self) -> tuple[Element, ...]:
        form, boxes = self._form, self._boxes
        field = {"editable", "focusable"} | ({"focused"} if form.focus == "field" else set())

        def _element(
            role: str,
            name: str,
            box: BoundingBox,
            *states: str,
            text: str = "",
            label: str = "",
        ) -> Element:
            shown = frozenset({"showing", "visible", "enabled", "sensitive", *states})
            return Element(role, name, box, text, label, shown, _APP, _TITLE)

        return (
            _element("label", "Name:", _box(120, 120, 80, 32)),
            _element("text", "", boxes["field"], *field, text=form.text, label="Name:"),
            _element("check box", "Agree", boxes["agree"], *["checked"] * form.agreed),
            _element("push button", "OK", boxes["ok"]),
            _element("push button", "Save", boxes["save"]),
            _element("label", form.status, boxes["status"]),
        )

    def _draw(self) -> Image.Image:
        form, boxes = self._form, self._boxes
        image = Image.new("RGB", (self._size.width, self._size.height), (46, 52, 64))
        pen = ImageDraw.Draw(image)
        pen.rectangle((100, 60, 619, 329), fill=(240, 240, 240), outline=(20, 20, 20))
        pen.rectangle((100, 60, 619, 88), fill=(70, 110, 180))
        pen.text((110, 66), _TITLE, fill="white", font_size=16)
        pen.text((120, 126), "Name:", fill="black", font_size=16)
        edge = (30, 90, 200) if form.focus == "field" else (120, 120, 120)
        self._frame(pen, boxes["field"], form.text, fill="white", edge=edge)
        low = boxes["agree"].top
        pen.rectangle((220, low + 4, 235, low + 19), fill="white", outline="black")
        if form.agreed:
            pen.line((222, low + 12, 227, low + 17, 234, low + 5), fill="black", width=2)
        pen.text((244, low + 2), "Agree", fill="black", font_size=16)
        self._frame(pen, boxes["ok"], "OK", fill=(225, 225, 225), edge=(90, 90, 90))
        self._frame(pen, boxes["save"], "Save", fill=(225, 225, 225), edge=(90, 90, 90))
        pen.text((120, 282), form.status, fill="black", font_size=16)
        x, y = form.cursor.to_pixels()
        pen.polygon(((x, y), (x, y + 14), (x + 10, y + 10)), fill="black", outline="white")
        return image

    @staticmethod
    def _frame(
        pen: ImageDraw.ImageDraw,
        box: BoundingBox,
        text: str,
        *,
        fill: str | tuple[int, int, int],
        edge: tuple[int, int, int],
    ) -> None:
        pen.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), fill=fill, outline=edge)
        shown = "".join(letter if letter.isprintable() else " " for letter in text)[-40:]
        pen.text((box.left + 8, box.top + 7), shown, fill="black", font_size=16)

    # ---------------------------------------------------------------- what it does

    def _do(self, action: Action) -> None:
        """Do an action; half presses of buttons and keys, and sleeping, change nothing."""
        form, writes = self._form, self._form.focus == "field"
        match action:
            case Click():
                self._point(action.at)
                self._press_at(form.cursor, action.button)
            case Move() | Drag():
                self._point(action.to)
            case Scroll() | MouseDown():
                self._point(action.at)
            case Write() if writes:
                form.text += action.text
            case Press():
                self._press(self._known(action.key), action.presses if writes else 0)
            case Hotkey():
                keys = tuple(self._known(key) for key in action.keys)
                if keys == ("ctrl", "s"):
                    self._save()
                elif keys == ("ctrl", "a") and writes:
                    form.text = ""
            case KeyDown():
                self._known(action.key)
            case _:
                pass

    def _press_at(self, at: Point, button: str) -> None:
        hit = next((name for name, box in self._boxes.items() if box.contains(at)), "")
        self._form.focus = hit if hit == "field" else ""
        if hit == "agree" and button == "left":
            self._form.agreed = not self._form.agreed
        elif hit == "ok":
            self._form.status = f"OK: {self._form.text}"
        elif hit == "save":
            self._save()

    def _press(self, key: str, presses: int) -> None:
        letter = " " if key == "space" else key
        for _ in range(presses):
            if key == "backspace":
                self._form.text = self._form.text[:-1]
            elif len(letter) == 1:
                self._form.text += letter

    def _save(self) -> None:
        self._form.files[_SAVED_TO] = self._form.text.encode()
        self._form.status = f"Saved to {_SAVED_TO}"

    def _known(self, key: str) -> str:
        if len(key) != 1 and key not in KEY_NAMES:
            raise ActionRefused(f"unknown key {key!r}; a key is one character or a name as 'enter'")
        return key

    def _point(self, at: object) -> None:
        if at is None:
            return
        if not isinstance(at, Point) or at.space != "screen":
            raise ActionRefused(f"not a place on the screen: {at!r}")
        width, height = self._size.width, self._size.height
        if not (0 <= at.x <= width and 0 <= at.y <= height):
            raise ActionRefused(f"({at.x:g}, {at.y:g}) is off the screen of {width}x{height}")
        self._form.cursor = at
