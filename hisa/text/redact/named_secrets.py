"""Secrets with a name: whoever reads sees ``{{secret:NAME}}`` in place of the value.

`forms` lists the forms in which programs may write a value; `Scrubber` replaces them by the name.
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
"""Matches the name of a secret."""
PLACEHOLDER = re.compile(r"\{\{\s?secret:\s?(" + NAME + r")\s?\}\}")
"""Matches the placeholder of a secret's value; group 1 is the name."""
_LEAST_ENCODED = 8
"""Least characters of a part of a base64 text that is searched for: a shorter one occurs in other
texts by chance (one in 64^7 of four billion characters has it)."""
_LEAST_BEGINNING = 3
"""Least characters of a value that count as its beginning at the end of a cut text: fewer reveal
nothing, or are there by chance."""


def placeholder(name: str) -> str:
    """Returns the placeholder of the secret with that name."""
    return "{{secret:" + name + "}}"


def is_placeholder_only(text: str) -> bool:
    """Whether a text has a placeholder, and beside placeholders nothing that could be secret."""
    rest, count = PLACEHOLDER.subn("", text)
    return count > 0 and not any(letter.isalnum() for letter in rest)


def forms(value: str) -> tuple[str, ...]:
    """Returns the forms in which programs may write a value, the longest first.

    These are the value as it is; escaped for JSON, Python, shells, addresses and pages; in
    hexadecimal; and in base64, alone or as part of something longer.
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
    """Yields the whole in base64, and the part that does not depend on what is around it."""
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
    """Replaces values, in any of their `forms`, by ``{{secret:NAME}}``.

    Args:
        values: values by name.
    """

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values: dict[str, str] = {}
        self._shown: dict[str, str] = {}
        for name, value in values.items():
            self.add(name, value)

    def add(self, name: str, value: str) -> Mapping[str, str]:
        """Add a value; returns the text that replaces each of its forms."""
        self.values[name] = value
        shown = dict.fromkeys(forms(value), placeholder(name))
        self._shown |= shown
        for compiled in ("_pattern", "_bytes"):
            self.__dict__.pop(compiled, None)
        return shown

    @property
    def shown(self) -> Mapping[str, str]:
        """The text that replaces each form."""
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
        """Returns the text without values; the same object if it has none."""
        return self._pattern.sub(lambda match: self._shown[match[0]], text)

    def without_beginning(self, text: str, /) -> str:
        """Returns a text that was cut, without the beginning of a value at its end."""
        for form, shown in self._shown.items():
            for length in range(min(len(form), len(text)), _LEAST_BEGINNING - 1, -1):
                if text.endswith(form[:length]):
                    return text[:-length] + shown
        return text

    def data(self, data: bytes, /) -> bytes:
        """Returns bytes without values, in UTF-8 and UTF-16."""
        pattern, shown = self._bytes
        return pattern.sub(lambda match: shown[match[0]], data)

    def find_names(self, text: str, /) -> tuple[str, ...]:
        """Returns the names of the secrets whose values are in a text."""
        names = {self._shown[match[0]] for match in self._pattern.finditer(text)}
        return tuple(sorted(name[len("{{secret:") : -2] for name in names))
