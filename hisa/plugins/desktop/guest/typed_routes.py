"""HiSA's own routes: a whole look per response, typed actions at most once, commands, files."""

from __future__ import annotations

import base64
import json
import os
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple

from . import commands
from .access import ELEMENTS_SECONDS, Access
from .access import ReadOptions as ElementsRequest
from .actor import ActionError, Actor, ScreenDifference
from .blank_windows import Undrawn
from .hit_testing import find_elements_at
from .http_server import HttpError, Request, Response, Routes, file_response, json_response
from .idempotency_cache import IdempotencyCache
from .recent_looks import RecentLooks, read_held
from .sandbox import Wrap, make_beneath, opened_beneath
from .screen_settling import Work, settle
from .window_sync import SelectionReader
from .x_screen import Screen, TopWindow, Under, as_png

__all__ = ["PROTOCOL", "TypedRoutes"]

PROTOCOL = 1
_MAX_SETTLE, _MAX_TIMEOUT, _MAX_OUTPUT = 120.0, 3600.0, 64 << 20
_DEFAULT_ELEMENTS = 4000  # chosen by hand
_MAX_ELEMENTS_SECONDS = 120.0  # chosen by hand
_MOST_POINTS = 20  # chosen by hand: a gesture has two


_WAITING_SETTLE = 1.0
"""A look that may take at least this many seconds to settle waits for unpainted windows; chosen by
hand."""
_LAST_SETTLE = 0.5
"""Least seconds to settle after an awaited window has been painted; chosen by hand."""
_SCROLLED_SECONDS = 0.6
"""Longest wait for the elements to follow a scrolled picture: a browser's were 0.34 s late."""

_PRESSING = frozenset({"enter", "return", "kp_enter", "space", "alt"})
"""Keys that press a button, ``alt`` with its letter."""
_PRESSED_SECONDS = 0.6
"""Time after such a key in a dialog before a screen counts as settled: GTK shows the button as
pressed for 0.25 s, longer than a screen must be quiet, and a file dialog does so twice before it
closes."""
_DIALOG_SHARE = 0.9
"""Largest share of the screen at which a window over others counts as a dialog; chosen by hand."""


def _encode_under(under: Under | None) -> dict[str, Any] | None:
    if under is None:
        return None
    rows = base64.b64encode(under.picture.tobytes()).decode("ascii")
    return {"place": [under.left, under.top], "size": list(under.picture.size), "rgb": rows}


class _Observation(NamedTuple):
    """The parts of a look without its picture."""

    windows: list[TopWindow]
    elements: list[dict[str, Any]] | None
    complete: bool


class TypedRoutes:
    """The routes under /hisa.

    Args:
        screen: the screen.
        actor: does the actions.
        access: reads the elements.
        work: returns what the applications do, for settling; None if unknown.
        wrap: returns the command line to run for a requested one, such as a sandbox with it.
        cage: the folder in which commands write; links in it are not followed. Empty: none.
    """

    def __init__(
        self,
        screen: Screen,
        actor: Actor,
        access: Access,
        *,
        work: Callable[[], Work] | None = None,
        wrap: Wrap | None = None,
        cage: str = "",
    ) -> None:
        self._cage = cage
        self._screen = screen
        self._actor = actor
        self._access = access
        self._work = work
        self._wrap = wrap
        self._undrawn = Undrawn()
        self._looks = RecentLooks()
        self._selected = SelectionReader(screen)
        self._answered_at = 0.0
        self._scrolled = False
        self._newest: tuple[list[dict[str, Any]], bytes] = [], b""
        self._acts: IdempotencyCache[Response] = IdempotencyCache()
        self._runs: IdempotencyCache[Response] = IdempotencyCache()

    def routes(self) -> Routes:
        """Returns the routes by method and path."""
        return {
            ("GET", "/hisa/capabilities"): self._capabilities,
            ("POST", "/hisa/observe"): self._observe,
            ("POST", "/hisa/lies_at"): self._hit_test,
            ("POST", "/hisa/act"): self._act,
            ("POST", "/hisa/execute"): self._execute,
            ("GET", "/hisa/file"): self._get_file,
            ("PUT", "/hisa/file"): self._put_file,
        }

    def _capabilities(self, _: Request) -> Response:
        named = ["execute", "unchanged"]
        named += ["elements", "hidden", "lies_at"] if self._access.available else []
        size = {"width": self._screen.width, "height": self._screen.height}
        return json_response({"protocol": PROTOCOL, "capabilities": named, "screen": size})

    # ---------------------------------------------------------------- looking

    def _observe(self, request: Request) -> Response:
        body = request.json()
        seconds = _number(body, "settle", 0.0, _MAX_SETTLE)
        limit = int(_number(body, "max_elements", _DEFAULT_ELEMENTS, 20_000))
        encoding = body.get("format", "raw")
        if encoding not in {"raw", "png"}:
            raise HttpError(400, f"format {encoding!r}: allowed are raw, png")
        wants_elements = bool(body.get("elements")) and self._access.available
        within = ELEMENTS_SECONDS * _number(body, "patience", 1.0, 1000.0)
        within, hidden = min(within, _MAX_ELEMENTS_SECONDS), body.get("hidden") is True
        options = ElementsRequest(limit, within, hidden) if wants_elements else None
        least = _number(body, "restless", seconds, _MAX_SETTLE)
        observation = self._observe_when_drawn(seconds, options, min(least, seconds))
        frame = self._screen.grab()
        shown, under = self._screen.look(frame)
        pixels = as_png(shown) if encoding == "png" else shown.tobytes()
        header = {
            "screen": [self._screen.width, self._screen.height],
            "format": encoding,
            "cursor": self._screen.pointer(),
            "under_pointer": _encode_under(under),
            "windows": [window.to_json() for window in observation.windows],
            "elements": observation.elements,
            "complete": observation.complete,
            "selection": self._selected.text() if options is not None else "",
            "look": self._looks.keep(frame, observation.windows),
            "undrawn": self._undrawn.still(self._screen, observation.windows),
        }
        text = json.dumps(header).encode()
        return Response(struct.pack(">I", len(text)) + text + pixels, "application/octet-stream")

    def _observe_when_drawn(
        self, seconds: float, options: ElementsRequest | None, restless: float
    ) -> _Observation:
        """Look again once new windows are painted, or ``restless`` seconds have passed."""
        end = time.monotonic() + restless
        observation = self._observe_now(seconds, options, restless)
        self._undrawn.forget_gone(observation.windows)
        if seconds < _WAITING_SETTLE:  # new windows are left to a look that can wait for them
            return observation
        blank = self._undrawn.new(self._screen.grab(), observation.windows)
        if not blank or not self._undrawn.wait(self._screen, blank, end):
            return observation
        return self._observe_now(max(_LAST_SETTLE, end - time.monotonic()), options, restless)

    def _observe_now(
        self, seconds: float, options: ElementsRequest | None, restless: float
    ) -> _Observation:
        if seconds:
            before = self._answered_at
            settle(self._screen, seconds, self._work, not_before=before, restless=restless)
        elements, complete = None, False
        known_ids = {window.id for window in self._screen.windows()} if options else set()
        if options is not None:
            elements, complete = self._scrolled_elements(options)
        shown = self._screen.windows()
        # A window that opened after the elements were read is in the picture, but has no elements.
        complete = complete and {window.id for window in shown} <= known_ids
        return _Observation(shown, elements, complete)

    def _scrolled_elements(self, options: ElementsRequest) -> tuple[list[dict[str, Any]], bool]:
        """Return the elements; if the picture scrolled and they did not, wait until they follow."""
        picture = self._screen.grab().pixels
        elements, complete = self._access.elements(options)
        end = time.monotonic() + (_SCROLLED_SECONDS if self._scrolled else 0.0)
        while time.monotonic() < end and (old := self._newest)[0] == elements and picture != old[1]:
            time.sleep(_SCROLLED_SECONDS / 4)
            elements, complete = self._access.elements(options)
        self._scrolled, self._newest = False, (elements, picture)
        return elements, complete

    def _hit_test(self, request: Request) -> Response:
        """Return the elements at points and the focused ones, with ancestors; keep the look."""
        body = request.json()
        points = body.get("points")
        if not isinstance(points, list) or len(points) > _MOST_POINTS:
            raise HttpError(400, f"points must be a list of at most {_MOST_POINTS}")
        within = ELEMENTS_SECONDS * _number(body, "patience", 1.0, 1000.0)
        options = ElementsRequest(_DEFAULT_ELEMENTS, min(within, _MAX_ELEMENTS_SECONDS))
        observation = self._observe_now(0.0, options, 0.0)
        elements = find_elements_at(observation.elements or [], [_point(point) for point in points])
        return json_response(
            {
                "screen": [self._screen.width, self._screen.height],
                "windows": [window.to_json() for window in observation.windows],
                "elements": elements,
                "complete": observation.complete,
                "look": self._looks.keep(self._screen.grab(), observation.windows),
            }
        )

    # ---------------------------------------------------------------- acting

    def _act(self, request: Request) -> Response:
        body = request.json()
        actions = body.get("actions")
        if not isinstance(actions, list):
            raise HttpError(400, f"actions must be a list, not {actions!r:.80}")
        return self._acts.run(_id(body), lambda: self._act_now(actions, body.get("unchanged")))

    def _act_now(self, actions: list[Any], unchanged: Any) -> Response:
        try:
            follows = isinstance(unchanged, dict) and unchanged.get("follows") is True
            count = self._actor.act(actions, self._difference(unchanged), follows=follows)
            return json_response({"done": count})
        except ScreenDifference as error:
            return json_response({"status": "changed", "error": str(error), "done": 0}, 409)
        except ActionError as error:
            refused = {"status": "error", "error": str(error), "done": error.completed_count}
            return json_response(refused, 422)

        finally:
            self._scrolled = any(isinstance(a, dict) and a.get("kind") == "scroll" for a in actions)
            if actions and _may_press_button(actions[-1]) and self._in_dialog():
                self._answered_at = time.monotonic() + _PRESSED_SECONDS

    def _difference(self, unchanged: Any) -> Callable[[], str] | None:
        """Returns a function that compares the screen with the look of an act, as `Actor.act`."""
        if unchanged is None:
            return None
        try:
            look, boxes = read_held(unchanged)
        except ValueError as error:
            raise HttpError(400, str(error)) from error
        return lambda: self._looks.difference(look, boxes, self._screen)

    def _in_dialog(self) -> bool:
        """Whether the window in front is smaller than the screen, and not the only one."""
        shown = [window for window in self._screen.windows() if not window.hidden]
        area = _DIALOG_SHARE * self._screen.width * self._screen.height
        sizes = ((w.box[2] - w.box[0]) * (w.box[3] - w.box[1]) for w in shown if w.active)
        return len(shown) > 1 and any(size <= area for size in sizes)

    def _execute(self, request: Request) -> Response:
        body = request.json()
        command = body.get("command")
        words = isinstance(command, list) and command and all(isinstance(w, str) for w in command)
        if not words and not isinstance(command, str):
            raise HttpError(400, f"command must be a text or a list of words, not {command!r:.80}")
        return self._runs.run(_id(body), lambda: self._execute_now(command, body))

    def _execute_now(self, command: Any, body: dict[str, Any]) -> Response:
        limit = int(_number(body, "limit", 100_000, _MAX_OUTPUT))
        try:
            result = commands.run(
                command,
                timeout=_number(body, "timeout", 120.0, _MAX_TIMEOUT),
                limit=limit,
                wrap=self._wrap,
            )
        except (OSError, ValueError) as error:
            result = commands.FinishedCommand(127, "", f"{error}\n", timed_out=False)
        return json_response(asdict(result))

    # ---------------------------------------------------------------- files

    @contextmanager
    def _reach_file(self, path: str, *, make: bool = False) -> Iterator[str]:
        """Yield a path that reaches a file without following links inside the cage.

        With ``make``, the path is a folder, which is made if it is missing.
        """
        inside = os.path.relpath(path, self._cage or "/")
        if not self._cage or inside.startswith(".."):
            yield path
            return
        try:
            if make:
                make_beneath(self._cage, inside)
            number = opened_beneath(self._cage, inside)
        except FileNotFoundError as error:
            raise HttpError(404, f"{path}: no such file") from error
        except OSError as error:
            raise HttpError(403, f"{path}: {error}") from error
        try:
            yield f"/proc/self/fd/{number}"
        finally:
            os.close(number)

    def _get_file(self, request: Request) -> Response:
        with self._reach_file(_path(request)) as path:
            return file_response(path, request.query)

    def _put_file(self, request: Request) -> Response:
        path = _path(request)
        folder, name = os.path.split(path)
        with self._reach_file(folder, make=True) as place:
            try:
                _write(os.path.join(place, name), request)
            except (OSError, ValueError) as error:
                raise HttpError(403, f"{path}: {error}") from error
        return json_response({"status": "success"})


def _point(value: Any) -> tuple[float, float]:
    if isinstance(value, list) and [type(n) in (int, float) for n in value] == [True, True]:
        return float(value[0]), float(value[1])
    raise HttpError(400, f"points must be pairs of numbers, not {value!r:.80}")


def _may_press_button(action: Any) -> bool:
    """Whether an action may press a button by a key; the button then acts a moment later."""
    if not isinstance(action, dict):
        return False
    keys = [str(key).lower() for key in (action.get("key"), *(action.get("keys") or ())) if key]
    typed = str(action.get("text") or "")
    return not _PRESSING.isdisjoint(keys) or typed.endswith("\n")


def _write(path: str, request: Request) -> None:
    """Write a file, which appears under its name only when it is whole."""
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    if os.path.exists(path) and not os.path.isfile(path):
        raise IsADirectoryError(f"{path} is not a regular file")
    number, draft = tempfile.mkstemp(dir=folder, prefix=".hisa-")
    try:
        with os.fdopen(number, "wb") as file:
            for chunk in request.chunks():
                file.write(chunk)
        mode = os.stat(path).st_mode & 0o777 if os.path.exists(path) else 0o644
        os.chmod(draft, mode)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def _path(request: Request) -> str:
    path = request.query.get("path", "")
    if not path:
        raise HttpError(400, "path: missing")
    return os.path.join(os.path.expanduser("~"), os.path.expanduser(path))


def _id(body: dict[str, Any]) -> str:
    key = body.get("id")
    if not isinstance(key, str) or not 1 <= len(key) <= 200:
        raise HttpError(400, f"id must be a text of 1 to 200 characters, not {key!r:.80}")
    return key


def _number(body: dict[str, Any], name: str, default: float, most: float) -> float:
    value = body.get(name, default)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise HttpError(400, f"{name} must be a number from 0 to {most:g}, not {value!r}")
    return float(value)
