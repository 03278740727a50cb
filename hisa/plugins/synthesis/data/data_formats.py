"""A data set in formats that others read: parquet, ShareGPT, OSWorld's trajectories, a page."""

from __future__ import annotations

import json
import random
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from hisa.actions import to_source, to_space
from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command
from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.data.samples import Provenance, Row, Sample, by_run, pairs, rows
from hisa.plugins.synthesis.data.set_folder import DataSet
from hisa.runs.pictures import embed
from hisa.runs.templates import templates
from hisa.runs.wording import one_line
from hisa.screen.geometry import Size

__all__ = ["Format", "export_set", "write_samples"]

Format = Literal["parquet", "sharegpt", "osworld"]


def export_set(
    data: DataSet, out: Path, form: Format, objectives: Collection[str] = ()
) -> list[Path]:
    """Write a set in a format; returns the files written, pictures not among them.

    parquet: ``SPLIT.parquet``, a row an example, with ``images`` as `datasets` reads them.
    sharegpt: ``SPLIT.json`` and ``images/``. osworld: a folder a run, with ``traj.jsonl``; there
    ``objectives`` say nothing, else they are all by default.

    Raises: LibraryLacking without ``datasets``; UsageError where the folder cannot be written.
    """
    splits: dict[str, list[Row]] = defaultdict(list)
    try:
        out.mkdir(parents=True, exist_ok=True)
        if form == "osworld":
            return [_write_run(data, steps, out) for steps in by_run(data.samples).values()]
        for row in rows(data.samples, objectives):
            splits[row.split].append(row)
        write = _write_parquet if form == "parquet" else _write_sharegpt
        return [write(data, examples, out / split) for split, examples in splits.items()]
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}", fix="-o another folder") from error


def write_samples(data: DataSet, count: int, seed: int = 0) -> Path:
    """Write ``samples.html`` with up to ``count`` samples; it loads nothing and has no script."""
    shown = random.Random(seed).sample(data.samples, min(count, len(data.samples)))
    page = templates(Path(__file__).resolve().parents[1])
    page.filters |= {"line": one_line}
    text = page.get_template("samples_page.html.j2").render(
        data=data,
        samples=shown,
        pairs={sample.id: list(pairs(sample)) for sample in shown},
        splits=Counter(sample.split for sample in data.samples),
        pictures=embed((sample.image, data.image(sample.image)) for sample in shown),
    )
    replace_file(data.folder / "samples.html", text.encode("utf-8", "replace"))
    return data.folder / "samples.html"


def _write_parquet(data: DataSet, examples: list[Row], path: Path) -> Path:
    try:
        import datasets as hf  # type: ignore[import-not-found]  # heavy, and an extra
    except ImportError as error:
        fix = install_command("data")
        raise LibraryLacking("parquet needs the package datasets", fix=fix) from error
    names = sorted({*Row.model_fields, *Provenance.model_fields} - {"provenance"})
    columns = dict.fromkeys(names, hf.Value("string")) | {"score": hf.Value("float64")}
    columns |= {"box": hf.Sequence(hf.Value("float64")), "images": hf.Sequence(hf.Image())}

    def plain(row: Row) -> dict[str, Any]:
        images = [{"bytes": data.image_bytes(name), "path": None} for name in row.images]
        flat = row.model_dump(exclude={"provenance"}) | row.provenance.model_dump()
        return flat | {"box": list(row.box or ()), "images": images}

    file = path.with_suffix(".parquet")
    with TemporaryDirectory() as cache:  # pictures go through it, not through memory
        source = {"features": hf.Features(columns), "cache_dir": cache}
        hf.Dataset.from_generator(lambda: map(plain, examples), **source).to_parquet(str(file))
    return file


def _write_sharegpt(data: DataSet, examples: list[Row], path: Path) -> Path:
    _copy_pictures(data, (name for row in examples for name in row.images), path.parent / "images")
    plain = []
    for row in examples:
        turns = [{"from": "human", "value": row.prompt}, {"from": "gpt", "value": row.completion}]
        images = [f"images/{name}.png" for name in row.images]
        same = row.model_dump(mode="json", exclude={"prompt", "completion"})
        plain.append({"conversations": turns, **same, "images": images})
    file = path.with_suffix(".json")
    replace_file(file, json.dumps(plain, ensure_ascii=False, indent=1).encode())
    return file


def _write_run(data: DataSet, steps: list[Sample], out: Path) -> Path:
    origin = steps[0].provenance
    parts = (origin.model or "unknown", steps[0].keys["application"], origin.run)
    folder = out.joinpath("pyautogui", "screenshot", *map(_part, parts))
    names = (name for sample in steps for name in (sample.image, sample.after) if name)
    _copy_pictures(data, names, folder)
    lines = (json.dumps(_osworld_line(*step), ensure_ascii=False) for step in enumerate(steps, 1))
    file = folder / "traj.jsonl"
    replace_file(file, "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
    if origin.score is not None:
        replace_file(folder / "result.txt", f"{origin.score}\n".encode())
    return file


def _copy_pictures(data: DataSet, names: Iterable[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in set(names):
        replace_file(folder / f"{name}.png", data.image_bytes(name))


def _osworld_line(number: int, sample: Sample) -> dict[str, Any]:
    info = {"sample": sample.id, "split": sample.split, "before_file": f"{sample.image}.png"}
    return {
        "step_num": number,
        "action_timestamp": str(sample.step),
        "action": _osworld_action(sample),
        "response": sample.thought,
        "reward": 0,
        "done": sample.ends,
        "info": {**info, "instruction": sample.instruction, **sample.provenance.model_dump()},
        "screenshot_file": sample.after and f"{sample.after}.png",
    }


def _osworld_action(sample: Sample) -> str:
    """The action in screen pixels, in OSWorld's action space where it has one."""
    if sample.tool != "gui_action":
        ends = {"wait": "WAIT", "termination": "DONE", "infeasible": "FAIL"}
        return ends.get(sample.tool, sample.action)
    image, screen = Size(*sample.size), Size(*sample.screen)
    return to_source(to_space(sample.actions, "screen", image=image, screen=screen), stock=True)


def _part(name: str) -> str:
    """A text as one part of a path."""
    return re.sub(r"[^A-Za-z0-9._ ()-]", "_", name).strip(". ")[:100] or "unnamed"
