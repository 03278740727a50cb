"""Writes the icon reader's weights with calibrated chances, and measures them.

    python -m hisa.plugins.eyes.training.export_icons FOLDER
    python -m hisa.plugins.eyes.training.export_icons FOLDER --report

FOLDER is the training's. The figures are those on the sets that are held out of the training;
with ``--report``, only the figures of the packaged weights are printed.
"""

from __future__ import annotations

import argparse
import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from hisa.errors import UsageError
from hisa.plugins.eyes.icon_reader import SIDE, UNKNOWN, WEIGHTS, IconReader, prepare_crop
from hisa.plugins.eyes.training.icon_crops import draw_clutter, draw_icon, draw_text, find_fonts
from hisa.plugins.eyes.training.icon_meanings import Meaning
from hisa.plugins.eyes.training.icon_sets import list_sets, load_icons
from hisa.plugins.eyes.training.train_icons import (
    Lesson,
    label_icons,
    load_lesson,
    load_meanings,
    load_training_icons,
    save_meanings,
    train,
)

__all__ = ["Exam", "calibrate_net", "choose_least_chance", "export_net", "print_report"]

_PRECISION = 0.95
_UNKNOWN_SHARE = 0.5
"""Crops without a listed meaning for a crop with: rare icons, text and clutter, as many of either.
Chosen by hand: the mixture on screens is not known."""
_FONTS = Path("/usr/share/fonts/opentype")
"""Of the text in exams: other fonts than in the training."""
_SEED = 7
_CONFUSED = 0.25
"""Chance of a meaning on another's drawings, relative to their own, from which the two are one.
By looking at 260 pairs in order of it."""
_DRAWN = 8
"""Drawings of a meaning from which its confusions are measured."""
_MOST_WORDS = 10

Chances = npt.NDArray[np.float32]
Hits = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Exam:
    """Crops and the right answers; ``kinds`` says what a crop shows: known, rare, text, clutter.

    ``fits`` [crops, answers] is whether an answer may be given: its name or a synonym is the
    icon's own name, or it is itself a synonym of that.
    """

    crops: npt.NDArray[np.uint8]
    answers: npt.NDArray[np.int64]
    kinds: npt.NDArray[np.str_]
    fits: Hits


def set_exam(title: str, meanings: Sequence[Meaning], folder: Path) -> Exam:
    """Returns a crop of each icon of a set whose meaning is listed, and half as many of others.

    Icons whose name is not listed are of no meaning only if a word of it occurs in no meaning:
    "hand thumb up" may well be "thumbs up".

    Args:
        title: the set's.
        meanings: in the order of the net's answers.
        folder: holds the sets.
    """
    random = np.random.default_rng(_SEED)
    sets = [icon_set for use in ("calibrate", "held out") for icon_set in list_sets(use)]
    icons = [icon for row in sets if row.title == title for icon in load_icons(row, folder)]
    words = {word for row in meanings for text in (*row.words, *row.keys) for word in text.split()}
    rare = [icon for icon in icons if not words.issuperset(icon.name.split())]
    known = list(label_icons(icons, meanings))
    rows: list[tuple[Any, int, str]] = [
        (draw_icon(icon.ink, random), answer, "known") for answer, icon in known
    ]
    fonts = find_fonts(_FONTS)
    for _ in range(int(len(rows) * _UNKNOWN_SHARE / 3)):
        ink = rare[random.integers(len(rare))].ink
        rows.append((draw_icon(ink, random), UNKNOWN, "rare"))
        rows.append((draw_text(fonts, random), UNKNOWN, "text"))
        rows.append((draw_clutter(ink, random), UNKNOWN, "clutter"))
    scenes, answers, kinds = zip(*rows, strict=True)
    crops = np.stack([prepare_crop(*scene) for scene in scenes])
    fits = np.array(answers)[:, None] == np.arange(1 + len(meanings))
    for at, (answer, icon) in enumerate(known):
        own = meanings[answer - 1].words
        for other, meaning in enumerate(meanings, 1):
            fits[at, other] |= icon.name in meaning.words or meaning.name in own
    return Exam(crops, np.array(answers), np.array(kinds), fits)


def group_confused(
    confusions: npt.NDArray[np.float64], owners: Sequence[frozenset[str]]
) -> list[list[int]]:
    """Returns the meanings in groups that the net cannot tell apart in what it has learned.

    Args:
        confusions: the mean chance [drawn, answered] of a meaning's drawings.
        owners: the sets that draw a meaning; where most draw both, two are hard, not the same.
    """
    own = np.diag(confusions) + 1e-9
    mutual = np.sqrt(confusions * confusions.T / np.outer(own, own))
    groups = {at: [at] for at in range(len(owners))}
    pairs = zip(*np.nonzero(np.triu(mutual >= _CONFUSED, 1)), strict=True)
    for left, right in sorted(pairs, key=lambda pair: -mutual[pair]):
        across = [(a, b) for a in groups[left] for b in groups[right]]
        rivals = [
            2 * len(owners[a] & owners[b]) > len(min(owners[a], owners[b], key=len))
            for a, b in across
        ]
        if groups[left] is not groups[right] and not any(rivals):
            together = sorted(groups[left] + groups[right])
            groups.update(dict.fromkeys(together, together))
    return list({group[0]: group for group in groups.values()}.values())


def join_confused(
    net: Any, lesson: Lesson, meanings: Sequence[Meaning], folder: Path
) -> list[list[int]]:
    """Returns the groups of meanings that are one, by `group_confused`.

    Args:
        net: as trained.
        lesson: what it was trained on.
        meanings: in the order of the net's answers.
        folder: holds the sets.
    """
    random = np.random.default_rng(_SEED)
    rows = []
    for by_set in lesson.known:
        inks = [ink for drawings in by_set for ink in drawings]
        chosen = random.choice(len(inks), _DRAWN)
        crops = [prepare_crop(*draw_icon(inks[at], random)) for at in chosen]
        rows.append(softmax(score_crops(net, np.stack(crops)), axis=1)[:, 1:].mean(axis=0))
    owners: list[set[str]] = [set() for _ in meanings]
    for answer, icon in label_icons(load_training_icons(folder), meanings):
        owners[answer - 1].add(icon.set_title)
    return group_confused(np.array(rows, dtype=np.float64), [frozenset(row) for row in owners])


def join_meanings(group: Sequence[Meaning]) -> Meaning:
    """Returns the meaning of several, with the words of the commonest first."""
    words = [word for row in zip_longest(*(meaning.words for meaning in group)) for word in row]
    keys = frozenset[str]().union(*(meaning.keys for meaning in group))
    return Meaning(group[0].name, tuple(dict.fromkeys(filter(None, words)))[:_MOST_WORDS], keys)


def score_crops(net: Any, crops: npt.NDArray[np.uint8]) -> Chances:
    """Returns the net's scores [crops, answers]."""
    import torch

    with torch.no_grad():
        scores = [net.eval()(part) for part in torch.from_numpy(crops).split(256)]
        return np.asarray(torch.cat(scores).numpy())


def calibrate_net(net: Any, lesson: Lesson, folder: Path, path: Path) -> None:
    """Joins what the net cannot tell apart, chooses temperature and least chance, and exports.

    Args:
        net: as trained.
        lesson: what it was trained on.
        folder: holds the sets and the meanings.
        path: the file to write.
    """
    meanings = load_meanings(folder)
    groups = join_confused(net, lesson, meanings, folder)
    joined = [join_meanings([meanings[at] for at in group]) for group in groups]
    save_meanings(joined, folder / "joined.json")
    order = [UNKNOWN, *(1 + at for group in groups for at in group)]
    starts = np.cumsum([0, 1, *(len(group) for group in groups[:-1])])
    (icon_set,) = list_sets("calibrate")
    exam = set_exam(icon_set.title, joined, folder)
    scores = score_crops(net, exam.crops)[:, order]
    heats = {
        heat: np.add.reduceat(softmax(scores / heat, axis=1), starts, axis=1)
        for heat in np.geomspace(0.3, 3, 47).tolist()
    }
    at = np.arange(len(exam.answers)), exam.answers
    heat = min(heats, key=lambda heat: float(-np.log(heats[heat][at] + 1e-9).mean()))
    facts = {
        "temperature": heat,
        "least_chance": choose_least_chance(heats[heat], exam),
        "starts": starts.tolist(),
        "words": [meaning.words for meaning in joined],
    }
    export_net(net, order, facts, path)


def choose_least_chance(chances: Chances, exam: Exam) -> float:
    """Returns the least chance of an answer at which 95 of 100 answers fit, 1 if none is.

    Rare icons are left out: which meaning fits them is not known.
    """
    best, top = chances.argmax(axis=1), chances.max(axis=1)
    is_answer = (best != UNKNOWN) & (exam.kinds != "rare")
    order = np.argsort(-top[is_answer], kind="stable")
    fit = exam.fits[np.arange(len(best)), best][is_answer][order]
    precise = np.flatnonzero(np.cumsum(fit) / np.arange(1, len(fit) + 1) >= _PRECISION)
    return float(top[is_answer][order][precise[-1]]) if precise.size else 1.0


def export_net(net: Any, order: Sequence[int], facts: dict[str, Any], path: Path) -> None:
    """Writes the net as ONNX: crops of bytes in, chances out, weights of 16 bits.

    Args:
        net: as `make_net` returns it; its answers are put in another order.
        order: of the answers, so that those of a joined meaning are neighbours.
        facts: ``temperature``, ``least_chance``, ``starts`` and ``words``, for the reader.
        path: the file.
    """
    import onnx
    import torch

    *layers, last = copy.deepcopy(net)
    for rows in (last.weight, last.bias):
        rows.data = rows.data[list(order)] / facts["temperature"]
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.onnx.export(
        torch.nn.Sequential(*layers, last, torch.nn.Softmax(dim=1)).eval(),
        (torch.zeros((2, 2, SIDE, SIDE), dtype=torch.uint8),),
        str(path),
        input_names=["crops"],
        output_names=["chances"],
        dynamic_axes={"crops": {0: "count"}, "chances": {0: "count"}},
        dynamo=False,
    )
    model = onnx.load(str(path))
    _halve_weights(model.graph)
    rows = {name: json.dumps(value) for name, value in facts.items()}
    onnx.helper.set_model_props(model, rows)
    onnx.save(model, str(path))


def _halve_weights(graph: Any) -> None:
    """Stores the large weights in 16 bits; they are widened when the file is opened."""
    from onnx import TensorProto, helper, numpy_helper

    for tensor in [tensor for tensor in graph.initializer if len(tensor.raw_data) > 4096]:
        name, halves = tensor.name, numpy_helper.to_array(tensor).astype(np.float16)
        graph.initializer.remove(tensor)
        graph.initializer.append(numpy_helper.from_array(halves, f"{name}.half"))
        cast = helper.make_node("Cast", [f"{name}.half"], [name], to=TensorProto.FLOAT)
        graph.node.insert(0, cast)


def print_report(folder: Path, path: Path) -> None:
    """Prints the figures of a file of weights, on the calibration set and on those held out."""
    reader, meanings = IconReader(path), load_meanings(folder, "joined.json")
    lines = [f"{path.stat().st_size} bytes, {len(meanings)} meanings, seed {_SEED}"]
    lines += [f"least chance {reader.least_chance}"]
    for icon_set in (*list_sets("calibrate"), *list_sets("held out")):
        exam = set_exam(icon_set.title, meanings, folder)
        lines.append(f"{icon_set.title} ({icon_set.use})")
        lines += _list_figures(reader.predict(exam.crops), exam, reader.least_chance)
    print("\n".join(lines))  # noqa: T201


def _list_figures(chances: Chances, exam: Exam, least: float) -> list[str]:
    known = exam.kinds == "known"
    order = np.argsort(-chances, axis=1)
    hits = order == exam.answers[:, None]
    fits = exam.fits[np.arange(len(order)), order[:, 0]]
    answered = (order[:, 0] != UNKNOWN) & (chances.max(axis=1) >= least)
    figures = {
        f"top 1 of {len(set(exam.answers[known]))} meanings": hits[known, 0],
        "top 5": hits[known, :5].any(axis=1),
        "top 1 fits": fits[known],
        "known icons answered": answered[known],
        "answers right, known icons": hits[answered & known, 0],
        "answers fit, known icons": fits[answered & known],
        "answers fit, all but rare": fits[answered & (exam.kinds != "rare")],
    }
    for kind in ("rare", "text", "clutter"):
        figures[f"{kind} refused"] = ~answered[exam.kinds == kind]
    return [f"  {name}: {_share(hits)}" for name, hits in figures.items()]


def _share(hits: Hits) -> str:
    return f"{hits.mean():.1%} ({hits.sum()} of {hits.size})" if hits.size else "none"


def main(arguments: Sequence[str] | None = None) -> None:
    """Writes the weights, and prints their figures."""
    parser = argparse.ArgumentParser(description="Write the icon reader's weights.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--weights", type=Path, default=WEIGHTS)
    parser.add_argument("--report", action="store_true", help="only print the figures")
    options = parser.parse_args(arguments)
    if not options.report:
        if not (options.folder / "icons.pt").exists():
            command = f"python -m hisa.plugins.eyes.training.train_icons {options.folder}"
            raise UsageError(f"{options.folder}: no trained net", fix=command)
        lesson = load_lesson(options.folder)
        net = train(lesson, options.folder, steps=0, minutes=0)
        calibrate_net(net, lesson, options.folder, options.weights)
    print_report(options.folder, options.weights)


if __name__ == "__main__":
    main()
