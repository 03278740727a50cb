"""The process that sees and acts on the screen for one environment.

It is a process of its own so that keys and buttons come up however HiSA ends: it releases all of
them when its input ends, as it does if HiSA is killed. PyAutoGUI connects to the display while it
is imported, and decides for its whole process how Windows scales; here that touches nobody else.

Requests come on standard input, replies leave on standard output (`base.py`): "look", "act",
"read", "nudge".
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO

from hisa.actions import Action
from hisa.actions.unchanged_look import REACTION_SECONDS, arrival, require_unchanged
from hisa.errors import ActionRefused, EnvironmentFailed, HisaError, ScreenChanged
from hisa.plugins.screen.base import Look, Reading, Reply, Request, System
from hisa.plugins.screen.capture import Camera, Shot, is_blank, is_same
from hisa.plugins.screen.hands import Hands
from hisa.protocols import ScreenPrecondition
from hisa.screen.geometry import Size
from hisa.screen.observation import Observation, Screenshot, Window

__all__ = ["Driver", "StopWatch", "Stopped", "main", "send_reply"]

_TICK_SECONDS = 0.03
"""Between two looks at the stop keys: a person holds two keys together for a tenth of a second."""
_ACTIVATE_SECONDS = 1.0
"""A window manager brings a window to the front in milliseconds."""
_POLL_SECONDS = 0.1
_QUIET_SECONDS = 0.3
"""A screen has settled if it shows the same for this long."""
_BLANK_SECONDS = 3.0
"""A screen that stays black longer is locked, or may not be seen; a change of mode is shorter."""
_BLANK = "the screenshot is all black: the screen is locked or off, or this program may not see it"
_LOOKS = 6
"""Looks that are kept, as many as HiSA's guest keeps."""
_CORNER = 2
"""Points from a corner of the screen within which the pointer counts as pushed into it."""


class Stopped(Exception):
    """A person ended the run; the text names how."""


class StopWatch:
    """Looks whether a person wants the run to end at once: a corner, or both Shift keys."""

    def __init__(self, gui: Any, system: Any) -> None:
        self._gui, self._system = gui, system
        self.number = 0
        """Of the request that is being answered."""
        self.halted = -1.0
        """The highest number of a request that is not to go on."""
        self.reason = ""
        self._left: object = None

    def check(self, sent: tuple[int, int], *, idle: bool = False) -> None:
        """Look once.

        Args:
            sent: where the agent left the pointer, or found it; until a person moves it away, it
                may be in a corner there. Every move has an object of its own.
            idle: whether nothing is being done, so that only a person moves the pointer.

        Raises:
            Stopped: the run must end, now or since an earlier look.
        """
        if not self.reason:
            self.reason = self._find_reason(sent, idle)
        if self.over:
            raise Stopped(self.reason or "the act was ended")

    @property
    def over(self) -> bool:
        """Whether what is being done is not to go on."""
        return bool(self.reason) or self.halted >= self.number

    def _find_reason(self, sent: tuple[int, int], idle: bool) -> str:
        if self._system.stop_keys_down():
            return "both Shift keys were pressed"
        x, y = self._gui.position()
        near = max(abs(x - sent[0]), abs(y - sent[1])) <= _CORNER
        if idle and not near:
            self._left = sent
        if near and sent is not self._left:
            return ""
        width, height = self._gui.size()
        sideways = min(abs(x), abs(x - width + 1))
        upright = min(abs(y), abs(y - height + 1))
        return "the pointer was pushed into a corner" if max(sideways, upright) <= _CORNER else ""


def open_gui() -> Any:
    """Imports PyAutoGUI without its parts that need tkinter or a second display connection."""
    if sys.platform == "win32":
        import ctypes

        with suppress(AttributeError, OSError):  # per monitor, before anything asks for a size
            vars(ctypes)["windll"].shcore.SetProcessDpiAwareness(2)
    sys.modules.setdefault("mouseinfo", None)  # type: ignore[arg-type]
    import pyautogui

    return pyautogui


def open_system(gui: Any) -> System:
    """Returns this operating system."""
    if sys.platform == "win32":
        from hisa.plugins.screen.windows_system import WindowsSystem as Here
    elif sys.platform == "darwin":
        from hisa.plugins.screen.macos_system import MacSystem as Here
    else:
        from hisa.plugins.screen.x11_system import X11System as Here
    return Here(gui)


class Driver:
    """Answers requests, and watches for a stop between them.

    Args:
        monitor: the number of the monitor, from 1; 0: the primary one.
        replies: where replies are written.
        at_terminal: whether the window in front is the terminal that the run was started from.
    """

    def __init__(self, monitor: int, replies: BinaryIO, *, at_terminal: bool) -> None:
        gui = open_gui()
        self._gui = gui
        self._replies = replies
        self._system = open_system(gui)
        self._watch = StopWatch(gui, self._system)
        self._camera = Camera(gui, monitor)
        self._hands = Hands(gui, self._system, self._check, self._require_window)
        self._terminal = self._system.front() if at_terminal else 0
        self._window = 0
        """The window that was in front last, except that terminal."""
        self._reported = False
        self._last: Shot | None = None
        self._looks: dict[str, Observation] = {}

    def _check(self) -> None:
        self._watch.check(self._hands.sent)

    def _require_window(self) -> None:
        """Refuse keys that the terminal of the run would take."""
        if self._terminal and self._system.front() == self._terminal:
            raise ActionRefused(
                "the terminal of this run is in front and would take the keys: click into the "
                "window that they are for"
            )

    def _restore(self) -> None:
        """Bring back the window that was in front before a person answered at the terminal."""
        if not self._window or not self._terminal or self._system.front() != self._terminal:
            return
        self._system.activate(self._window)
        end = time.monotonic() + _ACTIVATE_SECONDS
        while self._system.front() != self._window and time.monotonic() < end:
            self._hands.pause(_TICK_SECONDS)

    def halt(self, number: float) -> None:
        """End a request and those before it; called from the thread that reads requests."""
        self._watch.halted = number

    def serve(self, requests: queue.Queue[Request | None]) -> None:
        """Answer requests until there is a None among them."""
        while True:
            try:
                request = requests.get(timeout=_TICK_SECONDS)
            except queue.Empty:
                self._idle()
                continue
            if request is None:
                return
            self._watch.number = request.number
            send_reply(self._replies, self._answer(request))

    def _idle(self) -> None:
        self._system.serve()
        with suppress(Stopped):
            self._watch.check(self._hands.sent, idle=True)  # after a halt it raises as well
        self._report_stop()

    def _report_stop(self) -> None:
        if self._watch.reason and not self._reported:
            self._reported = True
            self._hands.release()
            send_reply(self._replies, Reply(0, "stopped", self._watch.reason))

    def _answer(self, request: Request) -> Reply:
        try:
            return Reply(request.number, "ok", getattr(self, f"_{request.kind}")(*request.values))
        except Stopped as error:
            self._hands.release()
            self._report_stop()
            return Reply(request.number, "stopped", str(error))
        except HisaError as error:
            return Reply(request.number, type(error).__name__, str(error))
        except Exception as error:  # noqa: BLE001 - the border of the process
            return Reply(request.number, "failed", f"{type(error).__name__}: {error}")

    def _look(self, settle: float, again: str = "") -> Look:
        """Take a picture, and keep it for a later comparison.

        Args:
            settle: longest wait for the screen to show the same for a moment, in seconds.
            again: the name of the look that this one takes the place of.
        """
        front, before = self._system.front(), self._last
        shot = self._take()
        same_since = time.monotonic()
        end = same_since + settle
        while (now := time.monotonic()) < end and now - same_since < _QUIET_SECONDS:
            self._idle()
            if self._watch.over:
                break
            time.sleep(_POLL_SECONDS)
            front, before, shot = self._system.front(), shot, self._take()
            if not is_same(before, shot):
                same_since = time.monotonic()
        if front != self._terminal:
            self._window = front
        self._hands.mapping, self._last = shot.mapping, shot
        self._looks.pop(again, None)
        self._looks[name := str(self._watch.number)] = _build_observation(shot, front)
        while len(self._looks) > _LOOKS:
            del self._looks[next(iter(self._looks))]
        place = shot.mapping.to_pixels(*self._gui.position())
        return Look(shot, place, name, before is not None and is_same(before, shot))

    def _take(self) -> Shot:
        """Take a picture that is not all black."""
        end = time.monotonic() + _BLANK_SECONDS
        while is_blank((shot := self._camera.take()).rgb):
            self._idle()
            if self._watch.over or time.monotonic() > end:
                raise EnvironmentFailed(_BLANK)
            time.sleep(_POLL_SECONDS)
        return shot

    def _act(self, actions: Sequence[Action], compared: Any = None) -> float:
        """Do actions; returns the seconds since the picture that was compared right before.

        Args:
            actions: in order.
            compared: None, or the name of the look on which they were decided, the boxes in which
                the screen must be as it was, and whether they continue the act before.
        """
        self._check()
        self._restore()
        pictured = time.monotonic()
        if compared is not None:
            name, boxes, follows = compared
            arriving, actions = ([], actions) if follows else arrival(actions)
            self._hands.do(arriving)
            self._hands.pause(REACTION_SECONDS if arriving else 0.0)
            if name not in self._looks:
                raise ScreenChanged("the look on which it was decided is no longer kept")
            pictured = time.monotonic()
            now = _build_observation(self._camera.take(), self._system.front())
            require_unchanged(ScreenPrecondition(self._looks[name], boxes), now)
        gap = time.monotonic() - pictured
        self._hands.do(actions)
        return gap

    def _read(self, elements: bool) -> Reading:
        return self._system.read(elements=elements)

    def _nudge(self) -> None:
        """Move the pointer a little and back."""
        x, y = self._gui.position()
        self._hands.go_to((abs(x - 9), y))
        self._hands.go_to((x, y))

    def close(self) -> None:
        """Release everything, and leave the clipboard as it was found."""
        with suppress(Exception):
            self._hands.release()
        with suppress(Exception):
            self._system.close()


def _build_observation(shot: Shot, front: int) -> Observation:
    """Returns a look for comparison; pictures are taken without the pointer."""
    size = Size(shot.width, shot.height)
    window = Window(str(front), "", "", active=True)
    return Observation(Screenshot.from_rgb(size, shot.rgb), size, (window,))


def send_reply(stream: BinaryIO, reply: Reply) -> None:
    """Writes a reply after its length."""
    data = pickle.dumps(reply)
    stream.write(len(data).to_bytes(8, "big") + data)
    stream.flush()


def _read(requests: queue.Queue[Request | None], driver: Driver) -> None:
    try:
        while True:
            request: Request = pickle.load(sys.stdin.buffer)
            if request.kind == "halt":
                driver.halt(request.number)
            else:
                requests.put(request)
    except (EOFError, OSError, pickle.UnpicklingError):
        driver.halt(float("inf"))
        requests.put(None)


def main() -> int:
    """Serve the process that started this one until it closes the pipe, or ends."""
    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), lambda *_: sys.exit(0))
    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what libraries print is no reply
    try:
        driver = Driver(int(sys.argv[1]), replies, at_terminal="terminal" in sys.argv)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - Xlib's errors have no common class
        send_reply(replies, Reply(0, "failed", f"{type(error).__name__}: {error}"))
        return 1
    requests: queue.Queue[Request | None] = queue.Queue()
    threading.Thread(target=_read, args=(requests, driver), daemon=True).start()
    try:
        driver.serve(requests)
    except BrokenPipeError:
        pass
    finally:
        driver.close()
    return 0
