"""The folder in which a person reviews what a build made, and the package that comes of it.

The folder holds ``toolkit.json`` and the newest program of each function; it is no package, and can
be neither installed nor imported.
"""

from __future__ import annotations

from pathlib import Path

from hisa.errors import UsageError
from hisa.plugins.toolkits.builder.build_records import Build, Built
from hisa.plugins.toolkits.builder.built_toolkit import DATA
from hisa.plugins.toolkits.scaffold import fill_template, new_folder

__all__ = ["accept", "write_review"]


def write_review(folder: Path, build: Build) -> None:
    """Write a build into a folder that is there and empty."""
    for built in build.functions:
        _program(folder, built).write_bytes(_code(built))
    (folder / DATA).write_bytes(build.model_dump_json(indent=1).encode("utf-8", "replace"))


def _program(folder: Path, built: Built) -> Path:
    """Returns the file of a function's newest program; as a module it cannot be imported."""
    return folder / f"{built.described.name}.guest.py"


def _code(built: Built) -> bytes:
    return built.code.encode("utf-8", "replace")


def accept(review: Path) -> tuple[Path, Build, list[str]]:
    """Write an installable package of what passed, beside the review folder.

    Returns its folder, what is in it, and what was left out, each with the reason.

    Raises: UsageError: the folder is no review folder, or nothing in it passed.
    """
    try:
        build = Build.model_validate_json((review / DATA).read_bytes())
    except (OSError, ValueError) as error:
        message = f"{review} holds no build: {str(error)[:300]}"
        raise UsageError(message, fix="name a folder that `hisa tools build` wrote") from error
    taken, left_out = [], []
    for built in build.functions:
        path = _program(review, built)
        if not built.passed:
            left_out.append(f"{built.described.name} failed its tests")
        elif not path.is_file() or path.read_bytes() != _code(built):
            left_out.append(f"{built.described.name} was changed after its tests ran")
        else:
            taken.append(built)
    if not taken:
        reason = "; ".join(left_out) or "no function was tried"
        raise UsageError(f"{review} has nothing to accept: {reason}")
    package, module = f"{build.kit}-tools", f"{build.kit}_tools"
    folder = new_folder(review.resolve().parent / package)
    (folder / module).mkdir()
    values = {"package": package, "module": module, "kit": build.kit}
    fill_template(folder / "pyproject.toml", "built_pyproject.toml", values)
    fill_template(folder / module / "__init__.py", "built_init.py", values)
    accepted = build.model_copy(update={"functions": taken})
    (folder / module / DATA).write_text(accepted.model_dump_json(indent=1), "utf-8")
    return folder, accepted, left_out
