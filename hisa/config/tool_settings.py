"""Settings of what may be called and of what may run: tools, servers of tools, policy, secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from hisa.actions.effects import Effect

__all__ = [
    "McpServerSettings",
    "PolicySettings",
    "RuleSettings",
    "SecretSettings",
    "Section",
    "ToolSettings",
    "Verdict",
]


class Section(BaseModel):
    """A section of the settings: frozen, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", validate_default=True, allow_inf_nan=False
    )


_NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,30}")


class McpServerSettings(Section):
    """One server of tools that speaks the Model Context Protocol: a command, or an address."""

    command: tuple[str, ...] = ()
    """Started with each run, over its standard input and output; no shell is involved."""
    url: str = Field(default="", pattern=r"^(https?://\S+)?$")
    """A server that runs already, over streamable HTTP."""
    env: Mapping[str, str] = Field(default_factory=dict)
    """Variables that the command gets, by the name of a variable of HiSA's own: KEY = "MY_KEY". It
    gets no others but PATH, HOME and the like."""
    header_env: Mapping[str, str] = Field(default_factory=dict)
    """HTTP headers, by the name of the variable that holds the value."""
    tools: tuple[str, ...] = ("*",)
    """Patterns of the tools that are taken."""
    seconds: float = Field(60.0, gt=0)
    """Time limit of one call."""
    reads: tuple[str, ...] = ()
    """Patterns of its tools that only look. What a server says of itself is not believed."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server of tools has either a command or a url")
        return self


class ToolSettings(Section):
    """The tools beside the built-ins."""

    allow: tuple[str, ...] = ("*",)
    """Patterns of the tools that a run has, such as "calc_*"; the built-ins are always there.
    Empty: none, so that all is done by the built-ins."""
    mcp: Mapping[str, McpServerSettings] = Field(default_factory=dict)
    """Servers of tools, by the name that their tools' names begin with."""

    @field_validator("mcp")
    @classmethod
    def _named(cls, servers: Mapping[str, McpServerSettings]) -> Mapping[str, McpServerSettings]:
        wrong = [name for name in servers if not _NAME.fullmatch(name)]
        if wrong:
            raise ValueError(f"{wrong[0]!r}: a server's name is letters, digits and hyphens")
        return servers


Verdict = Literal["allow", "ask", "deny"]
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d-([01]\d|2[0-3]):[0-5]\d")


class RuleSettings(Section):
    """One rule: what it says, and what it is about. All that is given must hold."""

    then: Verdict
    """allow, ask a person, or deny. Of the rules that apply, the first of the file decides."""
    tool: str = ""
    """Pattern of the tool's name: "bash_execution", "mail_*"."""
    command: str = ""
    """Pattern of a command line, "*" for anything: "git push*". Each command of a line counts."""
    app: str = ""
    """Pattern of the application in front, by the class of its window."""
    url: str = ""
    """Pattern of an address that the call names, or that the browser in front shows."""
    path: str = ""
    """Pattern of a file or folder that the call names; ~ is the home folder."""
    effect: Effect | None = None
    """What the call would do, as far as it can be told."""
    hours: str = ""
    """Time of day here, such as "22:00-06:00"."""
    after: int | None = Field(None, ge=0)
    """Applies once so many calls that the rest of the rule is about were made in the run."""
    why: str = ""
    """Told to the agent with a refusal."""

    @field_validator("hours")
    @classmethod
    def _clock(cls, value: str) -> str:
        if value and not _CLOCK.fullmatch(value):
            raise ValueError('wanted is a time of day such as "22:00-06:00"')
        return value


class PolicySettings(Section):
    """What may run. It stands between the planner and everything that is done."""

    defaults: Literal["auto", "always", "never"] = "auto"
    """The rules that ask before deleting, paying, sending, installing, changing security settings
    and leaving the allowed sites or folders. auto: on a machine that is not thrown away; always;
    never. Rules of ``rules`` come before them."""
    rules: tuple[RuleSettings, ...] = ()
    sites: tuple[str, ...] = ()
    """Sites that an agent may open, as "example.org" or "*.example.org"; empty: no limit."""
    folders: tuple[str, ...] = ()
    """Folders in which files may be changed, such as "~/Documents"; empty: no limit."""
    unknown: Verdict = "allow"
    """Where no rule applies."""
    dry_run: bool = False
    """Do nothing: say what would be done, and end."""


class SecretSettings(Section):
    """A secret that a task may name as ``{{secret:NAME}}``; its value is no setting."""

    env: str = ""
    """Variable that holds the value."""
    file: str = ""
    """File that holds it; the line break at its end does not count."""
    apps: tuple[str, ...] = ()
    """Patterns of the applications that it may be typed into; empty: any."""
    commands: tuple[str, ...] = ()
    """Patterns of the command lines that may have it; empty: none."""

    @model_validator(mode="after")
    def _one(self) -> Self:
        if bool(self.env) == bool(self.file):
            raise ValueError("a secret is in either a variable (env) or a file")
        return self
