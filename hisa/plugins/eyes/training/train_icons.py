"""Trains the icon reader, on crops that are drawn while it learns.

    python -m hisa.plugins.eyes.training.train_icons FOLDER [--steps 6000] [--minutes 60]

FOLDER holds the fetched sets, their renderings, the meanings and the state of the training, which
goes on where it was stopped. `export_icons` writes the weights and measures them.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hisa.plugins.eyes.icon_reader import SIDE, UNKNOWN, prepare_crop
from hisa.plugins.eyes.training.icon_crops import (
    Scene,
    draw_clutter,
    draw_icon,
    draw_text,
    find_fonts,
)
from hisa.plugins.eyes.training.icon_meanings import Meaning, choose_rare, join_names, name_key
from hisa.plugins.eyes.training.icon_sets import Icon, list_sets, load_icons, load_tags

__all__ = ["Lesson", "draw_batch", "label_icons", "load_lesson", "load_meanings", "make_net"]
__all__ += ["load_training_icons", "save_meanings", "take_step", "train"]

Ink = npt.NDArray[np.uint8]
Batch = tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]
FONTS = Path("/usr/share/fonts/truetype")
_KNOWN_SHARE = 0.75
_TEXT_SHARE, _RARE_SHARE = 0.35, 0.4
"""Of what is unknown; the rest is clutter."""
_MOST_RARE = 8000
_BATCH = 128
_TOP_RATE = 3e-3
_CHECKPOINT_STEPS = 100


@dataclass(frozen=True)
class Lesson:
    """What is learned: drawings of each meaning by set, and of no meaning."""

    known: tuple[tuple[tuple[Ink, ...], ...], ...]
    rare: tuple[Ink, ...]
    fonts: tuple[Path, ...]

    @property
    def weights(self) -> npt.NDArray[np.float64]:
        """Returns how often a meaning is drawn: in proportion to the sets that have it."""
        counts = np.array([len(by_set) for by_set in self.known], dtype=np.float64)
        return np.asarray(counts / counts.sum())


def load_meanings(folder: Path, file: str = "meanings.json") -> list[Meaning]:
    """Returns the meanings, made once from the names and looks of the sets to learn from.

    Args:
        folder: holds the sets.
        file: in the folder; the export writes another, in which more of them are joined.
    """
    path = folder / file
    if not path.exists():
        tags = [load_tags(icon_set, folder) for icon_set in list_sets("train")]
        meanings = join_names(load_training_icons(folder), [table for table in tags if table])
        save_meanings(meanings, path)
    rows = json.loads(path.read_text("utf-8"))
    return [Meaning(name, tuple(words), frozenset(keys)) for name, words, keys in rows]


def save_meanings(meanings: Sequence[Meaning], path: Path) -> None:
    """Writes meanings to a file, as `load_meanings` reads them."""
    rows = [(meaning.name, meaning.words, sorted(meaning.keys)) for meaning in meanings]
    path.write_text(json.dumps(rows), "utf-8")


def load_lesson(folder: Path) -> Lesson:
    """Returns all that the training draws from; fetches and renders what is not there yet."""
    meanings, icons = load_meanings(folder), load_training_icons(folder)
    drawings: list[dict[str, list[Ink]]] = [defaultdict(list) for _ in meanings]
    for answer, icon in label_icons(icons, meanings):
        drawings[answer - 1][icon.set_title].append(icon.ink)
    known = tuple(tuple(map(tuple, by_set.values())) for by_set in drawings)
    rare = choose_rare(icons, meanings, _MOST_RARE, np.random.default_rng(0))
    return Lesson(known, tuple(icon.ink for icon in rare), tuple(find_fonts(FONTS)))


def label_icons(icons: Sequence[Icon], meanings: Sequence[Meaning]) -> Iterator[tuple[int, Icon]]:
    """Yields the icons whose name has a meaning, with the number of the net's answer."""
    answers = {key: 1 + at for at, meaning in enumerate(meanings) for key in meaning.keys}
    for icon in icons:
        if (answer := answers.get(name_key(icon.name))) is not None:
            yield answer, icon


def load_training_icons(folder: Path) -> list[Icon]:
    """Returns the icons of all sets to learn from."""
    return [icon for icon_set in list_sets("train") for icon in load_icons(icon_set, folder)]


def draw_batch(lesson: Lesson, count: int, random: np.random.Generator) -> Batch:
    """Returns crops [count, 2, side, side] and the answers to them.

    Args:
        lesson: what is drawn.
        count: how many crops.
        random: decides what is drawn, and how.
    """
    crops = np.empty((count, 2, SIDE, SIDE), np.uint8)
    answers = np.full(count, UNKNOWN, np.int64)
    meanings = random.choice(len(lesson.known), count, p=lesson.weights)
    for at in range(count):
        if random.random() < _KNOWN_SHARE:
            answers[at] = meanings[at] + 1
            by_set = lesson.known[meanings[at]]
            drawings = by_set[random.integers(len(by_set))]
            scene = draw_icon(drawings[random.integers(len(drawings))], random)
        else:
            scene = _draw_unknown(lesson, random)
        crops[at] = prepare_crop(*scene)
    return crops, answers


def _draw_unknown(lesson: Lesson, random: np.random.Generator) -> Scene:
    share = random.random()
    if share < _TEXT_SHARE:
        return draw_text(lesson.fonts, random)
    ink = lesson.rare[random.integers(len(lesson.rare))]
    draw = draw_icon if share < _TEXT_SHARE + _RARE_SHARE else draw_clutter
    return draw(ink, random)


def make_net(answers: int) -> Any:
    """Returns the net: crops of 0 to 255 in, scores of the answers out."""
    from torch import nn

    def layer(inputs: int, outputs: int, size: int, stride: int) -> Any:
        conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
        return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU())

    class Residual(nn.Module):  # type: ignore[misc]
        def __init__(self, width: int) -> None:
            super().__init__()
            self.body = nn.Sequential(layer(width, width, 3, 1), layer(width, width, 3, 1))

        def forward(self, maps: Any) -> Any:
            return maps + self.body(maps)

    class Scaled(nn.Module):  # type: ignore[misc]
        def forward(self, crops: Any) -> Any:
            return crops.float() / 255 - 0.25

    layers = [Scaled(), layer(2, 32, 5, 2), Residual(32), layer(32, 64, 3, 2), Residual(64)]
    layers += [layer(64, 128, 3, 2), Residual(128)]
    # Two weighted sums over the places of each map: where a part lies matters.
    places = [nn.Conv2d(128, 256, SIDE // 8, groups=128, bias=False), nn.BatchNorm2d(256)]
    return nn.Sequential(*layers, *places, nn.Flatten(), nn.Dropout(0.1), nn.Linear(256, answers))


def take_step(net: Any, optimizer: Any, batch: Batch) -> float:
    """Changes the net by the optimizer to answer a batch better; returns the loss before."""
    import torch

    crops, answers = (torch.from_numpy(part) for part in batch)
    loss = torch.nn.functional.cross_entropy(net(crops), answers, label_smoothing=0.1)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def train(lesson: Lesson, folder: Path, steps: int, minutes: float) -> Any:
    """Returns the net after so many steps, or sooner when the minutes are over.

    Args:
        lesson: what to draw from.
        folder: holds the state, from which a stopped training goes on.
        steps: of the whole training, with those done before.
        minutes: of this call; the rate falls to zero until they or the steps are over.
    """
    import torch

    torch.manual_seed(0)
    net = make_net(1 + len(lesson.known))
    optimizer = torch.optim.AdamW(net.parameters(), lr=_TOP_RATE, weight_decay=0.02)
    path, first = folder / "icons.pt", 0
    if path.exists():
        state = torch.load(path, weights_only=True)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        first = state["step"]
    begin, losses = time.monotonic(), []
    for step in range(first, steps):
        seconds = time.monotonic() - begin
        if (passed := max(step / steps, seconds / (60 * minutes))) >= 1:
            break
        warm = min(1.0, (step + 1) / 100)
        for group in optimizer.param_groups:
            group["lr"] = _TOP_RATE * warm * (1 + math.cos(math.pi * passed)) / 2
        batch = draw_batch(lesson, _BATCH, np.random.default_rng((1, step)))
        losses.append(take_step(net, optimizer, batch))
        first = step + 1
        if first % _CHECKPOINT_STEPS == 0:
            _save(net, optimizer, first, path)
            loss = float(np.mean(losses[-_CHECKPOINT_STEPS:]))
            print(f"step {first}: loss {loss:.3f}, {seconds:.0f} s", flush=True)  # noqa: T201
    _save(net, optimizer, first, path)
    return net


def _save(net: Any, optimizer: Any, step: int, path: Path) -> None:
    import torch

    state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "step": step}
    torch.save(state, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains until the steps or the minutes are over."""
    parser = argparse.ArgumentParser(description="Train the icon reader.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--minutes", type=float, default=60)
    options = parser.parse_args(arguments)
    train(load_lesson(options.folder), options.folder, options.steps, options.minutes)


if __name__ == "__main__":
    main()
