"""Agent Skills looked at before anybody trusts them: frontmatter, sizes, links, and risky words.

All of a skill (https://agentskills.io/specification) is hostile: nothing in it runs, no link is
followed. Patterns and the words of findings stand in ``skill_risks.yaml``.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hisa.errors import UsageError
from hisa.plugins.replay.program_records import NAME, Program, read_program
from hisa.text.redact import redact
from hisa.text.safe_text import safe_line, safe_name, safe_text

__all__ = ["RULES", "Finding", "Frontmatter", "Skill", "read_skill"]

RULES: Any = yaml.safe_load(Path(__file__).with_name("skill_risks.yaml").read_text("utf-8"))
_FILES, _FILE_BYTES, _BYTES, _FRONTMATTER, _NESTED = 500, 4 << 20, 32 << 20, 16_384, 40  # by hand
_FENCED = re.compile(r"---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_LETTERS = r"[\p{Ll}\p{Lm}\p{Lo}\p{N}]+"
_PICTURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"%PDF", b"\0\1\0\0", b"OTTO", b"wOF")


class Frontmatter(BaseModel):
    """The keys of the specification, with its limits; letters are those of its library skills-ref.

    Values of ``metadata`` should be texts; those of many skills are not, and nobody reads them.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: str = Field(max_length=64, pattern=rf"^{_LETTERS}(-{_LETTERS})*$")
    description: str = Field(max_length=1024, pattern=r"\S")
    license: str = ""
    compatibility: str = Field("", pattern=r"\S", max_length=500)
    metadata: dict[str, Any] = {}
    allowed_tools: str | list[str] = Field("", alias="allowed-tools")


class Finding(NamedTuple):
    """An "error" (it is refused), "warning" or "note": where, what is there, and what may be."""

    level: str
    file: str
    line: int
    what: str
    allowed: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.level}: {self.what}; allowed: {self.allowed}"


class Skill(NamedTuple):
    """A skill as it was read; ``fields`` are None where its frontmatter is wrong."""

    fields: Frontmatter | None
    body: str
    program: Program | None
    findings: tuple[Finding, ...]
    errors: tuple[Finding, ...]


def read_skill(folder: Path) -> Skill:
    """The skill of a folder with all findings, errors first. UsageError where there is none."""
    place = Path(os.path.abspath(folder))
    name = next((n for n in ("SKILL.md", "skill.md") if (place / n).exists()), "SKILL.md")
    if (place / name).is_symlink() or not (place / name).is_file():
        raise UsageError(f"{folder}: no skill: no plain file {name}", fix="hisa skill export NAME")
    reading = _Reading(place)
    for file in reading.files:
        reading.look_into(file)
    for file, text in reading.texts.items():
        if file.lower().endswith((".md", ".markdown", ".html")):
            reading.look_at_links(file, text)
    fields, body = reading.split(name, reading.texts.get(name, ""))
    program, findings = reading.program(), tuple(sorted(set(reading.findings)))
    errors = tuple(finding for finding in findings if finding.level == "error")
    return Skill(fields, body, program, findings, errors)


def _line_of(key: str, head: str) -> int:
    place = re.search(rf"^[\"']?{re.escape(key)}[\"']?\s*:", head, re.MULTILINE)
    return 2 + head.count("\n", 0, place.start()) if place else 1


class _Reading:
    """Looks at a folder part by part, and notes what it finds."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self.findings: list[Finding] = []
        self.texts: dict[str, str] = {}
        self.files = list(self._walk())

    def note(self, kind: str, file: str, line: int, *values: Any) -> None:
        level, what, allowed = RULES["findings"][kind]
        short = [safe_line(value, 200) if isinstance(value, str) else value for value in values]
        texts = what.format(*short), allowed.format(*short)
        self.findings.append(Finding(level, safe_name(file), line, *texts))

    def _walk(self) -> Iterator[str]:
        """The plain files by their places in the folder; none where there is too much."""
        paths = sorted(islice(self._place.rglob("*"), _FILES + 1))
        size = sum(path.lstat().st_size for path in paths)
        if len(paths) > _FILES or size > _BYTES:
            self.note("folder", ".", 1, len(paths), size)
            return
        for path in paths:
            inside = str(path.relative_to(self._place))
            if safe_name(inside) != inside:
                self.note("name", inside, 1)
            if path.is_symlink() or not (path.is_file() or path.is_dir()):
                self.note("link", inside, 1)
            elif path.is_file():
                yield inside

    def look_into(self, name: str) -> None:
        data = (self._place / name).read_bytes()
        text = data.decode("utf-8", "surrogateescape").replace("\r\n", "\n")
        if len(data) > _FILE_BYTES or re.search("[\0\ud800-\udfff]", text):
            if len(data) > _FILE_BYTES or not data.startswith(_PICTURES):
                self.note("binary", name, 1, len(data))
            return
        self.texts[name] = text
        self.look_for_risks(name, text)
        if (
            name.endswith(tuple(RULES["scripts"]))
            or name.split("/")[0] == "scripts"
            or text[:2] == "#!"
        ):
            lines = (line.strip(" #/*\"'") for line in text.split("\n") if line[:2] != "#!")
            self.note("script", name, 1, text.count("\n"), next(filter(None, lines), "empty"))

    def look_for_risks(self, name: str, text: str, at: int | None = None) -> None:
        """Note what is dangerous in a text; ``at`` is the line of all of it, None: it is a file."""
        plain = unicodedata.normalize("NFKC", text)
        for risk, pattern in ((r, p) for r in RULES["risks"] for p in r["patterns"]):
            for match in re.finditer(pattern, plain, re.IGNORECASE | re.MULTILINE):
                line = at or plain.count("\n", 0, match.start()) + 1
                what = f"{risk['what']}: {safe_line(match[0], 100)!r}"
                before = plain[max(0, match.start() - 300) : match.start()]
                forbids = re.search(risk.get("unless", r"(?!)"), before, re.IGNORECASE)
                level = "warning" if forbids else "error"
                self.findings.append(Finding(level, safe_name(name), line, what, risk["allowed"]))
        for number, content in enumerate(text.split("\n"), 1):
            if safe_text(content) != content:
                self.note("hidden", name, at or number, content)
            if redact(content, {}) != content:
                self.note("credential", name, at or number)

    def look_at_links(self, name: str, text: str) -> None:
        for match in re.finditer(RULES["links"], text, re.MULTILINE | re.IGNORECASE):
            target = next(part for part in match.groups() if part)
            path = re.split(r"[?#]", unquote(target))[0]
            inside = os.path.normpath(os.path.join(os.path.dirname(name), path))
            scheme = re.match(r"[a-z][a-z0-9+.-]*:", target.lower())
            if scheme and scheme[0] in ("http:", "https:", "mailto:"):
                continue
            if scheme or path.startswith(("/", "~", "\\")) or inside.split("/")[0] == "..":
                line = text.count("\n", 0, match.start()) + 1
                self.note("outside", name, line, target)

    def split(self, name: str, text: str) -> tuple[Frontmatter | None, str]:
        match, fields = _FENCED.match(text), None
        if match is None or len(match[1]) > _FRONTMATTER:
            self.note("frontmatter", name, 1)
            return None, text
        head, body = match[1], text[match.end() :]
        try:
            tree = self._tree(name, head, 2)
            fields = None if tree is None else Frontmatter.model_validate(tree)
        except ValidationError as error:
            for item in error.errors():
                key = str(item["loc"][0]) if item["loc"] else "frontmatter"
                value = "missing" if item["type"] == "missing" else repr(item["input"])
                self.note("key", name, _line_of(key, head), key, value, item["msg"])
        folder = unicodedata.normalize("NFKC", self._place.name)
        if fields and unicodedata.normalize("NFKC", fields.name) != folder:
            self.note("folder-name", name, _line_of("name", head), fields.name, folder)
        if fields and fields.allowed_tools:
            self.note("tools", name, _line_of("allowed-tools", head), str(fields.allowed_tools))
        return fields, body

    def program(self) -> Program | None:
        name, text = "program.yaml", self.texts.get("program.yaml")
        if text is None or self._tree(name, text, 1) is None:
            return None
        try:
            program = read_program(self._place)
        except UsageError as error:
            self.note("program", name, 1, str(error))
            return None
        folder = str(program.task.get("folder", "."))
        if folder not in ("", ".") or not NAME.fullmatch(program.name):
            self.note("elsewhere", name, 1, program.name, folder)
        for number, step in enumerate(program.steps, 1):
            if step.tool != "gui_action":
                self.note("runs", name, 1, number, step.tool, str(step.action))
        return program

    def _tree(self, name: str, text: str, first: int) -> Any:
        """YAML, which begins at line ``first``, as plain texts; None: it is strange or risky."""
        depth, before = 0, len(self.findings)
        try:
            events: Any = yaml.parse(text, Loader=yaml.SafeLoader)
            for event in events:
                line = first + event.start_mark.line
                depth += isinstance(event, yaml.CollectionStartEvent)
                depth -= isinstance(event, yaml.CollectionEndEvent)
                if getattr(event, "anchor", None) or getattr(event, "tag", None):
                    self.note("alias", name, line)
                if depth > _NESTED:
                    self.note("deep", name, line)
                    return None
                if isinstance(event, yaml.ScalarEvent):
                    self.look_for_risks(name, event.value, line)
            if len(self.findings) == before:
                self._look_for_twins(name, yaml.compose(text, Loader=yaml.BaseLoader), first)
            return None if len(self.findings) > before else yaml.load(text, Loader=yaml.BaseLoader)
        except yaml.YAMLError as error:
            mark: Any = getattr(error, "problem_mark", None)
            self.note("yaml", name, first + (mark.line if mark else 0), str(error))
            return None

    def _look_for_twins(self, name: str, node: yaml.Node | None, first: int) -> None:
        """Note keys that a mapping has twice, of which each reader takes another one."""
        if not isinstance(node, yaml.CollectionNode):
            return
        known: set[str] = set()
        for child in node.value:
            key, value = child if isinstance(node, yaml.MappingNode) else (None, child)
            if isinstance(key, yaml.ScalarNode):
                if key.value in known:
                    self.note("twice", name, first + key.start_mark.line, key.value)
                known.add(key.value)
            self._look_for_twins(name, value, first)
