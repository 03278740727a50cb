"""A data set in formats that others read: parquet, ShareGPT, OSWorld's trajectories."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from hisa.actions import to_source, to_space
from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command
from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.data.samples import (
    OBJECTIVES,
    Objective,
    Provenance,
    Row,
    Sample,
    by_run,
    rows,
)
from hisa.plugins.synthesis.data.set_folder import DataSet
from hisa.screen.geometry import Size

__all__ = ["FORMATS", "export_set"]


def export_set(
    data: DataSet, out: Path, form: str, objectives: Sequence[Objective] = OBJECTIVES
) -> list[Path]:
    """Write a set in one of `FORMATS`; returns the files written, pictures not among them.

    parquet: ``SPLIT.parquet``, a row an example, with ``images`` as `datasets` reads them.
    sharegpt: ``SPLIT.json`` and ``images/``. osworld: a folder a run, with ``traj.jsonl``; there
    ``objectives`` say nothing.

    Raises:
        LibraryLacking: parquet, and the package ``datasets`` is not installed.
        UsageError: the folder cannot be written, or a picture is gone.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        return FORMATS[form](data, out, objectives)
    except OSError as error:
        raise UsageError(
            f"cannot write {str(out)!r}: {error.strerror}", fix="-o another folder"
        ) from error


def _by_split(data: DataSet, objectives: Iterable[Objective]) -> dict[str, list[Row]]:
    splits: dict[str, list[Row]] = defaultdict(list)
    for row in rows(data.samples, objectives):
        splits[row.split].append(row)
    return splits


def _copy_pictures(data: DataSet, names: Iterable[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in set(names):
        replace_file(folder / f"{name}.png", data.image_bytes(name))


def _write_parquet(data: DataSet, out: Path, objectives: Sequence[Objective]) -> list[Path]:
    try:
        import datasets  # type: ignore[import-not-found]  # heavy, and an extra
    except ImportError as error:
        raise LibraryLacking(
            "parquet needs the package datasets", fix=install_command("data")
        ) from error
    number, names = datasets.Value("float64"), {*Row.model_fields, *Provenance.model_fields}
    columns = dict.fromkeys(sorted(names - {"provenance"}), datasets.Value("string"))
    pictures = datasets.Sequence(datasets.Image())
    columns |= {"score": number, "box": datasets.Sequence(number), "images": pictures}

    def plain(row: Row) -> dict[str, Any]:
        images = [{"bytes": data.image_bytes(name), "path": None} for name in row.images]
        flat = row.model_dump(exclude={"provenance"}) | row.provenance.model_dump()
        return flat | {"box": list(row.box or ()), "images": images}

    files = []
    for split, examples in _by_split(data, objectives).items():
        files.append(out / f"{split}.parquet")
        with TemporaryDirectory() as cache:  # pictures go through it, not through memory
            table = datasets.Dataset.from_generator(
                lambda examples=examples: map(plain, examples),
                features=datasets.Features(columns),
                cache_dir=cache,
            )
            table.to_parquet(str(files[-1]))
    return files


def _write_sharegpt(data: DataSet, out: Path, objectives: Sequence[Objective]) -> list[Path]:
    files = []
    for split, examples in _by_split(data, objectives).items():
        _copy_pictures(data, (name for row in examples for name in row.images), out / "images")
        plain = [
            {
                "conversations": [
                    {"from": "human", "value": row.prompt},
                    {"from": "gpt", "value": row.completion},
                ],
                **row.model_dump(mode="json", exclude={"prompt", "completion"}),
                "images": [f"images/{name}.png" for name in row.images],
            }
            for row in examples
        ]
        files.append(out / f"{split}.json")
        replace_file(files[-1], json.dumps(plain, ensure_ascii=False, indent=1).encode())
    return files


def _write_osworld(data: DataSet, out: Path, _: Sequence[Objective]) -> list[Path]:
    files = []
    for run, steps in by_run(data.samples).items():
        first = steps[0]
        parts = (first.provenance.model or "unknown", first.keys["application"], run)
        folder = out.joinpath("pyautogui", "screenshot", *map(_part, parts))
        names = (name for sample in steps for name in (sample.image, sample.after) if name)
        _copy_pictures(data, names, folder)
        lines = [json.dumps(_osworld_line(*step), ensure_ascii=False) for step in enumerate(steps)]
        files.append(folder / "traj.jsonl")
        replace_file(files[-1], "".join(f"{line}\n" for line in lines).encode("utf-8", "replace"))
        if first.provenance.score is not None:
            replace_file(folder / "result.txt", f"{first.provenance.score}\n".encode())
    return files


def _osworld_line(index: int, sample: Sample) -> dict[str, Any]:
    info = {"sample": sample.id, "split": sample.split, "before_file": f"{sample.image}.png"}
    return {
        "step_num": index + 1,
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


FORMATS: Final[dict[str, Callable[[DataSet, Path, Sequence[Objective]], list[Path]]]] = {
    "parquet": _write_parquet,
    "sharegpt": _write_sharegpt,
    "osworld": _write_osworld,
}
