"""Prompts are files: those that ship in ``prompts/``, and a user's own in ``prompts.folder``.

A user's file replaces the one with the same name; the other prompts are those that ship. Each run
and each command has its own `Prompts`: `own_prompts` sets them for all that is called within, and
`render` uses them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from hisa.errors import ConfigError, close_names

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["SHIPPED", "Prompts", "data_folder", "own_prompts", "render"]

_COMMENT = re.compile(r"\{#.*?#\}", re.S)
_HASH = 16
"""Hexadecimal digits of a hash that are logged: enough to distinguish versions of a file."""


def data_folder(name: str) -> Path:
    """Returns the folder ``prompts`` or ``patterns_db``, of the wheel or of a checkout."""
    package = Path(__file__).resolve().parent.parent
    packed = package / "_data" / name
    return packed if packed.is_dir() else package.parent / name


class Prompts:
    """The prompts of a run; the files are read once, when the first one is used.

    Args:
        folder: the folder with a user's own files; None: all prompts are those that ship.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder.expanduser() if folder else None

    @cached_property
    def shipped(self) -> Mapping[str, str]:
        """The files that ship, by name."""
        files = sorted(data_folder("prompts").glob("*.md"))
        return {file.name: file.read_text("utf-8") for file in files}

    @cached_property
    def own(self) -> Mapping[str, str]:
        """The user's files, by name.

        Raises:
            ConfigError: the folder or a file in it cannot be used; the text names both.
        """
        if self._folder is None:
            return {}
        try:
            paths = sorted(path for path in self._folder.iterdir() if path.name[0] != ".")
        except OSError as error:
            raise self._build_error(
                f"{error.strerror}", "name a folder that contains prompts"
            ) from error
        return {path.name: self._check_file(path) for path in paths}

    @property
    def hashes(self) -> dict[str, str]:
        """The beginning of the SHA-256 of each file, by name.

        Raises:
            ConfigError: as for ``own``.
        """
        files = {**self.shipped, **self.own}
        return {
            name: hashlib.sha256(text.encode()).hexdigest()[:_HASH] for name, text in files.items()
        }

    def render(self, name: str, values: Mapping[str, object]) -> str:
        """See `render`."""
        from jinja2 import TemplateError, TemplateSyntaxError

        file = f"{name}.md"
        try:
            return self._templates.get_template(file).render(values).strip()
        except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
            if file in self.own:
                raise self._build_error(f"{file}: {error}", self._compare(file)) from error
            line = f", line {error.lineno}" if isinstance(error, TemplateSyntaxError) else ""
            message = f"{data_folder('prompts') / file}{line}: {error}"
            raise ConfigError(message, fix="repair that file, which was changed") from error

    @cached_property
    def _templates(self) -> Environment:
        from jinja2 import DictLoader

        environment = _syntax()
        environment.loader = DictLoader({**self.shipped, **self.own})
        return environment

    def _check_file(self, path: Path) -> str:
        """Returns the text of a user's file, checked to fit in place of the one that ships."""
        from jinja2 import TemplateSyntaxError

        name, shipped = path.name, self.shipped.get(path.name)
        if shipped is None:
            near, names = close_names(name, list(self.shipped)), ", ".join(self.shipped)
            raise self._build_error(f"no prompt is called {name!r}{near}", f"rename it: {names}")
        text = self._text(path)
        try:
            used = _names(text)
        except TemplateSyntaxError as error:
            message = f"{name}, line {error.lineno}: {error.message}"
            raise self._build_error(message, self._compare(name)) from error
        if not _COMMENT.sub("", text).strip():
            raise self._build_error(f"{name} is empty", f"write a prompt, or rm {path}")
        allowed = _names(shipped)
        if unknown := used - allowed:
            known = f"it may use {_braces(allowed)}" if allowed else "it may use no values"
            raise self._build_error(f"{name} uses {_braces(unknown)}; {known}", self._compare(name))
        return text

    def _text(self, path: Path) -> str:
        try:
            if not path.is_file():
                raise self._build_error(f"{path.name} is not a file", self._compare(path.name))
            return path.read_bytes().decode("utf-8-sig")  # some editors write a byte-order mark
        except (OSError, UnicodeDecodeError) as error:
            message = f"{path.name} cannot be read as UTF-8: {error}"
            raise self._build_error(message, f"save {path} as UTF-8") from error

    def _build_error(self, message: str, fix: str) -> ConfigError:
        return ConfigError(f"prompts.folder = {str(self._folder)!r}: {message}", fix=fix)

    def _compare(self, name: str) -> str:
        return f"diff {data_folder('prompts') / name} {self._folder}/{name}"


def _syntax() -> Environment:
    """Returns an environment in which an unknown name is an error and templates run no code."""
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )


def _names(text: str) -> set[str]:
    """Returns the values that a prompt uses."""
    from jinja2.meta import find_undeclared_variables

    return find_undeclared_variables(_syntax().parse(text))


def _braces(names: set[str]) -> str:
    return ", ".join(f"{{{{ {name} }}}}" for name in sorted(names))


SHIPPED = Prompts()
"""The prompts that ship: read and parsed once for all runs of a process."""
_present: ContextVar[Prompts] = ContextVar("prompts", default=SHIPPED)


@contextmanager
def own_prompts(prompts: Prompts) -> Iterator[Prompts]:
    """Make `render` use these prompts within the ``with`` block, and in tasks started there."""
    before = _present.get()
    _present.set(prompts)
    try:
        yield prompts
    finally:
        _present.set(before)  # without a token, as another task may close the generator


def render(name: str, /, **values: object) -> str:
    """Returns a prompt with its values filled in; ``name`` is the file's without ``.md``.

    Raises:
        ConfigError: the file cannot be used; the text names it.
    """
    return _present.get().render(name, values)
