"""Trains the icon reader on crops that are drawn while it learns, writes and measures it.

    python -m hisa.plugins.eyes.training.train_icons FOLDER [--minutes 60]

FOLDER holds the fetched sets, their renderings, the state of the training, which goes on where it
was stopped, and the weights, ``icons.onnx``. A name that enough sets draw is an answer of the net;
answers that it cannot tell apart on what it has learned are one meaning.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from torch import nn

from hisa.plugins.eyes.icon_reader import SIDE, UNKNOWN, IconReader, prepare_crop
from hisa.plugins.eyes.training.icon_crops import draw_icon, draw_other
from hisa.plugins.eyes.training.icon_sets import load_icons

__all__ = ["choose_least_chance", "draw_batch", "join_confused", "load_lesson", "make_net"]
__all__ += ["print_report", "train", "write_weights"]

Lesson = dict[str, dict[str, list[Path]]]
"""Names, and their drawings by set; the first, "", has drawings of no meaning."""
Chances = npt.NDArray[np.float32]
Answers = npt.NDArray[np.int64]
Views = npt.NDArray[np.uint8]
_LEAST_SETS = 4
"""Sets that must have a name: fewer teach how one designer draws it."""
_CONFUSED = 0.15
"""Chance of an answer on another's drawings, relative to their own, from which the two are one
meaning. By looking at 280 pairs in order of it: below, more than a quarter are not the same."""
_BATCH, _TOP_RATE, _STEPS_A_SAVE, _SEED = 128, 3e-3, 100, 7


def load_lesson(folder: Path) -> Lesson:
    """Returns all that the training draws from, the commonest name first."""
    drawings: Lesson = defaultdict(lambda: defaultdict(list))
    for title, icons in load_icons("train", folder).items():
        for name, file in icons:
            drawings[name][title].append(file)
    known = {name: sets for name, sets in drawings.items() if len(sets) >= _LEAST_SETS}
    words = re.compile("|".join({word for name in known for word in name.split() if word[2:]}))
    strange = [sets for name, sets in drawings.items() if not words.search(name)]
    rare = [file for sets in strange for files in sets.values() for file in files]
    return {"": {"": rare}} | dict(sorted(known.items(), key=lambda row: -len(row[1])))


def draw_batch(lesson: Lesson, draws: Random) -> tuple[Views, Answers]:
    """Returns crops and answers; a name is as frequent as its sets are."""
    drawings = [list(sets.values()) for sets in lesson.values()]
    weights = [len(sets) for sets in drawings]
    weights[UNKNOWN] = sum(weights) // 3
    answers, crops = draws.choices(range(len(weights)), weights, k=_BATCH), []
    for answer in answers:
        draw = draw_icon if answer != UNKNOWN or draws.random() < 0.3 else draw_other
        crops.append(prepare_crop(*draw(draws.choice(draws.choice(drawings[answer])), draws)))
    return np.stack(crops), np.array(answers)


class _Scale(nn.Module):  # type: ignore[misc]
    def forward(self, crops: torch.Tensor) -> torch.Tensor:
        return crops.float() / 255 - 0.25


def make_net(answers: int) -> nn.Sequential:
    """Returns the net: crops of 0 to 255 in, scores of the answers out."""
    layers: list[nn.Module] = [_Scale()]
    rows = ((2, 32, 5, 2), (32, 32, 3, 1), (32, 64, 3, 2), (64, 64, 3, 1), (64, 128, 3, 2))
    for inputs, outputs, size, stride in (*rows, (128, 128, 3, 1)):
        conv = nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)
        layers += [conv, nn.BatchNorm2d(outputs), nn.ReLU()]
    # Two weighted sums over the places of each map: where a part lies matters.
    layers += [nn.Conv2d(128, 256, SIDE // 8, groups=128, bias=False), nn.BatchNorm2d(256)]
    return nn.Sequential(*layers, nn.Flatten(), nn.Dropout(0.1), nn.Linear(256, answers))


def train(folder: Path, minutes: float) -> nn.Sequential:
    """Returns the net after so many minutes, those before a stop included."""
    torch.manual_seed(_SEED)
    lesson, path, step, begin = load_lesson(folder), folder / "icons.pt", 0, time.monotonic()
    net = make_net(len(lesson))
    optimizer = torch.optim.AdamW(net.parameters(), weight_decay=0.02)
    if path.exists():
        weights, moments, step, seconds = torch.load(path, weights_only=True)
        net.load_state_dict(weights)
        optimizer.load_state_dict(moments)
        begin -= seconds
    while (passed := (time.monotonic() - begin) / (60 * minutes + 1e-9)) < 1:
        rate = _TOP_RATE * min(1.0, (step + 1) / 100) * (1 + math.cos(math.pi * passed)) / 2
        optimizer.param_groups[0]["lr"] = rate
        batch = draw_batch(lesson, Random(f"{_SEED} {step}"))
        crops, answers = map(torch.from_numpy, batch)
        loss = nn.functional.cross_entropy(net(crops), answers, label_smoothing=0.1)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step % _STEPS_A_SAVE == 0:
            seconds = time.monotonic() - begin
            torch.save((net.state_dict(), optimizer.state_dict(), step, seconds), path)
            print(f"step {step}: loss {loss.item():.2f}, {passed:.0%}", flush=True)  # noqa: T201
    return net.eval()


def join_confused(confusion: Chances, sets: Sequence[Iterable[str]]) -> list[list[int]]:
    """Returns the answers in groups, from the chance [drawn, answered] and the sets of each.

    Where most sets that draw one draw the other too, two are hard to tell apart, not the same.
    """
    titles = sorted(set[str]().union(*sets))
    has = np.array([[title in row for title in titles] for row in sets], np.float32)
    own, count = np.diag(confusion) + 1e-9, has.sum(axis=1)
    distances = 1 - np.minimum(np.sqrt(confusion * confusion.T / np.outer(own, own)), 1)
    distances[2 * (has @ has.T) > np.minimum.outer(count, count)] = 100
    np.fill_diagonal(distances, 0)
    tree = linkage(squareform(distances, checks=False), "average")
    numbers = fcluster(tree, 1 - _CONFUSED, "distance")
    return sorted(np.flatnonzero(numbers == number).tolist() for number in set(numbers))


@torch.no_grad()  # type: ignore[untyped-decorator]
def write_weights(net: nn.Sequential, folder: Path) -> None:
    """Writes the trained net as ONNX: joined meanings, a least chance, weights of 8 bits."""
    draws, confusion, lesson = Random(_SEED), [], load_lesson(folder)
    names, sets = list(lesson)[1:], list(lesson.values())[1:]
    for drawings in sets:
        files = [draws.choice(draws.choice([*drawings.values()])) for _ in range(16)]
        crops = np.stack([prepare_crop(*draw_icon(file, draws)) for file in files])
        confusion.append(net(torch.from_numpy(crops)).softmax(dim=1).mean(dim=0)[1:].numpy())
    groups = join_confused(np.stack(confusion), sets)
    for rows in (net[-1].weight, net[-1].bias):
        rows.data = rows.data[[UNKNOWN, *(1 + at for group in groups for at in group)]]
    path, crops, axes = folder / "icons.onnx", torch.zeros((2, 2, SIDE, SIDE)), {0: "count"}
    torch.onnx.export(
        nn.Sequential(net, nn.Softmax(dim=1)),
        (crops.to(torch.uint8),),
        str(path),
        input_names=["crops"],
        output_names=["chances"],
        dynamic_axes={"crops": axes, "chances": axes},
        dynamo=False,
    )
    quantize_dynamic(path, path, weight_type=QuantType.QUInt8)
    words = [[names[at] for at in group] for group in groups]
    starts = np.cumsum([0, 1, *map(len, groups[:-1])]).tolist()
    _describe(path, {"words": words, "starts": starts, "least_chance": 1.0})
    exams = [exam[1:] for exam in _examine(IconReader(path), "calibrate", folder)]
    least = choose_least_chance(*map(np.concatenate, zip(*exams, strict=True)))
    _describe(path, {"words": words, "starts": starts, "least_chance": least})


def choose_least_chance(chances: Chances, answers: Answers) -> float:
    """Returns the least chance of a meaning at which 95 of 100 are right, 1 if none is."""
    likeliest, top = chances.argmax(axis=1), chances.max(axis=1)
    order = [at for at in np.argsort(-top) if likeliest[at] != UNKNOWN]
    precision = np.cumsum((likeliest == answers)[order]) / np.arange(1, len(order) + 1)
    precise = np.flatnonzero(precision >= 0.95)
    return float(top[order][precise[-1]]) if precise.size else 1.0


def _describe(path: Path, facts: dict[str, Any]) -> None:
    model = onnx.load(str(path))
    onnx.helper.set_model_props(model, {name: json.dumps(fact) for name, fact in facts.items()})
    onnx.save(model, str(path))


def _examine(reader: IconReader, use: str, folder: Path) -> Iterator[tuple[str, Chances, Answers]]:
    """Yields the chances and the answers for each set: of its icons, and of a third as many others.

    Icons whose name no meaning lists are left out; the others are text, noise and parts.
    """
    numbers = {name: at for at, names in enumerate(reader.meanings, 1) for name in names}
    for title, icons in load_icons(use, folder).items():
        draws = Random(_SEED)
        known = [(numbers[name], file) for name, file in icons if name in numbers]
        scenes = [draw_icon(file, draws) for _, file in known]
        scenes += [draw_other(file, draws) for _, file in known[::3]]
        answers = [number for number, _ in known] + [UNKNOWN] * len(known[::3])
        crops = np.stack([prepare_crop(*scene) for scene in scenes])
        yield title, reader.predict(crops), np.array(answers)


def print_report(folder: Path) -> None:
    """Prints the figures of the weights on the sets that nothing was learned from.

    The rule, written before any of them was looked at: an answer is right if it is the meaning
    that lists the icon's name; to what is no icon only `UNKNOWN` is. Top 1 and top 5 are over the
    icons whose name a meaning lists; "answered" is the share of them whose likeliest answer is a
    meaning with the least chance or more, and "precision" that of all such answers, those to what
    is no icon included. The least chance is that at which 95 of 100 such answers on the calibration
    sets are right. The file has 8 bits, whatever the figures are.
    """
    reader = IconReader(folder / "icons.onnx")
    for use in ("calibrate", "held out"):
        for title, chances, answers in _examine(reader, use, folder):
            known, order = answers != UNKNOWN, np.argsort(-chances, axis=1)
            hits = order[:, :5] == answers[:, None]
            answered = (order[:, 0] != UNKNOWN) & (chances.max(axis=1) >= reader.least_chance)
            print(  # noqa: T201
                f"{title}: {known.sum()} icons of {len(set(answers[known]))} meanings, "
                f"top 1 {hits[known, 0].mean():.1%}, top 5 {hits[known].any(axis=1).mean():.1%}, "
                f"answered {answered[known].mean():.1%}, precision {hits[answered, 0].mean():.1%}"
            )


def main(arguments: Sequence[str] | None = None) -> None:
    """Trains until the minutes are over, writes the weights and prints their figures."""
    parser = argparse.ArgumentParser(description="Train the icon reader.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--minutes", type=float, default=60, help="0 to write and measure only")
    options = parser.parse_args(arguments)
    write_weights(train(options.folder, options.minutes), options.folder)
    print_report(options.folder)


if __name__ == "__main__":
    main()
