"""Groups of commands that installed packages add to, by the entry points ``hisa.commands``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import click

from hisa.errors import HisaError, PluginFailed, UsageError, close_names
from hisa.machine import plugins
from hisa.machine.plugins import Command

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

__all__ = ["PRESET", "OpenGroup", "load_announced", "pass_sections"]

PRESET = "Settings of a paper: hisa-paper or gta1; hisa --preset NAME settings cites their source."


class OpenGroup(click.Group):
    """Knows its commands by name and help, and imports one only when it is called.

    Args:
        own: HiSA's own commands, in the order in which they are listed; without them the list is
            sorted.
        prefix: begins the names of the announced commands that belong here, such as ``tools.``.
    """

    def __init__(
        self, *args: Any, own: Mapping[str, Command] | None = None, prefix: str = "", **named: Any
    ) -> None:
        super().__init__(*args, **named)
        self._own = own or {}
        self._prefix = prefix

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse, and keep all words, which show whether help is wanted."""
        ctx.meta.setdefault("hisa.words", tuple(args))
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find a command; an unknown name is refused with the nearest known ones."""
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            ctx.fail(f"No such command {name!r}.{close_names(name, self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def _find_announced(self) -> dict[str, EntryPoint]:
        by_name: dict[str, EntryPoint] = {}
        for point in plugins.points("commands"):
            name = point.name.removeprefix(self._prefix)
            is_own = name in self._own or name in self.commands
            if point.name == self._prefix + name and "." not in name and not is_own:
                by_name.setdefault(name, point)
        return by_name

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Returns the names in the order in which help lists them."""
        announced = self._find_announced()
        if not self._own:
            return sorted({*self.commands, *announced})
        names = list(self._own)
        waiting = {name: _after(point) for name, point in announced.items()}
        while ready := [name for name, after in waiting.items() if after in names]:
            for name in ready:
                names.insert(names.index(waiting.pop(name)) + 1, name)
        return [*names, *waiting]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return a command; None if there is none of that name.

        Raises:
            PluginFailed: it cannot be imported; names the package.
        """
        if cmd_name in self._own:
            command: click.Command = self._own[cmd_name].load()
            return command
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        point = self._find_announced().get(cmd_name)
        return None if point is None else _import_command(point)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands; one whose package fails to load is marked, and the rest are listed."""
        names, announced = self.list_commands(ctx), self._find_announced()
        limit = formatter.width - 6 - max(map(len, names))
        rows = []
        for name in names:
            if name in self._own:
                rows.append((name, self._own[name].help))
            elif name in self.commands:
                rows.append((name, self.commands[name].get_short_help_str(limit)))
            else:
                rows.append((name, self._help(announced[name], limit)))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def _help(self, point: EntryPoint, limit: int) -> str:
        try:
            record = _record(point)
        except HisaError as error:
            return f"FAILED TO LOAD: {error}"
        if isinstance(record, Command):
            if self._own:
                return record.help
            record = click.Command(None, help=record.help)
        return record.get_short_help_str(limit)


def pass_sections(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Gives a command these sections of the settings as its first arguments, in this order."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            settings = click.get_current_context().obj
            return command(*(getattr(settings, n) for n in names), *arguments, **options)

        return update_wrapper(call, command)

    return decorate


def load_announced(name: str, wish: str) -> Callable[..., Any]:
    """Returns the function that a package announces for a part of a command, such as an option.

    Args:
        name: name of the entry point, such as ``run.attempts``.
        wish: the option that needs it, as the error quotes it.

    Raises:
        PluginFailed: it cannot be imported; names the package.
        UsageError: no package announces it.
    """
    point = plugins.find("commands", name)
    if point is None:
        raise UsageError(
            f"{wish}: no installed package announces {name!r} in hisa.commands", fix="hisa doctor"
        )
    function: Callable[..., Any] = plugins.load("commands", point)
    return function


def _record(point: EntryPoint) -> Command | click.Command:
    """Load the announced object: usually a record, which imports nothing."""
    record = plugins.load("commands", point)
    if not isinstance(record, Command | click.Command):
        raise PluginFailed(
            f"{plugins.describe_point('commands', point)} is a {type(record).__name__}, but must "
            "be a click.Command or a hisa.machine.plugins.Command"
        )
    return record


def _after(point: EntryPoint) -> str:
    try:
        record = _record(point)
    except HisaError:
        return ""
    return record.after if isinstance(record, Command) else ""


def _import_command(point: EntryPoint) -> click.Command:
    record = _record(point)
    if isinstance(record, click.Command):
        return record
    with plugins.blaming_package("commands", point):
        command: click.Command = record.load()
    return command
