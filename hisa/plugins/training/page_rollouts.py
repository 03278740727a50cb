"""Rollouts on pages of MiniWoB++: many pages in one Chromium, which advance in waves.

Pages are frames of one window, and acts are page events. The score is the page's own reward without
its time penalty, and without its time limit.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import io
import json
import mimetypes
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import weakref
import zipfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hisa.errors import EnvironmentFailed, UsageError
from hisa.plugins.gym.miniwob.package import application, page_path
from hisa.plugins.gym.miniwob.stage import BROWSERS
from hisa.plugins.training.base import Act, Draw, Episode, Item, Look, Policy, Sample
from hisa.plugins.training.pointer_features import features

__all__ = ["BrowserDied", "PageBrowser", "PageRollouts"]

_WIDTH, _HEIGHT = 160, 210  # of a page's area, in CSS pixels
_STAGE = "/stage.html"


@dataclass(slots=True)
class _Live:
    """An episode in progress, and the name of the policy that plays it."""

    draw: Draw
    policy: str
    look: Look | None = None
    samples: list[Sample] = field(default_factory=list)

    def finish_episode(
        self, raw: float | None, *, truncated: bool = False, failure: str = ""
    ) -> Episode:
        """Returns the finished episode.

        Args:
            raw: the page's reward, clipped to 0..1; None if the machine failed.
            truncated: whether the limit of steps ended it.
            failure: why the machine failed.
        """
        score = None if raw is None else min(1.0, max(0.0, raw))
        return Episode(
            self.draw,
            tuple(self.samples),
            score,
            score == 1,
            truncated,
            failure,
            self.policy,
        )


class PageRollouts:
    """Pages of MiniWoB++ as a source of episodes; see `base.Rollouts`.

    Chromium starts with the first play. If it dies, or a wave takes over a minute, it is restarted,
    and the episodes that were in progress have failed. Up to ``slots`` pages are played at once; an
    episode of ``max_steps`` steps is truncated and has score 0.

    Raises:
        UsageError: a page does not exist or has another size; no MiniWoB++ or no Chromium.
    """

    def __init__(self, pages: Sequence[str], *, slots: int = 32, max_steps: int = 8) -> None:
        if other := [name for name in pages if page_path(name) != f"miniwob/{name}.html"]:
            raise UsageError(f"{other[0]}: not a page of {_WIDTH} x {_HEIGHT}")
        if not pages or slots < 1 or max_steps < 1:
            sizes = f"{len(pages)} pages, {slots} slots, {max_steps} steps"
            raise UsageError(f"{sizes}: each must be 1 or more")
        self.tasks, self._slots, self._max_steps = tuple(dict.fromkeys(pages)), slots, max_steps
        self._shown = [""] * slots
        self._browser: PageBrowser | None = None

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """Yields episodes, see `base.Rollouts`.

        Args:
            draws: the pages and seeds to play.
            policy: asked once for all pages of a wave.
            greedy: whether it takes the likeliest act instead of drawing one.

        Raises:
            UsageError: a page is not in ``tasks``.
        """
        if unknown := [draw.task[:100] for draw in draws if draw.task not in self.tasks]:
            raise UsageError(f"no page {unknown[0]!r}; the pages are {', '.join(self.tasks)}")
        return self._play(deque(draws), policy, greedy)

    def close(self) -> None:
        """Ends Chromium."""
        if self._browser is not None:
            self._browser.close()
        self._browser, self._shown = None, [""] * self._slots

    def _play(self, waiting: deque[Draw], policy: Policy, greedy: bool) -> Iterator[Episode]:
        live: dict[int, _Live] = {}
        while waiting or live:
            orders = [*self._begin(waiting, live, policy.name), *_acts(live, policy, greedy)]
            try:
                answers = self._wave(orders)
            except BrowserDied as error:
                self.close()
                yield from (run.finish_episode(None, failure=str(error)) for run in live.values())
                live = {}
                continue
            for order, answer in zip(orders, answers, strict=True):
                episode = self._finish_if_over(live[order["slot"]], answer)
                if episode is not None:
                    del live[order["slot"]]
                    yield episode

    def _begin(
        self, waiting: deque[Draw], live: dict[int, _Live], policy: str
    ) -> list[dict[str, Any]]:
        """Moves waiting draws to free slots; returns the orders that begin them.

        A slot keeps its page while draws of it wait, since loading one takes as long as several
        episodes.
        """
        orders = []
        for slot in range(self._slots):
            if slot in live or not waiting:
                continue
            same = (draw for draw in waiting if draw.task == self._shown[slot])
            draw = next(same, waiting[0])
            waiting.remove(draw)
            self._shown[slot], live[slot] = draw.task, _Live(draw, policy)
            orders.append({"slot": slot, "url": f"/{page_path(draw.task)}", "seed": draw.seed})
        return orders

    def _wave(self, orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Carries out orders, at most one per slot; returns what their pages show afterwards.

        Raises:
            BrowserDied: Chromium crashed, or hangs.
        """
        self._browser = self._browser or PageBrowser(_file, _STAGE)
        answers: list[dict[str, Any]] = self._browser.evaluate(f"wave({json.dumps(orders)})")
        return answers

    def _finish_if_over(self, run: _Live, answer: dict[str, Any]) -> Episode | None:
        """Returns the episode if it is over; otherwise stores its next look."""
        try:
            if "error" in answer:
                raise ValueError(answer["error"])
            run.look, is_over, raw = _look(answer), bool(answer["done"]), float(answer["raw"])
        except (KeyError, TypeError, ValueError) as error:
            return run.finish_episode(None, failure=f"the page failed: {error!r:.300}")
        if not run.look.items and not run.samples:
            return run.finish_episode(None, failure="the page shows nothing")
        if is_over:
            return run.finish_episode(raw)
        left = not run.look.items or any(sample.act.kind == "done" for sample in run.samples)
        if left or len(run.samples) >= self._max_steps:
            return run.finish_episode(0.0, truncated=not left)
        return None


def _acts(live: dict[int, _Live], policy: Policy, greedy: bool) -> list[dict[str, Any]]:
    """Asks the policy for all live pages and stores its steps; returns the orders."""
    waiting = [(slot, run, run.look) for slot, run in live.items() if run.look is not None]
    looks = [look for _, _, look in waiting]
    choices = policy.choose(looks, greedy=greedy) if looks else []
    version = policy.version  # read after the choice: a worker's policy may load new weights then
    orders = []
    for (slot, run, look), choice in zip(waiting, choices, strict=True):
        allowed = features(look).allows(choice.act)
        run.samples.append(
            Sample(look, choice.act, choice.logprob, choice.entropy, version, allowed)
        )
        orders.append({"slot": slot, **(_order(look, choice.act) if allowed else {})})
    return orders


def _order(look: Look, act: Act) -> dict[str, Any]:
    """Returns the point and the text of an act; empty for "done"."""
    if act.kind == "done":
        return {}
    left, top, width, height = look.items[act.item].box
    point = {"x": (left + width / 2) * _WIDTH, "y": (top + height / 2) * _HEIGHT}
    return point if act.kind == "click" else point | {"text": features(look).words[act.word]}


def _look(answer: dict[str, Any]) -> Look:
    items = tuple(
        Item(
            str(role), str(name), (float(x), float(y), float(width), float(height)), str(value), *on
        )
        for role, name, x, y, width, height, value, *on in answer["items"]
    )
    return Look(str(answer["instruction"]), items)


@functools.cache
def _file(path: str) -> bytes | None:
    """Returns a file of the pages, or the stage around them."""
    if path == _STAGE:
        script = Path(__file__).with_name("page_stage.js").read_text(encoding="utf-8")
        return f"<!doctype html><body style='margin: 0'><script>{script}</script>".encode()
    with zipfile.ZipFile(io.BytesIO(application())) as archive:
        return archive.read(f"html{path}") if f"html{path}" in archive.namelist() else None


_ORIGIN = "https://pages.invalid"
_SECONDS = 60  # that an answer may take
_MAX_ANSWER_BYTES = 32 << 20  # the answer of a hundred full pages has about one million
_SHELL = '"$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1; rm -rf "$0"'
_FLAGS = """--headless=new --remote-debugging-pipe --no-sandbox --disable-gpu --no-first-run
    --no-startup-window --disable-dev-shm-usage --disable-extensions --disable-breakpad
    --disable-component-update --disable-background-networking --disable-background-timer-throttling
    --disable-backgrounding-occluded-windows --disable-renderer-backgrounding --disable-sync
    --mute-audio --process-per-site
    --disable-features=Translate,OptimizationGuideOnDeviceModel,CalculateNativeWinOcclusion"""


class BrowserDied(EnvironmentFailed):
    """Chromium crashed, did not answer in time, or answered with too much."""


class PageBrowser:
    """A Chromium with one window; an answer may take a minute. ``close`` ends it.

    Args:
        file: returns the bytes under a path of the pages, or None.
        start: path of the page that the window shows.

    Raises:
        UsageError: no Chromium is installed.
        BrowserDied: it does not start.
    """

    def __init__(self, file: Callable[[str], bytes | None], start: str) -> None:
        program = next((path for name in BROWSERS if (path := shutil.which(name))), None)
        if program is None:
            message = f"no browser is installed: none of {', '.join(BROWSERS)} was found"
            raise UsageError(message, fix="sudo apt-get install chromium")
        self._file, self._session = file, ""
        self._last, self._received = 0, bytearray()
        profile = tempfile.mkdtemp(prefix="hisa-pages-")
        flags = [*_FLAGS.split(), f"--user-data-dir={profile}"]
        self._socket, browser_end = socket.socketpair()
        self._socket.settimeout(_SECONDS)
        with browser_end:
            self.process = subprocess.Popen(
                ["sh", "-c", _SHELL, profile, program, *flags],
                stdin=browser_end.fileno(),
                stdout=browser_end.fileno(),
                start_new_session=True,
            )
        self.close = weakref.finalize(self, _end, self.process, self._socket, profile)
        try:
            self._open(f"{_ORIGIN}{start}")
        except BaseException:
            self.close()
            raise

    def evaluate(self, expression: str) -> Any:
        """Returns the value of a JavaScript expression in the window; promises are awaited.

        Raises:
            BrowserDied: Chromium is gone, does not answer, or the expression throws.
        """
        settings = {"expression": expression, "returnByValue": True, "awaitPromise": True}
        answer = self._send("Runtime.evaluate", settings)
        if "exceptionDetails" in answer:
            raise BrowserDied(f"the stage failed: {json.dumps(answer)[:300]}")
        return answer["result"].get("value")

    def _send(self, method: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Sends a command and returns its answer; meanwhile serves the requests of pages."""
        deadline = time.monotonic() + _SECONDS
        try:
            number = self._write(self._session, method, parameters)
            while True:
                if time.monotonic() > deadline:
                    raise TimeoutError("timed out")
                message = self._message()
                if message.get("id") == number:
                    break
                if message.get("method") == "Fetch.requestPaused":
                    self._answer_request(message["sessionId"], message["params"])
                elif message.get("method") == "Inspector.targetCrashed":
                    raise BrowserDied("a page's process crashed")
        except OSError as error:
            raise BrowserDied(f"Chromium ended, or took over {_SECONDS} s: {error}") from error
        if "error" in message:
            raise BrowserDied(f"Chromium refused a command: {message['error']}")
        return dict(message["result"])

    def _open(self, url: str) -> None:
        """Opens the window, and waits until it shows a page with the stage."""
        blank = {"url": "about:blank", "newWindow": True}
        target = self._send("Target.createTarget", blank)["targetId"]
        attached = self._send("Target.attachToTarget", {"targetId": target, "flatten": True})
        self._session = str(attached["sessionId"])
        self._send("Inspector.enable", {})
        self._send("Emulation.setFocusEmulationEnabled", {"enabled": True})
        self._send("Fetch.enable", {"patterns": [{"urlPattern": "*"}]})
        self._send("Page.navigate", {"url": url})
        while self.evaluate("document.readyState + typeof wave") != "completefunction":
            time.sleep(0.01)

    def _answer_request(self, session: str, paused: dict[str, Any]) -> None:
        url = paused["request"]["url"].partition("?")[0].partition("#")[0]
        content = self._file(url.removeprefix(_ORIGIN)) if url.startswith(_ORIGIN) else None
        method = "Fetch.failRequest"
        answer: dict[str, Any] = {"errorReason": "AddressUnreachable"}
        if content is not None:
            kind = f"{mimetypes.guess_type(url)[0] or 'application/octet-stream'}; charset=utf-8"
            headers = [{"name": "Content-Type", "value": kind}]
            body = base64.b64encode(content).decode()
            method = "Fetch.fulfillRequest"
            answer = {"responseCode": 200, "responseHeaders": headers, "body": body}
        self._write(session, method, {"requestId": paused["requestId"], **answer})

    def _write(self, session: str, method: str, parameters: Any) -> int:
        self._last += 1
        message = {"id": self._last, "method": method, "params": parameters}
        named = {**message, "sessionId": session} if session else message
        self._socket.sendall(json.dumps(named).encode() + b"\0")
        return self._last

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._received:
            if len(self._received) > _MAX_ANSWER_BYTES:
                raise BrowserDied(f"an answer is longer than {_MAX_ANSWER_BYTES} bytes")
            self._received += (chunk := self._socket.recv(1 << 20))
            if not chunk:
                raise BrowserDied("Chromium ended")
        message, _, self._received = self._received.partition(b"\0")
        return dict(json.loads(message))


def _end(process: subprocess.Popen[bytes], own_socket: socket.socket, profile: str) -> None:
    """Kills Chromium, which has nothing to save, and removes its profile."""
    own_socket.close()
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for _ in range(100):  # its processes end one by one, and may write until then
        shutil.rmtree(profile, ignore_errors=True)
        if not os.path.exists(profile):
            break
        time.sleep(0.02)
