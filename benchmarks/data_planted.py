"""Bad data planted into samples by seed: the share that is caught, and false alarms.

    python -m benchmarks.data_planted DIR... [-n N] [--seed S] [--runs R] [--ocr] [--json]

DIR is a bench or a folder of runs. Its samples are checked as they are: what is found there is a
false alarm, or was bad before. Then N samples of each kind are changed, one at a time, and checked
again: a plant is caught where a changed sample has a problem that it had not. Intervals are
Wilson's of 95%.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hisa.actions import map_points, to_source
from hisa.plugins.synthesis.data.building import Builder
from hisa.plugins.synthesis.data.sample_checks import ReadLines, check, picture_reader
from hisa.plugins.synthesis.data.samples import Sample, Sides
from hisa.plugins.synthesis.data.set_measures import Share
from hisa.plugins.synthesis.data.splits import Policy, assign, leaks
from hisa.plugins.synthesis.data.trajectories import read_trajectories
from hisa.screen.geometry import Point

Planted = tuple[list[Sample], set[str]]
"""Samples with the plant, and the ids of those that were changed."""
Plant = Callable[[list[Sample], random.Random], Planted | None]
SECRETS = (
    "The password is tr0ub4dor&3x.",
    "export API_KEY=9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    "sk-proj-Zk3vN8qLw2Rt6Yp1Xc5Vb9Mn4As7Df0Gh",
    "ghp_a8B3kd92LmQz7TnW4xYv1RcE6sUfJ0hGpOiN",
    "Authorization: Bearer q7Zp2mXv9LkT4wRb8NcY",
    "postgres://ana:h0rse-battery@db.example.org/orders",
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----",
    "AKIAJ4Q7ZP2MXV9LKT4W",
)


def with_change(samples: list[Sample], index: int, **update: Any) -> list[Sample]:
    changed = samples[index].model_copy(update=update)
    return [*samples[:index], changed, *samples[index + 1 :]]


def moved(part: str) -> Plant:
    """A target's box elsewhere: alone, with its element, or with its element and the point."""

    def plant(samples: list[Sample], draw: random.Random) -> Planted | None:
        index = draw.randrange(len(samples))
        sample = samples[index]
        hit = [target for target in sample.targets if target.element]
        if len(hit) != 1 or len(sample.targets) != 1 or not hit[0].element:
            return None
        target, element = hit[0], hit[0].element
        left, top, right, bottom = element.box
        width, height = right - left, bottom - top
        if width * height > sample.size[0] * sample.size[1] / 4:
            return None
        x = draw.uniform(0, sample.size[0] - width) - left
        y = draw.uniform(0, sample.size[1] - height) - top
        if abs(x) < width and abs(y) < height:
            return None
        box: Sides = (left + x, top + y, right + x, bottom + y)
        other = element.model_copy(update={"box": box})
        update: dict[str, Any] = {"element": other}
        change: dict[str, Any] = {}
        if part != "box":
            change["elements"] = tuple(other if e == element else e for e in sample.elements)
        if part == "box, element and point":
            shifted = map_points(sample.actions, lambda p: Point(round(p.x + x), round(p.y + y)))
            change["action"] = to_source(shifted)
            update["point"] = (round(target.point[0] + x), round(target.point[1] + y))
        change["targets"] = (target.model_copy(update=update),)
        return with_change(samples, index, **change), {sample.id}

    return plant


def swapped(samples: list[Sample], draw: random.Random) -> Planted | None:
    """The picture of another task's step."""
    index, other = draw.randrange(len(samples)), draw.choice(samples)
    sample = samples[index]
    if sample.image == other.image or sample.keys["template"] == other.keys["template"]:
        return None
    return with_change(samples, index, image=other.image), {sample.id}


def later(samples: list[Sample], draw: random.Random) -> Planted | None:
    """The picture after the act in place of that before it."""
    index = draw.randrange(len(samples))
    sample = samples[index]
    if not sample.after or sample.after == sample.image:
        return None
    return with_change(samples, index, image=sample.after), {sample.id}


def thought(samples: list[Sample], draw: random.Random) -> Planted | None:
    """The thought of another step with another action, of the same run where there is one."""
    index = draw.randrange(len(samples))
    sample = samples[index]
    others = [s for s in samples if s.action != sample.action and s.thought != sample.thought]
    same = [s for s in others if s.provenance.run == sample.provenance.run and s.targets]
    if not sample.targets or not others:
        return None
    return with_change(samples, index, thought=draw.choice(same or others).thought), {sample.id}


def shuffled(samples: list[Sample], draw: random.Random) -> Planted | None:
    """Two steps of a run that follow each other change places; numbers stay in order."""
    index = draw.randrange(len(samples) - 1)
    first, second = samples[index : index + 2]
    if first.provenance.run != second.provenance.run or first.image == second.image:
        return None
    numbers = ({"step": one.step, "last": one.last} for one in (first, second))
    changed = [s.model_copy(update=n) for s, n in zip((second, first), numbers, strict=True)]
    return [*samples[:index], *changed, *samples[index + 2 :]], {first.id, second.id}


def secret(samples: list[Sample], draw: random.Random) -> Planted | None:
    """A key, a token or a password in a text."""
    index = draw.randrange(len(samples))
    sample, text = samples[index], draw.choice(SECRETS)
    if sample.elements and draw.random() < 0.34:
        place = draw.randrange(len(sample.elements))
        element = sample.elements[place].model_copy(update={"text": text})
        elements = (*sample.elements[:place], element, *sample.elements[place + 1 :])
        return with_change(samples, index, elements=elements), {sample.id}
    field = draw.choice(("thought", "instruction", "window"))
    words = f"{getattr(sample, field)} {text}"
    return with_change(samples, index, **{field: words}), {sample.id}


def leaked(way: str) -> Plant:
    """A step that is trained on, tested on too: as it is, with another seed or other keys."""

    def plant(samples: list[Sample], draw: random.Random) -> Planted | None:
        sample = draw.choice(samples)
        if sample.split != "train":
            return None
        provenance = sample.provenance.model_copy(update={"run": "planted"})
        update: dict[str, Any] = {"id": "planted/1", "split": "test", "provenance": provenance}
        if way != "as it is":
            names = ["instance"] if way == "other seed" else list(sample.keys)
            update["keys"] = sample.keys | {name: f"planted {name}" for name in names}
        if way == "other keys and words":
            update |= {"instruction": f"Please do this now: {sample.instruction}", "thought": "Go."}
        return [*samples, sample.model_copy(update=update)], {"planted/1"}

    return plant


PLANTS: dict[str, Plant] = {
    "moved: box": moved("box"),
    "moved: box and element": moved("box and element"),
    "moved: box, element and point": moved("box, element and point"),
    "picture of another task": swapped,
    "picture after for before": later,
    "wrong thought": thought,
    "shuffled steps": shuffled,
    "secret": secret,
    "leak: as it is": leaked("as it is"),
    "leak: other seed": leaked("other seed"),
    "leak: other keys": leaked("other keys"),
    "leak: other keys and words": leaked("other keys and words"),
}


def flagged(samples: Sequence[Sample], read: ReadLines | None) -> set[tuple[str, str]]:
    """Samples with a problem, and its kind and detail in words."""
    return {(one.sample, f"{one.kind}: {one.detail}") for one in check(samples, read)}


def caught(samples: list[Sample], changed: set[str], read: ReadLines | None, name: str) -> bool:
    """Whether a sample with the plant has a problem that the samples had not before."""
    if name.startswith("leak"):
        return any(changed & ids for _, _, ids in leaks(samples, Policy()))
    return any(sample in changed for sample, _ in flagged(samples, read))


def near(samples: list[Sample], changed: set[str]) -> list[Sample]:
    """The whole runs of changed samples: no check but that of leaks looks further."""
    runs = {sample.provenance.run for sample in samples if sample.id in changed}
    return [sample for sample in samples if sample.provenance.run in runs]


def measure(samples: list[Sample], read: ReadLines | None, count: int, seed: int) -> dict[str, Any]:
    """The shares by kind; plants go into samples that had no problem."""
    before = flagged(samples, read)
    bad = {sample for sample, _ in before}
    kinds = ("box", "picture", "thought", "order", "secret")
    alarms = {
        kind: Share(len({s for s, detail in before if detail.startswith(kind)}), len(samples))
        for kind in kinds
    }
    shares: dict[str, Share] = {}
    for name, plant in PLANTS.items():
        draw, hits, tried = random.Random(f"{seed} {name}"), 0, 0
        for _ in range(50 * count):
            if tried == count:
                break
            planted = plant(samples, draw)
            if planted is None or planted[1] & bad:
                continue
            tried += 1
            part = planted[0] if name.startswith("leak") else near(*planted)
            hits += caught(part, planted[1], read, name)
        shares[name] = Share(hits, tried)
    return {"caught": shares, "false alarms": {**alarms, "any": Share(len(bad), len(samples))}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("-n", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--ocr", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    trajectories, _ = read_trajectories(options.folders)
    builder = Builder("planted")
    made = [s for one in trajectories[: options.runs] for s in builder.samples(one)]
    samples = assign(made, Policy(seed=options.seed))
    read = picture_reader(builder.images, options.ocr, lambda _: None)
    results = measure(samples, read, options.n, options.seed)
    if options.json:
        print(json.dumps(results))
        return
    print(f"{len(samples)} samples, pictures {'read' if read else 'not read'}, seed {options.seed}")
    for title, shares in results.items():
        print(title)
        for name, share in shares.items():
            print(f"  {name:32} {share}")


if __name__ == "__main__":
    main()
