"""What MCP clients may use, and how they are told what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

from mcp.server.mcpserver.exceptions import ToolError

from hisa.config import Settings
from hisa.errors import HisaError, OperatorError
from hisa.text.prompt_text import printable
from hisa.text.redact import redact

__all__ = ["chosen", "said", "to_client"]


def chosen(
    settings: Settings, allow_env: Sequence[str], *, env: str = "", model: str = "", steps: int = 0
) -> Settings:
    """The settings of one client's run or desktop.

    Args:
        settings: those of the server.
        allow_env: patterns of environments besides private desktops.
        env: the environment that the client names; empty: that of the settings.
        model: the planner's model that it names; empty: that of the settings.
        steps: the limit of steps that it names, of which the settings' own is the largest; 0: that.

    Raises:
        ToolError: the environment is not allowed.
    """
    environment = settings.environment
    if env:
        environment = environment.model_copy(update={"kind": env})
    allowed = any(fnmatchcase(environment.kind, pattern) for pattern in allow_env)
    if environment.family != "desktop" and not allowed:
        raise ToolError(
            f"environment {said(environment.kind)!r} is not offered to clients; offered are: "
            f"{', '.join(['desktop', 'desktop:PROFILE', *allow_env])}"
        )
    changes: dict[str, Any] = {"environment": environment}
    if model:
        planner = settings.models.planner.model_copy(update={"model": model})
        changes["models"] = settings.models.model_copy(update={"planner": planner})
    if steps:
        most = min(steps, settings.run.max_steps)
        changes["run"] = settings.run.model_copy(update={"max_steps": most})
    return settings.model_copy(update=changes)


def said(text: object) -> str:
    """A text as clients get it: without secrets and control characters."""
    return printable(redact(str(text)))


@contextmanager
def to_client() -> Iterator[None]:
    """Tell a client what an error of HiSA says, and the change that helps."""
    try:
        yield
    except OperatorError as error:
        fix = f" (try: {error.fix})" if error.fix else ""
        raise ToolError(said(f"{error}{fix}")) from error
    except HisaError as error:
        raise ToolError(said(error)) from error
