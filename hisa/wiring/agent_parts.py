"""Reads the arguments of `hisa.Agent`: names go into the settings, objects are parts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from hisa.config import Settings
from hisa.errors import DeveloperError, UsageError, close_names
from hisa.models.function_model import AnswerFunction, OwnModel
from hisa.protocols import Model, Role
from hisa.text.validation import explain
from hisa.tools.base import BaseTool, Tool
from hisa.tools.registry import discover

__all__ = [
    "AgentModel",
    "chosen_settings",
    "own_models",
    "own_tools",
    "require_list",
    "require_part",
]

AgentModel = str | Model | AnswerFunction
"""A name, a model, or an async function from a request to text."""
_NEEDED = {
    "planner": (("plan",), "a hisa.protocols.Planner or the name of a kind, such as chat"),
    "grounder": (("resolve",), "a hisa.protocols.Grounder or a kind, such as elements"),
    "state": (("recall", "view", "abstract"), "a hisa.protocols.StateManager, abstracted or raw"),
    "environment": (
        ("observe", "act"),
        "a started hisa.protocols.Environment, the name of a kind, such as desktop, or an async "
        "function that returns a started one",
    ),
    "memory": (
        ("recall", "induct"),
        "a hisa.state.base.Memory, off, or the folder or URL of a pattern database",
    ),
}
"""The methods that an object needs, and the allowed values of the argument, in words."""


def require_part(name: str, value: object) -> None:
    """Refuse an argument that is neither a name nor an object with the methods of its part.

    Raises:
        UsageError: names the argument and its allowed values.
    """
    methods, allowed = _NEEDED[name]
    if value is None or isinstance(value, str) or (name == "memory" and isinstance(value, Path)):
        return
    if name == "environment" and callable(value) and not hasattr(value, "observe"):
        return
    lacking = [method for method in methods if not callable(getattr(value, method, None))]
    if lacking or isinstance(value, type):
        shown_value = (
            f"the class {value.__name__}" if isinstance(value, type) else repr(value)[:200]
        )
        reason = f" (it has no method {lacking[0]})" if lacking else ""
        raise UsageError(f"{name}={shown_value}{reason} is not allowed; it may be {allowed}")


def require_list(name: str, value: object, item_kind: str) -> None:
    """Refuse a value that is not a list or tuple; a text is refused too.

    Args:
        name: name of the argument, for the error.
        value: the argument's value.
        item_kind: the allowed items, in words, for the error.

    Raises:
        UsageError: names the argument and its allowed values.
    """
    if not isinstance(value, Sequence) or isinstance(value, str | bytes):
        raise UsageError(f"{name}={value!r} is not allowed; it may be a list of {item_kind}")


def own_models(
    model: AgentModel | Mapping[Any, AgentModel] | None,
) -> tuple[dict[Role, Model], dict[Role, str]]:
    """Returns the model objects by role, and the names by role.

    Raises:
        UsageError: a value is neither a name, a model nor a function; or a role is unknown.
    """
    by_role: Mapping[Any, AgentModel] = {} if model is None else {"planner": model}  # type: ignore[dict-item]
    if isinstance(model, Mapping):
        by_role = model
    objects: dict[Role, Model] = {}
    names: dict[Role, str] = {}
    for role, value in by_role.items():
        if role not in get_args(Role):
            raise UsageError(f"model: unknown role {role!r}; roles: {', '.join(get_args(Role))}")
        if isinstance(value, str):
            names[role] = value
        elif callable(getattr(value, "complete", None)) and not isinstance(value, type):
            objects[role] = value  # type: ignore[assignment]
        elif callable(value) and not isinstance(value, type):
            objects[role] = OwnModel(value)
        else:
            raise UsageError(
                f"model={value!r} is not allowed; it may be a name, a hisa.protocols.Model, an "
                "async function from a request to text, or these by role"
            )
    return objects, names


def own_tools(
    tools: Sequence[Callable[..., Any] | BaseTool | str],
) -> tuple[tuple[BaseTool, ...], tuple[str, ...]]:
    """Returns the tools that are objects or functions, and the names of installed ones.

    Raises:
        UsageError: a value is neither; a function lacks a docstring or types; or no tool matches a
            name.
    """
    own: list[BaseTool] = []
    names: list[str] = []
    for number, value in enumerate(tools):
        argument = f"tools[{number}]"
        if isinstance(value, str):
            _require_installed(argument, value)
            names.append(value)
        elif isinstance(value, BaseTool):
            own.append(value)
        elif inspect.isroutine(value):
            try:
                own.append(Tool(value, source="script"))
            except (DeveloperError, NameError, TypeError) as error:
                raise UsageError(f"{argument}: {error}") from error
        else:
            raise UsageError(
                f"{argument} = {value!r} is not allowed; a tool is a function with types and a "
                "docstring, a hisa.tools.base.Tool, or the name of an installed tool"
            )
    return tuple(own), tuple(names)


def _require_installed(argument: str, name: str) -> None:
    known = [tool.name for tool in discover()[0]]
    if not any(fnmatchcase(tool, name) for tool in known):
        raise UsageError(
            f"{argument} = {name!r}: no installed tool has that name{close_names(name, known)}",
            fix="hisa tools ls",
        )


def chosen_settings(
    settings: Settings,
    names: Mapping[str, str],
    *,
    model: Mapping[Role, str],
    allow: Sequence[str],
) -> Settings:
    """Returns the settings with the names that were passed instead of objects.

    Args:
        settings: the settings to change.
        names: a name by part: planner, grounder, environment, state, memory.
        model: a model's name by role.
        allow: names of installed tools, added to ``tools.allow``.

    Raises:
        UsageError: the settings do not take a name.
    """
    if not (names or model or allow):
        return settings
    tree = settings.model_dump()
    for role, name in model.items():
        tree["models"][role] = {**(tree["models"].get(role) or {}), "model": name}
    if allow:
        tree["tools"]["allow"] = [*tree["tools"]["allow"], *allow]
    for part, name in names.items():
        match part:
            case "planner" | "grounder" | "environment":
                tree[part]["kind"] = name
            case "state":
                tree["state"]["steps"] = name
            case "memory":
                tree["patterns"] |= _memory(name)
    try:
        return Settings.model_validate(tree)
    except ValidationError as error:
        raise UsageError(explain(error, Settings)) from error


def _memory(name: str) -> dict[str, Any]:
    """Returns the settings of the pattern database with a name: off, a URL or a folder."""
    if name == "off":
        return {"enabled": False}
    if "://" in name:
        return {"enabled": True, "engine": "server", "url": name}
    return {"enabled": True, "engine": "edge", "path": name}
