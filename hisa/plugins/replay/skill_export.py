"""A program as a skill for others; a skill of others as rules or a program.

What is exported is a folder that stands alone: secrets stay names, and it holds no path of this
host. Rules wait for words as those of people do (`hisa.patterns.sops`); none marks itself a MUST.
"""

from __future__ import annotations

import re
import shutil
import textwrap
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jinja2

from hisa.errors import UsageError
from hisa.patterns.pattern_text import clean, unbinding
from hisa.patterns.sops import RULE_CHARS
from hisa.plugins.replay.program_records import Program, write_program
from hisa.plugins.replay.skill_lint import RULES, Frontmatter, read_skill
from hisa.runs.manifest import TaskRecord
from hisa.tasks.hisa_format import OWN
from hisa.tasks.task_context import host_file
from hisa.text.prompt_text import one_line
from hisa.text.redact.named_secrets import PLACEHOLDER
from hisa.version import __version__

__all__ = ["copy_program", "export_program", "rules_of", "words_of", "write_rules"]


def export_program(program: Program, place: Path, out: Path, *, terms: str) -> Path:
    """Write ``out/NAME``, whole or not at all; returns it.

    ``place`` is the program's folder, ``terms`` a license. Raises UsageError where it is there
    already, or lint refuses the skill.
    """
    name = re.sub(r"[-_]+", "-", program.name).strip("-")
    if (out / name).exists():
        raise UsageError(f"{out / name} is there already", fix=f"rm -r {out / name}, or -o DIR")
    secrets = list(dict.fromkeys(PLACEHOLDER.findall(program.model_dump_json())))
    out.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=out) as temporary:
        part = Path(temporary) / name
        part.mkdir()
        files = _copy_files(program, place, part)
        task = {"task": {**program.task, "folder": "." if files else ""}}
        write_program(program.model_copy(update=task), part)
        parts = {"name": name, "license": terms, "version": __version__, "secrets": secrets}
        _render("skill_body.md.j2", part / "SKILL.md", program=program, **parts)
        _render("skill_replay.sh.j2", part / "scripts" / "replay.sh", files=files)
        if errors := read_skill(part).errors:
            fix = f"edit {place / 'program.yaml'}"
            raise UsageError(f"the skill would be refused: {errors[0]}", fix=fix)
        part.rename(out / name)
    return out / name


def _copy_files(program: Program, place: Path, folder: Path) -> list[str]:
    """Copy pictures of targets and what lies beside the task; returns names of the latter."""
    task = TaskRecord.model_validate(dict(program.task)).task()
    names = [step["copy"]["source"] for step in task.setup if "copy" in step and OWN.takes(task)]
    checks = (task.check or {}).get("all", ())
    names += [check["python"].rpartition(":")[0] for check in checks if "python" in check]
    pictures = {target.picture for step in program.steps for target in step.targets} - {""}
    for name, source in [(n, task.folder) for n in names] + [(n, str(place)) for n in pictures]:
        file = host_file(source, name)  # refuses what lies elsewhere
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


def rules_of(body: str) -> list[str]:
    """The text of a skill without code blocks as rules, which lines of one heading share."""
    rules: list[str] = []
    heading, begun, fenced = "", False, False
    for line in body.splitlines():
        text = clean(line, 4000).replace("**", "")
        fenced ^= text.startswith(("```", "~~~"))
        if fenced or not re.search(r"\w", text):
            continue
        if text.startswith("#"):
            heading, begun = f"{text.strip('# ')[:80]}: ", False
            continue
        for piece in textwrap.wrap(re.sub(r"^[-*+>|]\s*", "", text), RULE_CHARS - len(heading)):
            if begun and len(rules[-1]) + len(piece) + 2 <= RULE_CHARS:
                rules[-1] += f"{'' if rules[-1].endswith(':') else ';'} {piece}"
            else:
                rules.append(heading + piece)
            begun = True
    return [unbinding(rule) for rule in rules]


def words_of(fields: Frontmatter) -> list[str]:
    """The beginnings of words that tell that a task is about a skill's subject."""
    words = fields.name.split("-") + re.findall(r"[^\W\d_]{5,20}", fields.description)
    stems = dict.fromkeys(word.casefold().removesuffix("s") for word in words)
    return [stem for stem in stems if stem not in RULES["common"].split()][:30] or [fields.name]


def write_rules(fields: Frontmatter, rules: list[str], when: str, folder: Path) -> list[Path]:
    """Write a skill's rules as files for patterns.sops; UsageError where they are there already."""
    head = f"# Skill {fields.name}: {clean(fields.description, 1100)}\ndomains: general\n\n"
    parts = [rules[at : at + 20] for at in range(0, len(rules), 20)]  # as many as a file may have
    files = [folder / f"skill-{fields.name}-{at}.md" for at in range(len(parts))]
    if any(file.exists() for file in files):
        raise UsageError(
            f"{files[0]} is there already", fix=f"rm {folder}/skill-{fields.name}-*.md"
        )
    folder.mkdir(parents=True, exist_ok=True)
    for file, part in zip(files, parts, strict=True):
        file.write_text(head + "".join(f"- {rule}\n  when: {when}\n" for rule in part), "utf-8")
    return files


def copy_program(program: Program, place: Path, programs: Path) -> Path:
    """Copy a skill to the programs; returns its folder. UsageError where that is there already."""
    target = programs / program.name
    if target.exists():
        raise UsageError(f"{target} is there already", fix="--programs DIR")
    shutil.copytree(place, target, symlinks=True)
    task = {**program.task, "folder": str(target.resolve())}
    write_program(program.model_copy(update={"task": task}), target)
    return target
