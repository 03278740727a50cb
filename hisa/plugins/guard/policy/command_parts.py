"""What the commands of a bash line would do, as far as it can be told from the line alone."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy import program_words as words_of
from hisa.plugins.guard.policy.known_programs import Doing, special
from hisa.plugins.guard.policy.matching import words
from hisa.plugins.guard.policy.named_facts import Part
from hisa.plugins.guard.policy.named_paths import NamedPath, is_sensitive, resolved
from hisa.plugins.guard.policy.named_sites import NamedUrl, looks_like_address, read_url, urls_in
from hisa.plugins.guard.policy.shell_lines import Redirect, SimpleCommand, Word, read_line

__all__ = ["parts_of_line"]

_DEEPEST = 6
"""Commands inside commands (sudo env bash -c …); more than anybody writes by hand."""
_MOST_PATHS = 400
"""Files that a line may name and still be read; as many as fit a screen many times over."""
_MOST_FOLDERS = 16
"""Folders in which a command may run and still be read; each `cd` may double them."""
_DEVICE = re.compile(r"/dev/(sd|hd|vd|nvme|mmcblk|loop|dm-|md|mapper)")
_TRASH = re.compile(r".*/\.?Trash(-\d+)?(/|$)", re.IGNORECASE)
_EMPTYING = frozenset((":", "true", "cat /dev/null", "printf ", "echo -n"))
_INDEXING = words(
    "test [ read unset local set printf export declare typeset readonly wait let mapfile"
)


def parts_of_line(line: str, *, home: str = "", depth: int = 0) -> tuple[Part, ...]:
    """Returns the commands of a line, those inside others too, each as one part.

    Args:
        line: as bash would get it.
        home: the home folder, absolute; empty: not known.
        depth: how many commands it stands in.
    """
    shell = read_line(line)
    parts: list[Part] = []
    before: tuple[str | None, ...] = ("~",)
    folders = before
    for command in shell.commands:
        reading = _Reading(home, folders, depth)
        parts += reading.parts(command)
        folders = _after(command, folders)
        if command.then != "&&" or command.nested:  # the chain may have ended before it got here
            folders = tuple(dict.fromkeys((*before, *folders)))
            before = folders = folders if len(folders) <= _MOST_FOLDERS else (None,)
    if sum(len(part.paths) for part in parts) > _MOST_PATHS:
        parts = [replace(part, paths=part.paths[:1]) for part in parts]
        shell = replace(shell, unread=f"it names more than {_MOST_PATHS} files")
    if shell.unread:
        parts.append(_unread(line, shell.unread))
    return tuple(dict.fromkeys(parts))


def _unread(line: str, why: str) -> Part:
    return Part(said=line, command=line, spellings=_spelled(line), exact=False, unread=why)


def _spelled(text: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", text)
    return tuple(dict.fromkeys((text, plain, plain.lower(), " ".join(plain.split()))))


def _after(command: SimpleCommand, folders: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """The folders in which the next command may run."""
    words = command.words
    if not words or words[0].text not in ("cd", "pushd", "popd"):
        return folders
    where = words[1] if len(words) > 1 else Word("~")
    known = where.known and not where.glob and len(words) <= 2 and words[0].text != "popd"
    if not known or where.text.startswith("-"):
        return (*folders, None)
    if where.text[:1] in ("/", "~"):
        new: tuple[str | None, ...] = (where.text,)
    else:
        new = tuple(None if folder is None else f"{folder}/{where.text}" for folder in folders)
    return new if command.then == "&&" else tuple(dict.fromkeys((*folders, *new)))


@dataclass(frozen=True)
class _Reading:
    """Reads one simple command that runs in one of ``folders``."""

    home: str
    folders: tuple[str | None, ...]
    depth: int

    def parts(self, command: SimpleCommand) -> Iterator[Part]:
        """Yields the command, and those that it runs."""
        touchy = [n for n in command.assigned if words_of.TOUCHY_VARIABLES.fullmatch(n)]
        why = f"it sets {touchy[0]}" if touchy else ""
        yield from self._run(command.words, command.redirects, command.source, why=why)

    def _run(
        self, words: Sequence[Word], redirects: Sequence[Redirect], source: str, *, why: str = ""
    ) -> Iterator[Part]:
        if self.depth > _DEEPEST:
            yield _unread(source, "its commands stand too deep in one another")
            return
        program, unsafe = _program(words)
        doing = self._doing(program, list(words[1:])) if not unsafe else Doing(unread=unsafe)
        if why:
            doing = replace(doing, unread=why, exact=False)
        if any(_calculates(program, word) for word in words):
            doing = replace(doing, unread=f"{program} calculates")
        read = tuple(each.target for each in redirects if each.operator == "<")
        doing = replace(doing, reads=(*doing.reads, *read))
        if words or doing.unread:
            yield self._part(words, program, source, doing=doing)
        yield from self._redirected(redirects, words)
        deeper = replace(self, depth=self.depth + 1)
        for line in doing.lines:
            yield from parts_of_line(line, home=self.home, depth=self.depth + 1)
        for inner in doing.commands:
            yield from deeper._run(inner, (), " ".join(word.text for word in inner))

    def _doing(self, program: str, arguments: list[Word]) -> Doing:
        found = special(program, arguments)
        if found is not None:
            return found
        texts = [word.text for word in arguments]
        if program in words_of.LOOKING or words_of.only_looks(program, texts):
            named = () if program in words_of.NO_PATHS else _files(arguments)
            hosts = _hosts(program, arguments)
            reads = () if hosts else named
            return Doing(
                reads=reads,
                urls=hosts or _urls(program, arguments),
                deep=_deep(program, arguments),
            )
        effects = words_of.always_does(program)
        if effects:
            files = _files(arguments)
            if "delete" not in effects and program not in words_of.DEEP:
                files = tuple(word for word in files if _is_path(word))
            return Doing(
                effects,
                unread=f"{program} may run more" if program in words_of.RUNS_MORE else "",
                writes=files,
                urls=_urls(program, arguments),
                deep=_deep(program, arguments),
            )
        if program in words_of.WRITING:
            return _written(program, arguments)
        if program in words_of.APPS:
            return _opened(program, arguments)
        return Doing(
            writes=tuple(word for word in _files(arguments) if _is_path(word)),
            urls=_urls(program, arguments),
            unread=f"{program} could do anything" if program else "",
        )

    def _redirected(self, redirects: Sequence[Redirect], words: Sequence[Word]) -> Iterator[Part]:
        """Yields each file that is written: a pattern that allows `echo *` allows none of them."""
        text = " ".join(word.text for word in words)
        empties = not words or text in _EMPTYING
        for redirect in redirects:
            doing = Doing(writes=(redirect.target,))
            if redirect.operator == "<" or not any(self._paths(doing)):
                continue
            if empties and redirect.operator in (">", ">|"):
                doing = doing.also("delete")
            target = (Word(redirect.operator), redirect.target)
            said = f"{redirect.operator} {redirect.target.text}"
            yield self._part(target, redirect.operator, said, doing=doing)

    def _paths(self, doing: Doing) -> Iterator[NamedPath]:
        for named, writes in ((doing.reads, False), (doing.writes, True)):
            for word in named:
                for folder in self.folders:
                    path = resolved(
                        word.text,
                        home=self.home,
                        base=folder,
                        known=word.known,
                        writes=writes,
                        deep=doing.deep,
                        glob=word.glob,
                    )
                    if path is not None:
                        yield path

    def _part(
        self,
        words: Sequence[Word],
        program: str,
        source: str,
        *,
        doing: Doing,
    ) -> Part:
        paths = tuple(self._paths(doing))
        texts = [word.text for word in words[1:]]
        name = words[0].text.rpartition("/")[2] if words else ""
        command = " ".join([program, *texts]) if words else ""
        unread = doing.unread
        if not unread and any(p.writes and not p.sure and p.text == "/" for p in paths):
            unread = "it changes a file whose name cannot be told"
        spelled = _spelled(source) + _spelled(" ".join([name, *texts]))
        return Part(
            said=source or command,
            command=command,
            spellings=tuple(dict.fromkeys(spelled)),
            exact=doing.exact and all(word.known for word in words),
            unread=unread,
            effects=doing.effects | _by_path(program, paths, texts),
            urls=doing.urls,
            paths=tuple(dict.fromkeys(paths)),
        )


def _program(words: Sequence[Word]) -> tuple[str, str]:
    """The program of a command as the lists know it, and why it is none of theirs."""
    if not words:
        return "", ""
    first = words[0]
    if not first.known or first.glob or not first.text:
        return first.text, "the name of a program is filled in later"
    if not re.fullmatch(r"[\x21-\x7e]+", first.text):
        return first.text, "the name of a program has unusual characters"
    folder, _, name = first.text.rpartition("/")
    if "/" in first.text and f"{folder}/" not in words_of.SAFE_FOLDERS:
        return first.text, f"{first.text} is no program of the system"
    return name, ""


def _by_path(
    program: str, paths: Iterable[NamedPath], arguments: Sequence[str]
) -> frozenset[Effect]:
    found: set[Effect] = set()
    for path in paths:
        if not path.writes:
            continue
        if is_sensitive(path):
            found.add("security")
        if _DEVICE.match(path.text) or (program == "mv" and _TRASH.match(path.text)):
            found.add("delete")
        if path.text.startswith(("/dev/tcp/", "/dev/udp/")):
            found.add("send")
    if program in ("mv", "cp") and "/dev/null" in arguments:
        found.add("delete")
    return frozenset(found)


def _is_path(word: Word) -> bool:
    return not word.known or word.text[:1] in ("/", "~", ".") or word.text[:5].lower() == "file:"


def _deep(program: str, arguments: Sequence[Word]) -> bool:
    recursive = any(re.match(r"-[A-Za-z]*[rR]|--recursive", word.text) for word in arguments)
    return recursive or program in words_of.DEEP


def _calculates(program: str, word: Word) -> bool:
    """Whether a word could be the index of an array, whose commands the shell runs."""
    return program in _INDEXING and "[" in word.text and ("$" in word.text or "`" in word.text)


def _files(arguments: Iterable[Word]) -> tuple[Word, ...]:
    """Arguments that may be files; of ``--option=VALUE`` the value, where it looks like one."""
    found = []
    for word in arguments:
        if not word.text.startswith("-"):
            if "://" not in word.text or word.text[:5].lower() == "file:":
                found.append(word)
            continue
        value = word.text.partition("=")[2] or re.sub(r"^-\w(?=[/~.])", "", word.text)
        if value[:1] in ("/", "~", ".") or (value and not word.known):
            found.append(replace(word, text=value))
    return tuple(found)


def _urls(program: str, arguments: Iterable[Word]) -> tuple[NamedUrl, ...]:
    if program in words_of.NO_PATHS or program in ("grep", "egrep", "fgrep", "git"):
        return ()
    return tuple(url for word in arguments for url in urls_in(word.text))


def _hosts(program: str, arguments: Iterable[Word]) -> tuple[NamedUrl, ...]:
    if program not in words_of.NETWORK:
        return ()
    named = [w.text for w in arguments if not w.text.startswith(("-", "+", "@"))]
    return tuple(
        url for text in named if "." in text or "$" in text for url in [read_url(text)] if url
    )


def _written(program: str, arguments: list[Word]) -> Doing:
    files = _files(arguments)
    texts = [word.text for word in arguments]
    if program in ("cp", "ln") and len(files) > 1:
        aimed = any(re.match(r"-\w*t|--target", text) for text in texts)
        deep = any(re.match(r"-\w*[rRa]|--rec|--arch", text) for text in texts)
        if not aimed:
            return Doing(reads=files[:-1], writes=files[-1:], deep=deep)
    if program == "unzip":
        return Doing(reads=files[:1], writes=(*files[1:], Word(".")))
    if program == "pdftotext" and len(files) == 1:
        return Doing(reads=files, writes=())
    return Doing(writes=files, deep=program == "mv")


def _opened(program: str, arguments: list[Word]) -> Doing:
    """A program with a window, and the pages and files that it opens."""
    urls, files = [], []
    for word in arguments:
        text = word.text
        if text.startswith("-"):
            if not words_of.APP_OPTIONS.fullmatch(text):
                return Doing(unread=f"{program} gets {text}", writes=_files(arguments))
        elif re.match(
            r"(macro|vnd\.[\w.+-]*|service|slot|private|javascript|data|exec):", text, re.I
        ):
            return Doing(unread=f"{program} gets {text}", urls=urls_in(text))
        elif program in words_of.OPENERS and text.lower().endswith(".desktop"):
            return Doing(unread=f"{program} may start what {text} names", reads=_files(arguments))
        elif not word.known or _is_page(program, text):
            urls += [url for url in [read_url(text)] if url]
            files += [word] if text[:5].lower() == "file:" or not word.known else []
        else:
            files.append(word)
    return Doing(reads=tuple(files), urls=tuple(urls))


def _is_page(program: str, text: str) -> bool:
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", text):
        return True
    return program in words_of.BROWSERS and "/" not in text[:1] and looks_like_address(text)
