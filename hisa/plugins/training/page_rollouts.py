"""Rollouts on pages of MiniWoB++: many pages in one Chromium, all moved on in one wave.

For training, pages are frames of one window and acts are page events; for evaluation, each page
has a window of its own and acts are real input of mouse and keyboard. Both judge alike: by the
page's own reward without its time penalty, and without its limit of time.
"""

from __future__ import annotations

import functools
import io
import json
import time
import zipfile
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.plugins.gym.miniwob.package import application, page_path
from hisa.plugins.training.base import Policy
from hisa.plugins.training.episodes import Act, Choice, Draw, Episode, Item, Look, Sample
from hisa.plugins.training.instruction_words import instruction_words
from hisa.plugins.training.page_browser import BrowserDied, Command, PageBrowser

__all__ = ["PageRollouts"]

_WIDTH, _HEIGHT = 160, 210
"""Of a page's area, in CSS pixels."""
_STAGE = "/stage.html"
_MOUSE = "Input.dispatchMouseEvent"
_KEY = "Input.dispatchKeyEvent"


@dataclass(slots=True)
class _Live:
    """An episode that goes on in a slot."""

    draw: Draw
    began: float
    look: Look | None = None
    samples: list[Sample] = field(default_factory=list)


class PageRollouts:
    """Pages of MiniWoB++ as a source of episodes; see `base.Rollouts`.

    Chromium starts with the first play. When it dies, it is started anew once in each play, and
    the episodes that it took along begin again; the second time they count as failed.

    Args:
        pages: names of pages of 160 x 210, as the package registers them.
        slots: pages that are played at once.
        max_steps: after which an episode ends, truncated, with score 0.
        real_input: acts by mouse and keyboard in place of page events: slower, for evaluation.
        timeout: seconds that a wave may take until Chromium counts as dead.

    Raises:
        UsageError: a page that does not exist, or of another size; no MiniWoB++ or no Chromium.
    """

    def __init__(
        self,
        pages: Sequence[str],
        *,
        slots: int = 32,
        max_steps: int = 8,
        real_input: bool = False,
        timeout: float = 60,
    ) -> None:
        for name in pages:
            if page_path(name) != f"miniwob/{name}.html":
                raise UsageError(
                    f"{name}: not a page of {_WIDTH} x {_HEIGHT}", fix="hisa train grpo --help"
                )
        if not pages or slots < 1 or max_steps < 1:
            raise UsageError(
                f"{len(pages)} pages, {slots} slots, {max_steps} steps: each must be at least 1"
            )
        self._pages, self._slots, self._max_steps = tuple(dict.fromkeys(pages)), slots, max_steps
        self._real, self._timeout = real_input, timeout
        self._shown: list[str] = [""] * slots
        self._browser: PageBrowser | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """The pages."""
        return self._pages

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """See `base.Rollouts`; the policy is asked once for all pages that wait."""
        for draw in draws:
            if draw.task not in self._pages:
                raise UsageError(
                    f"no page {draw.task[:100]!r} here; there are {', '.join(self._pages)}"
                )
        return self._play(deque(draws), policy, greedy)

    def close(self) -> None:
        """End Chromium."""
        if self._browser is not None:
            self._browser.close()
        self._browser, self._shown = None, [""] * self._slots

    def _play(self, waiting: deque[Draw], policy: Policy, greedy: bool) -> Iterator[Episode]:
        live: dict[int, _Live] = {}
        restarted = False
        while waiting or live:
            orders = self._begin(waiting, live)
            orders += _acts(live, policy, greedy)
            try:
                answers = self._wave(orders)
            except BrowserDied as error:
                self.close()
                if restarted:
                    yield from (_failed(one, str(error), policy) for one in live.values())
                    left = (_Live(draw, time.monotonic()) for draw in waiting)
                    yield from (_failed(one, str(error), policy) for one in left)
                    return
                restarted = True
                waiting.extendleft(one.draw for one in live.values())
                live.clear()
                continue
            for order, answer in zip(orders, answers, strict=True):
                slot = order["slot"]
                episode = self._judged(live[slot], answer, policy)
                if episode is not None:
                    del live[slot]
                    if episode.score is None or "left" in answer:
                        self._shown[slot] = ""
                    yield episode

    def _begin(self, waiting: deque[Draw], live: dict[int, _Live]) -> list[dict[str, Any]]:
        """Take draws from those that wait, for slots that are free; return orders to begin them.

        A slot keeps its page as long as draws of it wait. It gets another where more draws of that
        wait than slots show it: showing costs as much as several episodes.
        """
        orders: list[dict[str, Any]] = []
        free = [slot for slot in range(self._slots) if slot not in live]
        for slot in sorted(free, key=lambda slot: not self._shown[slot]):
            if not waiting:
                break
            page, order = self._shown[slot], {"slot": slot}
            if page not in (counts := _counts(waiting)):
                shown = _counts(Draw(name, 0) for name in self._shown)
                page = max(counts, key=lambda name: counts[name] / (1 + shown.get(name, 0)))
                if counts[page] <= shown.get(page, 0):
                    continue
                self._shown[slot], order["url"] = page, f"/{page_path(page)}"
            draw = next(draw for draw in waiting if draw.task == page)
            waiting.remove(draw)
            live[slot] = _Live(draw, time.monotonic())
            orders.append({**order, "seed": draw.seed})
        return orders

    def _wave(self, orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Carry out orders, at most one for a slot; return what their pages show then.

        Raises:
            BrowserDied: Chromium crashed, hangs, or answers with something else.
        """
        if self._browser is None:
            windows = self._slots if self._real else 1
            self._browser = PageBrowser(_file, _STAGE, windows, timeout=self._timeout)
        if not self._real:
            answers = self._browser.evaluate([(0, f"wave({json.dumps(orders)})")])[0]
        else:
            self._browser.send([command for order in orders for command in _input(order)])
            calls = []
            for order in orders:
                kept = {key: order[key] for key in ("url", "seed") if key in order}
                call = json.dumps([{"slot": 0, "real": True, **kept}])
                calls.append((order["slot"], f"wave({call})"))
            answers = [answer[0] for answer in self._browser.evaluate(calls)]
        if not isinstance(answers, list) or len(answers) != len(orders):
            raise BrowserDied("the stage gave no answer")
        return answers

    def _judged(self, one: _Live, answer: dict[str, Any], policy: Policy) -> Episode | None:
        """The episode if it is over; else its next look is noted."""
        if "error" in answer:
            return _failed(one, f"the page failed: {answer['error']}", policy)
        if "left" in answer:
            return _ended(one, 0.0, policy)
        try:
            look, done, raw = _look(answer), bool(answer["done"]), float(answer["raw"])
        except (KeyError, TypeError, ValueError) as error:
            return _failed(one, f"the page's answer cannot be read: {error!r}", policy)
        gave_up = bool(one.samples) and one.samples[-1].act.kind == "done"
        if done or gave_up:
            return _ended(one, raw if done else 0.0, policy)
        if len(one.samples) >= self._max_steps:
            return _ended(one, 0.0, policy, truncated=True)
        if not look.items:
            if one.samples:  # the policy brought it there
                return _ended(one, 0.0, policy)
            return _failed(one, "the page shows nothing to act on", policy)
        one.look = look
        return None


def _acts(live: dict[int, _Live], policy: Policy, greedy: bool) -> list[dict[str, Any]]:
    """Ask the policy for all pages that wait for it; note its steps, return orders for them."""
    slots = [slot for slot, one in live.items() if one.look is not None]
    looks = [look for slot in slots if (look := live[slot].look) is not None]
    if not slots:
        return []
    version = policy.version
    choices = policy.choose(looks, greedy=greedy)
    orders = []
    for slot, look, choice in zip(slots, looks, choices, strict=True):
        order = _order(look, choice.act)
        live[slot].samples.append(_sample(look, choice, version, order is not None))
        orders.append({"slot": slot, **(order or {})})
    return orders


def _order(look: Look, act: Act) -> dict[str, Any] | None:
    """The point and the text of an act; None for one that the look does not allow."""
    if act.kind == "done":
        return {}
    if not 0 <= act.item < len(look.items):
        return None
    item = look.items[act.item]
    left, top, width, height = item.box
    point = {"x": (left + width / 2) * _WIDTH, "y": (top + height / 2) * _HEIGHT}
    if act.kind == "click":
        return point
    words = instruction_words(look.instruction)
    if not item.takes_text or not 0 <= act.word < len(words):
        return None
    return {**point, "text": words[act.word]}


def _input(order: dict[str, Any]) -> list[Command]:
    """Events of mouse and keyboard for an order of `_order`, in the slot's own window."""
    if "x" not in order:
        return []
    window, point = order["slot"], {"x": order["x"], "y": order["y"]}
    button = {**point, "button": "left", "clickCount": 1}
    commands: list[Command] = [
        (window, _MOUSE, {"type": "mouseMoved", **point}),
        (window, _MOUSE, {"type": "mousePressed", **button}),
        (window, _MOUSE, {"type": "mouseReleased", **button}),
    ]
    if "text" in order:
        end = {"key": "End", "code": "End", "windowsVirtualKeyCode": 35}
        commands += [
            (window, _KEY, {"type": "keyDown", **end}),
            (window, _KEY, {"type": "keyUp", **end}),
            (window, "Input.insertText", {"text": order["text"]}),
        ]
    return commands


def _look(answer: dict[str, Any]) -> Look:
    items = []
    for role, name, left, top, width, height, value, checked, focused, takes_text in answer["items"]:
        box = (float(left), float(top), float(width), float(height))
        items.append(Item(role, name, box, value, bool(checked), bool(focused), bool(takes_text)))
    return Look(str(answer["instruction"]), tuple(items))


def _sample(look: Look, choice: Choice, version: int, well_formed: bool) -> Sample:
    return Sample(look, choice.act, choice.logprob, choice.entropy, version, well_formed)


def _ended(one: _Live, raw: float, policy: Policy, *, truncated: bool = False) -> Episode:
    return Episode(
        draw=one.draw,
        samples=tuple(one.samples),
        score=min(1.0, max(0.0, raw)),
        solved=raw >= 1,
        truncated=truncated,
        seconds=time.monotonic() - one.began,
        policy=policy.name,
    )


def _failed(one: _Live, reason: str, policy: Policy) -> Episode:
    return Episode(
        draw=one.draw,
        samples=tuple(one.samples),
        score=None,
        solved=False,
        seconds=time.monotonic() - one.began,
        failure=reason,
        policy=policy.name,
    )


def _counts(draws: Iterable[Draw]) -> dict[str, int]:
    """How many draws there are of each page."""
    counts: dict[str, int] = {}
    for draw in draws:
        counts[draw.task] = counts.get(draw.task, 0) + 1
    return counts


@functools.cache
def _archive() -> zipfile.ZipFile:
    return zipfile.ZipFile(io.BytesIO(application()))


@functools.cache
def _file(path: str) -> bytes | None:
    """A file of the pages, or the stage around them."""
    if path == _STAGE:
        script = Path(__file__).with_name("page_stage.js").read_text(encoding="utf-8")
        style = "<style>body { margin: 0 }</style>"
        return f"<!doctype html><body>{style}<script>{script}</script>".encode()
    try:
        return _archive().read(f"html{path}")
    except KeyError:
        return None
