"""Rollouts on pages of MiniWoB++: many pages in one Chromium, all moved on in one wave.

Pages are frames of one window, and acts are page events. They are judged by the page's own reward
without its time penalty, and without its limit of time.
"""

from __future__ import annotations

import functools
import io
import json
import time
import zipfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hisa.errors import UsageError
from hisa.plugins.gym.miniwob.package import application, page_path
from hisa.plugins.training.base import Act, Draw, Episode, Item, Look, Policy, Sample
from hisa.plugins.training.page_browser import BrowserDied, PageBrowser
from hisa.plugins.training.pointer_features import features

__all__ = ["PageRollouts"]

_WIDTH, _HEIGHT = 160, 210  # of a page's area, in CSS pixels
_STAGE = "/stage.html"


@dataclass(slots=True)
class _Live:
    """An episode that goes on in a slot, and the name of the policy that plays it."""

    draw: Draw
    policy: str
    began: float = field(default_factory=time.monotonic)
    look: Look | None = None
    samples: list[Sample] = field(default_factory=list)

    def ended(self, raw: float | None, *, truncated: bool = False, failure: str = "") -> Episode:
        """The whole episode with the page's reward; None: it failed."""
        score = None if raw is None else min(1.0, max(0.0, raw))
        return Episode(
            self.draw,
            tuple(self.samples),
            score,
            score == 1,
            truncated,
            time.monotonic() - self.began,
            failure,
            policy=self.policy,
        )


class PageRollouts:
    """Pages of MiniWoB++ as a source of episodes; see `base.Rollouts`.

    Chromium starts with the first play. When it dies, or a wave takes over a minute, it is started
    anew, and the episodes that it took along have failed. Up to ``slots`` pages are played at once;
    an episode of ``max_steps`` steps is truncated and has score 0.

    Raises:
        UsageError: a page that does not exist, or of another size; no MiniWoB++ or no Chromium.
    """

    def __init__(self, pages: Sequence[str], *, slots: int = 32, max_steps: int = 8) -> None:
        if other := [name for name in pages if page_path(name) != f"miniwob/{name}.html"]:
            raise UsageError(f"{other[0]}: not a page of {_WIDTH} x {_HEIGHT}")
        if not pages or slots < 1 or max_steps < 1:
            sizes = f"{len(pages)} pages, {slots} slots, {max_steps} steps"
            raise UsageError(f"{sizes}: each must be at least 1")
        self.tasks, self._slots, self._max_steps = tuple(dict.fromkeys(pages)), slots, max_steps
        self._shown = [""] * slots
        self._browser: PageBrowser | None = None

    def play(
        self, draws: Sequence[Draw], policy: Policy, *, greedy: bool = False
    ) -> Iterator[Episode]:
        """See `base.Rollouts`; the policy is asked once for all pages that wait."""
        if unknown := [draw.task[:100] for draw in draws if draw.task not in self.tasks]:
            raise UsageError(f"no page {unknown[0]!r} here; there are {', '.join(self.tasks)}")
        return self._play(deque(draws), policy, greedy)

    def close(self) -> None:
        """End Chromium."""
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
                yield from (run.ended(None, failure=str(error)) for run in live.values())
                live = {}
                continue
            for order, answer in zip(orders, answers, strict=True):
                episode = self._judged(live[order["slot"]], answer)
                if episode is not None:
                    del live[order["slot"]]
                    yield episode

    def _begin(
        self, waiting: deque[Draw], live: dict[int, _Live], policy: str
    ) -> list[dict[str, Any]]:
        """Take draws from those that wait, for slots that are free; return orders to begin them.

        A slot keeps its page as long as draws of it wait. It gets another where more draws of that
        wait than slots show it: showing costs as much as several episodes.
        """
        orders = []
        for slot in range(self._slots):
            if slot in live:
                continue
            counts, shown = Counter(draw.task for draw in waiting), self._shown
            crowded = (task for task in counts if counts[task] > shown.count(task))
            if not counts[shown[slot]]:
                shown[slot] = next(crowded, shown[slot])
            draw = next((draw for draw in waiting if draw.task == shown[slot]), None)
            if draw is not None:
                waiting.remove(draw)
                live[slot] = _Live(draw, policy)
                orders.append({"slot": slot, "url": f"/{page_path(draw.task)}", "seed": draw.seed})
        return orders

    def _wave(self, orders: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Carry out orders, at most one for a slot; return what their pages show then.

        Raises:
            BrowserDied: Chromium crashed, or hangs.
        """
        self._browser = self._browser or PageBrowser(_file, _STAGE)
        answers: list[dict[str, Any]] = self._browser.evaluate(f"wave({json.dumps(orders)})")
        return answers

    def _judged(self, run: _Live, answer: dict[str, Any]) -> Episode | None:
        """The episode if it is over; else its next look is noted."""
        try:
            if "error" in answer:
                raise ValueError(answer["error"])
            run.look, done, raw = _look(answer), bool(answer["done"]), float(answer["raw"])
        except (KeyError, TypeError, ValueError) as error:
            return run.ended(None, failure=f"the page failed: {error!r:.300}")
        if not run.look.items and not run.samples:
            return run.ended(None, failure="the page shows nothing")
        if done:
            return run.ended(raw)
        left = not run.look.items or any(sample.act.kind == "done" for sample in run.samples)
        if left or len(run.samples) >= self._max_steps:
            return run.ended(0.0, truncated=not left)
        return None


def _acts(live: dict[int, _Live], policy: Policy, greedy: bool) -> list[dict[str, Any]]:
    """Ask the policy for all pages that wait for it; note its steps, return orders for them."""
    waiting = [(slot, run, run.look) for slot, run in live.items() if run.look is not None]
    looks = [look for _, _, look in waiting]
    choices = policy.choose(looks, greedy=greedy) if looks else []
    version = policy.version  # after: a worker's policy takes new weights up when it is asked
    orders = []
    for (slot, run, look), choice in zip(waiting, choices, strict=True):
        allowed = features(look).allows(choice.act)
        run.samples.append(
            Sample(look, choice.act, choice.logprob, choice.entropy, version, allowed)
        )
        orders.append({"slot": slot, **(_order(look, choice.act) if allowed else {})})
    return orders


def _order(look: Look, act: Act) -> dict[str, Any]:
    """The point and the text of an act; nothing for the end."""
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
    """A file of the pages, or the stage around them."""
    if path == _STAGE:
        script = Path(__file__).with_name("page_stage.js").read_text(encoding="utf-8")
        return f"<!doctype html><body style='margin: 0'><script>{script}</script>".encode()
    with zipfile.ZipFile(io.BytesIO(application())) as archive:
        return archive.read(f"html{path}") if f"html{path}" in archive.namelist() else None
