"""Works out what the commands of a bash line would do, as far as the line alone tells."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy.effect_words import is_app
from hisa.plugins.guard.policy.named_facts import Part
from hisa.plugins.guard.policy.named_paths import NamedPath, is_sensitive, resolve_path
from hisa.plugins.guard.policy.named_sites import NamedUrl, looks_like_address, read_url, urls_in
from hisa.plugins.guard.policy.program_table import (
    Program,
    find_program,
    is_known_program,
    leading_options,
    read_lists,
)
from hisa.plugins.guard.policy.shell_lines import (
    Folders,
    Redirect,
    SimpleCommand,
    Word,
    enter_folder,
    read_line,
)

__all__ = ["parts_of_line"]

_DEEPEST = 6
"""Most commands inside commands (sudo env bash -c …); more than anybody writes by hand."""
_MOST_PATHS = 400
"""Most files that a line may name to be read; chosen by hand, more than fit on several screens."""
_DEVICE = re.compile(r"/dev/(sd|hd|vd|nvme|mmcblk|loop|dm-|md|mapper)")
_TRASH = re.compile(r".*/\.?Trash(-\d+)?(/|$)", re.IGNORECASE)
_EMPTYING = frozenset((":", "true", "cat /dev/null", "printf ", "echo -n"))
_SAFE_FOLDERS = frozenset(("/bin", "/usr/bin", "/usr/local/bin", "/sbin", "/usr/sbin"))
_TOUCHY = re.compile(
    r"PATH|IFS|ENV|BASH\w*|SHELL\w*|PS[0-9]|PROMPT_COMMAND|LD_\w+|GIT_\w+|PYTHON\w*|PERL\w*|RUBY\w*"
    r"|NODE\w*|JAVA\w*|\w*PAGER|\w*EDITOR|VISUAL|BROWSER|HOME|CDPATH|GCONV_PATH|\w*OPTIONS|\w*OPTS"
    r"|\w*[Pp][Rr][Oo][Xx][Yy]|XDG_\w+|SSH_\w+|SUDO_\w+|CURL_HOME|WGETRC|TMPDIR"
)
"""Variables that change what a program with a known name does."""
_SETTERS = frozenset(("export", "declare", "typeset", "readonly", "local", "read", "unset"))
_SETTING = re.compile(r"([A-Za-z_]\w*)=")
_Words = tuple[Word, ...]


def parts_of_line(
    line: str, *, home: str = "", folders: Folders = ("~",), depth: int = 0
) -> tuple[Part, ...]:
    """Returns the commands of a line, also those inside others, each as one part.

    Args:
        line: the line as bash would get it.
        home: the home folder, absolute; empty if not known.
        folders: the folders in which it may run.
        depth: the number of commands around the line.
    """
    if depth > _DEEPEST:
        return (_unread(line, "its commands are nested too deeply"),)
    shell = read_line(line, folders)
    parts: list[Part] = []
    for command in shell.commands:
        parts += _Reading(home, command.folders, depth).parts(command)
    reason = shell.unread
    if sum(len(part.paths) for part in parts) > _MOST_PATHS:
        parts = [replace(part, paths=part.paths[:1]) for part in parts]
        reason = f"it names more than {_MOST_PATHS} files"
    if reason:
        parts.append(_unread(line, reason))
    return tuple(dict.fromkeys(parts))


def _unread(line: str, why: str) -> Part:
    return Part(text=line, command=line, spellings=_list_spellings(line), exact=False, unread=why)


def _list_spellings(text: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKC", text)
    return tuple(dict.fromkeys((text, plain, plain.lower(), " ".join(plain.split()))))


@dataclass(frozen=True, slots=True)
class _Doing:
    """What a command does by itself, and the lines and commands that it runs."""

    reads: _Words = ()
    writes: _Words = ()
    urls: tuple[NamedUrl, ...] = ()
    unread: str = ""
    lines: tuple[str, ...] = ()
    """Lines of shell that it runs."""
    commands: tuple[_Words, ...] = ()
    """Commands that it runs."""


@dataclass(frozen=True)
class _Reading:
    """Reads one simple command that runs in one of ``folders``."""

    home: str
    folders: Folders
    depth: int

    def parts(self, command: SimpleCommand) -> Iterator[Part]:
        """Yields the command, and the commands that it runs."""
        touchy = [name for name in command.assigned if _TOUCHY.fullmatch(name)]
        why = f"it sets {touchy[0]}" if touchy else ""
        read = tuple(redirect.target for redirect in command.redirects if redirect.operator == "<")
        yield from self._run(command.words, command.source, reads=read, why=why)
        yield from self._redirect_parts(command.redirects, command.words)

    def _run(
        self, words: _Words, source: str, *, reads: _Words = (), why: str = ""
    ) -> Iterator[Part]:
        name, unsafe = _program_name(words)
        if leading := leading_options(name, words[1:]):
            plain = (words[0], *words[1 + len(leading) :])
            yield from self._run_without_options(leading, plain, source, reads=reads, why=why)
            return
        program = Program(name) if unsafe else find_program(name, words[1:])
        arguments = words[2:] if " " in program.name else words[1:]
        doing = _read_command(program, name, arguments)
        unread = why or unsafe or _find_touchy_setting(name, arguments)
        unread = unread or program.unread(_own_arguments(program, arguments)) or doing.unread
        effects = set(program.effects_of(arguments))
        doing = replace(doing, unread=unread, reads=(*doing.reads, *reads))
        unknown = not program.kind and not program.effects
        others = _any_command("", arguments).commands if unknown else ()
        deeper = replace(self, depth=self.depth + 1)
        inner: list[Part] = []
        if self.depth <= _DEEPEST:
            for line in doing.lines:
                inner += parts_of_line(
                    line, home=self.home, folders=self.folders, depth=self.depth + 1
                )
            for inner_command in doing.commands:
                inner += deeper._run(inner_command, " ".join(word.text for word in inner_command))
        elif doing.lines or doing.commands:
            doing = replace(doing, unread="its commands are nested too deeply")
        if words or doing.unread:
            yield self._part(
                words, name, source, doing=doing, effects=effects, exact=not why, others=others
            )
        yield from inner

    def _run_without_options(
        self, options: Sequence[Word], words: _Words, source: str, *, reads: _Words, why: str
    ) -> Iterator[Part]:
        """Yields a command without its leading options; ``-C x`` is a ``cd x`` before it."""
        places = [where for option, where in pairwise(options) if option.text == "-C"]
        folders = self.folders
        for where in places:
            folders = enter_folder(where, folders)
        reads = (*reads, *(Word(".") for _ in places[:1]))
        yield from replace(self, folders=folders)._run(words, source, reads=reads, why=why)

    def _redirect_parts(
        self, redirects: Sequence[Redirect], words: Sequence[Word]
    ) -> Iterator[Part]:
        """Yields a part for each written file, as a pattern that allows `echo *` allows no file."""
        text = " ".join(word.text for word in words)
        empties = not words or text in _EMPTYING
        for redirect in redirects:
            doing = _Doing(writes=(redirect.target,))
            if redirect.operator == "<" or not any(self._paths(doing, deep=False)):
                continue
            emptied = empties and redirect.operator in (">", ">|")
            effects: set[Effect] = {"delete"} if emptied else set()
            target = (Word(redirect.operator), redirect.target)
            source = f"{redirect.operator} {redirect.target.text}"
            yield self._part(target, redirect.operator, source, doing=doing, effects=effects)

    def _paths(self, doing: _Doing, *, deep: bool) -> Iterator[NamedPath]:
        for named, writes in ((doing.reads, False), (doing.writes, True)):
            for word in named:
                for folder in self.folders:
                    path = resolve_path(
                        word.text,
                        home=self.home,
                        base=folder,
                        known=word.known,
                        writes=writes,
                        deep=deep,
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
        doing: _Doing,
        effects: set[Effect],
        exact: bool = True,
        others: Sequence[_Words] = (),
    ) -> Part:
        recursive = any(re.match(r"-[A-Za-z]*[rR]|--recursive", word.text) for word in words[1:])
        paths = tuple(self._paths(doing, deep=recursive or program in read_lists("words")["deep"]))
        texts = [word.text for word in words[1:]]
        name = words[0].text.rpartition("/")[2] if words else ""
        command = " ".join([program, *texts]) if words else ""
        unread = doing.unread
        if not unread and any(p.writes and not p.sure and p.text == "/" for p in paths):
            unread = "it changes a file whose name is not known"
        spelled = [*_list_spellings(source), *_list_spellings(" ".join([name, *texts]))]
        for other in others:  # an unknown program may run its arguments
            inner, *rest = (word.text for word in other)
            effects |= find_program(inner.rpartition("/")[2], other[1:]).effects_of(other[1:])
            spelled.append(" ".join([inner.rpartition("/")[2], *rest]))
        return Part(
            text=source or command,
            command=command,
            spellings=tuple(dict.fromkeys(spelled)),
            exact=exact and all(word.known for word in words),
            unread=unread,
            effects=frozenset(effects) | _path_effects(program, paths, texts),
            urls=doing.urls,
            paths=tuple(dict.fromkeys(paths)),
        )


def _program_name(words: Sequence[Word]) -> tuple[str, str]:
    """The program of a command as the lists name it, and why it cannot be one of the lists."""
    if not words:
        return "", ""
    first = words[0]
    if not first.known or first.glob or not first.text:
        return first.text, "the name of a program is filled in later"
    if not re.fullmatch(r"[\x21-\x7e]+", first.text):
        return first.text, "the name of a program has unusual characters"
    folder, slash, name = first.text.rpartition("/")
    if slash and folder not in _SAFE_FOLDERS:
        return first.text, f"{first.text} is not a program of the system"
    return name, ""


def _find_touchy_setting(name: str, arguments: _Words) -> str:
    """Returns that a builtin sets a variable which changes what others do; empty if it does not."""
    for word in arguments if name in _SETTERS else ():
        variable, *value = re.split(r"[=+\[]", word.text, maxsplit=1)
        if not (word.known or value):
            return "the name of a variable is filled in later"
        if _TOUCHY.fullmatch(variable):
            return f"it sets {variable}"
    return ""


def _own_arguments(program: Program, arguments: _Words) -> _Words:
    """Returns a program's own arguments, without those of the command that it runs."""
    if program.kind == "runs":
        return ()
    if program.name == "find":
        return tuple(_split_find(arguments)[0])
    return arguments


def _path_effects(
    program: str, paths: Iterable[NamedPath], arguments: list[str]
) -> frozenset[Effect]:
    effects: set[Effect] = set()
    if program in ("mv", "cp") and "/dev/null" in arguments:
        effects.add("delete")
    for path in paths:
        if not path.writes:
            continue
        if is_sensitive(path):
            effects.add("security")
        if _DEVICE.match(path.text) or (program == "mv" and _TRASH.match(path.text)):
            effects.add("delete")
        if path.text.startswith(("/dev/tcp/", "/dev/udp/")):
            effects.add("send")
    return frozenset(effects)


# ------------------------------------------------------------------ kinds of programs


def _read_command(program: Program, name: str, arguments: _Words) -> _Doing:
    """Returns which files and addresses a command names, and which commands it runs."""
    reader = _READERS.get(program.kind)
    if reader is not None:
        return reader(program, name, arguments)
    files, urls = _files(arguments), _urls(arguments)
    if program.kind == "writes":
        return _Doing(writes=files, urls=urls)
    if program.effects:
        deletes = "delete" in program.effects or name in read_lists("words")["deep"]
        return _Doing(writes=files if deletes else _path_like(files), urls=urls)
    if name in ("eval", "trap") and all(word.known for word in arguments):
        later = "a trap runs later" if name == "trap" else ""
        return _Doing(lines=(" ".join(word.text for word in arguments),), unread=later)
    unread = f"{name} could do anything" if name else ""
    return _Doing(writes=_path_like(files), urls=urls, unread=unread)


def _read_looker(program: Program, name: str, arguments: _Words) -> _Doing:
    if name == "find":
        return _read_find(arguments)
    urls = () if name.endswith("grep") else _urls(arguments)
    return _Doing(reads=_files(arguments), urls=urls)


def _read_copier(program: Program, name: str, arguments: _Words) -> _Doing:
    files = _files(arguments)
    aimed = any(re.match(r"-\w*t|--target", word.text) for word in arguments)
    if aimed and name != "rsync":
        return _Doing(writes=files)
    return _Doing(reads=files[:-1], writes=files[-1:])


def _read_writer_here(program: Program, name: str, arguments: _Words) -> _Doing:
    files = _files(arguments) if name != "git" else ()
    if name == "unzip":
        return _Doing(reads=files[:1], writes=(*files[1:], Word(".")))
    return _Doing(writes=(*files, Word(".")), urls=_urls(arguments))


def _files(arguments: Iterable[Word]) -> _Words:
    """Returns arguments that may be files; of ``option=VALUE``, a value that looks like a file."""
    files = []
    for word in arguments:
        dashed = word.text.startswith("-")
        value = re.sub(r"^-\w(?=[/~.])|^-{0,2}[\w-]+=", "", word.text)
        if value[:1] in ("/", "~", ".") or (dashed and value != word.text and not word.known):
            files.append(replace(word, text=value))
        elif not dashed and ("://" not in word.text or word.text[:5].lower() == "file:"):
            files.append(word)
    return tuple(files)


def _path_like(words: _Words) -> _Words:
    starts = ("/", "~", ".", "file:")
    return tuple(w for w in words if not w.known or w.text.lower().startswith(starts))


def _urls(arguments: Iterable[Word]) -> tuple[NamedUrl, ...]:
    return tuple(url for word in arguments for url in urls_in(word.text))


def _hosts(arguments: Iterable[Word]) -> tuple[NamedUrl, ...]:
    named = [w.text for w in arguments if not w.text.startswith(("-", "+", "@"))]
    read = (read_url(text) for text in named if "." in text or "$" in text)
    return tuple(url for url in read if url is not None)


def _split_find(arguments: _Words) -> tuple[list[Word], list[_Words]]:
    """Returns the arguments of find itself, and the commands that it runs on what it finds."""
    own, commands, rest = list[Word](), list[_Words](), list(arguments)
    while rest:
        word = rest.pop(0)
        if word.text not in ("-exec", "-execdir", "-ok", "-okdir"):
            own.append(word)
            continue
        end = next((n for n, w in enumerate(rest) if w.text in (";", "+")), len(rest))
        filled = (replace(w, known=w.known and "{}" not in w.text) for w in rest[:end])
        commands.append(tuple(filled))
        del rest[: end + 1]
    return own, commands


def _read_find(arguments: _Words) -> _Doing:
    own, commands = _split_find(arguments)
    ends = (n for n, word in enumerate(own) if word.text.startswith(("-", "(", "!")))
    first = next(ends, len(own))
    starts = tuple(own[:first]) or (Word("."),)
    deletes = any(word.text == "-delete" for word in own)
    written = (*(starts if deletes else ()), *_path_like(tuple(own[first:])))
    return _Doing(reads=starts, writes=written, commands=tuple(commands))


def _read_script_program(program: Program, name: str, arguments: _Words) -> _Doing:
    """Reads a program whose script is its first argument, or those after ``-e``."""
    pairs = list(zip([Word(""), *arguments], arguments, strict=False))
    scripts = [word for before, word in pairs if before.text == "-e"]
    valued = [word for before, word in pairs if any(program.matching_words("valued", [before]))]
    plain = [w for _, w in pairs if w not in (*scripts, *valued) and not w.text.startswith("-")]
    if not scripts:
        scripts, plain = plain[:1], plain[1:]
    known = len(list(program.matching_words("script", scripts))) == len(scripts) > 0
    unread = "" if known and all(w.known for w in scripts) else f"a script of {program.name}"
    writes = any(program.matching_words("written", arguments))
    files = tuple(plain)
    return _Doing(
        reads=() if writes else files,
        writes=files if writes else (),
        unread=unread and f"{unread} is not read",
    )


def _read_fetcher(program: Program, name: str, arguments: _Words) -> _Doing:
    """Reads a program that downloads addresses, perhaps into files named by their last parts."""
    urls, writes, before = list[NamedUrl](), list[Word](), Word("")
    for word in arguments:
        dashed = word.text.startswith("-")
        attached = re.match(r"-[a-zA-Z](?=[/~.])|--[\w-]+=", word.text)
        if any(program.matching_words("valued", [before])) and not dashed:
            writes += [word] if any(program.matching_words("files", [before])) else []
        elif attached:
            value = word.text[attached.end() :]
            writes += [replace(word, text=value)] if value[:1] in ("/", "~", ".") else []
            urls += urls_in(value)
        elif not dashed and (url := read_url(word.text)):
            urls.append(url)
        before = word
    if any(program.matching_words("named", arguments)):
        ends = [url.text.partition("?")[0].rpartition("/")[2] for url in urls]
        folders = ["", *(f"{word.text}/" for word in writes)]
        writes += [Word(folder + end) for folder in folders for end in ends if end]
    late = any(not word.known for word in arguments)
    unread = f"an argument of {program.name} is filled in later" if late else ""
    return _Doing(writes=tuple(writes), urls=tuple(urls), unread=unread)


def _read_opener(program: Program, name: str, arguments: _Words) -> _Doing:
    """Reads a program with a window: the pages and files that it opens."""
    plain = [word for word in arguments if not word.text.startswith("-")]
    pages = [word for word in plain if not word.known or _is_page(name, word.text)]
    files = [w for w in plain if w not in pages or not w.known or w.text[:5].lower() == "file:"]
    urls = (read_url(word.text) for word in pages)
    return _Doing(reads=tuple(files), urls=tuple(url for url in urls if url))


def _is_page(name: str, text: str) -> bool:
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", text):
        return True
    return is_app("browsers", [name]) and "/" not in text[:1] and looks_like_address(text)


def _read_runner(program: Program, name: str, arguments: _Words) -> _Doing:
    """Reads a program that runs the command in its arguments."""
    rest = list(arguments)
    while rest and rest[0].known:
        text = rest[0].text
        setting = _SETTING.match(text)
        if setting and _TOUCHY.fullmatch(setting[1]):
            return _any_command(f"it sets {setting[1]}", rest)
        if not setting and not any(program.matching_words("options", rest[:1])):
            break
        rest.pop(0)
    if not rest:
        return _Doing(commands=((Word("echo"), _STREAM),) if name == "xargs" else ())
    if rest[0].text.startswith("-") or not rest[0].known:
        return _any_command(f"{rest[0].text} of {name} is not read", rest)
    if not is_known_program(rest[0].text.rpartition("/")[2]):
        doing = _any_command("", rest[1:])
        return replace(doing, commands=(tuple(rest), *doing.commands))
    return _Doing(commands=((*rest, _STREAM) if name == "xargs" else tuple(rest),))


_STREAM = Word("$STDIN", known=False)
"""Stands for the arguments that xargs reads."""


def _any_command(unread: str, words: Sequence[Word]) -> _Doing:
    """Returns the commands that words may hold: one from each word that names a known program."""
    starts = [n for n, word in enumerate(words) if is_known_program(word.text.rpartition("/")[2])]
    return _Doing(unread=unread, commands=tuple(tuple(words[start:]) for start in starts))


def _read_shell(program: Program, name: str, arguments: _Words) -> _Doing:
    """Reads a shell; the text after ``-c`` is read like any other line."""
    for number, word in enumerate(arguments):
        if not word.known or not word.text.startswith(("-", "+")):
            break
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word.text):
            following = [w for w in arguments[number + 1 :] if not w.text.startswith("-")]
            if following and following[0].known:
                return _Doing(lines=(following[0].text,))
            break
    plain = tuple(word for word in arguments if not word.text.startswith("-"))
    return _Doing(unread="it runs a script", reads=plain)


_READERS: Mapping[str, Callable[[Program, str, _Words], _Doing]] = {
    "quiet": lambda program, name, arguments: _Doing(),
    "hosts": lambda program, name, arguments: _Doing(urls=_hosts(arguments)),
    "looks": _read_looker,
    "copies": _read_copier,
    "here": _read_writer_here,
    "scripts": _read_script_program,
    "fetches": _read_fetcher,
    "opens": _read_opener,
    "runs": _read_runner,
    "shells": _read_shell,
}
"""The function that reads the arguments of each kind of program."""
