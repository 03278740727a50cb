"""Finds secrets by the name before them: ``PASSWORD=…``, ``"api_key": …``, ``--token …``.

Every expression here is for text in lower case.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

__all__ = [
    "Span",
    "basic",
    "bearer",
    "find_flag_values",
    "find_named_values",
    "header",
    "is_secret_field",
    "is_secret_flag",
    "secret_values",
    "spoken_secret",
]

Span = tuple[int, int]
"""Start and end of a secret in a text."""

_MIN_VARIABLE = 8
"""Least characters of a variable's value: shorter ones are words such as "none" or "1"."""
_VARIABLE = re.compile(
    r"SECRET|PASSW|PASSPHRASE|CREDENTIAL|PASS(?:_|$)|_PWD$|TOKENS?(?:_|$)|KEYS?(?:_|$)"
    r"|CREDS(?:_|$)|COOKIE|DATABASE_URL|(?:_|^)DSN$|CONN(?:ECTION)?_?STR",
    re.IGNORECASE,
)
_DUMMIES = re.compile(
    r"pass(?:word|wort)|changeme|placeholder|required|optional|disabled|undefined|anything|whatever"
    r"|localhost|(?:no|not)[-_ ](?:key[-_ ])?(?:needed|required)",
    re.IGNORECASE,
)
"""Values that mean "none" for a server without a key: words that any text may have."""

_KEY = (
    r"passw(?:or)?d|passphrase|passcode|passwort|pass(?![a-z])|pwd(?![a-z])|secret|token"
    r"|sharedaccess(?:key|signature)|credentials?(?![a-z])|creds(?![a-z])|key(?![a-rt-z])"
    r"|database[-_]?url|connection[-_]?string|dsn(?![a-z])|psk(?![a-z])"
)
"""Begins with plain letters, so that a search is fast; `_BEFORE` is checked afterwards."""
_BEFORE = {
    # "compass" and "bypass" hold no password.
    "pass": re.compile(r"(?:^|[^a-z]|(?:db|pg|ssh|smtp|user|root|mysql|admin))$"),
    "pwd": re.compile(r"(?:^|[^a-z])$"),
    "dsn": re.compile(r"(?:^|[^a-z])$"),
    "key": re.compile(
        r"(?:api|access|account|private|signing|encryption|master|auth|storage)[-_ ]?$"
    ),
}
"""The text that must be before a word with many meanings."""
_QUOTED = (
    r"(?P<escapes>\\{0,15})(?P<quote>[\"'])(?!(?P=escapes)(?P=quote))"
    r"(?P<quoted>[^\n]{1,4096}?)(?<!\\)(?P=escapes)(?P=quote)"
)
"""Up to the quote with the same escapes as the first one: JSON within JSON has others between."""
_BARE = r"(?P<bare>(?![\[(])(?:[^\s\"'\\<>;&]|\\(?![nrt\"'\\])){3,4096})"
_NAMED = re.compile(
    rf"(?P<key>{_KEY})(?P<rest>(?:s(?![a-z])|[-_](?!store=)[a-z0-9_-]{{1,40}})?)"
    rf"[\"'\\\]]{{0,18}}[ \t]{{0,3}}(?::=|=>|[:=：＝]|(?P<tag>>))[ \t]{{0,3}}(?:{_QUOTED}|{_BARE})"
)
_TAG = re.compile(r"<[\w:.-]{0,40}$")
_FLAG = re.compile(rf"-(?P<key>{_KEY})[ \t]{{1,9}}(?![-\s])(?:{_QUOTED}|{_BARE})")
_SPOKEN = re.compile(
    r"(?:passw(?:or)?d|passphrase|passcode|(?P<other>(?:api|access)[ -]?key|token|secret))"
    r"[ \t]{1,3}(?:for[ \t]{1,3}\S{1,60}[ \t]{1,3})?(?P<verb>(?:is|was|of)[ \t]{1,3})?"
    r"(?:\\{0,3}[\"'“‘`](?P<quoted>[^\s\"'“”’`\\]{3,200})[\"'”’`\\]"
    r"|(?P<bare>[a-z0-9][^\s\"'\\<>]{3,200}))"
)
_LIKE_A_KEY = re.compile(r"(?=.*\d)(?=.*[a-z])[^./~]{8}")
_FIELD = re.compile(rf"(?P<key>{_KEY})s?$")
_ABOUT = re.compile(
    r"(?:.*[-_])?(?:env|name|file|path|dir|folder|field|count|limit|in|out|type|url|hint|label"
    r"|length|policy|expire|expiry|expiration|prompt|box|estimate|usage|budget|max|min|total|per"
    r"|size|char)s?"
)
"""Last words of names that are about a secret but do not hold it: ``api_key_env``."""
_WORD = re.compile(
    r"none|null|nil|true|false|str|string|bytes|int|optional|required|undefined|self|field|input"
    r"|prompt|empty|wrong|values?|text|number|box"
)
"""Words after a secret's name that are not a secret."""
_REFERENCE = re.compile(
    r"\[redacted|(?:…|\\{1,15}u2026)$|\$[a-z_]+$|\$[({]|[{<%]|[*•.…]{3}|os\.|\w+(?:\.\w+)*\(.*\)?$",
    re.DOTALL,
)
"""A place where a secret is inserted, or was already removed."""
_BEARER = re.compile(r"bearer\s{1,3}([\w.~+/=-]{6,4096})")
_BASIC = re.compile(
    r"(?:basic\s{1,3}|\bauth[\"'\\]{1,16}:\s{0,3}[\"'\\]{1,16})([A-Za-z0-9+/_-]{6,4096}={0,2})",
    re.IGNORECASE,
)
_HEADER = re.compile(
    r"authorization[\"'\\]{0,17}[ \t]{0,3}[:=][ \t]{0,3}[\"'\\]{0,17}"
    r"(?:(?:basic|bearer|token|digest|negotiate|apikey)\s{1,3})?(?P<value>[^\s\"'\\]{6,4096})"
    r"|(?<![a-z])(?:set-)?cookie[\"'\\]{0,17}[ \t]{0,3}:[ \t]{0,3}[\"'\\]{0,17}"
    r"(?P<cookie>[\w.-]{1,80}=[^\n\v\"'\\]{1,4096})"
)


def _read_value(match: re.Match[str]) -> tuple[Span, str, bool]:
    """Returns the span of a value, the value, and whether it is in quotes."""
    quoted = match["quoted"] is not None
    start, end = match.span("quoted" if quoted else "bare")
    value = match.string[start:end]
    if not quoted:  # punctuation at the end belongs to the sentence
        value = value.rstrip(",.)]}:!?`")
    return (start, start + len(value)), value.strip(), quoted


def _is_value(value: str) -> bool:
    return bool(value) and not _WORD.fullmatch(value) and not _REFERENCE.match(value)


def find_named_values(text: str) -> Iterator[Span]:
    """Yields values after a name and ``=``, ``:`` or ``=>``."""
    for match in _NAMED.finditer(text):
        span, value, _ = _read_value(match)
        about = _is_about(match["key"], match["rest"], value) or not _is_tag(match)
        if not about and _is_secret_name(match) and _is_value(value):
            yield span


def _is_secret_name(match: re.Match[str]) -> bool:
    before = _BEFORE.get(match["key"])
    start = match.start("key")
    return before is None or before.search(match.string[max(0, start - 12) : start]) is not None


def _is_tag(match: re.Match[str]) -> bool:
    """Whether a name before ``>`` is the name of an element; True before anything else."""
    start = match.start("key")
    before = match.string[max(0, start - 41) : start]
    return match["tag"] is None or _TAG.search(before) is not None


def _is_about(key: str, rest: str, value: str) -> bool:
    """Whether the name says something about a secret, or the value cannot be one."""
    if rest and _ABOUT.fullmatch(rest):
        return True
    if key == "token" and value.replace(".", "").isdigit():
        return True
    return key == "pwd" and value.startswith(("/", "~"))


def find_flag_values(text: str) -> Iterator[Span]:
    """Yields values after a flag of a command: ``--password …``."""
    for match in _FLAG.finditer(text):
        word = text[max(0, match.start() - 60) : match.end("key")].split()[-1].lstrip("\"'`([{,\\")
        span, value, _ = _read_value(match)
        if is_secret_flag(word) and _is_value(value):
            yield span


def spoken_secret(text: str) -> Iterator[Span]:
    """Yields passwords in a sentence: in quotes, or with characters that are not letters.

    After words with other meanings, such as "token", a verb and a value with letters and digits
    are required.
    """
    for match in _SPOKEN.finditer(text):
        span, value, quoted = _read_value(match)
        if match["other"] and not (match["verb"] and _LIKE_A_KEY.match(value)):
            continue
        if _is_value(value) and (quoted or not value.replace("-", "").isalpha()):
            yield span


def header(text: str) -> Iterator[Span]:
    """Yields values of the headers Authorization and Cookie."""
    for match in _HEADER.finditer(text):
        group = "value" if match["value"] is not None else "cookie"
        if not _REFERENCE.match(match[group]):
            yield match.span(group)


def bearer(text: str) -> Iterator[Span]:
    """Yields bearer tokens; a short plain word after "bearer" is part of a sentence."""
    for match in _BEARER.finditer(text):
        value = match[1]
        if len(value) >= 20 or not value.rstrip(".").isalpha():
            yield match.span(1)


def basic(text: str) -> Iterator[Span]:
    """Yields credentials of Basic authentication: text that decodes to ``user:password``."""
    for match in _BASIC.finditer(text):
        try:
            pair = base64.b64decode(match[1] + "=" * (-len(match[1]) % 4), altchars=b"-_")
        except (binascii.Error, ValueError):
            continue
        if b":" in pair and all(byte >= 0x20 for byte in pair):
            yield match.span(1)


def is_secret_field(name: str) -> bool:
    """Whether a field of structured data with this name holds a secret."""
    match = _FIELD.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    return match is not None and _is_secret_name(match)


def is_secret_flag(word: str) -> bool:
    """Whether the word after this one in a command is a secret."""
    return word.startswith("-") and "=" not in word and is_secret_field(word)


def secret_values(environ: Mapping[str, str], names: frozenset[str]) -> set[str]:
    """Returns the values of variables that have a secret's name, or are in ``names``.

    Left out are values of fewer than 8 characters, values of one repeated character, words for
    "none", and names of existing files.
    """
    values = {
        value.strip()
        for name, value in environ.items()
        if name in names or (_VARIABLE.search(name) and name not in ("PWD", "OLDPWD"))
    }
    return {value for value in values if _is_worth_hiding(value)}


def _is_worth_hiding(value: str) -> bool:
    if len(value) < _MIN_VARIABLE or len(set(value)) == 1 or _DUMMIES.fullmatch(value):
        return False
    return not (value.startswith(("/", "~/")) and _exists(value))


def _exists(path: str) -> bool:
    try:
        return Path(path).expanduser().exists()
    except (OSError, ValueError, RuntimeError):
        return False
