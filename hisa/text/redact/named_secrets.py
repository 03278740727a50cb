"""Secrets that are known by name: ``{{secret:NAME}}`` stands for the value wherever anybody reads.

The forms in which a value may be returned, and a scrubber that puts the name in their place.
"""

from __future__ import annotations

import base64
import html
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cached_property
from urllib.parse import quote, quote_plus

__all__ = ["NAME", "PLACEHOLDER", "Scrubber", "forms", "is_placeholder_only", "placeholder"]

NAME = r"[A-Za-z][A-Za-z0-9_.-]{0,63}"
"""What a secret may be called."""
PLACEHOLDER = re.compile(r"\{\{\s?secret:\s?(" + NAME + r")\s?\}\}")
"""A secret's name where its value is to be put in; group 1 is the name."""
_LEAST_ENCODED = 8
"""Characters of the shortest part of a base64 text that is looked for: a shorter one stands in
other texts by chance (one in 64^7 of four billion characters has it)."""
_LEAST_BEGINNING = 3
"""Characters of a value at the end of a text that was cut off: fewer are no secret, or chance."""


def placeholder(name: str) -> str:
    """Returns what stands for the secret of that name."""
    return "{{secret:" + name + "}}"


def is_placeholder_only(text: str) -> bool:
    """Whether a text holds a placeholder, and beside placeholders nothing that could be secret."""
    rest, count = PLACEHOLDER.subn("", text)
    return count > 0 and not any(letter.isalnum() for letter in rest)


def forms(value: str) -> tuple[str, ...]:
    """Returns a value as programs write it, the longest first.

    As it is, and as escaped in JSON, Python, shells, addresses and pages, in hexadecimal and in
    base64, alone or within something longer.
    """
    data = value.encode("utf-8", "surrogatepass")
    escaped = [
        json.dumps(value)[1:-1],
        json.dumps(value, ensure_ascii=False)[1:-1],
        json.dumps(json.dumps(value))[3:-3],
        repr(value)[1:-1],
        ascii(value)[1:-1],
        *(quoted for safe in ("", "/", "/:@!$&'()*+,;=") for quoted in _quote_for_url(value, safe)),
        html.escape(value),
        html.escape(value, quote=False),
        html.escape(value).replace("&#x27;", "&#39;"),
        shlex.quote(value).removeprefix("'").removesuffix("'"),
        re.sub(r"([^A-Za-z0-9_@%+=:,./-])", r"\\\1", value),  # as bash's printf %q
        data.hex(),
        data.hex().upper(),
        *_encode_base64(data),
    ]
    known = {form for form in (value, *escaped) if len(form) >= min(len(value), 4)}
    return tuple(sorted(known, key=lambda form: (-len(form), form)))


def _quote_for_url(value: str, safe: str) -> Iterator[str]:
    for quoted in (quote(value, safe=safe), quote_plus(value, safe=safe)):
        yield quoted
        yield re.sub("%[0-9A-F]{2}", lambda match: match[0].lower(), quoted)


def _encode_base64(data: bytes) -> Iterator[str]:
    """The whole in base64, and the part that is the same whatever stands before and after it."""
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        encoded_value = encode(data).decode("ascii")
        if len(encoded_value.rstrip("=")) >= _LEAST_ENCODED:
            yield encoded_value
            yield encoded_value.rstrip("=")
        for before in range(3):
            text = encode(bytes(before) + data).decode("ascii")
            first, last = -(-before * 8 // 6), (before + len(data)) * 8 // 6
            if last - first >= _LEAST_ENCODED:
                yield text[first:last]


class Scrubber:
    """Puts ``{{secret:NAME}}`` where a value stands, in any of its `forms`.

    Args:
        values: values by name.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values: dict[str, str] = {}
        self._shown: dict[str, str] = {}
        for name, value in values.items():
            self.add(name, value)

    def add(self, name: str, value: str) -> Mapping[str, str]:
        """Take one more value; returns the text that stands in place of each of its forms."""
        self.values[name] = value
        shown = dict.fromkeys(forms(value), placeholder(name))
        self._shown |= shown
        for compiled in ("_pattern", "_bytes"):
            self.__dict__.pop(compiled, None)
        return shown

    @property
    def shown(self) -> Mapping[str, str]:
        """The text that stands in place of each form."""
        return self._shown

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        longest = sorted(self._shown, key=lambda form: (-len(form), form))
        return re.compile("|".join(map(re.escape, longest)) or r"(?!)")

    @cached_property
    def _bytes(self) -> tuple[re.Pattern[bytes], Mapping[bytes, bytes]]:
        shown = {
            form.encode(coding, "surrogatepass"): replacement.encode(coding)
            for form, replacement in self._shown.items()
            for coding in ("utf-8", "utf-16-le", "utf-16-be")
        }
        longest = sorted(shown, key=lambda form: (-len(form), form))
        return re.compile(b"|".join(map(re.escape, longest)) or rb"(?!)"), shown

    def text(self, text: str, /) -> str:
        """The text without values; itself where it holds none."""
        return self._pattern.sub(lambda match: self._shown[match[0]], text)

    def without_beginning(self, text: str, /) -> str:
        """The text without the beginning of a value at its end, where it was cut off."""
        for form, shown in self._shown.items():
            for length in range(min(len(form), len(text)), _LEAST_BEGINNING - 1, -1):
                if text.endswith(form[:length]):
                    return text[:-length] + shown
        return text

    def data(self, data: bytes, /) -> bytes:
        """Bytes without values, in UTF-8 and UTF-16."""
        pattern, shown = self._bytes
        return pattern.sub(lambda match: shown[match[0]], data)

    def find_names(self, text: str, /) -> tuple[str, ...]:
        """Names of the secrets whose values a text holds."""
        names = {self._shown[match[0]] for match in self._pattern.finditer(text)}
        return tuple(sorted(name[len("{{secret:") : -2] for name in names))
