"""A data set in formats that others read: parquet, ShareGPT, OSWorld's trajectories; and back."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, NamedTuple

from hisa.actions import parse, to_source, to_space
from hisa.errors import LibraryLacking, UsageError
from hisa.machine.parts import install_command
from hisa.machine.storage import replace_file
from hisa.plugins.synthesis.data.samples import OBJECTIVES, Objective, Row, Sample, rows
from hisa.plugins.synthesis.data.set_folder import DataSet
from hisa.screen.geometry import Size

__all__ = [
    "FORMATS", "TrajectoryLine", "export_set", "read_osworld", "read_parquet", "read_sharegpt",
]  # fmt: skip

_TEXTS = ("id", "sample", "objective", "split", "prompt", "completion")
_LARGEST = 4 << 30
"""Bytes of the largest file that is read back."""
_LARGEST_PICTURE = 64 << 20


def export_set(
    data: DataSet, out: Path, form: str, objectives: Sequence[Objective] = OBJECTIVES
) -> list[Path]:
    """Write a set in one of `FORMATS`; returns the files written, pictures not among them.

    parquet: ``SPLIT.parquet``, a row an example, with ``images`` as `datasets` reads them.
    sharegpt: ``SPLIT.json`` and ``images/``. osworld: a folder a run, with ``traj.jsonl``; there
    ``objectives`` say nothing.

    Raises:
        LibraryLacking: parquet, and the package ``datasets`` is not installed.
        UsageError: there is no such format, or the folder cannot be written.
    """
    if form not in FORMATS:
        raise UsageError(f"--format {form!r}: allowed are {', '.join(FORMATS)}")
    try:
        out.mkdir(parents=True, exist_ok=True)
        return FORMATS[form](data, out, objectives)
    except OSError as error:
        raise UsageError(
            f"cannot write {str(out)!r}: {error.strerror}", fix="-o another folder"
        ) from error


def _by_split(data: DataSet, objectives: Iterable[Objective]) -> dict[str, list[Row]]:
    split: dict[str, list[Row]] = defaultdict(list)
    for row in rows(data.samples, objectives):
        split[row.split].append(row)
    return split


def _datasets() -> Any:
    try:
        import datasets  # type: ignore[import-not-found]  # heavy, and an extra
    except ImportError as error:
        raise LibraryLacking(
            "parquet needs the package datasets", fix=install_command("data")
        ) from error
    return datasets


def _write_parquet(data: DataSet, out: Path, objectives: Sequence[Objective]) -> list[Path]:
    library = _datasets()
    text = library.Value("string")
    names = ("run", "task", "source", "model", "machine", "hisa", "licence")
    features = library.Features(
        {
            **dict.fromkeys((*_TEXTS, *names), text),
            "score": library.Value("float64"),
            "box": library.Sequence(library.Value("float64")),
            "images": library.Sequence(library.Image()),
        }
    )

    def plain(row: Row) -> dict[str, Any]:
        pictures = [{"bytes": data.image_bytes(name), "path": None} for name in row.images]
        flat = row.model_dump(include=set(_TEXTS)) | row.provenance.model_dump()
        return flat | {"box": list(row.box or ()), "images": pictures}

    files = []
    for split, made in _by_split(data, objectives).items():
        files.append(out / f"{split}.parquet")
        with TemporaryDirectory() as cache:  # pictures go through it, not through memory
            table = library.Dataset.from_generator(
                lambda made=made: map(plain, made), features=features, cache_dir=cache
            )
            table.to_parquet(str(files[-1]))
    return files


def read_parquet(folder: Path) -> tuple[list[Row], dict[str, bytes]]:
    """Read the rows of ``*.parquet`` back, and their pictures by name.

    Raises:
        LibraryLacking: the package ``datasets`` is not installed.
        UsageError: a file is damaged, or none of this format.
    """
    library, made = _datasets(), []
    pictures: dict[str, bytes] = {}
    for path in _files(folder, "*.parquet"):
        try:
            with TemporaryDirectory() as cache:
                table = library.Dataset.from_parquet(str(path), cache_dir=cache)
                inner = library.Sequence(library.Image(decode=False))
                for line in table.cast_column("images", inner):
                    contents = [picture["bytes"] for picture in line.pop("images")]
                    names = tuple(map(_name, contents))
                    pictures |= zip(names, contents, strict=True)
                    texts = {name: line.pop(name) for name in _TEXTS}
                    box = tuple(line.pop("box")) or None
                    made.append(Row(**texts, box=box, images=names, provenance=line))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UsageError(f"{path}: {str(error)[:500]}") from error
    return made, pictures


def _write_sharegpt(data: DataSet, out: Path, objectives: Sequence[Objective]) -> list[Path]:
    files = []
    (out / "images").mkdir(exist_ok=True)
    for split, made in _by_split(data, objectives).items():
        for name in {name for row in made for name in row.images}:
            replace_file(out / "images" / f"{name}.png", data.image_bytes(name))
        plain = [
            {
                "conversations": [
                    {"from": "human", "value": row.prompt},
                    {"from": "gpt", "value": row.completion},
                ],
                **row.model_dump(mode="json", exclude={"prompt", "completion"}),
                "images": [f"images/{name}.png" for name in row.images],
            }
            for row in made
        ]
        files.append(out / f"{split}.json")
        replace_file(files[-1], json.dumps(plain, ensure_ascii=False, indent=1).encode())
    return files


def read_sharegpt(folder: Path) -> tuple[list[Row], dict[str, bytes]]:
    """Read the rows of ``*.json`` back, and their pictures by name.

    Raises:
        UsageError: a file is damaged, or names a picture outside the folder.
    """
    made: list[Row] = []
    pictures: dict[str, bytes] = {}
    for path in _files(folder, "*.json"):
        try:
            for line in json.loads(path.read_bytes()):
                human, model = line.pop("conversations")
                names = [Path(name).stem for name in line["images"]]
                line |= {"prompt": human["value"], "completion": model["value"], "images": names}
                made.append(Row.model_validate_json(json.dumps(line)))
                for name in set(names) - set(pictures):
                    pictures[name] = _picture(folder / "images", f"{name}.png")
        except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
            raise UsageError(f"{path}: {str(error)[:500]}") from error
    return made, pictures


class TrajectoryLine(NamedTuple):
    """A line of ``traj.jsonl``; ``action`` is in screen pixels, pictures are by name."""

    sample: str
    thought: str
    action: str
    before: str
    after: str


def _write_osworld(data: DataSet, out: Path, _: Sequence[Objective]) -> list[Path]:
    runs: dict[str, list[Sample]] = defaultdict(list)
    for sample in data.samples:
        runs[sample.provenance.run].append(sample)
    files = []
    for run, steps in runs.items():
        first = steps[0]
        parts = (first.provenance.model or "unknown", first.keys["application"], run)
        folder = out.joinpath("pyautogui", "screenshot", *map(_part, parts))
        folder.mkdir(parents=True, exist_ok=True)
        shown, lines = "", list[dict[str, Any]]()
        for number, sample in enumerate(steps, 1):
            before = f"step_{number}_before.png" if number > 1 else "step_0.png"
            if sample.image != shown:
                replace_file(folder / before, data.image_bytes(sample.image))
            else:
                before = lines[-1]["screenshot_file"]
            lines.append(_osworld_line(sample, number, before))
            if sample.after:
                name = lines[-1]["screenshot_file"] = f"step_{number}.png"
                replace_file(folder / name, data.image_bytes(sample.after))
            shown = sample.after
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        replace_file(folder / "traj.jsonl", text.encode("utf-8", "replace"))
        if first.provenance.score is not None:
            replace_file(folder / "result.txt", f"{first.provenance.score}\n".encode())
        files.append(folder / "traj.jsonl")
    return files


def _osworld_line(sample: Sample, number: int, before: str) -> dict[str, Any]:
    info = {"sample": sample.id, "split": sample.split, "before_file": before}
    return {
        "step_num": number,
        "action_timestamp": str(sample.step),
        "action": _osworld_action(sample),
        "response": sample.thought,
        "reward": 0,
        "done": sample.ends,
        "info": {**info, "instruction": sample.instruction, **sample.provenance.model_dump()},
        "screenshot_file": "",
    }


def _osworld_action(sample: Sample) -> str:
    """The action in screen pixels, in OSWorld's action space where it has one."""
    ends = {"wait": "WAIT", "termination": "DONE", "infeasible": "FAIL"}
    if sample.tool in ends:
        return ends[sample.tool]
    if sample.tool != "gui_action":
        return sample.action
    image, screen = Size(*sample.size), Size(*sample.screen)
    shown = to_space(parse(sample.action), "screen", image=image, screen=screen)
    return to_source(shown, stock=True)


def read_osworld(folder: Path) -> dict[str, list[TrajectoryLine]]:
    """Read ``traj.jsonl`` of every run below a folder, by the run's name.

    Raises:
        UsageError: a file is damaged, or names a picture outside its folder.
    """
    runs = {}
    for path in _files(folder, "**/traj.jsonl"):
        try:
            runs[path.parent.name] = list(_trajectory_lines(path))
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise UsageError(f"{path}: {str(error)[:500]}") from error
    return runs


def _trajectory_lines(path: Path) -> Iterator[TrajectoryLine]:
    for text in path.read_text("utf-8").splitlines():
        line = json.loads(text)
        names = (line["info"]["before_file"], line["screenshot_file"])
        before, after = (_name(_picture(path.parent, name)) if name else "" for name in names)
        sample = line["info"]["sample"]
        yield TrajectoryLine(sample, line["response"], line["action"], before, after)


def _files(folder: Path, pattern: str) -> list[Path]:
    """The files of a pattern, none of them larger than is read."""
    paths = sorted(path for path in folder.glob(pattern) if path.is_file())
    if not paths:
        raise UsageError(f"{folder}: no {pattern}", fix="hisa data export SET --format FORMAT")
    for path in paths:
        if path.stat().st_size > _LARGEST:
            raise UsageError(f"{path}: more than {_LARGEST} bytes")
    return paths


def _picture(folder: Path, name: str) -> bytes:
    """A picture right in a folder.

    Raises:
        ValueError: the name leads elsewhere, or the file is no picture of a screen by its size.
    """
    path = folder / name
    if Path(name).name != name or path.is_symlink() or path.stat().st_size > _LARGEST_PICTURE:
        raise ValueError(f"{name!r} is no picture here")
    return path.read_bytes()


def _part(name: str) -> str:
    """A text as one part of a path."""
    return re.sub(r"[^A-Za-z0-9._ ()-]", "_", name).strip(". ")[:100] or "unnamed"


def _name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


FORMATS: Final[dict[str, Callable[[DataSet, Path, Sequence[Objective]], list[Path]]]] = {
    "parquet": _write_parquet,
    "sharegpt": _write_sharegpt,
    "osworld": _write_osworld,
}
