"""Exports a program as a skill for others: a folder that needs nothing else of this host.

Secrets stay names, and no path of this host is in it.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jinja2

from hisa.errors import UsageError
from hisa.plugins.replay.program_records import Program, write_program
from hisa.runs.manifest import TaskRecord
from hisa.tasks.hisa_format import OWN
from hisa.tasks.task_context import host_file
from hisa.text.prompt_text import one_line
from hisa.text.redact import redact
from hisa.text.redact.named_secrets import PLACEHOLDER
from hisa.version import __version__

__all__ = ["export_program"]


def export_program(program: Program, place: Path, out: Path) -> Path:
    """Writes the folder ``out/NAME``, completely or not at all, and returns it.

    Args:
        program: the program.
        place: the folder of the program.
        out: the folder in which the skill's folder is made.

    Raises:
        UsageError: the skill's folder exists already, or a text looks like a credential.
    """
    name = re.sub(r"[-_]+", "-", program.name).strip("-")
    if (out / name).exists():
        raise UsageError(f"{out / name} already exists", fix=f"rm -r {out / name}, or -o DIR")
    secrets = list(dict.fromkeys(PLACEHOLDER.findall(program.model_dump_json())))
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out) as temporary:
        part = Path(temporary) / name
        part.mkdir()
        files = _copy_files(program, part)
        task = {"task": {**program.task, "folder": "." if files else ""}}
        write_program(program.model_copy(update=task), part)
        parts = {"name": name, "version": __version__, "secrets": secrets}
        _render("skill_body.md.j2", part / "SKILL.md", program=program, **parts)
        _render("skill_replay.sh.j2", part / "scripts" / "replay.sh", files=files)
        for file in ("SKILL.md", "program.yaml", *files):
            text = (part / file).read_text("utf-8", "replace")
            if redact(text, {}) != text:
                fix = f"write {{{{secret:NAME}}}} in {place / 'program.yaml'}"
                raise UsageError(f"{file} of the skill would hold a credential", fix=fix)
        part.rename(out / name)
    return out / name


def _copy_files(program: Program, folder: Path) -> list[str]:
    """Copy the files that the task's set-up and check need; returns their names."""
    task = TaskRecord.model_validate(dict(program.task)).task()
    names = [step["copy"]["source"] for step in task.setup if "copy" in step and OWN.takes(task)]
    checks = (task.check or {}).get("all", ())
    names += [check["python"].rpartition(":")[0] for check in checks if "python" in check]
    for name in names:
        file = host_file(task.folder, name)  # refuses files outside of the task's folder
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, folder / name)
    return names


def _render(template: str, file: Path, **values: Any) -> None:
    world = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    world.filters["one_line"] = one_line
    world.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    file.parent.mkdir(parents=True, exist_ok=True)
    text = world.from_string(Path(__file__).with_name(template).read_text("utf-8")).render(values)
    file.write_text(text, "utf-8")
    file.chmod(0o755 if text.startswith("#!") else 0o644)
