"""Tools whose work a program inside the machine does; HiSA makes the wrapper from data.

The description gives name, arguments and documentation; nothing that a model wrote is imported or
executed on this side. An accepted package is this line and a file of data::

    toolkit = built_toolkit("my_package")

The folder that a person reviews holds that data and the newest program of each function; it is no
package, and can be neither installed nor imported.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from hisa.errors import DeveloperError, ToolFailed, UsageError
from hisa.machine.patience import patience
from hisa.plugins.toolkits.builder.build_records import (
    TYPES,
    Build,
    BuiltFunction,
    FunctionDescription,
    Parameter,
)
from hisa.plugins.toolkits.guest_call import call_guest
from hisa.plugins.toolkits.tools_new import fill_template, new_folder
from hisa.protocols import Environment, Outcome
from hisa.text.prompt_text import ends, printable
from hisa.tools.base import ToolContext
from hisa.tools.toolkit import Toolkit
from hisa.tools.traits import Needs, tool

__all__ = [
    "Answer",
    "accept_review",
    "built_toolkit",
    "call_program",
    "wrap_program",
    "write_review",
]

_DATA = "toolkit.json"
"""The file of a review folder, and of a package, that holds a `Build`."""
_CALL_SECONDS = 60.0
"""Time limit of one call of a program; the same as for HiSA's own guest programs."""
Function = Callable[..., Awaitable[Outcome]]


@dataclass(frozen=True)
class Answer:
    """The result of a call: a value, or why there is none.

    ``refused``: the call cannot be done, in the program's words; ``broke``: it has a defect.
    """

    value: Any = None
    refused: str = ""
    broke: str = ""


async def call_program(
    environment: Environment,
    code: str,
    function: str,
    arguments: Mapping[str, Any],
    *,
    seconds: float = 30.0,
) -> Answer:
    """Runs a function of a program, on the machine and nowhere else.

    Args:
        environment: the machine.
        code: the program's source.
        function: the name of a function that it defines.
        arguments: its arguments by name, as plain JSON data.
        seconds: time limit on an idle machine; `patience` stretches it on a busy one.

    Raises:
        EnvironmentFailed: the machine does not answer.
    """
    limit = patience(seconds)
    try:
        call = {"code": code, "given": dict(arguments), "limit": limit}
        answer = await call_guest(environment, "built_function", function, seconds=limit, **call)
        json.dumps(answer)
    except ToolFailed as error:
        return Answer(broke=printable(str(error)))
    except RecursionError:
        return Answer(broke="the answer is nested too deep")
    match answer:
        case {"value": value}:
            return Answer(value)
        case {"refused": str(why)} if why:
            return Answer(refused=ends(printable(why), 2000))
        case {"broke": str(why)}:
            return Answer(broke=ends(printable(why), 2000))
        case _:
            return Answer(broke="its answer has an unknown form")


def wrap_program(described: FunctionDescription, code: str = "") -> Function:
    """Returns a function with the description's signature that has a program do the work."""
    name = described.name

    async def call(*, context: ToolContext, **arguments: Any) -> Outcome:
        answer = await call_program(
            context.environment, code, name, arguments, seconds=_CALL_SECONDS
        )
        if answer.refused or answer.broke:
            raise ToolFailed(answer.refused or f"{name} broke: {answer.broke}")
        value = answer.value
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return Outcome(ok=True, output=text)

    order = sorted(described.parameters, key=lambda parameter: not parameter.required)
    own = inspect.Parameter("context", inspect.Parameter.KEYWORD_ONLY, annotation=ToolContext)
    signature = inspect.Signature([*map(_build_parameter, order), own])
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{described.summary.strip()}\n\nIt returns {described.returns.strip()}"
    call.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    setattr(call, "__signature__", signature)  # noqa: B010 - no attribute of functions, to mypy
    return tool(effects=described.effects, seconds=2 * _CALL_SECONDS)(call)


def _build_parameter(parameter: Parameter) -> inspect.Parameter:
    kind = TYPES[parameter.type]
    return inspect.Parameter(
        parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if parameter.required else None,
        annotation=Annotated[
            kind if parameter.required else kind | None, Field(description=parameter.description)
        ],
    )


def built_toolkit(package: str) -> Toolkit:
    """Loads the toolkit of a package by its import name.

    Raises:
        DeveloperError: its data are damaged.
    """
    try:
        build = Build.model_validate_json(files(package).joinpath(_DATA).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise DeveloperError(f"package {package!r}: {_DATA} cannot be read: {error}") from error
    functions = tuple(wrap_program(built.described, built.code) for built in build.functions)
    needs = Needs(frozenset({"execute"}), (build.app,))
    return Toolkit(build.kit, build.app, functions, needs)


# The folder to review ---------------------------------------------------------------------------


def write_review(folder: Path, build: Build) -> None:
    """Write a build into an empty folder."""
    for built in build.functions:
        _program_path(folder, built).write_bytes(_encode_code(built))
    (folder / _DATA).write_bytes(build.model_dump_json(indent=1).encode("utf-8", "replace"))


def _program_path(folder: Path, built: BuiltFunction) -> Path:
    """Returns the file of a function's newest program; as a module it cannot be imported."""
    return folder / f"{built.described.name}.guest.py"


def _encode_code(built: BuiltFunction) -> bytes:
    return built.code.encode("utf-8", "replace")


def accept_review(review: Path) -> tuple[Path, Build, list[str]]:
    """Write an installable package of what passed, beside the review folder.

    Returns:
        The package's folder, the build in it, and a line with the reason for each function that
        was left out.

    Raises:
        UsageError: the folder is not a review folder, or nothing in it passed.
    """
    try:
        build = Build.model_validate_json((review / _DATA).read_bytes())
    except (OSError, ValueError) as error:
        message = f"{review} holds no build: {str(error)[:300]}"
        raise UsageError(message, fix="name a folder that `hisa tools build` wrote") from error
    accepted_functions, left_out = [], []
    for built in build.functions:
        path = _program_path(review, built)
        if not built.passed:
            left_out.append(f"{built.described.name} failed its tests")
        elif not path.is_file() or path.read_bytes() != _encode_code(built):
            left_out.append(f"{built.described.name} was changed after its tests ran")
        else:
            accepted_functions.append(built)
    if not accepted_functions:
        reason = "; ".join(left_out) or "no function was tried"
        raise UsageError(f"{review} has nothing to accept: {reason}")
    package, module = f"{build.kit}-tools", f"{build.kit}_tools"
    folder = new_folder(review.resolve().parent / package)
    (folder / module).mkdir()
    values = {"package": package, "module": module, "kit": build.kit}
    fill_template(folder / "pyproject.toml", "built_pyproject.toml", values)
    fill_template(folder / module / "__init__.py", "built_init.py", values)
    accepted = build.model_copy(update={"functions": accepted_functions})
    (folder / module / _DATA).write_text(accepted.model_dump_json(indent=1), "utf-8")
    return folder, accepted, left_out
