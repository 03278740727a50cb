"""Lines of bash that set a fact on a machine: to undo a change, or as another way to the same."""

from __future__ import annotations

import shlex

from hisa.plugins.synthesis.records import Fact
from hisa.tasks.task_context import quoted

__all__ = ["here", "write_command"]


def here(program: str, *arguments: str) -> str:
    """A bash line that runs Python source with arguments, by the machine's own Python."""
    return f"python3 -I -S - {shlex.join(arguments)} <<'END'\n{program.strip()}\nEND"


def write_command(fact: Fact, value: str | None) -> str | None:
    """A line that makes a fact hold a value; None as the value: that makes it absent.

    Returns None where there is no such line: for documents and contents not known.
    """
    path, text = quoted(fact.place), shlex.quote(value or "")
    if fact.kind == "gsettings":
        key = shlex.join([fact.place, fact.item])
        return f"gsettings reset {key}" if value is None else f"gsettings set {key} {text}"
    if value is None:
        return f"rm -rf -- {path}" if fact.kind in ("file", "text") else None
    if fact.kind == "file":
        return f"mkdir -p -- {path}" if value == "folder" else None
    if value.startswith("… "):
        return None
    if fact.kind == "text":
        return f'mkdir -p -- "$(dirname -- {path})" && printf %s {text} > {path}'
    return here(_INI, fact.place, fact.item, value) if fact.kind == "ini" else None


_INI = r"""
import os, re, sys
path, item, value = os.path.expanduser(sys.argv[1]), *sys.argv[2:]
os.makedirs(os.path.dirname(path), exist_ok=True)
text = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
section, key = re.fullmatch(r"\[(.*?)\] (.*)", item, re.S).groups()
head = "[%s]" % section if section else ""
if head not in text:
    text += "\n%s\n" % head
start, own, rest = text.partition(head) if head else ("", "", text)
ours, end, others = rest.partition("\n[")
lines = [old for old in ours.splitlines() if old.partition("=")[0].strip() != key] or [""]
lines.insert(1 if head else 0, key + "=" + value)
open(path, "w", encoding="utf-8").write(start + own + "\n".join(lines) + end + others)
"""
