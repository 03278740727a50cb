"""``hisa tools new``: a plug-in package that works at once, with a tool, test and entry point."""

from __future__ import annotations

import importlib.util
import keyword
import re
import shlex
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template

import click

from hisa.cli.out import say
from hisa.errors import UsageError
from hisa.tools.registry import discover

__all__ = ["check_name", "fill_template", "install_command", "module_of", "new_folder"]
__all__ += ["new_tool", "write_plugin"]

_NAME = re.compile(r"[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*")
_LONGEST = 40
"""Characters of a name: a tool's name stands in prompts, and servers refuse more than 64."""


@click.command("new")
@click.argument("name")
@click.option(
    "--dir", "parent", default=".", metavar="DIR", help="Where to make it (default: here)."
)
def new_tool(name: str, parent: str) -> None:
    """Write a small package with a tool called NAME, and print the next steps.

    \b
    hisa tools new word-count
    hisa tools new word-count --dir plugins
    """
    folder, module = write_plugin(name, Path(parent)), module_of(name)
    shown = shlex.quote(str(folder) if folder.is_absolute() else f"./{folder}")
    say(f"wrote {folder}: edit {module}.py; models read only its signature and docstring")
    say("next:")
    for line in (
        install_command(shown),
        f"hisa tools check {module}",
        f"hisa tools run {module} path=/etc/os-release",
        'hisa run "Say how many lines /etc/os-release has." --model NAME',
    ):
        say(f"  {line}")


def check_name(name: str) -> None:
    """Refuse a name that cannot be that of a package, a module and a tool at once.

    Raises:
        UsageError: what is wrong with the name, and what is allowed.
    """
    module = module_of(name)
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise UsageError(
            f"name {name[:80]!r}: expected lower-case letters, digits and single hyphens, a letter "
            f"first, at most {_LONGEST} characters",
            fix="hisa tools new word-count",
        )
    if keyword.iskeyword(module) or importlib.util.find_spec(module) is not None:
        raise UsageError(
            f"name {name!r}: a Python module {module!r} already exists",
            fix=f"hisa tools new my-{name.replace('_', '-')}",
        )
    if any(tool.name == module for tool in discover()[0]):
        message = f"name {name!r}: a tool {module!r} is already installed"
        raise UsageError(message, fix=f"hisa tools show {module}")


def module_of(name: str) -> str:
    """Returns the name of the module, which is also the tool's."""
    return name.replace("-", "_")


def new_folder(path: Path) -> Path:
    """Make a folder, and return its path.

    Raises:
        UsageError: it exists, or cannot be made.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir()
    except FileExistsError:
        raise UsageError(f"{path} already exists; it was not changed") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be made: {error.strerror}") from error
    return path


def write_plugin(name: str, parent: Path) -> Path:
    """Write the package into a new folder of that name in a parent, and return the folder.

    Raises:
        UsageError: the name is not allowed, or the folder exists.
    """
    check_name(name)
    folder, module = new_folder(parent / name), module_of(name)
    values = {"package": name.replace("_", "-"), "module": module}
    fill_template(folder / "pyproject.toml", "pyproject.toml", values)
    fill_template(folder / f"{module}.py", "module.py", values)
    fill_template(folder / "README.md", "README.md", values)
    (folder / "tests").mkdir()
    fill_template(folder / "tests" / f"test_{module}.py", "test.py", values)
    return folder


def fill_template(path: Path, template: str, values: Mapping[str, str]) -> None:
    """Write a file from one of the templates.

    Args:
        path: the file to write.
        template: its name in ``scaffold/templates``, without ".txt".
        values: what replaces "$NAME" in it, by name.
    """
    source = files("hisa.plugins.toolkits.scaffold").joinpath("templates", f"{template}.txt")
    path.write_text(Template(source.read_text("utf-8")).substitute(values), "utf-8")


def install_command(shown: str) -> str:
    """Returns the command that installs a package from its folder.

    No network is needed if the packages' build backend is installed beside HiSA.
    """
    alone = importlib.util.find_spec("hatchling") is not None
    pip = f"{shlex.quote(sys.executable)} -m pip"
    return f"{pip} install -e {shown} --no-deps" + " --no-build-isolation" * alone
