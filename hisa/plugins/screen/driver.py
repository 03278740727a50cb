"""The process that sees and acts on the screen for one environment.

It is a process of its own so that keys and buttons come up however HiSA ends: it releases all of
them when its input ends, as it does if HiSA is killed. PyAutoGUI connects to the display while it
is imported, and decides for its whole process how Windows scales; here that touches nobody else.

Requests come on standard input, replies leave on standard output (`base.py`): "look", "act",
"release", "read", "restore", "nudge".
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import Any, BinaryIO

from hisa.errors import ActionRefused
from hisa.plugins.screen.base import Reply, Request, System

__all__ = ["Driver", "StopWatch", "Stopped", "main"]

_TICK_SECONDS = 0.03
"""Between two looks at the stop keys: a person holds two keys together for a tenth of a second."""
_ACTIVATE_SECONDS = 1.0
"""A window manager brings a window to the front in milliseconds."""
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
        if self.reason or self.halted >= self.number:
            raise Stopped(self.reason or "the act was ended")

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
        from hisa.plugins.screen.capture import Camera
        from hisa.plugins.screen.hands import Hands

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
            self._reply(self._answer(request))

    def _idle(self) -> None:
        self._system.serve()
        with suppress(Stopped):
            self._watch.check(self._hands.sent, idle=True)  # after a halt it raises as well
        if self._watch.reason and not self._reported:
            self._hands.release()
            self._report_stop()

    def _report_stop(self) -> None:
        self._reported = True
        self._reply(Reply(0, "stopped", self._watch.reason))

    def _answer(self, request: Request) -> Reply:
        try:
            return Reply(request.number, "ok", getattr(self, f"_{request.kind}")(*request.values))
        except ActionRefused as error:
            return Reply(request.number, "refused", str(error))
        except Stopped as error:
            self._hands.release()
            if self._watch.reason and not self._reported:
                self._report_stop()
            return Reply(request.number, "stopped", str(error))
        except Exception as error:  # noqa: BLE001 - the border of the process
            return Reply(request.number, "failed", f"{type(error).__name__}: {error}")

    def _reply(self, reply: Reply) -> None:
        pickle.dump(reply, self._replies)
        self._replies.flush()

    def _look(self) -> tuple[Any, tuple[float, float], float, str]:
        """Returns a picture, the pointer's place on it, the time, and why mss did not take it."""
        at, front = time.monotonic(), self._system.front()
        shot = self._camera.take()
        if front != self._terminal:
            self._window = front
        self._hands.mapping = shot.mapping
        return shot, shot.mapping.to_pixels(*self._gui.position()), at, self._camera.fallback

    def _act(self, actions: tuple[Any, ...]) -> float:
        """Do actions; returns the time at which they began."""
        self._check()
        began = time.monotonic()
        self._hands.do(actions)
        return began

    def _read(self, elements: bool) -> Any:
        """Read windows and elements; only Windows and macOS do it here."""
        return self._system.read(elements=elements)

    def _nudge(self) -> bool:
        """Move the pointer by a point and back; returns whether it went."""
        x, y = self._gui.position()
        near = x - 1 if x > 0 else x + 1
        self._gui.moveTo(near, y, _pause=False)
        time.sleep(0.05)
        went = self._gui.position()[0] == near
        self._gui.moveTo(x, y, _pause=False)
        self._hands.sent = (x, y)
        return bool(went)

    def _release(self) -> None:
        self._hands.release()

    def close(self) -> None:
        """Release everything, and leave the clipboard as it was found."""
        with suppress(Exception):
            self._hands.release()
        with suppress(Exception):
            self._system.close()


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
        pickle.dump(Reply(0, "failed", f"{type(error).__name__}: {error}"), replies)
        replies.flush()
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
