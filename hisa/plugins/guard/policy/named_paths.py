"""The files that a call names, each in one spelling, and whether a pattern matches them.

Nothing is looked up on the machine: a symbolic link is judged by its own name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import unquote

from hisa.plugins.guard.policy.text_patterns import Match, literal_start

__all__ = ["NamedPath", "is_inside", "is_sensitive", "path_match", "resolve_path"]

_OTHERS_HOME = re.compile(r"(/home/[^/]+|/root)(?=/|$)")
_WILD = re.compile(r"[*?\[]")
_NOWHERE = frozenset(("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/dev/tty"))
_SENSITIVE = re.compile(
    r"/(etc|boot|usr|bin|sbin|lib\w*|opt|sys|proc|root|var/spool/cron)(/|$)"
    r"|(~|/home/[^/]+)/(bin|\.local/(bin|lib|share/applications)|\.ssh|\.gnupg|\.pki|\.mozilla"
    r"|\.config/(autostart|systemd|git|pip|chromium|google-chrome|hisa|environment\.d)"
    r"|\.(bash|zsh|ksh)\w*|\.(profile|xprofile|xsession\w*|xinitrc|pam_environment|inputrc"
    r"|gitconfig|netrc|npmrc|pypirc|pythonrc|vimrc|vim|emacs\w*|hisa))(/|$)"
    r"|.*/(\.git/(hooks|config)|\.venv/(bin|lib\w*)|\.vscode)(/|$)"
    r"|.*/(hisa\.toml|pyvenv\.cfg|\.envrc|\.mcp\.json)$"
)
"""Files that the next login, program or colleague trusts; chosen by hand from Debian's layout."""


@dataclass(frozen=True, slots=True)
class NamedPath:
    """A file or folder that a call names.

    ``text`` is absolute or begins with ``~``, without ``.`` and ``..``. If a part of it is not
    known, or holds a wildcard that a shell fills in, ``text`` ends before that and ``sure`` is
    False.
    """

    text: str
    writes: bool = False
    sure: bool = True
    deep: bool = False
    """Whether everything below it is meant too."""


def resolve_path(
    text: str,
    *,
    home: str = "",
    base: str | None = "~",
    known: bool = True,
    writes: bool = False,
    deep: bool = False,
    glob: bool = False,
) -> NamedPath | None:
    """Returns a path in its one spelling; None for one that is no file, such as /dev/null.

    Args:
        text: the path as it was written, without quotes.
        home: the home folder, absolute; empty if not known.
        base: the folder that a relative path begins in; None if not known.
        known: False if the text holds something that is filled in later.
        writes: whether the file is changed.
        deep: whether everything below it is meant as well.
        glob: whether a shell fills in wildcards.
    """
    if text[:5].lower() == "file:":
        text = unquote(re.sub(r"^file:/{2,}(localhost(?=/))?", "/", text, flags=re.IGNORECASE))
        text = text.partition(":")[2] if text[:5].lower() == "file:" else text
    if not known:
        start = re.split(r"[$`{<]", text, maxsplit=1)[0].lstrip("\"'")
        head = start.rpartition("/")[0] + "/" if start[:1] in ("/", "~") and "/" in start else "/"
        text, sure = ("/" if ".." in text else head), False
    else:
        sure = True
    if re.match(r"~[^/]", text):
        return NamedPath("/", writes, sure=False, deep=deep)
    if text[:1] not in ("/", "~"):
        if base is None:
            return NamedPath("/", writes, sure=False, deep=deep)
        text = f"{base}/{text}"
    path, plain = _normalise(text, home, glob=glob)
    if path in _NOWHERE:
        return None
    return NamedPath(path, writes, sure and plain, deep)


def _normalise(text: str, home: str, *, glob: bool) -> tuple[str, bool]:
    """Returns a path without dots, as far as it is known, and whether it is complete."""
    if home and (text == "~" or text.startswith("~/")):
        text = home + text[1:]
    root, *parts = text.split("/")
    path_parts: list[str] = []
    for number, part in enumerate(parts):
        if glob and _WILD.search(part):
            if ".." in parts[number:]:
                return _join_path(root, [], home), False
            return _join_path(root, [*path_parts, part[: _WILD.search(part).start()]], home), False  # type: ignore[union-attr]
        if part == "..":
            if not path_parts and root == "~":
                return "/", False
            path_parts = path_parts[:-1]
        elif part not in ("", "."):
            path_parts.append(part)
    return _join_path(root, path_parts, home), True


def _join_path(root: str, parts: list[str], home: str) -> str:
    path = "/".join([root, *parts]) or "/"
    if home and (path == home or path.startswith(home.rstrip("/") + "/")):
        return "~" + path[len(home.rstrip("/")) :]
    return path


def path_match(pattern: str, path: NamedPath) -> Match:
    """Whether a pattern matches a path; one without a wildcard matches everything below it too."""
    best = _match_pattern(pattern.rstrip("/") or "/", path)
    if best is Match.YES or not pattern.startswith("~"):
        return best
    own = _OTHERS_HOME.match(path.text)  # whose home it is, is not known
    if own is None:
        return best
    other = NamedPath("~" + path.text[own.end() :], path.writes, path.sure, path.deep)
    return max(best, min(Match.MAYBE, _match_pattern(pattern, other)))


def _match_pattern(pattern: str, path: NamedPath) -> Match:
    start = literal_start(pattern)
    is_literal = start == pattern
    below = pattern.rstrip("/") + "/"
    if path.sure:
        if fnmatchcase(path.text, pattern) or (is_literal and (path.text + "/").startswith(below)):
            return Match.YES
        holds = path.deep and start.startswith(path.text.rstrip("/") + "/")
        return Match.MAYBE if holds else Match.NO
    if (is_literal and path.text.startswith(below)) or (
        pattern == start + "*" and start.endswith("/") and path.text.startswith(start)
    ):
        return Match.YES
    apart = not (start.startswith(path.text) or path.text.startswith(start))
    unknown_home = start.startswith("~") and "/home".startswith(path.text.rstrip("/"))
    return Match.NO if apart and not unknown_home else Match.MAYBE


def is_inside(path: NamedPath, folders: Iterable[str]) -> bool:
    """Whether a path certainly lies in one of the folders."""
    return any(path_match(folder, path) is Match.YES for folder in folders)


def is_sensitive(path: NamedPath) -> bool:
    """Whether changing a file changes what others run or trust: settings of the system, keys."""
    return _SENSITIVE.match(path.text) is not None
