"""Programs whose arguments decide what they do: those that run others, fetch, or keep versions."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from hisa.actions.effects import Effect
from hisa.plugins.guard.policy import program_words as words_of
from hisa.plugins.guard.policy.matching import words
from hisa.plugins.guard.policy.named_sites import NamedUrl, read_url
from hisa.plugins.guard.policy.shell_lines import Word

__all__ = ["Doing", "special"]

_NONE: frozenset[Effect] = frozenset()


@dataclass(frozen=True, slots=True)
class Doing:
    """What a command does by itself, and what it runs."""

    effects: frozenset[Effect] = _NONE
    reads: tuple[Word, ...] = ()
    writes: tuple[Word, ...] = ()
    urls: tuple[NamedUrl, ...] = ()
    unread: str = ""
    deep: bool = False
    exact: bool = True
    """False: its name does not say which program it is."""
    lines: tuple[str, ...] = ()
    """Lines of shell that it runs."""
    commands: tuple[tuple[Word, ...], ...] = ()
    """Commands that it runs."""

    def also(self, *effects: Effect) -> Doing:
        """Returns the same with further effects."""
        return replace(self, effects=self.effects | frozenset(effects))


def special(program: str, arguments: Sequence[Word]) -> Doing | None:
    """Reads a program by its arguments; None for one that is not read so."""
    if program in words_of.RUNNERS:
        return _runner(program, arguments)
    if program in words_of.INTERPRETERS:
        return _interpreter(arguments)
    reading = _READINGS.get(program)
    found = None if reading is None else reading(program, arguments)
    if found is not None and program in words_of.DEEP:
        found = replace(found, deep=True)
    return found


def _has(arguments: Sequence[Word], *names: str) -> bool:
    """Whether one of the long options is there, or the beginning of one: most programs take it."""
    given = [word.text.partition("=")[0] for word in arguments if word.text.startswith("--")]
    return any(len(g) > 3 and name.startswith(g) for g in given for name in names)


def _short(arguments: Sequence[Word], letters: str) -> bool:
    """Whether one of the letters stands among the short options."""
    clusters = [w.text[1:] for w in arguments if re.match(r"-[^-]", w.text)]
    return any(letter in cluster for letter in letters for cluster in clusters)


def _plain(arguments: Sequence[Word]) -> tuple[Word, ...]:
    return tuple(word for word in arguments if not word.text.startswith("-"))


def _runner(program: str, arguments: Sequence[Word]) -> Doing:
    effects = words_of.always_does(program)
    valued, before = words_of.RUNNERS[program]
    rest = list(arguments)
    while rest and rest[0].text.startswith("-") and rest[0].text != "-":
        option = rest.pop(0)
        if not option.known:
            return Doing(effects, unread=f"an option of {program} is filled in later")
        if option.text == "--":
            break
        if program == "env" and re.match(r"-\w*S|--s", option.text):
            return Doing(effects, unread="env splits a text into a command")
        if program == "command" and option.text in ("-v", "-V"):
            return Doing(effects)
        if program == "sudo" and re.match(r"-\w*[eis]|--(edit|login|shell)", option.text):
            return Doing(effects, unread="sudo starts a shell or an editor")
        if re.fullmatch(r"-\w", option.text) and option.text[1] in valued and rest:
            rest.pop(0)
        elif option.text.startswith("--") and "=" not in option.text and valued:
            return Doing(effects, unread=f"{option.text} of {program} is not read")
    while program in ("env", "sudo", "doas") and rest and (found := _ASSIGNED.match(rest[0].text)):
        if words_of.TOUCHY_VARIABLES.fullmatch(found[1]):
            return Doing(effects, unread=f"it sets {found[1]}")
        rest.pop(0)
    inner = tuple(rest[before:])
    if program == "xargs":
        inner = (*(inner or (Word("echo"),)), Word("what xargs reads", known=False))
    return Doing(effects, commands=(inner,) if inner else ())


_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=")


def _interpreter(arguments: Sequence[Word]) -> Doing:
    if [word.text for word in arguments] in (["--version"], ["--help"]):
        return Doing()
    for number, word in enumerate(arguments):
        if not word.known or not word.text.startswith(("-", "+")):
            break
        if re.fullmatch(r"-[a-zA-Z]*c[a-zA-Z]*", word.text):
            following = [w for w in arguments[number + 1 :] if not w.text.startswith("-")]
            if following and following[0].known:
                return Doing(lines=(following[0].text,))
            break
    return Doing(unread="it runs a script", reads=_plain(arguments))


def _eval(program: str, arguments: Sequence[Word]) -> Doing:
    if all(word.known for word in arguments):
        return Doing(lines=(" ".join(word.text for word in arguments),))
    return Doing(unread=f"{program} runs what is filled in later")


def _export(program: str, arguments: Sequence[Word]) -> Doing:
    for word in arguments:
        name = re.split(r"[=+\[]", word.text, maxsplit=1)[0]
        if not word.known and "=" not in word.text:
            return Doing(unread="a variable is named later")
        if words_of.TOUCHY_VARIABLES.fullmatch(name):
            return Doing(unread=f"it sets {name}")
    return Doing()


def _find(program: str, arguments: Sequence[Word]) -> Doing:
    ends = (n for n, w in enumerate(arguments) if w.text.startswith(("-", "(", "!")))
    first = next(ends, len(arguments))
    doing = Doing(reads=tuple(arguments[:first]) or (Word("."),), deep=True)
    commands: list[tuple[Word, ...]] = []
    for number, word in enumerate(arguments):
        if not word.known and number >= first:
            doing = replace(doing, unread="a test of find is filled in later")
        if word.text == "-delete":
            doing = replace(doing.also("delete"), writes=doing.reads)
        elif word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            rest = arguments[number + 1 :]
            last = next((n for n, w in enumerate(rest) if w.text in (";", "+")), len(rest))
            commands.append(tuple(_found(w) for w in rest[:last]))
        elif word.text in ("-fprint", "-fprint0", "-fls", "-fprintf"):
            doing = replace(doing, writes=(*doing.writes, *arguments[number + 1 : number + 2]))
    return replace(doing, commands=tuple(commands))


def _found(word: Word) -> Word:
    return replace(word, known=False) if "{}" in word.text else word


def _curl(program: str, arguments: Sequence[Word]) -> Doing:
    texts = [word.text for word in arguments]
    urls, writes, skip = [], [], ""
    for word in arguments:
        text = word.text
        if skip:
            writes += [word] if skip in _CURL_WRITES else []
            urls += [read_url(text)] if skip in ("-x", "--proxy", "--url", "--doh-url") else []
            skip = ""
        elif text.startswith("-"):
            skip = text if re.fullmatch(r"-[a-zA-Z]", text) and text[1] in _CURL_VALUED else ""
            skip = text if text in _CURL_LONG_VALUED else skip
            urls += [read_url(text.partition("=")[2])] if text.startswith("--url=") else []
        else:
            urls.append(read_url(text))
    sends = _short(arguments, "dFTQ") or _has(arguments, *_CURL_SENDS)
    method = re.search(r"(?:-\w*X|--request)[ =]?(\S+)", " ".join(texts))
    sends = sends or (method is not None and method[1].upper() not in ("GET", "HEAD", "OPTIONS"))
    if _short(arguments, "O") or _has(arguments, "--remote-name", "--remote-name-all"):
        writes += _downloads(arguments)
    odd = _short(arguments, "K") or _has(arguments, "--config", "--variable", "--libcurl")
    unread = "curl reads its options from a file" if odd else ""
    if _short(arguments, "J") or _has(arguments, "--remote-header-name"):
        unread = unread or "the server names the file that curl writes"
    if any(not word.known for word in arguments):
        unread = unread or "an argument of curl is filled in later"
    found = tuple(url for url in urls if url is not None)
    return Doing(
        frozenset({"send"} if sends else ()), writes=tuple(writes), urls=found, unread=unread
    )


_CURL_VALUED = "AbcCdDeEFhHKmoPQrtTuUwxXyYz"
_CURL_WRITES = ("-o", "--output", "-D", "--dump-header", "-c", "--cookie-jar", "--output-dir")
_CURL_LONG_VALUED = words(
    "--output --dump-header --cookie-jar --output-dir --proxy --url --header --user-agent "
    "--max-time --connect-timeout --retry --user --cookie --referer --request --resolve "
    "--cacert --range --limit-rate --write-out --doh-url --data --form --upload-file --json "
    "--data-raw --data-binary --data-urlencode"
)
_CURL_SENDS = words(
    "--data --data-ascii --data-binary --data-raw --data-urlencode --form --form-string "
    "--json --upload-file --quote --mail-from --mail-rcpt --url-query"
)


def _downloads(arguments: Sequence[Word], folder: str = "") -> list[Word]:
    """Returns the files that are named like the ends of the addresses."""
    ends = [re.split(r"[?#]", w.text)[0].rpartition("/")[2] for w in arguments if "/" in w.text]
    return [Word(f"{folder}{end}") for end in ends if end]


def _wget(program: str, arguments: Sequence[Word]) -> Doing:
    urls, writes, aimed, folder = [], [Word(".")], "", ""
    for word in arguments:
        if aimed:
            folder = f"{word.text}/" if aimed == "-P" else folder
            writes, aimed = [word], ""
        elif word.text.startswith("-"):
            aimed = word.text if word.text in _WGET_AIMS else ""
            value = word.text.partition("=")[2]
            folder = f"{value}/" if word.text.startswith("--directory-prefix=") else folder
            writes += [Word(value, word.known)] if value[:1] in ("/", "~", ".") else []
        elif url := read_url(word.text):
            urls.append(url)
    sends = _has(arguments, "--post-data", "--post-file", "--body-data", "--body-file", "--method")
    odd = _has(arguments, "--execute", "--config", "--input-file", "--use-askpass")
    odd = odd or _short(arguments, "ei") or any(not word.known for word in arguments)
    odd = odd or _has(arguments, "--content-disposition")
    named = [word for word in arguments if not word.text.startswith("-") and read_url(word.text)]
    return Doing(
        frozenset({"send"} if sends else ()),
        writes=(*writes, *_downloads(named, folder)),
        urls=tuple(urls),
        unread="an argument of wget is not read" if odd else "",
    )


_WGET_AIMS = ("-O", "-P", "-o", "-a", "--output-document", "--directory-prefix")
_GIT_LOOKS = words(
    "status log diff show rev-parse describe blame ls-files ls-tree shortlog reflog "
    "rev-list cat-file version help whatchanged name-rev merge-base count-objects"
)
_GIT_WRITES = words(
    "add commit init clone fetch pull merge rebase stash tag mv branch switch checkout "
    "reset remote cherry-pick revert apply am worktree notes restore rm clean push"
)
_GIT_LOSES: Mapping[str, str] = {
    "stash": r"drop|clear",
    "tag": r"-\w*d\w*|--de\w*",
    "branch": r"-\w*[dDfMC]\w*|--de\w*|--f\w*",
    "switch": r"-\w*[fC]\w*|--di\w*|--f\w*",
    "checkout": r"-\w*[fB]\w*|--f\w*|--|\.|.*[/*].*|--t\w*|--o\w*",
    "reset": r"--h\w*|--m\w*",
    "remote": r"remove|rm|prune|set-url",
    "restore": r".*",
    "rm": r".*",
    "clean": r".*",
    "worktree": r"remove|prune",
    "push": r"-\w*[fd]\w*|--f\w*|--de\w*|--mi\w*|--pru\w*|\+.*|:.*",
}
"""Arguments with which a subcommand loses something for good."""


def _git(program: str, arguments: Sequence[Word]) -> Doing:
    rest = list(arguments)
    while rest and rest[0].text in ("--no-pager", "-C", "--git-dir", "--work-tree", "-p"):
        rest = rest[2:] if rest[0].text in ("-C", "--git-dir", "--work-tree") else rest[1:]
    if not rest:
        return Doing()
    verb, given = rest[0].text, rest[1:]
    if not rest[0].known or verb.startswith("-"):
        return Doing(unread="git gets a setting of its own" if verb != "--version" else "")
    urls = tuple(url for w in given if "://" in w.text for url in [read_url(w.text)] if url)
    if verb in _GIT_LOOKS and not _has(given, "--output", "--ext-diff", "--open-files-in-pager"):
        return Doing()
    if verb not in _GIT_WRITES:
        return Doing(unread=f"git {verb} could do anything", urls=urls)
    doing = Doing(urls=urls, writes=(Word("."),))
    unclear = any(not word.known for word in given)
    lost = _GIT_LOSES.get(verb)
    if lost and (unclear or any(re.fullmatch(lost, word.text) for word in given)):
        doing = doing.also("delete")
    if verb == "push":
        doing = doing.also("send")
    odd = _has(given, "--exec", "--upload-pack", "--receive-pack", "--config") or _short(
        given, "xuc"
    )
    if odd and verb in ("clone", "fetch", "pull", "push", "rebase") and not _tracks(verb, given):
        doing = replace(doing, unread=f"an option of git {verb} runs a program")
    return doing


def _tracks(verb: str, given: Sequence[Word]) -> bool:
    return verb == "push" and not _has(given, "--exec", "--receive-pack")


def _archive(program: str, arguments: Sequence[Word]) -> Doing:
    files = _plain(arguments)
    runs = _has(
        arguments,
        "--to-command",
        "--checkpoint-action",
        "--use-compress-program",
        "--info-script",
        "--new-volume-script",
        "--rsh-command",
        "--unzip-command",
        "--rmt-command",
    )
    if runs or _short(arguments, "IF" if program == "tar" else "T"):
        return Doing(unread=f"{program} runs a program", writes=files)
    doing = Doing(writes=(*files, Word(".")), deep=True)
    if _has(arguments, "--remove-files", "--recursive-unlink", "--delete", "--move"):
        doing = doing.also("delete")
    loses = ("m", "d") if program == "zip" else ()
    if any(_short(arguments, letter) for letter in loses) or (
        program in ("7z", "7za", "7zr") and files[:1] and files[0].text == "d"
    ):
        doing = doing.also("delete")
    return doing


def _rsync(program: str, arguments: Sequence[Word]) -> Doing:
    files = _plain(arguments)
    doing = Doing(reads=files[:-1], writes=files[-1:], deep=True)
    if any(re.match(r"[^/]*:|rsync://", word.text) or not word.known for word in files):
        doing = doing.also("send")
    if _has(arguments, "--delete", "--del", "--remove-source-files", "--delete-after"):
        doing = doing.also("delete")
    if _short(arguments, "e") or _has(arguments, "--rsh", "--rsync-path"):
        doing = replace(doing, unread="rsync runs a program")
    return doing


_SED_SCRIPT = re.compile(
    r"(\d+|\$|/[^/\n;]*/)?(,(\d+|\$|/[^/\n;]*/))?!?"
    r"(p|d|q|=|s/([^/\n\\]|\\.)*/([^/\n\\]|\\[^\n])*/[gIpi0-9]*"
    r"|s\|([^|\n\\]|\\.)*\|([^|\n\\]|\\[^\n])*\|[gIpi0-9]*|y/[^/\n]*/[^/\n]*/)"
)


def _sed(program: str, arguments: Sequence[Word]) -> Doing:
    scripts = [w for w, b in zip(arguments, [Word(""), *arguments], strict=False) if b.text == "-e"]
    plain = [word for word in _plain(arguments) if word not in scripts]
    if not scripts:
        scripts, plain = plain[:1], plain[1:]
    pieces = [piece.strip() for word in scripts for piece in word.text.split(";")]
    if (
        _short(arguments, "f")
        or _has(arguments, "--file", "--expression")
        or not all(word.known for word in scripts)
        or not all(_SED_SCRIPT.fullmatch(piece) for piece in pieces if piece)
    ):
        return Doing(unread="the script of sed is not read", writes=tuple(plain))
    inplace = _short(arguments, "i") or _has(arguments, "--in-place")
    return Doing(writes=tuple(plain)) if inplace else Doing(reads=tuple(plain))


def _awk(program: str, arguments: Sequence[Word]) -> Doing:
    plain = _plain(arguments)
    script = plain[0].text if plain else ""
    odd = re.search(r"system|getline|[|>@]|close|print.*>", script) or not all(
        word.known for word in plain[:1]
    )
    if odd or not plain or _short(arguments, "fEliI") or _has(arguments, "--file", "--include"):
        return Doing(unread=f"the script of {program} is not read", reads=plain[1:])
    return Doing(reads=plain[1:])


def _dd(program: str, arguments: Sequence[Word]) -> Doing:
    def named(key: str) -> tuple[Word, ...]:
        found = [w for w in arguments if w.text.startswith(f"{key}=")]
        return tuple(replace(w, text=w.text[3:]) for w in found)

    odd = any(not word.known for word in arguments)
    return Doing(reads=named("if"), writes=named("of"), unread="dd is not read" if odd else "")


def _gio(program: str, arguments: Sequence[Word]) -> Doing:
    verb, rest = (arguments[0].text, tuple(arguments[1:])) if arguments else ("", ())
    if verb in ("trash", "remove"):
        return Doing(frozenset({"delete"}), writes=_plain(rest))
    if verb in ("list", "info", "cat", "tree", "version", "help"):
        return Doing(reads=_plain(rest))
    if verb in ("copy", "move", "mkdir", "save", "rename"):
        return Doing(writes=_plain(rest))
    return Doing(unread=f"gio {verb} is not read", writes=_plain(rest))


def _sort(program: str, arguments: Sequence[Word]) -> Doing:
    files = _plain(arguments)
    if _has(arguments, "--compress-program", "--files0-from"):
        return Doing(unread="sort runs a program", reads=files)
    writes = _short(arguments, "o") or _has(arguments, "--output") or program == "uniq"
    return Doing(reads=files, writes=files[-1:] if writes and len(files) > 1 else ())


def _tree(program: str, arguments: Sequence[Word]) -> Doing:
    named = _plain(arguments)
    return Doing(writes=named) if _short(arguments, "o") else Doing(reads=named)


def _printf(program: str, arguments: Sequence[Word]) -> Doing:
    sets = bool(arguments) and arguments[0].text.startswith("-v")
    return Doing(unread="printf sets a variable" if sets else "")


def _container(program: str, arguments: Sequence[Word]) -> Doing:
    verbs = {word.text for word in _plain(arguments)[:2]}
    doing = Doing(unread=f"{program} could do anything")
    if verbs & {"ps", "images", "version", "info", "logs", "inspect"}:
        doing = Doing()
    if verbs & {"rm", "rmi", "prune", "delete", "kill", "down"}:
        doing = doing.also("delete")
    return doing.also("send") if verbs & {"push", "publish", "apply"} else doing


_READINGS: Mapping[str, Callable[[str, Sequence[Word]], Doing]] = {
    "eval": _eval,
    **dict.fromkeys(("export", "declare", "typeset", "readonly"), _export),
    "find": _find,
    "curl": _curl,
    "wget": _wget,
    "git": _git,
    **dict.fromkeys(("tar", "zip", "7z", "7za", "7zr", "bsdtar", "unrar"), _archive),
    "rsync": _rsync,
    "sed": _sed,
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _awk),
    "dd": _dd,
    "gio": _gio,
    **dict.fromkeys(("sort", "uniq"), _sort),
    "tree": _tree,
    "printf": _printf,
    **dict.fromkeys(("docker", "podman", "kubectl"), _container),
}
