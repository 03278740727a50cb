"""Explains why data does not fit a form: the key, what is wrong, and which keys there are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, get_args

from pydantic import BaseModel, ValidationError

from hisa.errors import close_names
from hisa.text.prompt_text import one_line
from hisa.text.redact import redact

__all__ = ["explain", "keys_at"]

Place: TypeAlias = Sequence[int | str]
"""The place of a key: the names and numbers that lead to it from the root."""
_VALUE_CHARACTERS = 80
"""Most characters of a wrong value that are shown; chosen by hand: enough to recognise it."""


def keys_at(form: type[BaseModel], place: Place) -> list[str]:
    """Returns all keys that a form has at the place of a key, as they are written."""
    forms = [form]
    for name in place[:-1]:
        fields = [field for form in forms if (field := _field(form, name)) is not None]
        named = [form for form in forms if form.__name__ == name]
        if fields:
            forms = [inner for field in fields for inner in _forms(field)]
        elif named:
            forms = named  # the form of several that pydantic names
    names = (field.alias or name for form in forms for name, field in form.model_fields.items())
    return list(dict.fromkeys(names))


def explain(
    error: ValidationError,
    form: type[BaseModel],
    *,
    noun: str = "key",
    source: Callable[[Place], str] = lambda _: "",
    most: int = 5,
) -> str:
    """Returns the keys that do not fit and why, on one line.

    Args:
        error: the error of pydantic.
        form: the form that the data was read into.
        noun: the word for its keys in the message.
        source: returns where the key at a place was given, such as a line of a file.
        most: most keys that are named.
    """
    faults, items = [], error.errors(include_url=False)
    deepest = max((item["loc"] for item in items), key=len)
    for item in items:
        if item["type"] == "too_short" and item["loc"] == deepest[: len(item["loc"])] != deepest:
            continue  # it is too short only because its wrong item does not count
        fault, position = _fault(item, form, noun), source(item["loc"])
        faults.append(f"{position}: {fault}" if position else fault)
    faults = list(dict.fromkeys(faults))
    more = f"; and {len(faults) - most} more" if len(faults) > most else ""
    return redact("; ".join(faults[:most]) + more)


def _fault(item: Any, form: type[BaseModel], noun: str) -> str:
    place = item["loc"]
    where = ".".join(map(str, place))
    match item["type"]:
        case "extra_forbidden":
            keys = keys_at(form, place)
            near = close_names(str(place[-1]), keys)
            return f"{where}: no such {noun}{near}; there are {', '.join(keys)}"
        case "missing":
            return f"{where}: is missing"
        case "value_error":  # raised by HiSA, with the value in the text if it helps
            return f"{where}: {item['ctx']['error']}".removeprefix(": ")
        case _:
            message = re.sub(r"^Input should be\b", "must be", item["msg"])
            return f"{where} = {_shown(item['input'])}: {message}".removeprefix(" = ")


def _shown(value: object) -> str:
    try:
        text = one_line(repr(value))
    except ValueError:  # a number too large to print
        return "a number"
    return text if len(text) <= _VALUE_CHARACTERS else text[: _VALUE_CHARACTERS - 1] + "…"


def _field(form: type[BaseModel], name: int | str) -> Any:
    for own, field in form.model_fields.items():
        if name in (own, field.alias):
            return field.annotation
    return None


def _forms(kind: Any) -> Iterator[type[BaseModel]]:
    """Yields the forms in an annotation, at any depth."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        yield kind
    for inner in get_args(kind):
        yield from _forms(inner)
