"""Takes secrets out of what is written: the log of a run, and the output to a terminal.

A secret is known by its shape, by the name before it, or as the value of one of this process's own
variables that is secret by its name. What a name or an address gave away is then found wherever
else it stands. ``docs/runs.md`` says what is not found.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Any
from urllib.parse import quote

from hisa.text.redact import names, shapes
from hisa.text.redact.named_secrets import PLACEHOLDER, is_placeholder_only
from hisa.text.redact.names import Span
from hisa.text.safe_text import encodable

__all__ = ["REDACTED", "Redactor", "holds_redacted", "redact"]

REDACTED = "[redacted]"

_MOST_LEARNED = 200
"""Values found by name that are looked for elsewhere: a bound on time, above any real task."""
_MIN_LEARNED = 6
"""Characters of the shortest of them: a shorter one stands in too many words."""
_DEEPEST = 100
"""Levels of data that are looked at; a log writes 40 of them."""
_TOO_DEEP = f"[nested more than {_DEEPEST} deep]"


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds one kind of secret in texts that hold one of ``hints`` (in lower case)."""

    hints: tuple[str, ...]
    spans: Callable[[str], Iterable[Span]]
    lowered: bool = False
    """Whether it reads the text in lower case."""
    learn: bool = False
    """Whether what it finds is looked for elsewhere as well."""
    shape: bool = False
    """Whether it knows a secret by the text alone, whatever it is a part of."""


_compiled = cache(re.compile)


def _shape(pattern: str) -> Callable[[str], Iterator[Span]]:
    def spans(text: str) -> Iterator[Span]:
        known = _compiled(pattern)
        return (match.span(1 if known.groups else 0) for match in known.finditer(text))

    return spans


_NAMES = (
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "cred",
    "database",
    "connection",
    "dsn",
    "shareda",
    "psk",
)
_SPOKEN_HINTS = (
    *("passw", "passp", "passc"),
    *(
        f"{word} {verb}"
        for word in ("key", "token", "secret")
        for verb in ("is", "was", "of", "for")
    ),
)
_FINDERS = (
    _Finder(_NAMES, names.find_named_values, lowered=True, learn=True),
    _Finder(tuple(f"-{name}" for name in _NAMES), names.find_flag_values, lowered=True, learn=True),
    _Finder(_SPOKEN_HINTS, names.spoken_secret, lowered=True, learn=True),
    _Finder(("authorization", "cookie"), names.header, lowered=True),
    _Finder(("bearer",), names.bearer, lowered=True),
    _Finder(("basic", 'auth"', "auth'", "auth\\"), names.basic),
    _Finder(("://",), shapes.urls, learn=True),
    _Finder(("?", "&"), shapes.query),
    _Finder(("akia", "asia", "abia", "acca"), shapes.aws),
    _Finder(("private key",), shapes.pem),
    *(_Finder(hints, _shape(pattern), shape=True) for hints, pattern in shapes.SHAPES),
)


def _lower(text: str) -> str:
    """In lower case, each character in its place."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _select_finders(lowered: str, finders: Iterable[_Finder]) -> list[_Finder]:
    """Those that could find something in a text; this is asked often, so without a generator."""
    candidates = []
    for finder in finders:
        for hint in finder.hints:
            if hint in lowered:
                candidates.append(finder)
                break
    return candidates


def _forms(value: str) -> set[str]:
    """A value as it is, and as escaped in JSON, Python source and addresses."""
    return {value, json.dumps(value)[1:-1], repr(value)[1:-1], quote(value, safe=""), quote(value)}


def _merge_spans(spans: Iterable[Span]) -> Iterator[Span]:
    start = end = -1
    for first, last in sorted(spans):
        if first > end:
            if end > start:
                yield start, end
            start, end = first, last
        end = max(end, last)
    if end > start:
        yield start, end


_REMEMBERED = 2_000
"""Texts that are known to be clean; about ten are new in a step."""


class Redactor:
    """Makes texts fit to be written down; one a run, so that it looks for what it has learned.

    Secrets become ``[redacted]``; halves of surrogate pairs, which no file can hold, U+FFFD.

    Args:
        environ: variables whose values are looked for; None: the process's own, as they are now.
        variables: names of more variables that hold secrets, whatever they are called.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, variables: Iterable[str] = ()
    ) -> None:
        known = os.environ if environ is None else environ
        self._exact: dict[str, str] = {}
        """Values that are looked for, the longest first, and what is put in their place."""
        self._learned = 0
        self._clean: set[str] = set()
        """Texts without a secret or a hint at one: most of what a run writes it writes again."""
        self._same: set[str] = set()
        """Texts that have such a hint and no secret; the field that has one may be secret still."""
        for value in names.secret_values(known, frozenset(variables)):
            self._add(value)

    def hide(self, shown: Mapping[str, str], /) -> None:
        """Look for these values too, whatever they look like."""
        self._know({**self._exact, **shown})

    def text(self, text: str, /) -> str:
        """The text without its secrets; itself where it holds none."""
        return self._text(text, _select_finders(text.lower(), _FINDERS))

    def _text(self, text: str, finders: Iterable[_Finder]) -> str:
        if text in self._same:
            return text
        original, text = text, self._without_exact(encodable(text))
        view = _view(text)
        lowered = _lower(view)
        spans = [
            span
            for finder in _select_finders(lowered, finders)
            for span in self._find_spans(finder, text, lowered if finder.lowered else view)
        ]
        if not spans:
            if text is original:
                self._remember(self._same, (text,))
            return text
        parts: list[str] = []
        position = 0
        for start, end in _merge_spans(spans):
            parts += (text[position:start], REDACTED)
            position = end
        return self._without_exact("".join(parts) + text[position:])

    def data(self, value: Any, /) -> Any:
        """Plain data without its secrets: in texts, under the names of fields and after flags.

        Itself where it holds none. Objects that have ``model_copy`` (of pydantic) are copied.
        """
        texts: list[str] = []
        if not _collect(value, texts, 0):
            return _Walk(self, _FINDERS).value(value, 0)
        fresh = [text for text in texts if text not in self._clean]
        joined = "\0".join(fresh)
        hinted = _select_finders(joined.lower(), _FINDERS)
        # "Asked" hints at a key that begins with "SK": a look at all texts at once is cheap.
        view = _view(joined) if hinted else ""
        finders = [f for f in hinted if not f.shape or next(iter(f.spans(view)), None)]
        known = any(secret in joined for secret in self._exact)
        is_encodable = joined.isascii() or encodable(joined) is joined
        if not finders and not known and is_encodable:
            self._remember(self._clean, fresh)
            return value
        return _Walk(self, finders).value(value, 0)

    def _remember(self, known: set[str], texts: Iterable[str]) -> None:
        if len(known) > _REMEMBERED:
            known.clear()
        known.update(texts)

    def _hidden(self, value: str) -> str:
        if is_placeholder_only(value):
            return value
        if value and value != REDACTED:
            self._learn(value)
            return REDACTED
        return value

    def _find_spans(self, finder: _Finder, text: str, view: str) -> Iterator[Span]:
        for start, end in finder.spans(view):
            value = text[start:end]
            if end > start and value.strip("[]") != "redacted" and not is_placeholder_only(value):
                if finder.learn:
                    self._learn(value)
                yield start, end

    def _without_exact(self, text: str) -> str:
        for secret, shown in self._exact.items():
            if secret in text:
                text = text.replace(secret, shown)
        return text

    def _learn(self, value: str) -> None:
        """Look for a value elsewhere too, unless it is a plain word that any text may hold."""
        plain = value.isalpha() and (value.islower() or value.istitle())
        if len(value) < _MIN_LEARNED or plain or "[redacted" in value or value in self._exact:
            return
        if self._learned < _MOST_LEARNED:
            self._learned += 1
            self._add(value)

    def _add(self, value: str) -> None:
        self._know({**dict.fromkeys(_forms(value), REDACTED), **self._exact})

    def _know(self, shown: Mapping[str, str]) -> None:
        """Longest first: a secret that holds another leaves no rest."""
        longest = sorted(shown, key=lambda value: (-len(value), value))
        self._exact = {value: shown[value] for value in longest}
        self._clean.clear()
        self._same.clear()


_NAMED = re.compile(PLACEHOLDER.pattern + r"|\{\{\s?secret:\s?(?:…|\.{3}|\\{1,15}u2026)\s?\}\}")
"""A secret's name, or any name: how HiSA's own prompts speak of them."""
_ESCAPED = re.compile(
    r"\\{1,15}(?:[nr]|t(?!oken)|u00(?:0[9ad]|85)|u202[89]|x0[9ad]|01[125])"  # a line break, a tab
    r"|(?:\x1b|\\{1,15}(?:x1b|u001b|033|e))\[[0-9;]{0,20}[A-Za-z]",  # a colour
    re.IGNORECASE,
)


def _view(text: str) -> str:
    """The text as secrets are looked for in it, each character in its place.

    Names of secrets read as what was taken out, and breaks stand for what JSON, source code and
    terminals escape: a secret begins after ``\\n`` too.
    """
    if "{{" in text:
        text = _NAMED.sub(lambda match: f"[{'redacted':.<{len(match[0]) - 2}}]", text)
    if "\\" in text or "\x1b" in text:
        text = _ESCAPED.sub(lambda match: "\v" * len(match[0]), text)
    return text


class _Walk:
    """One pass over data, with the finders that any text in it may need."""

    def __init__(self, redactor: Redactor, finders: Sequence[_Finder]) -> None:
        self._redactor = redactor
        self._finders = finders

    def value(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            return self._redactor._text(value, self._finders)
        if depth > _DEEPEST:
            return _TOO_DEEP
        if isinstance(value, Mapping):
            return {
                self.value(key, depth): self._field(key, item, depth + 1)
                for key, item in value.items()
            }
        if isinstance(value, list | tuple):
            return type(value)(self._items(value, depth + 1))
        fields = getattr(type(value), "__pydantic_fields__", None)
        if fields is None:
            return value
        old = {name: getattr(value, name) for name in fields}
        new = {name: self.value(item, depth + 1) for name, item in old.items()}
        return value if new == old else value.model_copy(update=new)

    def _field(self, name: object, value: Any, depth: int) -> Any:
        if isinstance(name, str) and isinstance(value, str) and names.is_secret_field(name):
            return self._redactor._hidden(value)
        return self.value(value, depth)

    def _items(self, items: Iterable[Any], depth: int) -> list[Any]:
        shown: list[Any] = []
        secret = False
        for item in items:
            text = isinstance(item, str)
            shown.append(
                self._redactor._hidden(item) if secret and text else self.value(item, depth)
            )
            secret = text and names.is_secret_flag(item)
        return shown


def _collect(value: Any, texts: list[str], depth: int) -> bool:
    """Gather all texts; returns False where the data is nested too deep to look at."""
    if isinstance(value, str):
        texts.append(value)
        return True
    if type(value) in _TEXTLESS:
        return True
    if depth > _DEEPEST:
        return False
    for item in _parts(value):
        kind = type(item)
        if kind is str:
            texts.append(item)
        elif kind not in _TEXTLESS and not _collect(item, texts, depth + 1):
            return False
    return True


_TEXTLESS = frozenset({type(None), int, float, bool})
"""Most of what a log holds."""


def _parts(value: Any) -> Iterable[Any]:
    """Returns the parts of plain data: items, keys and values, the values of a model's fields."""
    if isinstance(value, list | tuple):
        return value
    if isinstance(value, dict):
        return chain(value, value.values())
    if isinstance(value, Mapping):
        return chain(value, (value[key] for key in value))
    fields = getattr(type(value), "__pydantic_fields__", ())
    return [getattr(value, name) for name in fields]


def redact(text: str, /, environ: Mapping[str, str] | None = None) -> str:
    """The text with its secrets replaced by ``[redacted]``."""
    return Redactor(environ).text(text)


def holds_redacted(value: Any, /) -> bool:
    """Whether plain data holds a place from which a secret was taken."""
    texts: list[str] = []
    _collect(value, texts, 0)
    return any(REDACTED in text for text in texts)
