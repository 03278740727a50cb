"""Files of a proved task: HiSA's own format, OSWorld's, a bundle of scripts, and its origin."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from hisa.actions import to_source
from hisa.errors import UsageError
from hisa.plugins.synthesis.doing import actions_of
from hisa.plugins.synthesis.exploration import Exploration, read_records
from hisa.plugins.synthesis.records import Act, Triple
from hisa.plugins.synthesis.task_exports import check_script, osworld_tree, setup_script
from hisa.plugins.synthesis.task_records import Candidate, Instruction, Proof
from hisa.protocols import Task
from hisa.screen.geometry import BoundingBox
from hisa.screen.observation import Element
from hisa.tasks.hisa_format import OWN
from hisa.tasks.task_context import host_file
from hisa.text.safe_text import encodable
from hisa.version import __version__

__all__ = ["act_in_words", "as_yaml", "main_triple", "task_of", "write_task"]

GROUP = "examples/hisa"
"""The folder below OSWorld's ``evaluation_examples`` that exported tasks are copied to."""
_OURS = {
    "task.yaml", "osworld.json", "setup.sh", "check.sh", "provenance.json", "reference.json",
    "before.png", "after.png",
}  # fmt: skip
_DEEDS = {
    "click": "Click", "double_click": "Double-click", "right_click": "Right-click",
    "type": "Type into", "scroll": "Turn the wheel over", "press": "Press", "tool": "Call",
}  # fmt: skip


def _tree(exploration: Exploration, candidate: Candidate) -> dict[str, Any]:
    """The task as the keys of HiSA's own task files."""
    subject = exploration.subject
    tree = {
        "id": candidate.id, "domain": subject.domain, "instruction": candidate.instruction,
        "setup": subject.setup, "check": candidate.check,
    }  # fmt: skip
    plain: dict[str, Any] = json.loads(encodable(json.dumps(tree, ensure_ascii=False)))
    return plain


def task_of(exploration: Exploration, candidate: Candidate) -> Task:
    """The task of a candidate, to be set up and scored by `hisa.tasks.scorer.TaskScorer`.

    Raises:
        UsageError: its check or its setup is none that HiSA's own format reads.
    """
    folder = Path(exploration.subject.folder or exploration.folder)
    return OWN.read(folder / "task.yaml", _tree(exploration, candidate))


def write_task(folder: Path, exploration: Exploration, candidate: Candidate, proof: Proof) -> None:
    """Write a proved task as ``folder/ID/``, whole or not at all; one that is there is replaced.

    Raises:
        UsageError: a file of its setup is not there, or has the name of one that is written.
        OSError: it cannot be written.
    """
    task, tree = task_of(exploration, candidate), _tree(exploration, candidate)
    part, there = folder / f".{candidate.id}.part", folder / candidate.id
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    names = [step["copy"]["source"] for step in tree["setup"] if "copy" in step]
    names += [one["python"].rpartition(":")[0] for one in tree["check"] if "python" in one]
    for name in names:
        target = part / name
        if name in _OURS or not target.resolve().is_relative_to(part.resolve()):
            raise UsageError(f"task {task.id!r}: a file of its setup cannot be named {name!r}")
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(host_file(task.folder, name), target)
    (part / "task.yaml").write_text(as_yaml(tree), "utf-8")
    (part / "setup.sh").write_text(setup_script(task), "utf-8")
    (part / "check.sh").write_text(check_script(task), "utf-8")
    provenance, osworld = (
        _provenance(exploration, candidate, proof),
        osworld_tree(task, group=GROUP),
    )
    if not isinstance(osworld, str):
        _write_json(part / "osworld.json", osworld)
    reason = osworld if isinstance(osworld, str) else "osworld.json"
    _write_json(part / "provenance.json", provenance | {"osworld": reason})
    _write_json(part / "reference.json", {"acts": list(_reference(exploration, candidate))})
    main, states = main_triple(exploration, candidate), exploration.states
    for name in ("before", "after") if main else ():
        state = states.get(getattr(main, name))
        if state and (picture := exploration.picture(state)).exists():
            shutil.copyfile(picture, part / f"{name}.png")
    shutil.rmtree(there, ignore_errors=True)
    part.rename(there)


class _Readable(yaml.SafeDumper):
    """Writes texts of several lines as blocks."""

    def represent_str(self, text: str) -> yaml.ScalarNode:
        style = "|" if "\n" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Readable.add_representer(str, _Readable.represent_str)


def as_yaml(tree: object) -> str:
    """Plain values as YAML for people."""
    return str(yaml.dump(tree, Dumper=_Readable, sort_keys=False, allow_unicode=True, width=100))


def _write_json(path: Path, tree: object) -> None:
    path.write_text(json.dumps(tree, indent=1) + "\n", "utf-8")


def main_triple(exploration: Exploration, candidate: Candidate) -> Triple | None:
    """The last triple of a candidate that is known: the one that its task ends with."""
    wanted = set(candidate.triples)
    return next((t for t in reversed(exploration.triples) if t.number in wanted), None)


def _provenance(exploration: Exploration, candidate: Candidate, proof: Proof) -> dict[str, Any]:
    main = main_triple(exploration, candidate)
    route = exploration.route(main.before) if main is not None else None
    key = (candidate.triples, candidate.writer)
    written = read_records(exploration.folder / "instructions.jsonl", Instruction)
    triples = [one for one in exploration.triples if one.number in candidate.triples]
    return {
        "subject": exploration.subject.model_dump(mode="json", exclude={"folder"}),
        "candidate": candidate.model_dump(mode="json"),
        "triples": [triple.model_dump(mode="json") for triple in triples],
        "turns": [one.turn for one in written if one.turn and (one.triples, one.writer) == key],
        "proof": proof.model_dump(mode="json"),
        "difficulty": {
            "acts": len(candidate.acts),
            "windows": len({act.window for act in candidate.acts if act.window}),
            "depth": None if route is None else len(route),
        },
        "versions": {"hisa": __version__},
    }


def act_in_words(act: Act) -> str:
    """An act as a person says it: ``Click the menu item "Copy" in Edit``."""
    words = [_DEEDS[act.kind]]
    if act.role:
        words.append(f'the {act.role} "{act.name}"' if act.name else f"the {act.role}")
    if act.within:
        words.append(f"in {' > '.join(act.within)}")
    if act.kind == "type":
        words[0] = f"Type {json.dumps(act.text, ensure_ascii=False)}" + " into" * bool(act.role)
    if act.keys:
        keys = "+".join(act.keys)
        words.append(keys if act.kind == "press" else f"and press {keys}")
    return " ".join([*words, act.tool] if act.tool else words)


def _reference(exploration: Exploration, candidate: Candidate) -> Iterator[dict[str, Any]]:
    """Each act, in words, and as PyAutoGUI source where the place of its element is known."""
    boxes = {triple.act.key: triple.box for triple in reversed(exploration.triples)}
    boxes |= {t.act.key: t.box for t in exploration.triples if t.number in candidate.triples}
    for act in candidate.acts:
        step = {"act": act.model_dump(mode="json", exclude_defaults=True)}
        element = None
        if (box := boxes.get(act.key)) is not None:
            left, top, right, bottom = map(float, box)
            place = BoundingBox(left, top, right, bottom, "screen")
            element = Element(act.role, act.name, place)
        source = to_source(actions_of(act, element)) if element or not act.role else ""
        yield {"description": act_in_words(act), "pyautogui": source, **step}
