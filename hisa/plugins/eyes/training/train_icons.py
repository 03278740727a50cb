"""Trains the icon reader on crops that are drawn while it learns, writes and measures it.

    python -m hisa.plugins.eyes.training.train_icons FOLDER [--minutes 60]

FOLDER holds the fetched sets, their renderings, the state of the training, which goes on where it
was stopped, and the weights, ``icons.onnx``. A name that enough sets draw is an answer of the net;
answers that it cannot tell apart on what it has learned are one meaning.
"""

from __future__ import annotations

import argparse
import itertools
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from random import Random

import numpy as np
import numpy.typing as npt
import torch
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from torch import nn

from hisa.plugins.eyes.icon_reader import SIDE, UNKNOWN, IconReader, prepare_crop
from hisa.plugins.eyes.training.icon_crops import draw_icon, draw_other
from hisa.plugins.eyes.training.icon_sets import load_icons
from hisa.plugins.eyes.training.onnx_files import describe_net, write_net
from hisa.plugins.eyes.training.timed_training import Training

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
_BATCH, _SEED = 128, 7


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
    """Returns the averaged net after so many minutes, those before a stop included."""
    torch.manual_seed(_SEED)
    lesson = load_lesson(folder)
    training = Training(make_net(len(lesson)), _compute_losses, folder / "icons.pt", 60 * minutes)
    numbers = itertools.count(training.facts["step"])
    batches = (draw_batch(lesson, Random(f"{_SEED} {number}")) for number in numbers)
    training.run([*map(torch.from_numpy, batch)] for batch in batches)
    return training.mean.module.eval()


def _compute_losses(scores: torch.Tensor, answers: torch.Tensor) -> dict[str, torch.Tensor]:
    return {"name": nn.functional.cross_entropy(scores, answers, label_smoothing=0.1)}


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
    from onnxruntime.quantization import QuantType, quantize_dynamic

    draws, confusion, lesson = Random(_SEED), [], load_lesson(folder)
    names, sets = list(lesson)[1:], list(lesson.values())[1:]
    for drawings in sets:
        files = [draws.choice(draws.choice([*drawings.values()])) for _ in range(16)]
        crops = np.stack([prepare_crop(*draw_icon(file, draws)) for file in files])
        confusion.append(net(torch.from_numpy(crops)).softmax(dim=1).mean(dim=0)[1:].numpy())
    groups = join_confused(np.stack(confusion), sets)
    for rows in (net[-1].weight, net[-1].bias):
        rows.data = rows.data[[UNKNOWN, *(1 + at for group in groups for at in group)]]
    path, axes = folder / "icons.onnx", {0: "count"}
    example = torch.zeros((2, 2, SIDE, SIDE), dtype=torch.uint8)
    with_chances = nn.Sequential(net, nn.Softmax(dim=1))
    write_net(with_chances, example, path, {"crops": axes, "chances": axes})
    quantize_dynamic(path, path, weight_type=QuantType.QUInt8)
    words = [[names[at] for at in group] for group in groups]
    starts = np.cumsum([0, 1, *map(len, groups[:-1])]).tolist()
    facts = {"words": words, "starts": starts, "least_chance": 1.0}
    describe_net(path, facts)
    exams = [exam[1:] for exam in _examine(IconReader(path), "calibrate", folder)]
    least = choose_least_chance(*map(np.concatenate, zip(*exams, strict=True)))
    describe_net(path, {**facts, "least_chance": least})


def choose_least_chance(chances: Chances, answers: Answers) -> float:
    """Returns the least chance of a meaning at which 95 of 100 are right, 1 if none is."""
    likeliest, top = chances.argmax(axis=1), chances.max(axis=1)
    order = [at for at in np.argsort(-top) if likeliest[at] != UNKNOWN]
    precision = np.cumsum((likeliest == answers)[order]) / np.arange(1, len(order) + 1)
    precise = np.flatnonzero(precision >= 0.95)
    return float(top[order][precise[-1]]) if precise.size else 1.0


def _examine(reader: IconReader, use: str, folder: Path) -> Iterator[tuple[str, Chances, Answers]]:
    """Yields the chances and the answers for each set: of its icons, and of a third as many others.

    Icons whose name no meaning lists are left out; the others are text, noise and parts.
    """
    numbers = {name: at for at, names in enumerate(reader.meanings, 1) for name in names}
    for title, icons in load_icons(use, folder).items():
        draws, known = Random(_SEED), [row for row in icons if row[0] in numbers]
        scenes = [draw_icon(file, draws) for _, file in known]
        scenes += [draw_other(file, draws) for _, file in known[::3]]
        answers = [numbers[name] for name, _ in known] + [UNKNOWN] * len(known[::3])
        crops = np.stack([prepare_crop(*scene) for scene in scenes])
        yield title, reader.predict(crops), np.array(answers)


def print_report(folder: Path) -> None:
    """Prints the figures of the weights on the sets that nothing was learned from.

    An answer is right if it is the meaning that lists the icon's name. "top 1" and "top 5" are over
    the icons, "answered" is the share of them whose likeliest answer is a meaning with the least
    chance or more, and "precision" that of all such answers, those to what is no icon included.
    """
    reader = IconReader(folder / "icons.onnx")
    for use in ("calibrate", "held out"):
        for title, chances, answers in _examine(reader, use, folder):
            known, order = answers != UNKNOWN, np.argsort(-chances, axis=1)
            hits = order[:, :5] == answers[:, None]
            answered = (order[:, 0] != UNKNOWN) & (chances.max(axis=1) >= reader.least_chance)
            figures = {
                "top 1": hits[known, 0],
                "top 5": hits[known].any(axis=1),
                "answered": answered[known],
                "precision": hits[answered, 0],
            }
            shares = ", ".join(f"{name} {row.mean():.1%}" for name, row in figures.items())
            print(f"{title}: {known.sum()} icons, {shares}")  # noqa: T201


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
