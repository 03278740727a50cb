"""Removes secrets from what is written: the log of a run, and output to a terminal.

A secret is recognised by its shape, by the name before it, or as the value of an environment
variable with a secret's name. A value that was recognised by a name or an address is then found
everywhere else too. ``docs/runs.md`` says which secrets are not found.
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
"""Most values, found by name, that are searched for elsewhere: more than any real task has."""
_MIN_LEARNED = 6
"""Least characters of such a value: a shorter one occurs in too many words."""
_DEEPEST = 100
"""Levels of nested data that are searched; a log writes 40 of them."""
_TOO_DEEP = f"[nested more than {_DEEPEST} deep]"


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds one kind of secret in texts that contain one of ``hints`` (in lower case)."""

    hints: tuple[str, ...]
    spans: Callable[[str], Iterable[Span]]
    lowered: bool = False
    """Whether it reads the text in lower case."""
    learn: bool = False
    """Whether what it finds is searched for elsewhere too."""
    shape: bool = False
    """Whether it recognises a secret by its own text, whatever is around it."""


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
    """Returns the text in lower case, with every character at the same index."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(letter.lower() if letter.isascii() else letter for letter in text)


def _select_finders(lowered: str, finders: Iterable[_Finder]) -> list[_Finder]:
    """Returns the finders that could find something in a text; called often, so no generator."""
    candidates = []
    for finder in finders:
        for hint in finder.hints:
            if hint in lowered:
                candidates.append(finder)
                break
    return candidates


def _forms(value: str) -> set[str]:
    """Returns a value as it is, and as escaped in JSON, Python source and addresses."""
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
"""Most texts that are remembered as clean; a step has about ten new ones."""


class Redactor:
    """Makes texts fit to be logged; each run has one, which remembers the secrets it has found.

    Secrets become ``[redacted]``, and halves of surrogate pairs, which no file can hold, U+FFFD.

    Args:
        environ: the environment variables whose values are searched for; None: the process's own.
        variables: names of further variables that hold secrets, whatever they are called.
    """

    def __init__(
        self, environ: Mapping[str, str] | None = None, variables: Iterable[str] = ()
    ) -> None:
        known = os.environ if environ is None else environ
        self._exact: dict[str, str] = {}
        """Values that are searched for, the longest first, with the text put in their place."""
        self._learned = 0
        self._clean: set[str] = set()
        """Texts without a secret or a hint; a run writes most texts more than once."""
        self._same: set[str] = set()
        """Texts with a hint and no secret; as values of a secret field they may still be hidden."""
        for value in names.secret_values(known, frozenset(variables)):
            self._add(value)

    def hide(self, shown: Mapping[str, str], /) -> None:
        """Replace these values too, each by the text given for it."""
        self._know({**self._exact, **shown})

    def text(self, text: str, /) -> str:
        """Returns the text without its secrets; the same object if it has none."""
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
        """Returns plain data without its secrets: in texts, in secret fields and after flags.

        Returns the same object if it has none. Objects of pydantic are copied.
        """
        texts: list[str] = []
        if not _collect(value, texts, 0):
            return _Walk(self, _FINDERS).value(value, 0)
        fresh = [text for text in texts if text not in self._clean]
        joined = "\0".join(fresh)
        hinted = _select_finders(joined.lower(), _FINDERS)
        # "Asked" hints at a key that begins with "SK"; searching all texts at once is cheap.
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
        """Search for a value elsewhere too, unless it is a plain word that any text may have."""
        plain = value.isalpha() and (value.islower() or value.istitle())
        if len(value) < _MIN_LEARNED or plain or "[redacted" in value or value in self._exact:
            return
        if self._learned < _MOST_LEARNED:
            self._learned += 1
            self._add(value)

    def _add(self, value: str) -> None:
        self._know({**dict.fromkeys(_forms(value), REDACTED), **self._exact})

    def _know(self, shown: Mapping[str, str]) -> None:
        """Set the known values, longest first, so that a longer secret is replaced as a whole."""
        longest = sorted(shown, key=lambda value: (-len(value), value))
        self._exact = {value: shown[value] for value in longest}
        self._clean.clear()
        self._same.clear()


_NAMED = re.compile(PLACEHOLDER.pattern + r"|\{\{\s?secret:\s?(?:…|\.{3}|\\{1,15}u2026)\s?\}\}")
"""A secret's placeholder, or the one for any name that HiSA's prompts use."""
_ESCAPED = re.compile(
    r"\\{1,15}(?:[nr]|t(?!oken)|u00(?:0[9ad]|85)|u202[89]|x0[9ad]|01[125])"  # a line break, a tab
    r"|(?:\x1b|\\{1,15}(?:x1b|u001b|033|e))\[[0-9;]{0,20}[A-Za-z]",  # a colour
    re.IGNORECASE,
)


def _view(text: str) -> str:
    """Returns the text in which secrets are searched for, with every character at the same index.

    Placeholders become ``[redacted…]``, and escapes of JSON, source code and terminals become
    breaks, since a secret may begin right after ``\\n``.
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
    """Collect all texts of plain data; returns False if it is nested too deeply."""
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
"""The types of values without text, which are most of a log."""


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
    """Replaces the secrets of a text by ``[redacted]``."""
    return Redactor(environ).text(text)


def holds_redacted(value: Any, /) -> bool:
    """Whether a secret was removed from plain data."""
    texts: list[str] = []
    _collect(value, texts, 0)
    return any(REDACTED in text for text in texts)
